/* Streaming: whole characters out, stop strings never shown, no more held back than must be.
 * SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/utf8.h"
#include "text/stream.h"

/* ---- the plain answer: everything known at once ---------------------------------------------- */

/* Bytes before the first place where a stop string is complete (the longest of those complete there). */
static size_t cut_at_stop(const char *text, size_t length, const char *const *stop, size_t count,
                          bool *ret_stopped)
{
    *ret_stopped = false;
    for (size_t end = 1; end <= length; end++) {
        size_t best = 0;
        for (size_t i = 0; i < count; i++) {
            size_t size = strlen(stop[i]);
            if (size && size <= end && size > best && memcmp(text + end - size, stop[i], size) == 0)
                best = size;
        }
        if (best) {
            *ret_stopped = true;
            return end - best;
        }
    }
    return length;
}

/* Unicode's table of well-formed sequences (3-7), written out; U+FFFD for each longest broken beginning. */
static size_t character(const unsigned char *s, size_t length, bool *ret_good)
{
    unsigned char low = 0x80, high = 0xBF;
    size_t need = s[0] < 0x80 ? 1 : s[0] < 0xC2 ? 0 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : s[0] < 0xF5 ? 4 : 0;
    low = s[0] == 0xE0 ? 0xA0 : s[0] == 0xF0 ? 0x90 : low;
    high = s[0] == 0xED ? 0x9F : s[0] == 0xF4 ? 0x8F : high;
    *ret_good = need == 1;
    if (need < 2)
        return 1;
    for (size_t i = 1; i < need; i++, low = 0x80, high = 0xBF)
        if (i >= length || s[i] < low || s[i] > high)
            return i;
    *ret_good = true;
    return need;
}

static struct strbuf mended(const char *text, size_t length)
{
    struct strbuf out = {0};
    strbuf_puts(&out, "");
    for (size_t at = 0, step; at < length; at += step) {
        bool good;
        step = character((const unsigned char *)text + at, length - at, &good);
        strbuf_append(&out, good ? text + at : "\xEF\xBF\xBD", good ? step : 3);
    }
    return out;
}

/* ---- random streams ------------------------------------------------------------------------- */

static size_t random_text(char *text, size_t most)
{
    static const char *const parts[] = {"a",
                                        "b",
                                        "ab",
                                        "ba",
                                        "\n",
                                        "<|",
                                        "|>",
                                        "end",
                                        "\xC3\xA9",
                                        "\xE6\xBC\xA2",
                                        "\xF0\x9F\x91\x8D",
                                        "\xF0\x9F",
                                        "\xE6",
                                        "\x80",
                                        "\xFF",
                                        "\xC0",
                                        "\xED\xA0",
                                        ""};
    size_t used = 0, wanted = unit_below(most - 4);
    while (used < wanted) {
        const char *part = parts[unit_below(sizeof parts / sizeof *parts)];
        size_t size = strlen(part);
        memcpy(text + used, part, size);
        used += size;
        if (size == 0)
            text[used++] = (char)unit_random();
    }
    return used;
}

static size_t push_in_chunks(struct text_stream *stream, const char *text, size_t length,
                             struct strbuf *shown, size_t longest_stop)
{
    size_t pushed = 0;
    while (pushed < length && !stream->stopped) {
        size_t chunk = 1 + unit_below(length - pushed < 7 ? length - pushed : 7);
        text_stream_push(stream, text + pushed, chunk);
        pushed += chunk;
        assert_true(utf8_valid(strbuf_text(&stream->out), stream->out.length));
        strbuf_append(shown, strbuf_text(&stream->out), stream->out.length);
        assert_true(stream->held.length <= (longest_stop ? longest_stop - 1 : 0) + 3);
    }
    return pushed;
}

