/* Damaged and hostile GGUF files: each lie is refused with a sentence that names it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/raw_gguf.h"

#include "base/file.h"
#include "toy/toy_model.h"

enum { F32 = 0, Q4_0 = 2, Q6_K = 14 };

/* ---- not a GGUF at all ---- */

static void files_people_have_instead_of_a_model_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t length;
        const char *words;
    } strangers[] = {
#define STRANGER(bytes, words) {bytes, sizeof bytes - 1, words}
        STRANGER("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 92\n", "Git LFS pointer"),
        STRANGER("<!DOCTYPE html><html>", "web page"),
        STRANGER("\n  <html lang=en>", "web page"),
        STRANGER("<?xml version=\"1.0\"?><Error>AccessDenied</Error>", "web server"),
        STRANGER("PK\003\004archive/data.pkl", "zip archive or a PyTorch"),
        STRANGER("\037\213\010\0\0\0", "gunzip"),
        STRANGER("\020\0\0\0\0\0\0\0{\"a\":{\"dtype\":1}", "safetensors"),
        STRANGER("tjgg\003\0\0\0", "GGJT"),
        STRANGER("\200\002}q\001", "pickle"),
        STRANGER("%PDF-1.7\n", "PDF"),
        STRANGER("{\"architectures\": [\"LlamaForCausalLM\"]}", "JSON"),
        STRANGER("\177ELF\002\001\001\0", "program"),
        STRANGER("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", "unfinished download"),
        STRANGER("Entry not found", "plain text"),
        STRANGER("\336\255\276\357\001\002\003", "unknown kind"),
        STRANGER("GG", "plain text"),
        STRANGER("FUGG\0\0\0\003", "big-endian"),
#undef STRANGER
    };
    for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
        struct strbuf raw = {0};
        bool endian = strstr(strangers[i].words, "endian");
        strbuf_append(&raw, strangers[i].bytes, strangers[i].length);
        raw_refused(&raw, endian ? LL_UNSUPPORTED : LL_FORMAT, strangers[i].words);
    }
}

static void an_empty_file_a_folder_and_a_missing_file_are_refused_by_name(void **state)
{
    (void)state;
    char folder[64];
    struct gguf *gguf = NULL;
    ll_error error;
    assert_int_equal(unit_enter_scratch(folder), 0);
    assert_int_equal(file_write("empty.gguf", "", 0, NULL), LL_OK);
    assert_int_equal(gguf_open("empty.gguf", &gguf, &error), LL_FORMAT);
    assert_non_null(strstr(error.text, "empty"));
    assert_int_equal(gguf_open(".", &gguf, &error), LL_FORMAT);
    assert_int_equal(gguf_open("none.gguf", &gguf, &error), LL_NOT_FOUND);
    assert_int_equal(file_write("page.gguf", "<html>", 6, NULL), LL_OK);
    assert_int_equal(gguf_open("page.gguf", &gguf, &error), LL_FORMAT);
    assert_string_equal(error.where, "page.gguf");
    assert_int_equal(gguf_open("page.gguf", &gguf, NULL), LL_FORMAT);
    assert_null(gguf);
    unit_leave_scratch(folder);
}

/* ---- header ---- */

static void other_versions_are_refused_by_number(void **state)
{
    (void)state;
    struct strbuf raw = raw_header(1, 0, 0);
    raw_refused(&raw, LL_UNSUPPORTED, "version 1");
    raw = raw_header(4, 0, 0);
    raw_refused(&raw, LL_UNSUPPORTED, "version 4");
    raw = raw_header(0, 0, 0);
    raw_refused(&raw, LL_FORMAT, "version 0");
    raw = raw_header(0x03000000, 0, 0);
    raw_refused(&raw, LL_UNSUPPORTED, "big-endian GGUF file (version 3)");
}

static void counts_that_the_file_cannot_hold_are_refused_before_any_memory_is_taken(void **state)
{
    (void)state;
    static const uint64_t counts[] = {1, 2, 1u << 20, (uint64_t)1 << 32, (uint64_t)1 << 61, UINT64_MAX};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct strbuf raw = raw_header(3, 0, counts[i]);
        raw_refused(&raw, LL_FORMAT, "keys but only 0 bytes follow");
        raw = raw_header(3, counts[i], 0);
        raw_refused(&raw, LL_FORMAT, "tensors but only 0 bytes follow");
    }
}

