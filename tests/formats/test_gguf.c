/* Sound GGUF files: versions, values of every type, arrays, tensors, look-ups, the writer's round trip.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/raw_gguf.h"

#include "base/file.h"
#include "formats/gguf_write.h"
#include "toy/toy_model.h"

static void both_versions_open_and_say_which_they_are(void **state)
{
    (void)state;
    for (uint32_t version = 2; version <= 3; version++) {
        void *copy;
        struct strbuf raw = raw_header(version, 0, 0);
        struct gguf *gguf = raw_accepted(&raw, &copy);
        assert_int_equal(gguf_version(gguf), version);
        assert_int_equal(gguf_file_bytes(gguf), 24);
        assert_int_equal(gguf_value_count(gguf), 0);
        assert_int_equal(gguf_tensor_count(gguf), 0);
        assert_null(gguf_find(gguf, "a"));
        assert_null(gguf_tensor_find(gguf, "a"));
        gguf_close(gguf);
        free(copy);
    }
    gguf_close(NULL);
}

/* One key of each integer type, all bits set but the top one where the type is signed, or -2. */
static struct strbuf every_scalar(void)
{
    struct strbuf raw = raw_header(3, 0, 14);
    float single = 0.5f;
    double twice = 1e300;
    raw_key(&raw, "u8", GGUF_U8);
    strbuf_append(&raw, "\377", 1);
    raw_key(&raw, "i8", GGUF_I8);
    strbuf_append(&raw, "\376", 1);
    raw_key(&raw, "u16", GGUF_U16);
    strbuf_append(&raw, "\377\377", 2);
    raw_key(&raw, "i16", GGUF_I16);
    strbuf_append(&raw, "\376\377", 2);
    raw_key(&raw, "u32", GGUF_U32);
    raw_u32(&raw, UINT32_MAX);
    raw_key(&raw, "i32", GGUF_I32);
    raw_u32(&raw, (uint32_t)-2);
    raw_key(&raw, "u64", GGUF_U64);
    raw_u64(&raw, UINT64_MAX);
    raw_key(&raw, "i64", GGUF_I64);
    raw_u64(&raw, (uint64_t)-2);
    raw_key(&raw, "f32", GGUF_F32);
    strbuf_append(&raw, (const char *)&single, 4);
    raw_key(&raw, "f64", GGUF_F64);
    strbuf_append(&raw, (const char *)&twice, 8);
    raw_key(&raw, "yes", GGUF_BOOL);
    strbuf_putc(&raw, 1);
    raw_key(&raw, "no", GGUF_BOOL);
    strbuf_putc(&raw, 0);
    raw_key(&raw, "text", GGUF_STRING);
    raw_text(&raw, "caf\303\251\0!", 7);
    raw_key(&raw, "empty", GGUF_STRING);
    raw_text(&raw, "", 0);
    return raw;
}

static void every_integer_type_is_taken_for_a_size_and_negative_ones_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        uint64_t value;
    } sound[] = {{"u8", 255}, {"u16", 65535}, {"u32", UINT32_MAX}, {"u64", UINT64_MAX}, {"none", 42}};
    static const char *const negative[] = {"i8", "i16", "i32", "i64"};
    void *copy;
    struct strbuf raw = every_scalar();
    struct gguf *gguf = raw_accepted(&raw, &copy);
    uint64_t got;
    ll_error error;
    for (size_t i = 0; i < sizeof sound / sizeof sound[0]; i++) {
        assert_int_equal(gguf_get_uint(gguf, sound[i].key, 42, &got, &error), LL_OK);
        assert_true(got == sound[i].value);
    }
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(gguf_get_uint(gguf, negative[i], 42, &got, &error), LL_FORMAT);
        assert_non_null(strstr(error.text, "-2"));
        assert_true(gguf_array_int(gguf_find(gguf, negative[i]), 0) == -2);
    }
    gguf_close(gguf);
    free(copy);
}

