/* Quantised rows: the reference's bytes, error bounds on fresh random rows, odd inputs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <math.h>

#include "formats/quantize.h"
#include "tensor/dequant.h"

struct vector {
    enum dtype dtype;
    const unsigned char *blocks;
    size_t bytes;
};

#include "formats/vectors/quantize.inc"

enum { ROW = 1024 };

static void blocks_of_32_are_the_bytes_of_the_reference(void **state)
{
    (void)state;
    enum { COUNT = sizeof source_bits / sizeof source_bits[0] };
    float values[COUNT];
    unsigned char got[COUNT * 4];
    memcpy(values, source_bits, sizeof values);
    for (size_t v = 0; v < sizeof vectors / sizeof vectors[0]; v++) {
        quantize_row(vectors[v].dtype, values, got, COUNT);
        assert_int_equal(vectors[v].bytes, dtype_row_bytes(vectors[v].dtype, COUNT));
        assert_memory_equal(got, vectors[v].blocks, vectors[v].bytes);
    }
}

static double random_unit(void) /* 0 < … < 1 */
{
    return ((double)(unit_random() >> 12) + 0.5) / 4503599627370496.0;
}

static float random_normal(void)
{
    return (float)(sqrt(-2 * log(random_unit())) * cos(6.283185307179586 * random_unit()));
}

/* Rows whose blocks differ widely in size and offset, as those of real weights do. */
static void random_row(float *row)
{
    float size = 1, middle = 0;
    for (int i = 0; i < ROW; i++) {
        if (i % 32 == 0) {
            size = ldexpf(1.0f, (int)unit_below(8) - 8);
            middle = unit_below(2) ? 0 : 2 * size * random_normal();
        }
        row[i] = middle + size * random_normal();
    }
}

static float half_at(const unsigned char *at)
{
    uint16_t half;
    memcpy(&half, at, sizeof half);
    return fabsf(f16_to_f32(half));
}

/* How far a value may lie from what its block gives back: its own rounding (half a step, a whole one
 * where a range is clipped by one level or a fit trades the edge for the middle) plus, for blocks of
 * 256, the rounding of the sub-block's scale and minimum to six or eight bits. */
static float allowed_error(enum dtype dtype, const unsigned char *block, const float *x)
{
    float largest = 0, least = 0, most = 0;
    for (int i = 0; i < 32; i++) {
        largest = fmaxf(largest, fabsf(x[i]));
        least = fminf(least, x[i]);
        most = fmaxf(most, x[i]);
    }
    float halves = (largest + most - least) / 1024; /* scales and minima are stored as halves */
    switch (dtype) {
    case DT_Q4_0:
        return largest / 8 + halves;
    case DT_Q5_0:
        return largest / 16 + halves;
    case DT_Q8_0:
        return largest / 254 + halves;
    case DT_Q4_1:
        return (most - least) / 30 + halves;
    case DT_Q5_1:
        return (most - least) / 62 + halves;
    case DT_Q4_K:
        return (most - least) / 15 + halves + half_at(block) * 15 / 2 + half_at(block + 2) / 2;
    case DT_Q5_K:
        return (most - least) / 31 + halves + half_at(block) * 31 / 2 + half_at(block + 2) / 2;
    case DT_Q6_K:
        return largest / 32 + halves + half_at(block + 208) * 32 / 2;
    default:
        return 0;
    }
}

static void random_rows_come_back_within_a_step(void **state)
{
    (void)state;
    float row[ROW], back[ROW];
    unsigned char packed[ROW * 4];
    for (int round = 0; round < (int)unit_rounds(50); round++) {
        random_row(row);
        for (int t = 0; t < DT_COUNT; t++) {
            const struct dtype_info *info = dtype_info((enum dtype)t);
            if (!info->quantized || !quantize_supported((enum dtype)t))
                continue;
            quantize_row((enum dtype)t, row, packed, ROW);
            dequantize_row((enum dtype)t, packed, back, ROW);
            for (int i = 0; i < ROW; i++) {
                const unsigned char *block = packed + i / info->block_elements * info->block_bytes;
                float allowed = allowed_error((enum dtype)t, block, row + i / 32 * 32);
                if (!(fabsf(row[i] - back[i]) <= allowed))
                    fail_msg("%s: element %d, %g became %g; allowed %g", info->name, i, (double)row[i],
                             (double)back[i], (double)allowed);
            }
        }
    }
}

