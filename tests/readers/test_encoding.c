/* Tests of document/encoding: what each kind of bytes becomes, and what a person is told.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/encoding.h"

#include "base/utf8.h"
#include "unit.h"

struct decoded {
    struct strbuf text;
    struct notes notes;
    char encoding[40];
    ll_error error;
    ll_status status;
};

static struct decoded decode(const char *bytes, size_t length, const char *forced)
{
    struct decoded d = {.error.text = ""};
    d.status =
        encoding_decode(bytes, length, forced, "a file", NULL, &d.text, d.encoding, &d.notes, &d.error);
    return d;
}

static void drop(struct decoded *d)
{
    strbuf_fini(&d->text);
    notes_fini(&d->notes);
}

static void expect(const char *bytes, size_t length, const char *forced, const char *text,
                   const char *encoding, size_t notes)
{
    struct decoded d = decode(bytes, length, forced);
    assert_int_equal(d.status, LL_OK);
    assert_string_equal(strbuf_text(&d.text), text);
    assert_string_equal(d.encoding, encoding);
    assert_int_equal(d.notes.count, notes);
    drop(&d);
}

static void plain_text_passes_without_a_note(void **state)
{
    (void)state;
    expect("abc\n", 4, NULL, "abc\n", "ASCII", 0);
    expect("gr\xC3\xBC\xC3\x9F", 6, NULL, "gr\xC3\xBC\xC3\x9F", "UTF-8", 0);
}

static void line_ends_of_all_systems_become_one(void **state)
{
    (void)state;
    expect("a\r\nb\rc\n\r\nd", 10, NULL, "a\nb\nc\n\nd", "ASCII", 0);
}

static void a_byte_order_mark_is_obeyed_and_left_out(void **state)
{
    (void)state;
    expect("\xEF\xBB\xBFhi", 5, NULL, "hi", "UTF-8", 0);
    expect("\xFF\xFEh\0i\0", 6, NULL, "hi", "UTF-16LE", 1);
    expect("\xFE\xFF\0h\0i", 6, NULL, "hi", "UTF-16BE", 1);
    expect("\xFF\xFE\0\0h\0\0\0", 8, NULL, "h", "UTF-32LE", 1);
}

static void utf16_without_a_mark_is_known_by_its_nul_bytes(void **state)
{
    (void)state;
    const char little[] = "H\0e\0l\0l\0o\0 \0y\0o\0u\0.\0", big[] = "\0H\0e\0l\0l\0o\0 \0y\0o\0u\0.";
    expect(little, sizeof little - 1, NULL, "Hello you.", "UTF-16LE", 1);
    expect(big, sizeof big - 1, NULL, "Hello you.", "UTF-16BE", 1);
}

static void surrogate_pairs_of_utf16_become_one_character(void **state)
{
    (void)state;
    expect("\xFF\xFE\x3D\xD8\x00\xDE", 6, NULL, "\xF0\x9F\x98\x80", "UTF-16LE", 1);
}

static void damaged_utf8_keeps_its_good_characters_and_counts_the_bad(void **state)
{
    (void)state;
    struct strbuf bytes = {0};
    for (int i = 0; i < 40; i++)
        strbuf_puts(&bytes, "Stra\xC3\x9F"
                            "e ");
    strbuf_puts(&bytes, "bad:\xFF!");
    struct decoded d = decode(bytes.text, bytes.length, NULL);
    assert_int_equal(d.status, LL_OK);
    assert_string_equal(d.encoding, "UTF-8");
    assert_non_null(strstr(d.text.text, "bad:\xEF\xBF\xBD!"));
    assert_non_null(strstr(d.text.text, "Stra\xC3\x9F"
                                        "e"));
    assert_int_equal(d.notes.count, 1);
    assert_non_null(strstr(d.notes.items[0], "1 broken character"));
    drop(&d);
    strbuf_fini(&bytes);
}

static void utf8_cut_off_inside_its_last_character_stays_utf8(void **state)
{
    (void)state;
    expect("caf\xC3\xA9 \xE2\x80", 8, NULL, "caf\xC3\xA9 \xEF\xBF\xBD", "UTF-8", 1);
    struct decoded d = decode("un caf\xE9", 7, NULL); /* Latin-1 ends like that, too */
    assert_int_equal(d.status, LL_OK);
    assert_string_equal(d.text.text, "un caf\xC3\xA9");
    drop(&d);
}

static void a_broken_byte_in_every_line_does_not_garble_utf8(void **state)
{
    (void)state;
    struct strbuf bytes = {0};
    for (int i = 0; i < 40; i++)
        strbuf_puts(&bytes, "d\xC3\xA9j\xC3\xA0 vu \xE2\x80\x94 na\xC3\xAFve \xFF caf\xC3\xA9\n");
    struct decoded d = decode(bytes.text, bytes.length, NULL);
    assert_int_equal(d.status, LL_OK);
    assert_string_equal(d.encoding, "UTF-8");
    assert_non_null(strstr(d.text.text, "d\xC3\xA9j\xC3\xA0 vu"));
    assert_non_null(strstr(d.notes.items[0], "40 broken characters"));
    drop(&d);
    strbuf_fini(&bytes);
}