static void each_getter_refuses_what_cannot_hold_its_meaning_and_names_the_key(void **state)
{
    (void)state;
    void *copy;
    struct strbuf raw = every_scalar();
    struct gguf *gguf = raw_accepted(&raw, &copy);
    uint64_t number;
    double fraction;
    bool flag;
    struct gguf_text text;
    const struct gguf_value *array;
    ll_error error;
    assert_int_equal(gguf_get_uint(gguf, "text", 0, &number, &error), LL_FORMAT);
    assert_string_equal(error.text, "key \"text\" holds text where a whole number is needed; "
                                    "the file is damaged or of an unknown kind");
    assert_int_equal(gguf_get_uint(gguf, "f32", 0, &number, &error), LL_FORMAT);
    assert_int_equal(gguf_get_uint(gguf, "yes", 0, &number, &error), LL_FORMAT);
    assert_int_equal(gguf_get_float(gguf, "yes", 0, &fraction, &error), LL_FORMAT);
    assert_int_equal(gguf_get_float(gguf, "text", 0, &fraction, &error), LL_FORMAT);
    assert_int_equal(gguf_get_bool(gguf, "u8", false, &flag, &error), LL_FORMAT);
    assert_int_equal(gguf_get_text(gguf, "u8", &text, &error), LL_FORMAT);
    assert_int_equal(gguf_get_array(gguf, "u8", GGUF_U8, &array, &error), LL_FORMAT);
    assert_non_null(strstr(error.text, "u8"));
    gguf_close(gguf);
    free(copy);
}

static void present_values_are_found_and_absent_ones_fall_back(void **state)
{
    (void)state;
    void *copy;
    struct strbuf raw = every_scalar();
    struct gguf *gguf = raw_accepted(&raw, &copy);
    double fraction;
    bool flag;
    struct gguf_text text;
    const struct gguf_value *array;
    assert_int_equal(gguf_get_float(gguf, "f32", 9, &fraction, NULL), LL_OK);
    assert_true(fraction == 0.5);
    assert_int_equal(gguf_get_float(gguf, "f64", 9, &fraction, NULL), LL_OK);
    assert_true(fraction == 1e300);
    assert_int_equal(gguf_get_float(gguf, "i8", 9, &fraction, NULL), LL_OK);
    assert_true(fraction == -2);
    assert_int_equal(gguf_get_float(gguf, "none", 9, &fraction, NULL), LL_OK);
    assert_true(fraction == 9);
    assert_int_equal(gguf_get_bool(gguf, "yes", false, &flag, NULL), LL_OK);
    assert_true(flag);
    assert_int_equal(gguf_get_bool(gguf, "no", true, &flag, NULL), LL_OK);
    assert_false(flag);
    assert_int_equal(gguf_get_bool(gguf, "none", true, &flag, NULL), LL_OK);
    assert_true(flag);
    assert_int_equal(gguf_get_text(gguf, "text", &text, NULL), LL_OK);
    assert_int_equal(text.length, 7);
    assert_memory_equal(text.text, "caf\303\251\0!", 7);
    assert_int_equal(gguf_get_text(gguf, "empty", &text, NULL), LL_OK);
    assert_true(gguf_text_equals(text, ""));
    assert_int_equal(gguf_get_text(gguf, "none", &text, NULL), LL_OK);
    assert_null(text.text);
    assert_false(gguf_text_equals(text, ""));
    assert_int_equal(gguf_get_array(gguf, "none", GGUF_U8, &array, NULL), LL_OK);
    assert_null(array);
    gguf_close(gguf);
    free(copy);
}

