/* Tests of document/pick, logline, comment, tally and choose: logs, code, tables and several files.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* mkstemp */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "document/comment.h"
#include "document/logline.h"
#include "document/plan.h"
#include "document/summary.h"
#include "document/toy_llm.h"

static ll_document *open_as(const char *text, const char *kind)
{
    ll_document_options options;
    ll_document *d = NULL;
    ll_error error = {0};
    char path[] = "test_pick-XXXXXX";
    const char *paths[] = {path};
    ll_document_options_init(&options);
    options.kind = kind;
    int file = mkstemp(path);
    assert_true(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text) && close(file) == 0);
    ll_status status = ll_document_open(paths, 1, &options, NULL, &d, &error);
    unlink(path);
    if (status != LL_OK)
        fail_msg("%s", error.text);
    return d;
}

static ll_summary *sum(const ll_document *d, size_t words, const char *focus)
{
    ll_plan_options options;
    ll_plan *plan = NULL;
    ll_summary *summary = NULL;
    ll_error error = {0};
    ll_plan_options_init(&options);
    options.summary_words = words;
    options.focus = focus;
    if (plan_make(d, NULL, &options, NULL, &plan, &error) != LL_OK ||
        summary_make(NULL, plan, NULL, NULL, &summary, &error) != LL_OK)
        fail_msg("%s", error.text);
    ll_plan_free(plan);
    return summary;
}

/* ---- logs -------------------------------------------------------------------------------------- */

static char *make_log(size_t lines, size_t trouble)
{
    struct strbuf text = {0};
    for (size_t i = 0; i < lines; i++) {
        strbuf_printf(&text, "2026-03-01 %02zu:%02zu:%02zu ", i / 3600 % 24, i / 60 % 60, i % 60);
        if (i == trouble)
            strbuf_puts(&text, "FATAL [main] no space left on /var; shutting down\n");
        else if (i == trouble - 2)
            strbuf_puts(&text, "ERROR [db] connection pool exhausted\n");
        else if (i % 3 == 0)
            strbuf_printf(&text, "INFO [auth] user u%zu logged in\n", unit_below(500));
        else
            strbuf_printf(&text, "DEBUG [cache] hit key:%zu\n", unit_below(5000));
    }
    size_t length;
    return strbuf_take(&text, &length);
}

static void the_only_lines_of_trouble_are_in_the_summary_wherever_they_stand(void **state)
{
    (void)state;
    unit_seed();
    for (size_t round = 0; round < unit_rounds(12); round++) {
        size_t lines = 30 + unit_below(1200), trouble = 2 + unit_below(lines - 2);
        char *text = make_log(lines, trouble);
        ll_document *d = open_as(text, "log");
        ll_summary *summary = sum(d, 100, NULL);
        const char *said = ll_summary_text(summary, NULL);
        if (!strstr(said, "FATAL [main] no space left") || !strstr(said, "ERROR [db] connection") ||
            !strstr(said, "1 fatal, 1 error;"))
            fail_msg("trouble at %zu of %zu lines: %s", trouble, lines, said);
        ll_summary_free(summary);
        ll_document_close(d);
        mem_free(text);
    }
}

static void a_focus_brings_the_lines_that_speak_of_it(void **state)
{
    (void)state;
    unit_seed();
    char *text = make_log(90, 40);
    ll_document *d = open_as(text, "log");
    ll_summary *without = sum(d, 20, NULL), *with = sum(d, 20, "auth");
    assert_null(strstr(ll_summary_text(without, NULL), "[auth]"));
    assert_non_null(strstr(ll_summary_text(with, NULL), "[auth]"));
    ll_summary_free(without);
    ll_summary_free(with);
    ll_document_close(d);
    mem_free(text);
}