/* ---- keys and values ---- */

static void a_key_without_a_name_is_refused(void **state)
{
    (void)state;
    struct strbuf raw = raw_header(3, 0, 1);
    raw_key(&raw, "", GGUF_U32);
    raw_u32(&raw, 1);
    raw_u32(&raw, 1);
    raw_refused(&raw, LL_FORMAT, "key 1 of 1 (at byte 24) has an empty name");
}

static void a_key_longer_than_65535_bytes_is_refused_and_the_longest_is_read(void **state)
{
    (void)state;
    for (size_t length = 65535; length <= 65536; length++) {
        struct strbuf raw = raw_header(3, 0, 1);
        char *key = malloc(length + 1);
        memset(key, 'k', length);
        key[length] = '\0';
        raw_key(&raw, key, GGUF_U32);
        raw_u32(&raw, 7);
        if (length == 65535) {
            void *copy;
            struct gguf *gguf = raw_accepted(&raw, &copy);
            assert_non_null(gguf_find(gguf, key));
            gguf_close(gguf);
            free(copy);
        } else
            raw_refused(&raw, LL_FORMAT, "65536 bytes");
        free(key);
    }
}

static void a_nul_byte_in_a_name_is_refused(void **state)
{
    (void)state;
    struct strbuf raw = raw_header(3, 0, 1);
    raw_text(&raw, "a\0b", 3);
    raw_u32(&raw, GGUF_U32);
    raw_u32(&raw, 1);
    raw_refused(&raw, LL_FORMAT, "NUL byte");
    uint64_t shape[1] = {4};
    raw = raw_header(3, 1, 0);
    raw_text(&raw, "w\0x", 3);
    raw_u32(&raw, 1);
    raw_u64(&raw, shape[0]);
    raw_u32(&raw, F32);
    raw_u64(&raw, 0);
    raw_data(&raw, 32, 16);
    raw_refused(&raw, LL_FORMAT, "NUL byte");
}

static void a_key_that_occurs_twice_is_refused(void **state)
{
    (void)state;
    struct strbuf raw = raw_header(3, 0, 3);
    raw_key(&raw, "a.b", GGUF_U32);
    raw_u32(&raw, 1);
    raw_key(&raw, "a.c", GGUF_U32);
    raw_u32(&raw, 1);
    raw_key(&raw, "a.b", GGUF_U32);
    raw_u32(&raw, 2);
    raw_refused(&raw, LL_FORMAT, "key \"a.b\" (at byte 70) occurs twice");
}

static void a_key_that_drives_the_terminal_is_shown_harmless(void **state)
{
    (void)state;
    struct strbuf raw = raw_header(3, 0, 1);
    raw_key(&raw, "\033]52;c;AAAA\a", 99);
    raw_u32(&raw, 0);
    struct gguf *gguf = NULL;
    ll_error error;
    assert_int_equal(gguf_open_memory(raw.text, raw.length, &gguf, &error), LL_FORMAT);
    assert_non_null(strstr(error.text, "unknown value type 99"));
    assert_null(strchr(error.text, 033));
    assert_null(strchr(error.text, 7));
    strbuf_fini(&raw);
}

static void text_longer_than_the_file_is_refused(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {2, (uint64_t)1 << 33, (uint64_t)1 << 63, UINT64_MAX, UINT64_MAX - 7};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct strbuf raw = raw_header(3, 0, 1);
        raw_key(&raw, "general.name", GGUF_STRING);
        raw_u64(&raw, lengths[i]);
        strbuf_putc(&raw, 'x');
        raw_refused(&raw, LL_FORMAT, "key \"general.name\"");
    }
}