static void arrays_are_read_by_kind_and_with_their_own_element_size(void **state)
{
    (void)state;
    void *copy;
    struct strbuf raw = raw_header(3, 0, 4);
    float floats[2] = {1.5f, -2.5f};
    raw_array(&raw, "bytes", GGUF_I8, 3);
    strbuf_append(&raw, "\1\377\177", 3);
    raw_array(&raw, "scores", GGUF_F32, 2);
    strbuf_append(&raw, (const char *)floats, 8);
    raw_array(&raw, "names", GGUF_STRING, 3);
    raw_text(&raw, "one", 3);
    raw_text(&raw, "", 0);
    raw_text(&raw, "three", 5);
    raw_array(&raw, "nothing", GGUF_STRING, 0);
    struct gguf *gguf = raw_accepted(&raw, &copy);
    const struct gguf_value *value;
    ll_error error;
    assert_int_equal(gguf_get_array(gguf, "bytes", GGUF_U32, &value, NULL), LL_OK);
    assert_int_equal(value->count, 3);
    assert_int_equal(gguf_array_int(value, 1), -1);
    assert_int_equal(gguf_array_int(value, 2), 127);
    assert_int_equal(gguf_get_array(gguf, "bytes", GGUF_F32, &value, NULL), LL_OK);
    assert_true(gguf_array_float(value, 1) == -1.0);
    assert_int_equal(gguf_get_array(gguf, "scores", GGUF_F32, &value, NULL), LL_OK);
    assert_true(gguf_array_float(value, 0) == 1.5 && gguf_array_float(value, 1) == -2.5);
    assert_int_equal(gguf_get_array(gguf, "scores", GGUF_I32, &value, &error), LL_FORMAT);
    assert_int_equal(gguf_get_array(gguf, "names", GGUF_F32, &value, &error), LL_FORMAT);
    assert_non_null(strstr(error.text, "key \"names\" holds an array, each element text"));
    assert_int_equal(gguf_get_array(gguf, "names", GGUF_STRING, &value, NULL), LL_OK);
    assert_true(gguf_text_equals(gguf_array_text(gguf, value, 0), "one"));
    assert_true(gguf_text_equals(gguf_array_text(gguf, value, 1), ""));
    assert_true(gguf_text_equals(gguf_array_text(gguf, value, 2), "three"));
    assert_int_equal(gguf_get_array(gguf, "nothing", GGUF_STRING, &value, NULL), LL_OK);
    assert_int_equal(value->count, 0);
    gguf_close(gguf);
    free(copy);
}

static void the_files_own_alignment_places_the_tensors(void **state)
{
    (void)state;
    void *copy;
    uint64_t shape[1] = {2};
    struct strbuf raw = raw_header(3, 2, 1);
    raw_key(&raw, "general.alignment", GGUF_U32);
    raw_u32(&raw, 8);
    raw_tensor(&raw, "a", 1, shape, 0, 0);
    raw_tensor(&raw, "b", 1, shape, 0, 8);
    raw_data(&raw, 8, 16);
    size_t length = raw.length;
    struct gguf *gguf = raw_accepted(&raw, &copy);
    assert_ptr_equal(gguf_tensor_find(gguf, "a")->data, (char *)copy + length - 16);
    assert_ptr_equal(gguf_tensor_find(gguf, "b")->data, (char *)copy + length - 8);
    gguf_close(gguf);
    free(copy);
}

static void a_tensor_of_a_type_this_build_cannot_read_is_listed_as_unknown(void **state)
{
    (void)state;
    void *copy;
    uint64_t shape[2] = {256, 3};
    struct strbuf raw = raw_header(3, 1, 0);
    raw_tensor(&raw, "w", 2, shape, 16, 0);
    raw_data(&raw, 32, 252);
    struct gguf *gguf = raw_accepted(&raw, &copy);
    const struct gguf_tensor *tensor = gguf_tensor_at(gguf, 0);
    assert_false(tensor->known);
    assert_int_equal(tensor->type_number, 16);
    assert_int_equal(tensor->bytes, 0);
    assert_int_equal(tensor->shape[1], 3);
    assert_int_equal(tensor->shape[3], 1);
    gguf_close(gguf);
    free(copy);
}

