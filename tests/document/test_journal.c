/* Tests of document/journal: what is kept, what is computed again, and what becomes of bad files.
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/database.h"
#include "document/sentence.h"
#include "document/summary.h"
#include "document/toy_llm.h"

static char path[256], folder[200];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s/longleaf-journal-XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/cache/answers.db", folder);
    return 0;
}

static int drop_folder(void **state)
{
    char command[300];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static struct journal *open_journal(uint64_t limit)
{
    struct journal *journal = NULL;
    ll_error error = {0};
    if (journal_open(path, limit, NULL, &journal, &error) != LL_OK)
        fail_msg("%s", error.text);
    return journal;
}

static void number_key(uint32_t number, unsigned char key[JOURNAL_KEY])
{
    memset(key, 0, JOURNAL_KEY);
    memcpy(key, &number, sizeof number);
}

static void store(struct journal *journal, uint32_t number, size_t count)
{
    unsigned char key[JOURNAL_KEY];
    ll_token *tokens = test_malloc(count * sizeof *tokens + 1);
    ll_error error = {0};
    for (size_t i = 0; i < count; i++)
        tokens[i] = (ll_token)(number + i);
    number_key(number, key);
    if (journal_store(journal, key, tokens, count, true, false, 0.5, &error) != LL_OK)
        fail_msg("%s", error.text);
    test_free(tokens);
}

static bool holds(struct journal *journal, uint32_t number, size_t count)
{
    unsigned char key[JOURNAL_KEY];
    struct journal_answer answer = {0};
    bool found = false;
    ll_error error = {0};
    number_key(number, key);
    if (journal_find(journal, key, &answer, &found, &error) != LL_OK)
        fail_msg("%s", error.text);
    if (found) {
        assert_int_equal(answer.tokens.count, count);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(answer.tokens.ids[i], number + i);
        assert_true(answer.ended && !answer.looped);
    }
    token_list_fini(&answer.tokens);
    return found;
}

/* ---- the file -------------------------------------------------------------------------------- */

static void answers_come_back_as_they_were_stored(void **state)
{
    (void)state;
    struct journal *journal = open_journal(0);
    for (uint32_t i = 1; i <= 40; i++)
        store(journal, i, i % 7 * 11);
    journal_close(journal);
    journal = open_journal(0);
    for (uint32_t i = 1; i <= 40; i++)
        assert_true(holds(journal, i, i % 7 * 11));
    assert_false(holds(journal, 41, 0));
    journal_close(journal);
}

static void the_file_is_for_its_user_only(void **state)
{
    (void)state;
    struct stat about;
    journal_close(open_journal(0));
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
}

static void every_setting_makes_another_key(void **state)
{
    (void)state;
    enum { SETTINGS = 20 };
    unsigned char identity[32] = {1}, other[32] = {2}, keys[6 + SETTINGS][JOURNAL_KEY];
    ll_token ids[] = {1, 2, 3}, more[] = {1, 2, 3, 0};
    struct token_list prompt = {ids, 3, 3}, longer = {more, 4, 4};
    static const char *const texts[] = {"3=1"};
    ll_sampling plain, s[SETTINGS];
    ll_sampling_init(&plain);
    for (size_t i = 0; i < SETTINGS; i++)
        s[i] = plain;
    s[0].temperature = 0.5f;
    s[1].top_k = 3;
    s[2].top_p = 0.5f;
    s[3].min_p = 0.1f;
    s[4].repeat_penalty = 1.2f;
    s[5].presence_penalty = 0.3f;
    s[6].frequency_penalty = 0.3f;
    s[7].penalty_window = 5;
    s[8].typical_p = 0.5f;
    s[9].xtc_probability = 0.5f;
    s[10].xtc_threshold = 0.5f;
    s[11].mirostat = 1;
    s[12].mirostat_tau = 1.0f;
    s[13].mirostat_eta = 1.0f;
    s[14].dry_multiplier = 1.0f;
    s[15].dry_base = 2.0f;
    s[16].dry_length = 9;
    s[17].dry_window = 9;
    s[18].dry_breakers = texts;
    s[18].dry_breaker_count = 1;
    s[19].bias = texts;
    s[19].bias_count = 1;
    assert_int_equal(journal_key(identity, &plain, LL_F16, 70, &prompt, keys[0], NULL), LL_OK);
    assert_int_equal(journal_key(other, &plain, LL_F16, 70, &prompt, keys[1], NULL), LL_OK);
    assert_int_equal(journal_key(identity, &plain, LL_Q8_0, 70, &prompt, keys[2], NULL), LL_OK);
    assert_int_equal(journal_key(identity, &plain, LL_F16, 71, &prompt, keys[3], NULL), LL_OK);
    assert_int_equal(journal_key(identity, &plain, LL_F16, 70, &longer, keys[4], NULL), LL_OK);
    for (size_t i = 0; i < SETTINGS; i++)
        assert_int_equal(journal_key(identity, &s[i], LL_F16, 70, &prompt, keys[5 + i], NULL), LL_OK);
    s[0].seed = 99;
    assert_int_equal(journal_key(identity, &s[0], LL_F16, 70, &prompt, keys[5 + SETTINGS], NULL), LL_OK);
    for (size_t i = 0; i < 6 + SETTINGS; i++)
        for (size_t k = 0; k < i; k++)
            assert_memory_not_equal(keys[i], keys[k], JOURNAL_KEY);
    plain.seed = 99; /* greedy: no seed matters */
    plain.temperature = 0;
    assert_int_equal(journal_key(identity, &plain, LL_F16, 70, &prompt, keys[1], NULL), LL_OK);
    plain.seed = 0;
    assert_int_equal(journal_key(identity, &plain, LL_F16, 70, &prompt, keys[2], NULL), LL_OK);
    assert_memory_equal(keys[1], keys[2], JOURNAL_KEY);
}