static void arrays_longer_than_the_file_are_refused_whatever_their_elements(void **state)
{
    (void)state;
    static const uint64_t counts[] = {4, (uint64_t)1 << 31, (uint64_t)1 << 60, (uint64_t)1 << 61, UINT64_MAX};
    for (uint32_t element = GGUF_U8; element <= GGUF_F64; element++)
        for (size_t i = 0; i < sizeof counts / sizeof counts[0] && element != GGUF_ARRAY; i++) {
            struct strbuf raw = raw_header(3, 0, 1);
            raw_array(&raw, "a.list", element, counts[i]);
            strbuf_append(&raw, "\0\0\0", 3);
            raw_refused(&raw, LL_FORMAT, "key \"a.list\"");
        }
}

static void arrays_of_arrays_and_unknown_types_are_refused(void **state)
{
    (void)state;
    struct strbuf raw = raw_header(3, 0, 1);
    raw_array(&raw, "a.list", GGUF_ARRAY, 1);
    raw_u32(&raw, GGUF_U8);
    raw_u64(&raw, 0);
    raw_refused(&raw, LL_UNSUPPORTED, "array of arrays");
    raw = raw_header(3, 0, 1);
    raw_array(&raw, "a.list", 13, 0);
    raw_refused(&raw, LL_FORMAT, "unknown value type 13");
    raw = raw_header(3, 0, 1);
    raw_key(&raw, "a", UINT32_MAX);
    raw_u64(&raw, 0);
    raw_refused(&raw, LL_FORMAT, "unknown value type 4294967295");
}

static void truth_values_other_than_0_and_1_are_refused(void **state)
{
    (void)state;
    struct strbuf raw = raw_header(3, 0, 1);
    raw_key(&raw, "a.flag", GGUF_BOOL);
    strbuf_putc(&raw, 2);
    raw_refused(&raw, LL_FORMAT, "truth value of 2");
    raw = raw_header(3, 0, 1);
    raw_array(&raw, "a.flags", GGUF_BOOL, 3);
    strbuf_append(&raw, "\0\1\377", 3);
    raw_refused(&raw, LL_FORMAT, "truth value of 255");
}

static void odd_alignments_are_refused(void **state)
{
    (void)state;
    static const uint32_t odd[] = {0, 1, 4, 7, 24, 33, 1u << 21, 1u << 30, UINT32_MAX};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        struct strbuf raw = raw_header(3, 0, 1);
        raw_key(&raw, "general.alignment", GGUF_U32);
        raw_u32(&raw, odd[i]);
        raw_refused(&raw, LL_FORMAT, "a power of two from 8");
    }
    struct strbuf raw = raw_header(3, 0, 1);
    raw_key(&raw, "general.alignment", GGUF_U64);
    raw_u64(&raw, 32);
    raw_refused(&raw, LL_FORMAT, "32-bit whole number");
    raw = raw_header(3, 0, 1);
    raw_array(&raw, "general.alignment", GGUF_U32, 0);
    raw_refused(&raw, LL_FORMAT, "32-bit whole number");
}

/* ---- tensors ---- */

static struct strbuf one_tensor(uint32_t dims, const uint64_t *shape, uint32_t type, uint64_t offset,
                                size_t data)
{
    struct strbuf raw = raw_header(3, 1, 0);
    raw_tensor(&raw, "w", dims, shape, type, offset);
    raw_data(&raw, 32, data);
    return raw;
}

static void tensors_have_one_to_four_dimensions(void **state)
{
    (void)state;
    uint64_t shape[6] = {1, 1, 1, 1, 1, 1};
    for (uint32_t dims = 0; dims <= 6; dims++) {
        struct strbuf raw = one_tensor(dims, shape, F32, 0, 4);
        if (dims >= 1 && dims <= 4) {
            void *copy;
            struct gguf *gguf = raw_accepted(&raw, &copy);
            assert_int_equal(gguf_tensor_at(gguf, 0)->dims, dims);
            gguf_close(gguf);
            free(copy);
        } else
            raw_refused(&raw, LL_FORMAT, "1 to 4 are allowed");
    }
    struct strbuf raw = raw_header(3, 1, 0);
    raw_text(&raw, "w", 1);
    raw_u32(&raw, UINT32_MAX);
    raw_data(&raw, 32, 64);
    raw_refused(&raw, LL_FORMAT, "4294967295 dimensions");
}

