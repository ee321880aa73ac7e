/* The console's words: escapes, near misses, human numbers, the meter's line, settings, commands.
 * SPDX-License-Identifier: Apache-2.0 */
#include <locale.h>
#include <math.h>

#include "console/circle.h"
#include "console/command.h"
#include "console/escape.h"
#include "console/human.h"
#include "console/meter.h"
#include "console/settings.h"
#include "console/suggest.h"
#include "unit.h"

/* A letter may mean one thing to one verb and another to the rest. */
static enum verb lowest_verb(unsigned verbs)
{
    return (enum verb)__builtin_ctz(verbs);
}

static void expect_escape(const char *bytes, size_t length, const char *wanted)
{
    struct text out = {0};
    escape_append(&out, bytes, length);
    assert_string_equal(text_string(&out), wanted);
    text_fini(&out);
}

static void controls_are_shown_and_layout_stays(void **state)
{
    (void)state;
    expect_escape("a\tb\nc", 5, "a\tb\nc");
    expect_escape("\033[31m\r\a\177", 8, "␛[31m␍␇␡");
    expect_escape("\xC2\x9B", 2, "\\u009B");
    expect_escape("x\xE2\x80\xAEy", 5, "x\\u202Ey");
    expect_escape("\xFF\xC3", 2, "\\xFF\\xC3");
    expect_escape("é 日本 😀", strlen("é 日本 😀"), "é 日本 😀");
    expect_escape("\0", 1, "␀");
}

static void no_random_bytes_get_an_escape_through(void **state)
{
    (void)state;
    unit_seed();
    for (size_t round = 0; round < unit_rounds(2000); round++) {
        char bytes[64];
        size_t length = unit_below(sizeof bytes);
        for (size_t i = 0; i < length; i++)
            bytes[i] = (char)unit_random();
        struct text shown = {0}, repaired = {0};
        escape_append(&shown, bytes, length);
        escape_repair(&repaired, bytes, length);
        for (size_t at = 0; at < shown.length;) {
            unsigned code = 0;
            size_t size = escape_character(shown.bytes + at, shown.length - at, &code);
            assert_true(size > 0);
            assert_false((code < 0x20 && code != '\t' && code != '\n') || (code >= 0x7F && code < 0xA0));
            at += size;
        }
        for (size_t at = 0; at < repaired.length;) {
            unsigned code;
            size_t size = escape_character(repaired.bytes + at, repaired.length - at, &code);
            assert_true(size > 0);
            at += size;
        }
        text_fini(&shown);
        text_fini(&repaired);
    }
}

static const char *nearest_option(const char *typed)
{
    struct suggestion near;
    suggest_begin(&near, typed);
    for (int i = 0; i < OPTION_COUNT; i++)
        suggest_offer(&near, option_row((enum option)i)->name);
    return near.best;
}

static void near_misses_are_found_and_far_ones_are_not(void **state)
{
    (void)state;
    assert_string_equal(nearest_option("lenght"), "length");
    assert_string_equal(nearest_option("temperature"), "temp");
    assert_string_equal(nearest_option("topk"), "top-k");
    assert_string_equal(nearest_option("ignore_eos"), "ignore-eos");
    assert_null(nearest_option("xyzzy"));
    assert_null(nearest_option(""));
    assert_null(nearest_option("a-name-that-is-much-longer-than-any-option-has-ever-been"));
}