/* Noise of each type relative to the signal, on plain normal values: no worse than a known limit. */
static void the_noise_of_each_type_is_as_small_as_its_bits_allow(void **state)
{
    (void)state;
    static const double most[DT_COUNT] = {
        [DT_Q4_0] = 0.1,   [DT_Q4_1] = 0.09, [DT_Q5_0] = 0.05, [DT_Q5_1] = 0.045,
        [DT_Q8_0] = 0.007, [DT_Q4_K] = 0.08, [DT_Q5_K] = 0.04, [DT_Q6_K] = 0.022,
    };
    enum { LONG_ROW = 32768 };
    static float row[LONG_ROW], back[LONG_ROW];
    static unsigned char packed[LONG_ROW * 4];
    for (int i = 0; i < LONG_ROW; i++)
        row[i] = random_normal();
    for (int t = DT_Q4_0; t < DT_COUNT; t++) {
        double noise = 0, signal = 0;
        if (!quantize_supported((enum dtype)t))
            continue;
        quantize_row((enum dtype)t, row, packed, LONG_ROW);
        dequantize_row((enum dtype)t, packed, back, LONG_ROW);
        for (int i = 0; i < LONG_ROW; i++) {
            noise += pow((double)row[i] - (double)back[i], 2);
            signal += pow((double)row[i], 2);
        }
        double relative = sqrt(noise / signal);
        printf("# %s: relative noise %.4f\n", dtype_info((enum dtype)t)->name, relative);
        assert_true(relative > 0 && relative < most[t]);
    }
}

static void zeros_stay_zeros_in_every_type(void **state)
{
    (void)state;
    float row[ROW] = {0}, back[ROW];
    unsigned char packed[ROW * 4];
    for (int t = 0; t < DT_COUNT; t++) {
        if (!quantize_supported((enum dtype)t))
            continue;
        memset(packed, 0xA5, sizeof packed);
        quantize_row((enum dtype)t, row, packed, ROW);
        dequantize_row((enum dtype)t, packed, back, ROW);
        for (int i = 0; i < ROW; i++)
            assert_true(back[i] == 0.0f);
    }
}

static void a_constant_row_comes_back_nearly_constant(void **state)
{
    (void)state;
    float row[ROW], back[ROW];
    unsigned char packed[ROW * 4];
    for (int sign = -1; sign <= 1; sign += 2)
        for (int t = 0; t < DT_COUNT; t++) {
            if (!quantize_supported((enum dtype)t))
                continue;
            for (int i = 0; i < ROW; i++)
                row[i] = (float)sign * 0.75f;
            quantize_row((enum dtype)t, row, packed, ROW);
            dequantize_row((enum dtype)t, packed, back, ROW);
            for (int i = 0; i < ROW; i++)
                assert_true(fabsf(back[i] - row[i]) < 0.005f);
        }
}

/* What comes out of infinities and NaN is not promised, only that nothing undefined happens
 * (the sanitizer builds look) and that neighbouring blocks are untouched. */
static void infinities_and_nans_harm_only_their_own_block(void **state)
{
    (void)state;
    float row[ROW], clean[ROW], back[ROW];
    unsigned char packed[ROW * 4];
    const float odd[] = {INFINITY, -INFINITY, NAN, 3.4e38f, -3.4e38f, 1e-45f};
    random_row(row);
    for (int t = DT_Q4_0; t < DT_COUNT; t++)
        for (size_t o = 0; quantize_supported((enum dtype)t) && o < sizeof odd / sizeof odd[0]; o++) {
            float kept = row[300];
            quantize_row((enum dtype)t, row, packed, ROW);
            dequantize_row((enum dtype)t, packed, clean, ROW);
            row[300] = odd[o];
            quantize_row((enum dtype)t, row, packed, ROW);
            dequantize_row((enum dtype)t, packed, back, ROW);
            row[300] = kept;
            assert_memory_equal(clean, back, 256 * sizeof *back);
            assert_memory_equal(clean + 512, back + 512, 512 * sizeof *back);
        }
}

int main(void)
{
    unit_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_of_32_are_the_bytes_of_the_reference),
        cmocka_unit_test(random_rows_come_back_within_a_step),
        cmocka_unit_test(the_noise_of_each_type_is_as_small_as_its_bits_allow),
        cmocka_unit_test(zeros_stay_zeros_in_every_type),
        cmocka_unit_test(a_constant_row_comes_back_nearly_constant),
        cmocka_unit_test(infinities_and_nans_harm_only_their_own_block),
    };
    return cmocka_run_group_tests_name("quantize", tests, NULL, NULL);
}