static void a_dimension_of_zero_is_refused(void **state)
{
    (void)state;
    for (int place = 0; place < 4; place++) {
        uint64_t shape[4] = {32, 2, 2, 2};
        shape[place] = 0;
        struct strbuf raw = one_tensor(4, shape, Q4_0, 0, 64);
        raw_refused(&raw, LL_FORMAT, "dimension of 0");
    }
}

static void products_of_dimensions_that_wrap_are_refused(void **state)
{
    (void)state;
    static const uint64_t shapes[][4] = {
        {((uint64_t)1 << 42) + 1, (uint64_t)1 << 22, 1, 1}, /* wraps to 2^22 */
        {(uint64_t)1 << 32, (uint64_t)1 << 32, 1, 1},       /* wraps to 0 */
        {(uint64_t)1 << 16, (uint64_t)1 << 16, (uint64_t)1 << 16, (uint64_t)1 << 16},
        {UINT64_MAX, 1, 1, 1},
        {(uint64_t)1 << 63, 1, 1, 1},
        {3, UINT64_MAX / 3, 1, 1},
        {(uint64_t)1 << 62, 1, 1, 1}, /* the count holds, the bytes wrap to 0 */
        {((uint64_t)1 << 62) + 8, 1, 1, 1},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct strbuf raw = one_tensor(4, shapes[i], F32, 0, 128);
        raw_refused(&raw, LL_FORMAT, "than any file holds");
    }
}

static void a_row_that_blocks_do_not_divide_is_refused(void **state)
{
    (void)state;
    uint64_t shape[2] = {48, 2}, wide[2] = {288, 1};
    struct strbuf raw = one_tensor(2, shape, Q4_0, 0, 64);
    raw_refused(&raw, LL_FORMAT, "no multiple of the 32 that type Q4_0");
    raw = one_tensor(2, wide, Q6_K, 0, 512);
    raw_refused(&raw, LL_FORMAT, "no multiple of the 256 that type Q6_K");
}

static void a_tensor_larger_than_the_file_is_refused_with_the_number_of_missing_bytes(void **state)
{
    (void)state;
    uint64_t shape[1] = {16};
    struct strbuf raw = one_tensor(1, shape, F32, 0, 60);
    raw_refused(&raw, LL_FORMAT, "4 bytes are missing");
    raw = one_tensor(1, shape, F32, 64, 64);
    raw_refused(&raw, LL_FORMAT, "64 bytes are missing");
    uint64_t huge[1] = {(uint64_t)1 << 60};
    raw = one_tensor(1, huge, F32, 0, 64);
    raw_refused(&raw, LL_FORMAT, "bytes are missing");
}

static void places_that_wrap_around_are_refused(void **state)
{
    (void)state;
    uint64_t shape[1] = {16};
    static const uint64_t offsets[] = {UINT64_MAX - 31, (uint64_t)1 << 63, UINT64_MAX - 127,
                                       UINT64_MAX - 255};
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        struct strbuf raw = one_tensor(1, shape, F32, offsets[i], 256);
        raw_refused(&raw, LL_FORMAT, "bytes are missing");
        raw = one_tensor(1, shape, 99, offsets[i], 256); /* size unknown */
        raw_refused(&raw, LL_FORMAT, "bytes are missing");
    }
}

static void a_place_that_is_not_aligned_is_refused(void **state)
{
    (void)state;
    uint64_t shape[1] = {1};
    struct strbuf raw = one_tensor(1, shape, F32, 4, 64);
    raw_refused(&raw, LL_FORMAT, "no multiple of the file's alignment of 32");
}

static void tensor_names_are_1_to_64_bytes(void **state)
{
    (void)state;
    char name[66] = {0};
    uint64_t shape[1] = {1};
    for (size_t length = 0; length <= 65; length++) {
        memset(name, 'n', length);
        struct strbuf raw = raw_header(3, 1, 0);
        raw_tensor(&raw, name, 1, shape, F32, 0);
        raw_data(&raw, 32, 4);
        if (length == 0)
            raw_refused(&raw, LL_FORMAT, "empty name");
        else if (length == 65)
            raw_refused(&raw, LL_FORMAT, "65 bytes");
        else {
            void *copy;
            struct gguf *gguf = raw_accepted(&raw, &copy);
            assert_non_null(gguf_tensor_find(gguf, name));
            gguf_close(gguf);
            free(copy);
        }
    }
}