static void numbers_read_as_people_write_them(void **state)
{
    (void)state;
    assert_string_equal(human_count(0).text, "0");
    assert_string_equal(human_count(999).text, "999");
    assert_string_equal(human_count(1000).text, "1,000");
    assert_string_equal(human_count(12345678).text, "12,345,678");
    assert_string_equal(human_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
    assert_string_equal(human_bytes(1023).text, "1023 B");
    assert_string_equal(human_bytes(98362432).text, "93.8 MiB");
    assert_string_equal(human_bytes(UINT64_MAX).text, "16.0 EiB");
    assert_string_equal(human_seconds(0.5).text, "0.50 s");
    assert_string_equal(human_seconds(59.4).text, "59 s");
    assert_string_equal(human_seconds(200).text, "3 min 20 s");
    assert_string_equal(human_seconds(7500).text, "2 h 5 min");
    assert_string_equal(human_seconds(-1).text, "?");
    assert_string_equal(human_seconds(NAN).text, "?");
    assert_string_equal(human_share(0.99999).text, "99.9 %");
    assert_string_equal(human_share(1).text, "100 %");
    assert_string_equal(human_rate(INFINITY).text, "?");
    assert_string_equal(human_bar(0.5, 4, false).text, "##..");
    assert_string_equal(human_bar(7, 3, true).text, "███");
    assert_string_equal(human_bar(-1, 2, false).text, "..");
    assert_true(strlen(human_bar(1, 1000, true).text) < sizeof(struct human));
    assert_string_equal(human_bar(0.01, 4, false).text, "#...");
    assert_string_equal(human_bar(0, 4, false).text, "....");
    assert_string_equal(human_bar(0.99, 4, false).text, "###.");
    assert_string_equal(human_things(1, "window").text, "1 window");
    assert_string_equal(human_things(0, "window").text, "0 windows");
    assert_string_equal(human_things(1200, "window").text, "1,200 windows");
}

/* The bytes after which a text that says this so many times is a circle; 0: it is none. */
static size_t circle_after(const char *line, int times)
{
    struct circle circle = {0};
    size_t bytes = 0;
    for (int i = 0; i < times; i++)
        for (const char *at = line; *at; at++) {
            char byte = *at == '#' ? (char)('0' + i % 10) : *at;
            bytes++;
            if (circle_add(&circle, &byte, 1))
                return bytes;
        }
    return 0;
}

static void a_text_in_a_circle_is_noticed_and_others_are_not(void **state)
{
    (void)state;
    assert_true(circle_after("The sea is blue. ", 100) > 0);
    assert_true(circle_after("#. The lamp was lit by the keeper of the light.\n", 100) > 0);
    assert_true(circle_after("灯台は海を見ている。", 100) > 0);
    assert_true(circle_after("!?! ", 2000) > 0);
    assert_true(circle_after("a", 6000) > 0);
    assert_true(circle_after("#ha", 6000) > 0);
    assert_int_equal(circle_after("The sea is blue. ", 8), 0);
    assert_int_equal(circle_after("| --- | --- |\n", 20), 0);
    struct circle circle = {0};
    for (int i = 0; i < 5000; i++) { /* words of a text that goes on */
        char word[32];
        int length =
            snprintf(word, sizeof word, "%c%c%c ", 'a' + i % 26, 'a' + i / 26 % 26, 'a' + i / 676 % 26);
        assert_false(circle_add(&circle, word, (size_t)length));
    }
}

static void the_meter_says_phase_share_rate_and_time_left(void **state)
{
    (void)state;
    struct meter meter = {.phase = -1, .unicode = false};
    struct text line = {0};
    ll_progress progress = {LL_SUMMARIZING, 5, 20, "window 5 of 20"};
    meter_line(&meter, &line, &progress, 10, 80);
    assert_string_equal(text_string(&line),
                        "summarising: window 5 of 20  ##........  25 %  0.50 windows/s  30 s left");
    text_clear(&line);
    progress = (ll_progress){LL_LOADING, 1 << 20, 0, NULL};
    meter_line(&meter, &line, &progress, 1, 80);
    assert_string_equal(text_string(&line), "loading the model  1,048,576  1.00 MiB/s");
    text_clear(&line);
    progress = (ll_progress){LL_READING, 1, 2, "x\033]0;owned\a"};
    meter_line(&meter, &line, &progress, 0, 20);
    assert_null(strchr(text_string(&line), '\033'));
    text_fini(&line);
}

static void a_line_is_cut_to_whole_characters(void **state)
{
    (void)state;
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        skip();
    assert_int_equal(text_columns("日本a"), 5);
    assert_int_equal(text_fit("日本a", 3), 3);
    assert_int_equal(text_fit("日本a", 4), 6);
    assert_int_equal(text_fit("abc", 10), 3);
    assert_int_equal(text_fit("\xFF\xFF", 1), 1);
}

static bool set(struct settings *settings, enum option option, const char *value)
{
    struct text problem = {0};
    bool ok = settings_set(settings, option, ORIGIN_LINE, 0, value, &problem);
    assert_int_equal(ok, !problem.length);
    text_fini(&problem);
    return ok;
}

static void values_are_checked_by_their_row(void **state)
{
    (void)state;
    struct settings settings;
    assert_true(settings_init(&settings));
    assert_true(set(&settings, OPTION_CONTEXT, "32k"));
    assert_int_equal(settings_count(&settings, OPTION_CONTEXT, 0), 32768);
    assert_false(set(&settings, OPTION_CONTEXT, "32kk"));
    assert_false(set(&settings, OPTION_CONTEXT, "-5"));
    assert_false(set(&settings, OPTION_CONTEXT, ""));
    assert_false(set(&settings, OPTION_CONTEXT, "99999999999999999999"));
    assert_false(set(&settings, OPTION_CONTEXT, "9999999999G"));
    assert_true(set(&settings, OPTION_SEED, "9007199254740992"));
    assert_true(set(&settings, OPTION_TEMP, "1e-1"));
    assert_false(set(&settings, OPTION_TEMP, "inf"));
    assert_false(set(&settings, OPTION_TEMP, "0x1p3"));
    assert_false(set(&settings, OPTION_TEMP, "1,5"));
    assert_true(set(&settings, OPTION_LENGTH, "long"));
    assert_true(set(&settings, OPTION_LENGTH, "75"));
    assert_false(set(&settings, OPTION_LENGTH, "7"));
    assert_true(set(&settings, OPTION_STOP, "one"));
    assert_true(set(&settings, OPTION_STOP, "two"));
    assert_int_equal(settings.values[OPTION_STOP].item_count, 2);
    settings_fini(&settings);
}

static void every_option_is_described_for_some_verb(void **state)
{
    (void)state;
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_row *row = option_row((enum option)i);
        assert_non_null(row->name);
        assert_true(strlen(row->help) > 5);
        assert_true(row->verbs != 0);
        assert_true((row->kind == OPTION_IS_FLAG) == (row->argument == NULL));
        assert_int_equal(option_find(row->name), i);
        if (row->letter)
            assert_int_equal(option_find_letter(row->letter, lowest_verb(row->verbs)), i);
    }
}