static void what_the_writer_writes_the_reader_reads(void **state)
{
    (void)state;
    struct gguf_writer *writer = gguf_writer_new();
    float floats[6], scores[2] = {0.25f, -1};
    int32_t kinds[2] = {3, -4};
    unsigned char block[34];
    const char *names[2] = {"left", "right"};
    uint64_t wide[2] = {3, 2}, row[1] = {32};
    struct strbuf out = {0};
    for (int i = 0; i < 6; i++)
        floats[i] = (float)unit_below(1000);
    for (size_t i = 0; i < sizeof block; i++)
        block[i] = (unsigned char)unit_random();
    gguf_writer_text(writer, "general.name", "n");
    gguf_writer_u32(writer, "u", 7);
    gguf_writer_f32(writer, "f", 1.5f);
    gguf_writer_bool(writer, "b", true);
    gguf_writer_texts(writer, "names", names, 2);
    gguf_writer_f32s(writer, "scores", scores, 2);
    gguf_writer_i32s(writer, "kinds", kinds, 2);
    gguf_writer_tensor(writer, "plain", DT_F32, 2, wide, floats);
    gguf_writer_tensor(writer, "packed", DT_Q8_0, 1, row, block);
    gguf_writer_finish(writer, &out);
    gguf_writer_free(writer);
    assert_false(out.failed);
    struct gguf *gguf = NULL;
    assert_int_equal(gguf_open_memory(out.text, out.length, &gguf, NULL), LL_OK);
    assert_int_equal(gguf_value_count(gguf), 7);
    assert_true(gguf_text_equals(gguf_value_text(gguf_find(gguf, "general.name")), "n"));
    assert_int_equal(gguf_array_int(gguf_find(gguf, "kinds"), 1), -4);
    assert_true(gguf_array_float(gguf_find(gguf, "scores"), 0) == 0.25);
    assert_true(gguf_text_equals(gguf_array_text(gguf, gguf_find(gguf, "names"), 1), "right"));
    assert_memory_equal(gguf_tensor_find(gguf, "plain")->data, floats, sizeof floats);
    assert_memory_equal(gguf_tensor_find(gguf, "packed")->data, block, sizeof block);
    assert_int_equal(gguf_tensor_find(gguf, "packed")->dtype, DT_Q8_0);
    gguf_close(gguf);
    strbuf_fini(&out);
}

static void a_tensor_that_cannot_be_sized_fails_the_writer(void **state)
{
    (void)state;
    struct gguf_writer *writer = gguf_writer_new();
    uint64_t shape[2] = {33, 1};
    struct strbuf out = {0};
    gguf_writer_tensor(writer, "w", DT_Q4_0, 2, shape, "");
    gguf_writer_finish(writer, &out);
    assert_true(out.failed);
    gguf_writer_free(writer);
    gguf_writer_free(NULL);
    strbuf_fini(&out);
}

/* As large as the largest vocabularies in use; names looked up at random. */
static void a_vocabulary_of_262144_tokens_is_read_at_any_index(void **state)
{
    (void)state;
    enum { COUNT = 262144 };
    char folder[64], wanted[32];
    struct strbuf raw = raw_header(3, 0, 1);
    raw_array(&raw, "tokenizer.ggml.tokens", GGUF_STRING, COUNT);
    for (unsigned i = 0; i < COUNT; i++)
        raw_text(&raw, wanted, (size_t)snprintf(wanted, sizeof wanted, "t%u", i * 7919));
    assert_int_equal(unit_enter_scratch(folder), 0);
    assert_int_equal(file_write("large.gguf", raw.text, raw.length, NULL), LL_OK);
    struct gguf *gguf = NULL;
    assert_int_equal(gguf_open("large.gguf", &gguf, NULL), LL_OK);
    const struct gguf_value *tokens = gguf_find(gguf, "tokenizer.ggml.tokens");
    assert_int_equal(tokens->count, COUNT);
    for (size_t i = 0; i < unit_rounds(5000); i++) {
        unsigned index = (unsigned)unit_below(COUNT);
        snprintf(wanted, sizeof wanted, "t%u", index * 7919);
        assert_true(gguf_text_equals(gguf_array_text(gguf, tokens, index), wanted));
    }
    gguf_close(gguf);
    strbuf_fini(&raw);
    unit_leave_scratch(folder);
}

