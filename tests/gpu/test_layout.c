/* Tests the prepared rows of weights: every number of every type is found again, and no byte is wasted.
 * SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "cuda/weight_layout.h"

enum { MOST_K = 4096 };

static const enum dtype types[] = {DT_Q4_0, DT_Q4_1, DT_Q5_0, DT_Q5_1, DT_Q8_0, DT_Q4_K, DT_Q5_K, DT_Q6_K};
enum { TYPES = sizeof types / sizeof *types };

/* Bytes of a row in the file, with scales that are finite and not tiny. */
static void fill(enum dtype dtype, unsigned char *raw, int64_t k)
{
    const struct dtype_info *info = dtype_info(dtype);
    for (int64_t block = 0; block < k / info->block_elements; block++) {
        unsigned char *at = raw + block * info->block_bytes;
        for (int i = 0; i < info->block_bytes; i++)
            at[i] = (unsigned char)unit_random();
        uint16_t d = f32_to_f16(((float)unit_below(2000) - 1000.0f) / 700.0f);
        uint16_t m = f32_to_f16(((float)unit_below(2000) - 1000.0f) / 300.0f);
        bool min = dtype == DT_Q4_1 || dtype == DT_Q5_1 || dtype == DT_Q4_K || dtype == DT_Q5_K;
        memcpy(dtype == DT_Q6_K ? at + 208 : at, &d, 2);
        if (min)
            memcpy(at + 2, &m, 2);
    }
}

static unsigned char *prepare(enum dtype dtype, const unsigned char *raw, int64_t k)
{
    struct layout_row parts = layout_of(dtype, k);
    unsigned char *row = malloc((size_t)parts.stride);
    assert_non_null(row);
    for (int64_t word = 0; word < parts.stride / 4; word++) {
        uint32_t made = layout_make(dtype, raw, k, word);
        memcpy(row + 4 * word, &made, 4);
    }
    return row;
}

static void every_number_is_found_again(void **state)
{
    (void)state;
    static float expected[MOST_K], eight[8];
    for (size_t round = 0; round < unit_rounds(60); round++) {
        enum dtype dtype = types[round % TYPES];
        const struct dtype_info *info = dtype_info(dtype);
        int64_t k = (int64_t)(1 + unit_below((size_t)(MOST_K / info->block_elements))) * info->block_elements;
        unsigned char *raw = malloc((size_t)dtype_row_bytes(dtype, (uint64_t)k));
        assert_non_null(raw);
        fill(dtype, raw, k);
        unsigned char *row = prepare(dtype, raw, k);
        struct layout_row parts = layout_of(dtype, k);
        dequantize_row(dtype, raw, expected, k);
        for (int64_t i = 0; i < parts.units * layout_unit(dtype) / 8; i++) {
            int t = (int)(i % 4), block = (int)(i / 4) % (layout_unit(dtype) / 32);
            int64_t unit = i / (layout_unit(dtype) / 8);
            layout_eight(dtype, row, &parts, unit, block, t, eight);
            for (int j = 0; j < 8; j++) {
                int64_t at = unit * layout_unit(dtype) + block * 32 + layout_column(dtype, t, j);
                float want = at < k ? expected[at] : 0.0f;
                if (!(eight[j] == want))
                    fail_msg("%s, k %lld, number %lld: %g instead of %g", info->name, (long long)k,
                             (long long)at, (double)eight[j], (double)want);
            }
        }
        free(row);
        free(raw);
    }
}

static void prepared_rows_take_the_files_bytes(void **state)
{
    (void)state;
    for (int i = 0; i < TYPES; i++)
        for (int64_t k = 2048; k <= 16384; k += 2048)
            assert_int_equal(layout_of(types[i], k).stride, dtype_row_bytes(types[i], (uint64_t)k));
    assert_int_equal(layout_of(DT_BF16, 4096).stride, 8192);
    assert_int_equal(layout_of(DT_F16, 101).stride, 208);
    assert_int_equal(layout_of(DT_F32, 3).stride, 16);
}

static void plain_rows_are_copied_and_filled_up(void **state)
{
    (void)state;
    unsigned char raw[202];
    for (size_t i = 0; i < sizeof raw; i++)
        raw[i] = (unsigned char)(1 + unit_below(255));
    unsigned char *row = prepare(DT_F16, raw, 101);
    assert_memory_equal(row, raw, sizeof raw);
    for (int i = 202; i < 208; i++)
        assert_int_equal(row[i], 0);
    free(row);
}

/* What the kernels do by hand with two halves at once. */
static void pairs_carry_no_stray_bits(void **state)
{
    (void)state;
    for (size_t round = 0; round < 1000; round++) {
        uint32_t word = (uint32_t)unit_random();
        for (int j = 0; j < 4; j++) {
            assert_int_equal(layout_low(word, j, 0) & ~0x000f000fu, 0);
            assert_int_equal(layout_bytes(word, j) & ~0x00ff00ffu, 0);
            for (int block = 0; block < 4; block++) {
                uint32_t fifth = layout_fifth(word, block, j, 0), bit = (uint32_t)(4 * j + block);
                assert_int_equal(fifth, (word >> bit & 1) << 4 | (word >> (bit + 16) & 1) << 20);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_is_found_again),
        cmocka_unit_test(prepared_rows_take_the_files_bytes),
        cmocka_unit_test(plain_rows_are_copied_and_filled_up),
        cmocka_unit_test(pairs_carry_no_stray_bits),
    };
    unit_seed();
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
