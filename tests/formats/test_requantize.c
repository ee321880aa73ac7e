/* A model file written in another type: the same metadata, and rows as the quantiser makes them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "formats/quantize.h"
#include "formats/requantize.h"
#include "tensor/dequant.h"
#include "toy/toy_model.h"

static char scratch[64];

static struct gguf *write_toy(const char *path, uint64_t width)
{
    struct toy_model toy = toy_model_defaults("llama");
    struct gguf *gguf = NULL;
    toy.dtype = DT_F32;
    toy.width = (int)width;
    toy.feed_forward = 256;
    toy.head_dim = 32;
    assert_true(toy_model_write_file(&toy, path));
    assert_int_equal(gguf_open(path, &gguf, NULL), LL_OK);
    return gguf;
}

static struct gguf *turned(struct gguf *gguf, enum dtype type, int threads)
{
    struct workers *workers;
    struct gguf *made = NULL;
    ll_error error = {.text = ""};
    assert_int_equal(workers_open(threads, &workers, NULL), LL_OK);
    if (requantize(gguf, "made.gguf", type, workers, NULL, &error) != LL_OK ||
        gguf_open("made.gguf", &made, &error) != LL_OK)
        fail_msg("%s: %s", dtype_info(type)->name, error.text);
    workers_close(workers);
    return made;
}

/* Row by row what quantize_row makes of it. */
static void compare(const struct gguf_tensor *from, const struct gguf_tensor *to)
{
    int64_t cols = (int64_t)from->shape[0];
    uint64_t rows = from->shape[1] * from->shape[2] * from->shape[3];
    size_t from_bytes = (size_t)dtype_row_bytes(from->dtype, from->shape[0]);
    size_t to_bytes = (size_t)dtype_row_bytes(to->dtype, to->shape[0]);
    float *floats = calloc((size_t)cols, sizeof *floats);
    unsigned char *wanted = malloc(to_bytes);
    assert_string_equal(from->name, to->name);
    assert_memory_equal(from->shape, to->shape, sizeof from->shape);
    for (uint64_t row = 0; row < rows; row++) {
        dequantize_row(from->dtype, (const char *)from->data + row * from_bytes, floats, cols);
        quantize_row(to->dtype, floats, wanted, cols);
        assert_memory_equal((const char *)to->data + row * to_bytes, wanted, to_bytes);
    }
    free(floats);
    free(wanted);
}

static void compare_values(const struct gguf *from, const struct gguf *to)
{
    for (size_t i = 0; i < gguf_value_count(from); i++) {
        const struct gguf_value *value = gguf_value_at(from, i);
        char key[256];
        snprintf(key, sizeof key, "%.*s", (int)value->key.length, value->key.text);
        if (strcmp(key, "general.file_type") == 0)
            continue;
        const struct gguf_value *other = gguf_find(to, key);
        assert_non_null(other);
        assert_int_equal(value->type, other->type);
        assert_int_equal(value->count, other->count);
        for (uint64_t k = 0; value->type == GGUF_ARRAY && value->element == GGUF_STRING && k < value->count;
             k++) {
            struct gguf_text a = gguf_array_text(from, value, k), b = gguf_array_text(to, other, k);
            assert_int_equal(a.length, b.length);
            assert_memory_equal(a.text, b.text, a.length);
        }
    }
}

static void every_type_keeps_the_metadata_and_turns_the_matrices(void **state)
{
    (void)state;
    static const char *const names[] = {"q8_0", "Q6_K", "q5_k", "Q4_K", "q5_1",
                                        "q5_0", "q4_1", "q4_0", "BF16", "f16"};
    struct gguf *gguf = write_toy("whole.gguf", 256);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        enum dtype type;
        size_t of_type = 0;
        assert_int_equal(requantize_type(names[i], &type, NULL), LL_OK);
        struct gguf *made = turned(gguf, type, 1 + (int)unit_below(4));
        compare_values(gguf, made);
        assert_int_equal(gguf_tensor_count(gguf), gguf_tensor_count(made));
        for (size_t t = 0; t < gguf_tensor_count(gguf); t++) {
            compare(gguf_tensor_at(gguf, t), gguf_tensor_at(made, t));
            of_type += gguf_tensor_at(made, t)->dtype == type;
        }
        assert_true(of_type > 4);
        bool ends = type == DT_Q4_K || type == DT_Q5_K;
        assert_int_equal(gguf_tensor_find(made, "token_embd.weight")->dtype, ends ? DT_Q6_K : type);
        assert_int_equal(gguf_tensor_find(made, "output_norm.weight")->dtype, DT_F32);
        gguf_close(made);
    }
    gguf_close(gguf);
}

static void rows_that_no_block_divides_get_a_type_that_fits(void **state)
{
    (void)state;
    struct gguf *gguf = write_toy("narrow.gguf", 96);
    struct gguf *made = turned(gguf, DT_Q4_K, 2);
    assert_int_equal(gguf_tensor_find(made, "blk.0.attn_q.weight")->dtype, DT_Q8_0);
    assert_int_equal(gguf_tensor_find(made, "blk.0.ffn_down.weight")->dtype, DT_Q4_K);
    gguf_close(made);
    gguf_close(gguf);
}

static void a_folder_that_is_not_there_leaves_nothing(void **state)
{
    (void)state;
    struct gguf *gguf = write_toy("whole.gguf", 64);
    struct workers *workers;
    ll_error error = {.text = ""};
    assert_int_equal(workers_open(1, &workers, NULL), LL_OK);
    assert_int_not_equal(requantize(gguf, "nowhere/made.gguf", DT_Q8_0, workers, NULL, &error), LL_OK);
    assert_non_null(strstr(error.text, "nowhere/made.gguf"));
    workers_close(workers);
    gguf_close(gguf);
}

static int enter(void **state)
{
    (void)state;
    unit_seed();
    return unit_enter_scratch(scratch);
}

static int leave(void **state)
{
    (void)state;
    unit_leave_scratch(scratch);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_keeps_the_metadata_and_turns_the_matrices),
        cmocka_unit_test(rows_that_no_block_divides_get_a_type_that_fits),
        cmocka_unit_test(a_folder_that_is_not_there_leaves_nothing),
    };
    return cmocka_run_group_tests_name("requantize", tests, enter, leave);
}