static void a_line_knows_how_grave_it_is(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        enum severity severity;
    } lines[] = {{"10:00 ERROR disk", SEVERITY_ERROR},
                 {"10:00 INFO 0 errors so far", SEVERITY_NONE},
                 {"kernel: Out of memory: killed process 7", SEVERITY_FATAL},
                 {"[line 12, first of 40 like it] 10:00 WARN slow", SEVERITY_WARNING},
                 {"10:00 INFO terror is the name of a film", SEVERITY_NONE},
                 {"java.io.IOException: closed", SEVERITY_NONE},
                 {"Exception in thread main", SEVERITY_ERROR}};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct logline line;
        logline_read(lines[i].line, strlen(lines[i].line), &line);
        if (line.severity != lines[i].severity)
            fail_msg("“%s” has severity %d", lines[i].line, (int)line.severity);
    }
    struct logline a, b;
    logline_read("[line 12, first of 40 like it] user 7 came", 42, &a);
    logline_read("user 912 came", 13, &b);
    assert_int_equal(a.number, 12);
    assert_int_equal(a.count, 40);
    assert_true(a.shape == b.shape);
}

/* ---- code -------------------------------------------------------------------------------------- */

static void code_is_told_by_its_comments(void **state)
{
    (void)state;
    const char *text =
        "/* Keeps the ledger of the glass works and prints its balance.\n"
        " * SPDX-License-Identifier: Apache-2.0 */\n#include <stdio.h>\n\n"
        "/* Adds one entry to the ledger. Never fails. */\nstatic void ledger_add(int coins)\n{\n"
        "    total += coins; /* not of a line of its own */\n}\n\n"
        "int main(void)\n{\n    ledger_add(3);\n    return 0;\n}\n";
    ll_document *d = open_as(text, "code");
    ll_summary *summary = sum(d, 100, NULL);
    const char *said = ll_summary_text(summary, NULL);
    assert_non_null(strstr(said, "Keeps the ledger of the glass works and prints its balance."));
    assert_null(strstr(said, "SPDX"));
    assert_null(strstr(said, "/*"));
    assert_null(strstr(said, "total +="));
    ll_sentence s;
    assert_int_equal(ll_summary_get_sentence(summary, 0, &s), LL_OK);
    assert_true(s.quoted && s.first_byte == 0);
    ll_summary_free(summary);
    ll_document_close(d);
}

static void comments_are_found_in_many_languages(void **state)
{
    (void)state;
    static const char *const codes[] = {
        "x = 1\n# Counts the sheep\n# by night.\ny = 2\n",
        "int x;\n// Counts the sheep\n// by night.\nint y;\n",
        "int x;\n/* Counts the sheep\n * by night. */\nint y;\n",
        "def f():\n    \"\"\"Counts the sheep\n    by night.\"\"\"\n    pass\n",
        "#include <x>\n#define Y\n-- Counts the sheep\n-- by night.\n"};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        struct comment comment;
        struct strbuf words = {0};
        assert_true(comment_next(codes[i], strlen(codes[i]), 0, &comment));
        comment_text(codes[i], &comment, &words);
        assert_string_equal(strbuf_text(&words), "Counts the sheep by night.");
        assert_false(comment_next(codes[i], strlen(codes[i]), comment.last, &comment));
        strbuf_fini(&words);
    }
}

/* ---- tables ------------------------------------------------------------------------------------ */

static void a_table_is_told_by_its_columns(void **state)
{
    (void)state;
    struct strbuf text = {0};
    strbuf_puts(&text, "date,region,price\n");
    for (size_t i = 0; i < 60; i++)
        strbuf_printf(&text, "2026-01-%02zu,%s,%zu.5\n", 1 + i % 28, i % 2 ? "north" : "south", 3 + i);
    ll_document *d = open_as(strbuf_text(&text), "table");
    ll_summary *summary = sum(d, 200, NULL);
    assert_string_equal(
        ll_summary_text(summary, NULL),
        "A table of 60 rows and 3 columns; date with 28 different values; region: south, north; price "
        "from 3.5 to 62.5.");
    ll_sentence s;
    assert_int_equal(ll_summary_get_sentence(summary, 0, &s), LL_OK);
    assert_true(s.counted && s.supported && !s.quoted);
    ll_summary_free(summary);
    ll_document_close(d);
    strbuf_fini(&text);
}