static void two_processes_may_use_one_file(void **state)
{
    (void)state;
    pid_t children[3];
    for (uint32_t c = 0; c < 3; c++) {
        children[c] = fork();
        if (children[c] == 0) {
            struct journal *journal = NULL;
            ll_error error = {0};
            bool good = journal_open(path, 0, NULL, &journal, &error) == LL_OK;
            for (uint32_t i = 0; good && i < 50; i++) {
                unsigned char key[JOURNAL_KEY];
                ll_token token = (ll_token)(1000 * c + i);
                number_key(1000 * c + i, key);
                good = journal_store(journal, key, &token, 1, true, false, 0, &error) == LL_OK;
            }
            if (!good)
                print_message("# %s\n", error.text);
            journal_close(journal);
            _exit(good ? 0 : 1);
        }
    }
    for (size_t c = 0; c < 3; c++) {
        int status = 0;
        waitpid(children[c], &status, 0);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    struct journal *journal = open_journal(0);
    for (uint32_t c = 0; c < 3; c++)
        for (uint32_t i = 0; i < 50; i++)
            assert_true(holds(journal, 1000 * c + i, 1));
    journal_close(journal);
}

static void pruning_drops_what_was_used_longest_ago(void **state)
{
    (void)state;
    struct journal *journal = open_journal(0);
    ll_journal_info info;
    ll_error error = {0};
    for (uint32_t i = 1; i <= 600; i++)
        store(journal, i, 200);
    journal_close(journal);
    assert_int_equal(ll_journal_get_info(path, &info, &error), LL_OK);
    assert_int_equal(info.answers, 600);
    assert_true(info.bytes > 400000 && info.seconds > 299);
    uint64_t half = info.bytes / 2;
    assert_int_equal(ll_journal_prune(path, half, &error), LL_OK);
    assert_int_equal(ll_journal_get_info(path, &info, &error), LL_OK);
    assert_true(info.bytes <= half && info.answers > 150 && info.answers < 350);
    journal_close(open_journal(100000)); /* a file beyond its limit shrinks when it is opened */
    assert_int_equal(ll_journal_get_info(path, &info, &error), LL_OK);
    assert_true(info.bytes <= 100000 && info.answers > 20);
    assert_int_equal(ll_journal_prune(path, 0, &error), LL_OK);
    assert_int_equal(ll_journal_get_info(path, &info, &error), LL_OK);
    assert_int_equal(info.answers, 0);
}

static void other_files_are_refused_and_left_alone(void **state)
{
    (void)state;
    journal_close(open_journal(0));
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("This is no database at all, but a letter that happens to lie where one is looked for.", file);
    fclose(file);
    struct journal *journal = NULL;
    ll_error error = {0};
    assert_int_equal(journal_open(path, 0, NULL, &journal, &error), LL_FORMAT);
    assert_non_null(strstr(error.text, "answers.db"));
    file = fopen(path, "r");
    char start[8] = "";
    assert_int_equal(fread(start, 1, 7, file), 7);
    fclose(file);
    assert_string_equal(start, "This is");
    ll_journal_info info;
    snprintf(path, sizeof path, "%s/nowhere/answers.db", folder);
    assert_int_equal(ll_journal_get_info(path, &info, &error), LL_NOT_FOUND);
}

static void waiting_for_a_locked_file_ends_when_the_run_is_cancelled(void **state)
{
    static const struct database_schema any = {"the document cache", 0x4C4C4A4E, NULL, 2};
    struct database_options options = {.schema = &any};
    struct database *holder = NULL;
    struct journal *journal = NULL;
    unsigned char key[JOURNAL_KEY];
    ll_token token = 7;
    ll_cancel *cancel = ll_cancel_new();
    (void)state;
    assert_int_equal(journal_open(path, 0, cancel, &journal, NULL), LL_OK);
    assert_int_equal(database_open(path, &options, &holder, NULL), LL_OK);
    assert_int_equal(database_run(holder, "BEGIN IMMEDIATE", NULL), LL_OK);
    ll_cancel_request(cancel);
    number_key(1, key);
    assert_int_equal(journal_store(journal, key, &token, 1, true, false, 0.5, NULL), LL_CANCELLED);
    assert_int_equal(database_run(holder, "ROLLBACK", NULL), LL_OK);
    assert_int_equal(journal_store(journal, key, &token, 1, true, false, 0.5, NULL), LL_OK);
    database_close(holder);
    journal_close(journal);
    ll_cancel_free(cancel);
}

/* ---- summaries ------------------------------------------------------------------------------- */

static void copy_a_sentence(struct toy *toy, const char *prompt, struct strbuf *out)
{
    size_t length, at = 0;
    const char *body = toy_text_of(prompt, &length);
    (void)toy;
    const char *blank = strstr(body, "\n\n");
    if (blank && (size_t)(blank - body) < length)
        at = (size_t)(blank - body) + 2;
    strbuf_append(out, body + at, sentence_length(body + at, length - at));
}

static void put_book(struct strbuf *text, size_t edited)
{
    static const char *const things[] = {"furnace", "mould", "cobalt", "crucible", "kiln", "annealer"};
    for (size_t p = 0; p < 400; p++) {
        if (p % 40 == 0)
            strbuf_printf(text, "CHAPTER %zu\n\n", p / 40 + 1);
        strbuf_printf(text, "The %s number %zu was built in the year %zu by a master of glass. ",
                      things[p * 7 % 6], p, 1300 + p);
        if (p == edited)
            strbuf_puts(text, "Nobody had told the visitors that it would be sold again so soon. ");
        strbuf_printf(
            text,
            "It held %zu pots and burned for %zu weeks. Workers of the %s came early and left late.\n\n",
            3 + p % 11, 2 + p % 5, things[p * 5 % 6]);
    }
}

struct counted {
    size_t calls, windows;
    char *text;
};

static struct counted summarise(size_t edited, size_t millions, size_t cancel_after)
{
    struct toy toy = {.answer = copy_a_sentence, .cancel_after = cancel_after};
    struct llm llm = toy_llm(&toy, (uint64_t)millions * 1000000, millions < 1000 ? 8192 : 1400);
    struct strbuf book = {0};
    ll_document *document = NULL;
    ll_plan *plan = NULL;
    ll_summary *summary = NULL;
    ll_summary_options options;
    ll_error error = {0};
    ll_run run;
    struct counted counted = {0};
    ll_run_init(&run);
    run.cancel = cancel_after ? ll_cancel_new() : NULL;
    toy.cancel_at_call = run.cancel;
    put_book(&book, edited);
    assert_int_equal(ll_document_from_text(book.text, book.length, NULL, &document, &error), LL_OK);
    assert_int_equal(plan_make(document, &llm, NULL, &run, &plan, &error), LL_OK);
    ll_summary_options_init(&options);
    options.journal = path;
    ll_status status = summary_make(&llm, plan, &options, &run, &summary, &error);
    if (status != (cancel_after ? LL_CANCELLED : LL_OK))
        fail_msg("%s", error.text);
    counted.calls = toy.calls;
    counted.windows = plan->windows.count;
    if (summary)
        counted.text = strdup(ll_summary_text(summary, NULL));
    ll_summary_free(summary);
    ll_plan_free(plan);
    ll_document_close(document);
    ll_cancel_free(run.cancel);
    strbuf_fini(&book);
    return counted;
}

static void a_second_summary_computes_nothing_and_reads_the_same(void **state)
{
    (void)state;
    for (size_t millions = 135; millions <= 7000; millions += 6865) {
        struct counted first = summarise(SIZE_MAX, millions, 0), second = summarise(SIZE_MAX, millions, 0);
        assert_true(first.calls >= first.windows && first.windows > 10);
        assert_int_equal(second.calls, 0);
        assert_string_equal(first.text, second.text);
        free(first.text);
        free(second.text);
    }
}

static void a_stopped_summary_goes_on_where_it_stopped(void **state)
{
    (void)state;
    struct counted stopped = summarise(SIZE_MAX, 135, 5);
    struct counted rest = summarise(SIZE_MAX, 135, 0);
    assert_int_equal(stopped.calls, 5);
    assert_int_equal(rest.calls, rest.windows - 5);
    (void)unlink(path);
    struct counted whole = summarise(SIZE_MAX, 135, 0);
    assert_string_equal(rest.text, whole.text);
    free(rest.text);
    free(whole.text);
}

static void an_edited_sentence_costs_two_windows_and_what_stands_above(void **state)
{
    (void)state;
    unit_seed();
    for (size_t round = 0; round < unit_rounds(6); round++) {
        size_t place = unit_below(400); /* twice the same one would compute nothing */
        (void)unlink(path);
        free(summarise(SIZE_MAX, 135, 0).text);
        struct counted edited = summarise(place, 135, 0);
        if (edited.calls > 2 || edited.calls == 0)
            fail_msg("an edit in paragraph %zu computed %zu of %zu windows anew", place, edited.calls,
                     edited.windows);
        free(edited.text);
    }
}

static bool find_window(struct journal *journal, uint32_t number, struct strbuf *out)
{
    unsigned char key[JOURNAL_KEY];
    bool found = false;
    ll_error error = {0};
    number_key(number, key);
    strbuf_clear(out);
    if (journal_find_window(journal, key, out, &found, &error) != LL_OK)
        fail_msg("%s", error.text);
    return found;
}

static void windows_are_kept_within_half_of_the_limit_and_go_before_answers(void **state)
{
    (void)state;
    enum { WINDOWS = 30, BYTES = 100000 };
    struct journal *journal = open_journal(2000000);
    struct strbuf bytes = {0}, found = {0};
    ll_error error = {0};
    ll_journal_info info = {0};
    for (size_t i = 0; i < BYTES; i++)
        strbuf_putc(&bytes, (char)unit_below(256));
    store(journal, 7000, 50);
    for (uint32_t i = 0; i < WINDOWS; i++) {
        unsigned char key[JOURNAL_KEY];
        number_key(9000 + i, key);
        assert_int_equal(journal_store_window(journal, key, bytes.text, bytes.length, &error), LL_OK);
    }
    assert_true(find_window(journal, 9000 + WINDOWS - 1, &found));
    assert_int_equal(found.length, bytes.length);
    assert_memory_equal(found.text, bytes.text, bytes.length);
    assert_false(find_window(journal, 9000, &found));
    journal_close(journal);
    assert_int_equal(ll_journal_get_info(path, &info, &error), LL_OK);
    assert_true(info.windows == 10 && info.answers >= 1);
    uint64_t answers = info.answers;
    assert_int_equal(ll_journal_prune(path, 300000, &error), LL_OK);
    assert_int_equal(ll_journal_get_info(path, &info, &error), LL_OK);
    assert_true(info.windows < 10 && info.answers == answers && info.bytes <= 300000);
    strbuf_fini(&bytes);
    strbuf_fini(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(answers_come_back_as_they_were_stored, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(windows_are_kept_within_half_of_the_limit_and_go_before_answers,
                                        make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(the_file_is_for_its_user_only, make_folder, drop_folder),
        cmocka_unit_test(every_setting_makes_another_key),
        cmocka_unit_test_setup_teardown(two_processes_may_use_one_file, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(pruning_drops_what_was_used_longest_ago, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(other_files_are_refused_and_left_alone, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(waiting_for_a_locked_file_ends_when_the_run_is_cancelled, make_folder,
                                        drop_folder),
        cmocka_unit_test_setup_teardown(a_second_summary_computes_nothing_and_reads_the_same, make_folder,
                                        drop_folder),
        cmocka_unit_test_setup_teardown(a_stopped_summary_goes_on_where_it_stopped, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(an_edited_sentence_costs_two_windows_and_what_stands_above,
                                        make_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