static void a_tensor_that_occurs_twice_is_refused(void **state)
{
    (void)state;
    uint64_t shape[1] = {8};
    struct strbuf raw = raw_header(3, 2, 0);
    raw_tensor(&raw, "w", 1, shape, F32, 0);
    raw_tensor(&raw, "w", 1, shape, F32, 32);
    raw_data(&raw, 32, 64);
    raw_refused(&raw, LL_FORMAT, "tensor \"w\" (at byte 57) occurs twice");
}

static void tensors_may_share_all_their_bytes_but_not_some(void **state)
{
    (void)state;
    uint64_t shape[1] = {16}, half[1] = {8};
    void *copy;
    struct strbuf raw = raw_header(3, 2, 0);
    raw_tensor(&raw, "a", 1, shape, F32, 0);
    raw_tensor(&raw, "b", 1, shape, F32, 0);
    raw_data(&raw, 32, 64);
    struct gguf *gguf = raw_accepted(&raw, &copy);
    assert_ptr_equal(gguf_tensor_find(gguf, "a")->data, gguf_tensor_find(gguf, "b")->data);
    gguf_close(gguf);
    free(copy);
    for (uint64_t offset = 0; offset <= 32; offset += 32) {
        raw = raw_header(3, 3, 0);
        raw_tensor(&raw, "b", 1, half, F32, offset);
        raw_tensor(&raw, "c", 1, shape, F32, 64);
        raw_tensor(&raw, "a", 1, shape, F32, 0);
        raw_data(&raw, 32, 128);
        raw_refused(&raw, LL_FORMAT, "shares part of its bytes");
    }
}

/* ---- any damage at all ---- */

/* Reads everything that an open file hands out; a sanitizer sees a wrong pointer. */
static unsigned touch_everything(const struct gguf *gguf)
{
    unsigned sum = 0;
    for (size_t i = 0; i < gguf_value_count(gguf); i++) {
        const struct gguf_value *value = gguf_value_at(gguf, i);
        bool texts = value->type == GGUF_ARRAY && value->element == GGUF_STRING;
        for (uint64_t k = 0; k < value->count; k++) {
            struct gguf_text text = {0};
            if (texts)
                text = gguf_array_text(gguf, value, k);
            else if (value->type == GGUF_STRING)
                text = gguf_value_text(value);
            else
                sum += (unsigned)gguf_array_int(value, k);
            for (size_t c = 0; c < text.length; c++)
                sum += (unsigned char)text.text[c];
        }
    }
    for (size_t i = 0; i < gguf_tensor_count(gguf); i++) {
        const struct gguf_tensor *tensor = gguf_tensor_at(gguf, i);
        for (uint64_t b = 0; b < tensor->bytes; b++)
            sum += ((const unsigned char *)tensor->data)[b];
    }
    return sum;
}

static struct strbuf small_model(void)
{
    struct toy_model toy = toy_model_defaults("llama");
    struct strbuf bytes = {0};
    toy.layers = 1;
    toy.width = toy.feed_forward = 32;
    toy.head_dim = 8;
    toy.dtype = DT_Q4_0;
    assert_true(toy_model_write(&toy, &bytes));
    return bytes;
}

/* Damage may turn into another valid file, into something unsupported, or into a refusal that names a
 * place; it may never ask for memory that the file could not fill. */
static void open_damaged(const struct strbuf *bytes, size_t length, bool whole)
{
    struct gguf *gguf = NULL;
    ll_error error = {0};
    void *copy;
    ll_status status = raw_open(bytes->text, length, &copy, &gguf, &error);
    if (status == LL_OK && whole)
        print_message("# sum %u\n", touch_everything(gguf));
    else if (status == LL_OK)
        (void)touch_everything(gguf);
    else if ((status != LL_FORMAT && status != LL_UNSUPPORTED) || error.offset < 0 || !error.text[0])
        fail_msg("%s: %s", ll_status_name(status), error.text);
    gguf_close(gguf);
    free(copy);
}