static void a_command_takes_the_rest_of_its_line(void **state)
{
    (void)state;
    const char *argument, *near;
    size_t length;
    const char *line = "/load  a file with spaces.pdf  ";
    assert_int_equal(command_parse(IN_REPL, line, strlen(line), &argument, &length, &near), COMMAND_LOAD);
    assert_int_equal(length, strlen("a file with spaces.pdf"));
    assert_memory_equal(argument, "a file with spaces.pdf", length);
    assert_int_equal(command_parse(IN_REPL, "/bye", 4, &argument, &length, &near), COMMAND_COUNT);
    assert_string_equal(near, "quit");
    assert_int_equal(command_parse(IN_REPL, "/laod x", 7, &argument, &length, &near), COMMAND_COUNT);
    assert_string_equal(near, "load");
    assert_int_equal(command_parse(IN_REPL, "/etc/passwd", 11, &argument, &length, &near), COMMAND_COUNT);
    assert_null(near);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(controls_are_shown_and_layout_stays),
        cmocka_unit_test(no_random_bytes_get_an_escape_through),
        cmocka_unit_test(near_misses_are_found_and_far_ones_are_not),
        cmocka_unit_test(numbers_read_as_people_write_them),
        cmocka_unit_test(a_text_in_a_circle_is_noticed_and_others_are_not),
        cmocka_unit_test(the_meter_says_phase_share_rate_and_time_left),
        cmocka_unit_test(a_line_is_cut_to_whole_characters),
        cmocka_unit_test(values_are_checked_by_their_row),
        cmocka_unit_test(every_option_is_described_for_some_verb),
        cmocka_unit_test(a_command_takes_the_rest_of_its_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
