/* Dequantised blocks against those of the Python gguf package, bit for bit; dtype table; tensor views.
 * SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "tensor/dequant.h"
#include "tensor/tensor.h"

struct vector {
    enum dtype dtype;
    const unsigned char *blocks;
    const uint32_t *floats; /* bits */
    int64_t count;
};

#include "formats/vectors/dequant.inc"

static void every_quantised_type_gives_the_floats_of_the_reference_bit_for_bit(void **state)
{
    (void)state;
    size_t seen = 0;
    for (size_t v = 0; v < sizeof vectors / sizeof vectors[0]; v++) {
        const struct vector *vector = &vectors[v];
        float got[1024];
        assert_true(vector->count <= 1024 && vector->count > 0);
        dequantize_row(vector->dtype, vector->blocks, got, vector->count);
        assert_memory_equal(got, vector->floats, (size_t)vector->count * sizeof *got);
        seen++;
    }
    for (int i = 0; i < DT_COUNT; i++)
        seen -= dtype_info((enum dtype)i)->quantized;
    assert_int_equal(seen, 0);
}

static void plain_types_are_read_from_any_address(void **state)
{
    (void)state;
    unsigned char bytes[9] = {0, 0x00, 0x3C, 0x00, 0xC0, 0x80, 0x3F, 0x00, 0xC0};
    float got[2];
    dequantize_row(DT_F16, bytes + 1, got, 2);
    assert_true(got[0] == 1.0f && got[1] == -2.0f);
    dequantize_row(DT_BF16, bytes + 5, got, 2);
    assert_true(got[0] == 1.0f && got[1] == -2.0f);
    unsigned char single[5] = {0, 0x00, 0x00, 0x80, 0x3F};
    dequantize_row(DT_F32, single + 1, got, 1);
    assert_true(got[0] == 1.0f);
}

static void every_type_survives_the_way_to_its_file_number_and_back(void **state)
{
    (void)state;
    for (int i = 0; i < DT_COUNT; i++) {
        enum dtype back;
        assert_true(dtype_from_gguf(dtype_to_gguf((enum dtype)i), &back));
        assert_int_equal(back, i);
        assert_string_equal(dtype_gguf_name(dtype_to_gguf((enum dtype)i)), dtype_info((enum dtype)i)->name);
    }
    enum dtype none;
    assert_false(dtype_from_gguf(16, &none));
    assert_string_equal(dtype_gguf_name(16), "IQ2_XXS");
    assert_null(dtype_gguf_name(42));
    assert_null(dtype_gguf_name(UINT32_MAX));
}

static void a_row_of_broken_blocks_or_a_wrapping_product_has_no_size(void **state)
{
    (void)state;
    assert_int_equal(dtype_row_bytes(DT_Q4_1, 64), 40);
    assert_int_equal(dtype_row_bytes(DT_Q6_K, 512), 420);
    assert_int_equal(dtype_row_bytes(DT_Q4_1, 63), 0);
    assert_int_equal(dtype_row_bytes(DT_F32, UINT64_MAX / 4 + 1), 0);
    assert_int_equal(dtype_row_bytes(DT_F32, 5), 20);
}

static void views_of_rows_and_columns_point_at_the_right_blocks(void **state)
{
    (void)state;
    char bytes[4 * 54];
    struct tensor whole = {DT_Q4_0, 4, 96, 54, bytes};
    struct tensor rows = tensor_rows(&whole, 2, 2), columns = tensor_columns(&rows, 32, 64);
    assert_ptr_equal(rows.data, bytes + 108);
    assert_ptr_equal(columns.data, bytes + 108 + 18);
    assert_int_equal(columns.cols, 64);
    assert_int_equal(columns.rows, 2);
    assert_ptr_equal(tensor_row(&columns, 1), bytes + 108 + 18 + 54);
    struct tensor absent = {DT_F32, 4, 4, 16, NULL};
    assert_null(tensor_rows(&absent, 1, 1).data);
    assert_null(tensor_columns(&absent, 1, 1).data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_quantised_type_gives_the_floats_of_the_reference_bit_for_bit),
        cmocka_unit_test(plain_types_are_read_from_any_address),
        cmocka_unit_test(every_type_survives_the_way_to_its_file_number_and_back),
        cmocka_unit_test(a_row_of_broken_blocks_or_a_wrapping_product_has_no_size),
        cmocka_unit_test(views_of_rows_and_columns_point_at_the_right_blocks),
    };
    return cmocka_run_group_tests_name("dequant", tests, NULL, NULL);
}