static void any_chunks_give_the_text_up_to_the_first_stop(void **state)
{
    (void)state;
    static const char *const stops[] = {"ab",
                                        "<|end|>",
                                        "b\n",
                                        "aba",
                                        "\xC3\xA9",
                                        "bba",
                                        "\xF0\x9F\x91\x8D"
                                        "a",
                                        "",
                                        "|"};
    size_t stopped_runs = 0, rounds = unit_rounds(4000);
    for (size_t round = 0; round < rounds; round++) {
        const char *stop[3];
        char text[120];
        size_t count = unit_below(4), longest = 0, length = random_text(text, sizeof text);
        for (size_t i = 0; i < count; i++) {
            stop[i] = stops[unit_below(sizeof stops / sizeof *stops)];
            longest = strlen(stop[i]) > longest ? strlen(stop[i]) : longest;
        }
        bool stopped;
        struct strbuf wanted = mended(text, cut_at_stop(text, length, stop, count, &stopped)), shown = {0};
        struct text_stream stream;
        text_stream_init(&stream, stop, count);
        push_in_chunks(&stream, text, length, &shown, longest);
        assert_int_equal(stream.stopped, stopped);
        text_stream_finish(&stream);
        strbuf_append(&shown, strbuf_text(&stream.out), stream.out.length);
        assert_int_equal(shown.length, wanted.length);
        assert_memory_equal(strbuf_text(&shown), wanted.text, wanted.length);
        stopped_runs += stopped;
        strbuf_fini(&wanted);
        strbuf_fini(&shown);
        text_stream_fini(&stream);
    }
    assert_true(stopped_runs > rounds / 20 && stopped_runs < rounds);
}

/* ---- single cases --------------------------------------------------------------------------- */

static const char *push(struct text_stream *stream, const char *text)
{
    text_stream_push(stream, text, strlen(text));
    return strbuf_text(&stream->out);
}

static void a_character_split_over_tokens_comes_out_once_and_whole(void **state)
{
    (void)state;
    struct text_stream stream;
    text_stream_init(&stream, NULL, 0);
    assert_string_equal(push(&stream, "x\xF0\x9F"), "x");
    assert_string_equal(push(&stream, "\x91"), "");
    assert_string_equal(push(&stream, "\x8D!"), "\xF0\x9F\x91\x8D!");
    text_stream_fini(&stream);
}

static void the_head_of_a_stop_string_is_held_and_given_out_when_it_was_none(void **state)
{
    (void)state;
    static const char *const stop[] = {"###"};
    struct text_stream stream;
    text_stream_init(&stream, stop, 1);
    assert_string_equal(push(&stream, "a##"), "a");
    assert_string_equal(push(&stream, "b#"), "##b");
    text_stream_finish(&stream);
    assert_string_equal(strbuf_text(&stream.out), "#");
    text_stream_fini(&stream);
}

static void nothing_of_a_stop_string_or_after_it_is_shown(void **state)
{
    (void)state;
    static const char *const stop[] = {"\nUser:"};
    struct text_stream stream;
    text_stream_init(&stream, stop, 1);
    assert_string_equal(push(&stream, "Yes.\nUs"), "Yes.");
    assert_string_equal(push(&stream, "er: and more"), "");
    assert_true(stream.stopped);
    assert_string_equal(push(&stream, "late"), "");
    text_stream_finish(&stream);
    assert_string_equal(strbuf_text(&stream.out), "");
    text_stream_fini(&stream);
}

static void text_without_stop_strings_is_not_delayed(void **state)
{
    (void)state;
    struct text_stream stream;
    text_stream_init(&stream, NULL, 0);
    assert_string_equal(push(&stream, "one "), "one ");
    assert_int_equal(stream.held.length, 0);
    text_stream_fini(&stream);
}

static void a_character_cut_at_the_end_is_shown_as_broken(void **state)
{
    (void)state;
    struct text_stream stream;
    text_stream_init(&stream, NULL, 0);
    assert_string_equal(push(&stream, "\xE6\xBC"), "");
    text_stream_finish(&stream);
    assert_string_equal(strbuf_text(&stream.out), "\xEF\xBF\xBD");
    text_stream_fini(&stream);
}

static int seed(void **state)
{
    (void)state;
    unit_seed();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_chunks_give_the_text_up_to_the_first_stop),
        cmocka_unit_test(a_character_split_over_tokens_comes_out_once_and_whole),
        cmocka_unit_test(the_head_of_a_stop_string_is_held_and_given_out_when_it_was_none),
        cmocka_unit_test(nothing_of_a_stop_string_or_after_it_is_shown),
        cmocka_unit_test(text_without_stop_strings_is_not_delayed),
        cmocka_unit_test(a_character_cut_at_the_end_is_shown_as_broken),
    };
    return cmocka_run_group_tests_name("stream", tests, seed, NULL);
}
