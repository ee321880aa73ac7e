/* Tests of base/utf8 and base/error: every code point, random bytes, cuts, text made safe.
 * SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <utf8proc.h>

#include "base/error.h"
#include "base/utf8.h"

static void every_code_point_survives_a_round_trip(void **state)
{
    (void)state;
    for (int32_t code = 0; code <= 0x10FFFF; code++) {
        if (code >= 0xD800 && code <= 0xDFFF)
            continue;
        char bytes[4];
        size_t step = 0, length = utf8_encode(code, bytes);
        assert_int_equal(utf8_decode(bytes, length, &step), code);
        assert_int_equal(step, length);
        for (size_t cut = 1; cut < length; cut++) {
            assert_int_equal(utf8_whole(bytes, cut), 0);
            assert_int_equal(utf8_decode(bytes, cut, &step), UTF8_BAD);
            assert_int_equal(step, 1);
        }
        assert_int_equal(utf8_whole(bytes, length), length);
    }
}

static void what_is_no_character_is_written_as_the_replacement(void **state)
{
    static const int32_t wrong[] = {-1, 0xD800, 0xDFFF, 0x110000, INT32_MAX, INT32_MIN};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char bytes[4];
        assert_int_equal(utf8_encode(wrong[i], bytes), 3);
        assert_memory_equal(bytes, "\xEF\xBF\xBD", 3);
    }
}

/* Bytes chosen so that long sequences, broken ones and near misses are all common. */
static size_t hostile_bytes(char *bytes, size_t cap)
{
    static const unsigned char pool[] = {0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC2,
                                         0xDF, 0xE0, 0xE2, 0xED, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5, 0xFF};
    size_t length = unit_below(cap);
    for (size_t i = 0; i < length; i++)
        bytes[i] = (char)(unit_below(4) ? pool[unit_below(sizeof pool)] : unit_random());
    return length;
}

static void random_bytes_are_judged_as_utf8proc_judges_them(void **state)
{
    char bytes[12];
    (void)state;
    for (size_t round = 0; round < unit_rounds(300000); round++) {
        size_t length = hostile_bytes(bytes, sizeof bytes), i = 0, step = 0;
        bool valid = true;
        for (; i < length; i += step) {
            utf8proc_int32_t code = -1;
            utf8proc_ssize_t used =
                utf8proc_iterate((const utf8proc_uint8_t *)bytes + i, (utf8proc_ssize_t)(length - i), &code);
            int32_t ours = utf8_decode(bytes + i, length - i, &step);
            assert_int_equal(ours, used < 0 ? UTF8_BAD : code);
            assert_int_equal(step, used < 0 ? 1 : (size_t)used);
            valid = valid && used > 0;
        }
        assert_int_equal(utf8_valid(bytes, length), valid);
    }
}

static void text_made_safe_is_valid_and_moves_no_cursor(void **state)
{
    char bytes[64], shown[80];
    (void)state;
    for (size_t round = 0; round < unit_rounds(50000); round++) {
        size_t length = hostile_bytes(bytes, sizeof bytes), cap = unit_below(sizeof shown + 1), step = 0;
        size_t used = utf8_printable(bytes, length, shown, cap);
        if (cap == 0)
            continue;
        assert_true(used < cap);
        assert_int_equal(shown[used], '\0');
        for (size_t i = 0; i < used; i += step) {
            int32_t code = utf8_decode(shown + i, used - i, &step);
            assert_true(code >= 0x20 && (code < 0x7F || code > 0x9F));
            assert_false((code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069));
        }
    }
    utf8_printable("\033[31m\xE2\x80\xAE", 8, shown, sizeof shown);
    assert_string_equal(shown, "^[[31m<U+202E>");
}

static void a_long_error_is_cut_between_characters(void **state)
{
    (void)state;
    for (size_t lead = 0; lead < 4; lead++) {
        char text[2000] = "";
        memset(text, 'a', lead);
        while (strlen(text) + 5 < sizeof text)
            strcat(text, "\xF0\x9F\x98\x80");
        ll_error error;
        assert_int_equal(error_set(&error, LL_FORMAT, "here", "%s", text), LL_FORMAT);
        assert_true(utf8_valid(error.text, strlen(error.text)));
        assert_true(strlen(error.text) > sizeof error.text - 6);
        assert_int_equal(error.offset, -1);
    }
    assert_int_equal(error_set(NULL, LL_IO, "here", "no record is fine"), LL_IO);
}

static void every_status_has_a_name_and_words(void **state)
{
    (void)state;
    for (int status = LL_INTERNAL; status <= LL_OK; status++) {
        assert_memory_equal(ll_status_name((ll_status)status), "LL_", 3);
        assert_string_not_equal(ll_status_text((ll_status)status), "unknown status");
    }
    assert_string_equal(ll_status_name((ll_status)12345), "unknown status");
}

int main(void)
{
    unit_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point_survives_a_round_trip),
        cmocka_unit_test(what_is_no_character_is_written_as_the_replacement),
        cmocka_unit_test(random_bytes_are_judged_as_utf8proc_judges_them),
        cmocka_unit_test(text_made_safe_is_valid_and_moves_no_cursor),
        cmocka_unit_test(a_long_error_is_cut_between_characters),
        cmocka_unit_test(every_status_has_a_name_and_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
