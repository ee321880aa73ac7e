/* Tests of ALiBi slopes and rotary frequencies against known values.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/position.h"
#include "model/rotary.h"

#include <math.h>

#include "unit.h"

/* tests/vectors/slopes.txt holds lines "heads B slope …" made in double precision. */
static void slopes_equal_the_published_formula_for_every_head_count(void **state)
{
    (void)state;
    const char *folder = getenv("top_srcdir");
    char path[4096], line[65536];
    size_t checked = 0;
    snprintf(path, sizeof path, "%s/tests/vectors/slopes.txt", folder ? folder : ".");
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        char *at = line;
        double bias;
        float slopes[256];
        if (*line == '#')
            continue;
        int heads = (int)strtol(at, &at, 10);
        bias = strtod(at, &at);
        assert_true(heads > 0 && heads <= 256);
        alibi_slopes(heads, bias, slopes);
        for (int h = 0; h < heads; h++, checked++) {
            double expected = strtod(at, &at);
            assert_true(fabs(slopes[h] - expected) <= 1e-6 * expected);
        }
    }
    fclose(file);
    assert_true(checked > 100);
}

static void frequencies_fall_from_one_and_linear_scaling_divides_them(void **state)
{
    (void)state;
    struct rotary_hparams plain = {.base = 10000.0, .linear_factor = 1.0};
    struct rotary_hparams scaled = {.base = 10000.0, .linear_factor = 8.0};
    float a[32], b[32], divisors[32], c[32];
    for (int i = 0; i < 32; i++)
        divisors[i] = (float)(i + 1);
    rotary_frequencies(&plain, 64, NULL, a);
    rotary_frequencies(&scaled, 64, NULL, b);
    rotary_frequencies(&plain, 64, divisors, c);
    assert_true(a[0] == 1.0f);
    for (int i = 0; i < 32; i++) {
        assert_true(fabs(a[i] - pow(10000.0, -i / 32.0)) < 1e-7);
        assert_true(fabs(b[i] * 8.0 - a[i]) < 1e-6);
        assert_true(fabs(c[i] * (i + 1) - a[i]) < 1e-6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes_equal_the_published_formula_for_every_head_count),
        cmocka_unit_test(frequencies_fall_from_one_and_linear_scaling_divides_them),
    };
    unit_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