static void a_good_file_cut_at_any_length_is_refused_with_a_sentence(void **state)
{
    (void)state;
    struct strbuf bytes = small_model();
    open_damaged(&bytes, bytes.length, true);
    size_t tail = bytes.length - bytes.length / 3;
    for (size_t length = 0; length<bytes.length; length += length> 12000 && length < tail ? 97 : 1) {
        struct gguf *gguf = NULL;
        ll_error error = {0};
        void *copy;
        ll_status status = raw_open(bytes.text, length, &copy, &gguf, &error);
        /* The padding after the last tensor may be missing. */
        if (length + 32 > bytes.length && status == LL_OK)
            gguf_close(gguf);
        else if (status != LL_FORMAT || error.offset < 0)
            fail_msg("cut at %zu: %s %s", length, ll_status_name(status), error.text);
        free(copy);
    }
    strbuf_fini(&bytes);
}

static void a_good_file_with_random_bytes_changed_never_harms(void **state)
{
    (void)state;
    struct strbuf bytes = small_model();
    char *good = malloc(bytes.length);
    memcpy(good, bytes.text, bytes.length);
    size_t directory = bytes.length < 20000 ? bytes.length : 20000;
    for (size_t round = 0; round < unit_rounds(3000); round++) {
        size_t changes = 1 + unit_below(4), length = unit_below(8) ? bytes.length : unit_below(bytes.length);
        for (size_t i = 0; i < changes; i++) {
            size_t at = unit_below(4) ? unit_below(directory) : unit_below(64);
            static const char hard[] = {0, 1, 0x7F, (char)0x80, (char)0xFF};
            bytes.text[at] = unit_below(2) ? (char)unit_random() : hard[unit_below(sizeof hard)];
        }
        open_damaged(&bytes, length, false);
        if (unit_below(3) == 0)
            memcpy(bytes.text, good, bytes.length);
    }
    free(good);
    strbuf_fini(&bytes);
}

int main(void)
{
    unit_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_people_have_instead_of_a_model_are_named),
        cmocka_unit_test(an_empty_file_a_folder_and_a_missing_file_are_refused_by_name),
        cmocka_unit_test(other_versions_are_refused_by_number),
        cmocka_unit_test(counts_that_the_file_cannot_hold_are_refused_before_any_memory_is_taken),
        cmocka_unit_test(a_key_without_a_name_is_refused),
        cmocka_unit_test(a_key_longer_than_65535_bytes_is_refused_and_the_longest_is_read),
        cmocka_unit_test(a_nul_byte_in_a_name_is_refused),
        cmocka_unit_test(a_key_that_occurs_twice_is_refused),
        cmocka_unit_test(a_key_that_drives_the_terminal_is_shown_harmless),
        cmocka_unit_test(text_longer_than_the_file_is_refused),
        cmocka_unit_test(arrays_longer_than_the_file_are_refused_whatever_their_elements),
        cmocka_unit_test(arrays_of_arrays_and_unknown_types_are_refused),
        cmocka_unit_test(truth_values_other_than_0_and_1_are_refused),
        cmocka_unit_test(odd_alignments_are_refused),
        cmocka_unit_test(tensors_have_one_to_four_dimensions),
        cmocka_unit_test(a_dimension_of_zero_is_refused),
        cmocka_unit_test(products_of_dimensions_that_wrap_are_refused),
        cmocka_unit_test(a_row_that_blocks_do_not_divide_is_refused),
        cmocka_unit_test(a_tensor_larger_than_the_file_is_refused_with_the_number_of_missing_bytes),
        cmocka_unit_test(places_that_wrap_around_are_refused),
        cmocka_unit_test(a_place_that_is_not_aligned_is_refused),
        cmocka_unit_test(tensor_names_are_1_to_64_bytes),
        cmocka_unit_test(a_tensor_that_occurs_twice_is_refused),
        cmocka_unit_test(tensors_may_share_all_their_bytes_but_not_some),
        cmocka_unit_test(a_good_file_cut_at_any_length_is_refused_with_a_sentence),
        cmocka_unit_test(a_good_file_with_random_bytes_changed_never_harms),
    };
    return cmocka_run_group_tests_name("gguf_hostile", tests, NULL, NULL);
}