static void pairs_of_encoded_surrogates_are_joined_and_lone_ones_replaced(void **state)
{
    (void)state;
    struct strbuf bytes = {0};
    for (int i = 0; i < 200; i++)
        strbuf_puts(&bytes, "\xC3\xA9");
    strbuf_puts(&bytes, "[\xED\xA0\xBD\xED\xB8\x80][\xED\xA0\xBD]");
    struct decoded d = decode(bytes.text, bytes.length, NULL);
    assert_int_equal(d.status, LL_OK);
    assert_non_null(strstr(d.text.text, "[\xF0\x9F\x98\x80][\xEF\xBF\xBD]"));
    assert_int_equal(d.notes.count, 1);
    drop(&d);
    strbuf_fini(&bytes);
}

static void western_bytes_are_read_and_the_guess_is_told(void **state)
{
    (void)state;
    const char *text = "Die gr\xF6\xDFte \xDC"
                       "berraschung f\xFCr m\xFC"
                       "de H\xF6rer war die sch\xF6ne K\xFC"
                       "che.";
    struct decoded d = decode(text, strlen(text), NULL);
    assert_int_equal(d.status, LL_OK);
    assert_string_equal(d.text.text, "Die größte Überraschung für müde Hörer war die schöne Küche.");
    assert_int_equal(d.notes.count, 1);
    assert_non_null(strstr(d.notes.items[0], "not UTF-8"));
    drop(&d);
}

static void japanese_bytes_are_detected(void **state)
{
    (void)state;
    const char text[] =
        "\x93\xFA\x96\x7B\x8C\xEA\x82\xCC\x95\xB6\x8F\xCD\x82\xC5\x82\xB7\x81\x42\x82\xB1\x82\xEA"
        "\x82\xCD\x83\x65\x83\x58\x83\x67\x82\xC5\x82\xB7\x81\x42";
    expect(text, sizeof text - 1, NULL, "日本語の文章です。これはテストです。", "SHIFT_JIS", 1);
}

static void a_named_encoding_is_obeyed_and_an_unknown_one_refused(void **state)
{
    (void)state;
    expect("\xE4", 1, "ISO-8859-15", "ä", "ISO-8859-15", 0);
    struct decoded d = decode("x", 1, "no-such-encoding");
    assert_int_equal(d.status, LL_ARGUMENT);
    assert_non_null(strstr(d.error.text, "no-such-encoding"));
    drop(&d);
}

static void nul_bytes_are_dropped_and_counted(void **state)
{
    (void)state;
    struct decoded d = decode("one\0two three four five six", 27, NULL);
    assert_int_equal(d.status, LL_OK);
    assert_string_equal(d.text.text, "onetwo three four five six");
    assert_int_equal(d.notes.count, 1);
    assert_non_null(strstr(d.notes.items[0], "1 NUL byte"));
    drop(&d);
}

static void bytes_that_are_no_text_are_refused_by_name(void **state)
{
    (void)state;
    char bytes[512];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7 % 32);
    struct decoded d = decode(bytes, sizeof bytes, NULL);
    assert_int_equal(d.status, LL_UNREADABLE);
    assert_non_null(strstr(d.error.text, "a file is not text"));
    drop(&d);
}

static void random_bytes_are_no_text_of_any_encoding(void **state)
{
    (void)state;
    unit_seed();
    char bytes[4096];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)unit_below(256);
    struct decoded d = decode(bytes, sizeof bytes, NULL);
    assert_int_equal(d.status, LL_UNREADABLE);
    assert_non_null(strstr(d.error.text, "binary file"));
    drop(&d);
}

static void any_bytes_give_valid_text_or_a_sentence(void **state)
{
    (void)state;
    unit_seed();
    size_t good = 0;
    for (size_t round = 0; round < unit_rounds(400); round++) {
        char bytes[300];
        size_t length = unit_below(sizeof bytes);
        size_t alphabet = 1 + unit_below(256);
        for (size_t i = 0; i < length; i++)
            bytes[i] = (char)(32 + unit_below(alphabet));
        struct decoded d = decode(bytes, length, NULL);
        assert_true(d.status == LL_OK || d.status == LL_UNREADABLE);
        if (d.status == LL_OK) {
            assert_true(utf8_valid(strbuf_text(&d.text), d.text.length));
            assert_null(d.text.length ? memchr(d.text.text, '\0', d.text.length) : NULL);
            good++;
        } else {
            assert_true(strlen(d.error.text) > 10);
        }
        drop(&d);
    }
    assert_true(good > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_text_passes_without_a_note),
        cmocka_unit_test(line_ends_of_all_systems_become_one),
        cmocka_unit_test(a_byte_order_mark_is_obeyed_and_left_out),
        cmocka_unit_test(utf16_without_a_mark_is_known_by_its_nul_bytes),
        cmocka_unit_test(surrogate_pairs_of_utf16_become_one_character),
        cmocka_unit_test(damaged_utf8_keeps_its_good_characters_and_counts_the_bad),
        cmocka_unit_test(utf8_cut_off_inside_its_last_character_stays_utf8),
        cmocka_unit_test(a_broken_byte_in_every_line_does_not_garble_utf8),
        cmocka_unit_test(pairs_of_encoded_surrogates_are_joined_and_lone_ones_replaced),
        cmocka_unit_test(western_bytes_are_read_and_the_guess_is_told),
        cmocka_unit_test(japanese_bytes_are_detected),
        cmocka_unit_test(a_named_encoding_is_obeyed_and_an_unknown_one_refused),
        cmocka_unit_test(nul_bytes_are_dropped_and_counted),
        cmocka_unit_test(bytes_that_are_no_text_are_refused_by_name),
        cmocka_unit_test(random_bytes_are_no_text_of_any_encoding),
        cmocka_unit_test(any_bytes_give_valid_text_or_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