static void thousands_of_keys_and_tensors_are_each_found_by_name(void **state)
{
    (void)state;
    enum { COUNT = 4000 };
    char name[32];
    void *copy;
    uint64_t shape[1] = {8};
    struct strbuf raw = raw_header(3, COUNT, COUNT);
    for (unsigned i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "key.%u", i);
        raw_key(&raw, name, GGUF_U32);
        raw_u32(&raw, i);
    }
    for (unsigned i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "blk.%u.weight", i);
        raw_tensor(&raw, name, 1, shape, 0, (uint64_t)(COUNT - 1 - i) * 32);
    }
    raw_data(&raw, 32, (size_t)COUNT * 32);
    struct gguf *gguf = raw_accepted(&raw, &copy);
    for (unsigned i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "key.%u", i);
        assert_ptr_equal(gguf_find(gguf, name), gguf_value_at(gguf, i));
        snprintf(name, sizeof name, "blk.%u.weight", i);
        assert_ptr_equal(gguf_tensor_find(gguf, name), gguf_tensor_at(gguf, i));
        assert_string_equal(gguf_tensor_at(gguf, i)->name, name);
    }
    assert_null(gguf_find(gguf, "key.4000"));
    assert_null(gguf_tensor_find(gguf, "blk.4000.weight"));
    gguf_close(gguf);
    free(copy);
}

static void what_is_set_by_hand_stands_before_the_file(void **state)
{
    (void)state;
    static const char *const good[] = {"u32=u32:7",      "new=i32:-3", "single=f32:2.5", "yes=bool:false",
                                       "text=str:a=b:c", "u32=u32:8",  "blank=str:"};
    static const char *const bad[] = {"u32",       "u32=7",     "=u32:7",          "u32=u9:7",
                                      "u32=u32:",  "u32=u32:x", "u32=u32:1x",      "u32=u32:-1",
                                      "f=f32:nan", "b=bool:1",  "i=i32:4294967296"};
    struct strbuf raw = every_scalar();
    void *copy;
    struct gguf *gguf = raw_accepted(&raw, &copy);
    uint64_t number;
    double real;
    bool truth;
    struct gguf_text text;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(gguf_override(gguf, good[i], NULL), LL_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(gguf_override(gguf, bad[i], NULL), LL_ARGUMENT);
    assert_int_equal(gguf_get_uint(gguf, "u32", 0, &number, NULL), LL_OK);
    assert_int_equal(number, 8); /* the last one wins */
    assert_int_equal(gguf_get_uint(gguf, "u16", 0, &number, NULL), LL_OK);
    assert_int_equal(number, 65535);
    assert_int_equal(gguf_array_int(gguf_find(gguf, "new"), 0), -3);
    assert_int_equal(gguf_get_float(gguf, "single", 0, &real, NULL), LL_OK);
    assert_true(real == 2.5);
    assert_int_equal(gguf_get_bool(gguf, "yes", true, &truth, NULL), LL_OK);
    assert_false(truth);
    assert_int_equal(gguf_get_text(gguf, "text", &text, NULL), LL_OK);
    assert_true(gguf_text_equals(text, "a=b:c"));
    assert_int_equal(gguf_get_text(gguf, "blank", &text, NULL), LL_OK);
    assert_true(text.text && text.length == 0);
    gguf_close(gguf);
    free(copy);
}

int main(void)
{
    unit_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_versions_open_and_say_which_they_are),
        cmocka_unit_test(every_integer_type_is_taken_for_a_size_and_negative_ones_are_refused),
        cmocka_unit_test(each_getter_refuses_what_cannot_hold_its_meaning_and_names_the_key),
        cmocka_unit_test(present_values_are_found_and_absent_ones_fall_back),
        cmocka_unit_test(arrays_are_read_by_kind_and_with_their_own_element_size),
        cmocka_unit_test(the_files_own_alignment_places_the_tensors),
        cmocka_unit_test(a_tensor_of_a_type_this_build_cannot_read_is_listed_as_unknown),
        cmocka_unit_test(what_the_writer_writes_the_reader_reads),
        cmocka_unit_test(a_tensor_that_cannot_be_sized_fails_the_writer),
        cmocka_unit_test(a_vocabulary_of_262144_tokens_is_read_at_any_index),
        cmocka_unit_test(what_is_set_by_hand_stands_before_the_file),
        cmocka_unit_test(thousands_of_keys_and_tensors_are_each_found_by_name),
    };
    return cmocka_run_group_tests_name("gguf", tests, NULL, NULL);
}