static void a_small_model_is_not_asked_of_lines(void **state)
{
    (void)state;
    unit_seed();
    char *text = make_log(120, 50);
    ll_document *d = open_as(text, "log");
    struct toy toy = {0};
    struct llm llm = toy_llm(&toy, 135000000, 8192);
    ll_plan *plan = NULL;
    ll_plan_info info;
    ll_error error = {0};
    assert_int_equal(plan_make(d, &llm, NULL, NULL, &plan, &error), LL_OK);
    assert_int_equal(ll_plan_get_info(plan, &info), LL_OK);
    assert_int_equal(info.method, LL_METHOD_EXTRACTIVE);
    assert_int_equal(info.calls, 0);
    ll_plan_free(plan);
    ll_document_close(d);
    mem_free(text);
}

/* ---- manuals and joined documents -------------------------------------------------------------- */

static void a_manual_is_told_by_its_description_not_by_its_options(void **state)
{
    (void)state;
    struct strbuf text = {0};
    strbuf_puts(
        &text,
        "NAME\n\nfold - wraps each line of its input to fit a width\n\nDESCRIPTION\n\nThe program reads "
        "every file and breaks long lines so that each line fits the width. It writes the result to "
        "its standard output.\n\nOPTIONS\n\n");
    for (char c = 'a'; c <= 'z'; c++)
        strbuf_printf(&text, "-%c, --%cine=WIDTH, --file-%c use WIDTH columns for each line of the file.\n\n",
                      c, c, c);
    ll_document *d = open_as(strbuf_text(&text), "text");
    ll_summary *summary = sum(d, 40, NULL);
    assert_non_null(strstr(ll_summary_text(summary, NULL), "breaks long lines"));
    assert_null(strstr(ll_summary_text(summary, NULL), "=WIDTH"));
    ll_summary_free(summary);
    ll_document_close(d);
    strbuf_fini(&text);
}

static void what_is_said_once_goes_before_what_is_said_again_and_again(void **state)
{
    (void)state;
    struct strbuf text = {0};
    for (size_t i = 0; i < 40; i++) {
        strbuf_puts(&text, "The committee met in the usual room and read the minutes. ");
        strbuf_puts(&text, "Several letters on the matter were read aloud and put away again. ");
        if (i == 23)
            strbuf_puts(&text, "In 1975 Anna Kell rebuilt the harbour at a cost of 612 thousand crowns. ");
        strbuf_puts(&text, "Members who had not seen the figures were given copies of them.\n\n");
    }
    ll_document *d = open_as(strbuf_text(&text), "text");
    ll_summary *summary = sum(d, 60, NULL);
    assert_non_null(strstr(ll_summary_text(summary, NULL), "612 thousand crowns"));
    ll_summary_free(summary);
    ll_document_close(d);
    strbuf_fini(&text);
}

static void sentences_of_one_formula_do_not_shut_each_other_out(void **state)
{
    (void)state;
    static const char *const areas[] = {"harbour", "school",  "forest",  "museum",
                                        "market",  "railway", "theatre", "mill"};
    static const char *const names[] = {"Kell", "Lund", "Osei", "Brandt", "Weber", "Hart", "Sole", "Vane"};
    struct strbuf text = {0};
    for (size_t i = 0; i < 8; i++) {
        strbuf_printf(&text, "## The %s\n\n", areas[i]);
        for (size_t k = 0; k < 6; k++)
            strbuf_puts(&text, "The committee met in the usual room and read the minutes. ");
        strbuf_printf(&text, "In %zu Anna %s rebuilt the %s of the town at a cost of %zu thousand crowns. ",
                      1960 + i, names[i], areas[i], 100 + 37 * i);
        for (size_t k = 0; k < 6; k++)
            strbuf_puts(&text, "Several letters on the matter were read aloud and put away again. ");
        strbuf_puts(&text, "\n\n");
    }
    ll_document *d = open_as(strbuf_text(&text), "markdown");
    ll_summary *summary = sum(d, 200, NULL);
    size_t told = 0;
    for (size_t i = 0; i < 8; i++)
        told += strstr(ll_summary_text(summary, NULL), names[i]) != NULL;
    assert_true(told >= 6);
    ll_summary_free(summary);
    ll_document_close(d);
    strbuf_fini(&text);
}

/* Neither its head nor what letters begin and end with, and the small letter below "Dear Bert," is no flaw.
 */
