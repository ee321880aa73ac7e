/* Sixteen-bit floats: every half, every rounding border, and random values.
 * SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <math.h>

#include "tensor/dequant.h"

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The definition, without shortcuts. */
static float defined_value(unsigned half)
{
    int exponent = (int)(half >> 10 & 31), mantissa = (int)(half & 1023);
    float magnitude = exponent == 31 ? (mantissa ? NAN : INFINITY)
                      : exponent     ? ldexpf((float)(1024 + mantissa), exponent - 25)
                                     : ldexpf((float)mantissa, -24);
    return half & 0x8000 ? -magnitude : magnitude;
}

static void every_half_becomes_the_float_its_definition_gives(void **state)
{
    (void)state;
    for (unsigned half = 0; half < 65536; half++) {
        float got = f16_to_f32((uint16_t)half), want = defined_value(half);
        if (isnan(want))
            assert_true(isnan(got) && (bits_of(got) & 0x400000));
        else
            assert_int_equal(bits_of(got), bits_of(want));
    }
}

static void every_half_survives_the_way_to_float_and_back(void **state)
{
    (void)state;
    for (unsigned half = 0; half < 65536; half++) {
        unsigned quiet = (half & 0x7FFF) > 0x7C00 ? half | 0x200 : half;
        assert_int_equal(f32_to_f16(f16_to_f32((uint16_t)half)), quiet);
    }
}

/* Rounding is monotonic, so it is right everywhere when it is right on both sides of each border. */
static void floats_round_to_the_nearest_half_and_ties_to_even(void **state)
{
    (void)state;
    for (unsigned half = 0; half < 0x7C00; half++) {
        double above = half == 0x7BFF ? 65536.0 : (double)defined_value(half + 1);
        float border = (float)(((double)defined_value(half) + above) / 2);
        for (unsigned sign = 0; sign <= 0x8000; sign += 0x8000) {
            float signed_border = sign ? -border : border;
            assert_int_equal(f32_to_f16(nextafterf(signed_border, 0)), half | sign);
            assert_int_equal(f32_to_f16(signed_border), (half + (half & 1)) | sign);
            assert_int_equal(f32_to_f16(nextafterf(signed_border, sign ? -INFINITY : INFINITY)),
                             (half + 1) | sign);
        }
    }
    assert_int_equal(f32_to_f16(3.4e38f), 0x7C00);
    assert_int_equal(f32_to_f16(-INFINITY), 0xFC00);
    assert_int_equal(f32_to_f16(float_of(0x7F800001)) & 0x7E00, 0x7E00);
    assert_int_equal(f32_to_f16(float_of(1)), 0);
}

static void bfloats_round_to_the_nearest_and_ties_to_even(void **state)
{
    (void)state;
    for (uint32_t upper = 0; upper < 65536; upper++) {
        assert_int_equal(bits_of(bf16_to_f32((uint16_t)upper)), upper << 16);
        if ((upper & 0x7F80) == 0x7F80)
            continue;
        assert_int_equal(f32_to_bf16(float_of(upper << 16)), upper);
        assert_int_equal(f32_to_bf16(float_of(upper << 16 | 0x7FFF)), upper);
        assert_int_equal(f32_to_bf16(float_of(upper << 16 | 0x8000)), upper + (upper & 1));
        assert_int_equal(f32_to_bf16(float_of(upper << 16 | 0x8001)), upper + 1);
    }
    assert_int_equal(f32_to_bf16(INFINITY), 0x7F80);
    assert_int_equal(f32_to_bf16(float_of(0x7F800001)), 0x7FC0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_half_becomes_the_float_its_definition_gives),
        cmocka_unit_test(every_half_survives_the_way_to_float_and_back),
        cmocka_unit_test(floats_round_to_the_nearest_half_and_ties_to_even),
        cmocka_unit_test(bfloats_round_to_the_nearest_and_ties_to_even),
    };
    return cmocka_run_group_tests_name("half", tests, NULL, NULL);
}