static void a_mail_is_told_by_what_it_says(void **state)
{
    (void)state;
    static const char mail[] =
        "From: Anna Berg <anna@example.org>\nTo: Bert Holm <bert@example.org>, carla@example.org\n"
        "Date: Mon, 3 Mar 2025 10:12:00 +0100\nSubject: Delivery of the kilns\n\nDear Bert,\n\n"
        "the two kilns ordered in January will be delivered on 14 March by the carrier. The invoice of "
        "18,400 "
        "euros has been paid in full. Please see to it that the yard is free from seven in the morning.\n\n"
        "The old kiln is to be taken away the same day. Carla keeps the papers of the customs office.\n\n"
        "Best regards,\nAnna\n--\nAnna Berg, Glassworks Ltd\nTel. +46 555 1234\n";
    for (size_t words = 20; words <= 100; words += 40) {
        ll_document *d = open_as(mail, "mail");
        ll_summary *summary = sum(d, words, NULL);
        const char *said = ll_summary_text(summary, NULL);
        if (!strstr(said, "the two kilns ordered") || strstr(said, "example.org") || strstr(said, "regards"))
            fail_msg("%zu words: %s", words, said);
        ll_summary_free(summary);
        ll_document_close(d);
    }
}

/* As many words as were asked for, though it all is one window. */
static void a_short_text_gives_more_than_two_sentences(void **state)
{
    (void)state;
    static const char text[] = "The bridge over the Lune was built in 1880 by masons from the north. Floods "
                               "took two of its piers in the "
                               "winter of 1902. Iron girders replaced the arches when the railway paid for "
                               "them. A toll of one penny was "
                               "asked of every cart until the war. Engineers found cracks in the eastern "
                               "pier last year. The county has "
                               "set aside nine million for a new crossing. Residents of both banks want the "
                               "old arches to be kept. Work "
                               "is to begin after the floods of the coming spring.\n";
    ll_document *d = open_as(text, "text");
    ll_summary *summary = sum(d, 60, NULL);
    assert_true(ll_summary_sentence_count(summary) > 2);
    ll_summary_free(summary);
    ll_document_close(d);
}

static void joined_documents_keep_their_places(void **state)
{
    (void)state;
    ll_document *parts[2] = {open_as("# One\n\nThe first text has a bell.\n", "markdown"),
                             open_as("# Two\n\n## Deep\n\nThe second text has a drum.\n", "markdown")};
    ll_document *joined = NULL;
    ll_error error = {0};
    ll_place place;
    ll_document_info info;
    assert_int_equal(ll_document_join((const ll_document *const *)parts, 2, &joined, &error), LL_OK);
    ll_document_close(parts[0]);
    ll_document_close(parts[1]);
    const char *text = ll_document_text(joined, NULL), *drum = strstr(text, "The second");
    assert_non_null(drum);
    size_t first = (size_t)(drum - text);
    assert_int_equal(ll_document_get_place(joined, first, first + 27, &place), LL_OK);
    assert_int_equal(place.file, 1);
    assert_true(place.in_file);
    assert_int_equal(place.first_byte, 16);
    assert_int_equal(place.last_byte, 43);
    ll_document_get_info(joined, &info);
    assert_int_equal(info.files, 2);
    ll_summary *summary = sum(joined, 100, NULL);
    assert_true(ll_summary_sentence_count(summary) >= 1);
    ll_summary_free(summary);
    ll_document_close(joined);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_only_lines_of_trouble_are_in_the_summary_wherever_they_stand),
        cmocka_unit_test(a_focus_brings_the_lines_that_speak_of_it),
        cmocka_unit_test(a_line_knows_how_grave_it_is),
        cmocka_unit_test(code_is_told_by_its_comments),
        cmocka_unit_test(comments_are_found_in_many_languages),
        cmocka_unit_test(a_table_is_told_by_its_columns),
        cmocka_unit_test(a_small_model_is_not_asked_of_lines),
        cmocka_unit_test(a_manual_is_told_by_its_description_not_by_its_options),
        cmocka_unit_test(what_is_said_once_goes_before_what_is_said_again_and_again),
        cmocka_unit_test(sentences_of_one_formula_do_not_shut_each_other_out),
        cmocka_unit_test(a_mail_is_told_by_what_it_says),
        cmocka_unit_test(a_short_text_gives_more_than_two_sentences),
        cmocka_unit_test(joined_documents_keep_their_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
