/* Tests of the run log: what is written is read, newer and unknown things are refused, runs are found.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/database.h"
#include "unit.h"

static char scratch[64];

static ll_runlog *open_log(const char *path, bool read_only)
{
    ll_runlog_options options;
    ll_runlog *log = NULL;
    ll_error error = {0};
    ll_runlog_options_init(&options);
    options.read_only = read_only;
    if (ll_runlog_open(path, &options, &log, &error) != LL_OK)
        fail_msg("%s", error.text);
    return log;
}

static ll_runlog_entry random_entry(void)
{
    static const char *const verbs[] = {"run", "sum", "ask"};
    ll_runlog_entry entry;
    ll_runlog_entry_init(&entry);
    snprintf(entry.verb, sizeof entry.verb, "%s", verbs[unit_below(3)]);
    snprintf(entry.model, sizeof entry.model, "Model'%zu\"", unit_below(4));
    memset(entry.identity, 'a', 64);
    memset(entry.device, 'd', sizeof entry.device); /* without a NUL: cut, not overrun */
    entry.context = unit_random() >> 1;
    entry.tokens_in = unit_below(1u << 20);
    entry.tokens_out = unit_below(1u << 20) + 1;
    for (int i = 0; i < LL_COMPONENTS; i++) {
        entry.predicted[i] = unit_random() >> 2;
        entry.peak[i] = unit_random() >> 2;
    }
    entry.token_seconds = (double)unit_below(1000) / 7.0;
    return entry;
}

struct seen {
    ll_runlog_entry entries[64];
    size_t count;
};

static ll_flow see(void *user, const ll_runlog_entry *entry)
{
    struct seen *seen = user;
    assert_true(seen->count < 64);
    seen->entries[seen->count++] = *entry;
    return LL_CONTINUE;
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    static struct seen seen;
    ll_runlog *log = open_log("sub/folder/runs.db", false);
    ll_runlog_entry written[20];
    int64_t ids[20];
    for (size_t i = 0; i < 20; i++) {
        ll_runlog_entry begun = random_entry();
        written[i] = random_entry();
        assert_int_equal(ll_runlog_begin(log, &begun, &ids[i], NULL), LL_OK);
        assert_true(i == 0 || ids[i] > ids[i - 1]);
        assert_int_equal(ll_runlog_update(log, ids[i], &written[i], i % 2 == 0, NULL), LL_OK);
    }
    ll_runlog_close(log);
    log = open_log("sub/folder/runs.db", true);
    assert_int_equal(ll_runlog_query(log, NULL, see, &seen, NULL), LL_OK);
    ll_runlog_close(log);
    assert_int_equal(seen.count, 20);
    for (size_t i = 0; i < 20; i++) {
        const ll_runlog_entry *read = &seen.entries[i];
        assert_int_equal(read->id, ids[i]);
        assert_int_equal(read->state, i % 2 == 0 ? LL_RUN_ENDED : LL_RUN_GOING); /* this process lives */
        assert_true(read->began > 0 && (read->ended >= read->began) == (i % 2 == 0));
        assert_string_equal(read->version, ll_version());
        assert_string_equal(read->verb, written[i].verb);
        assert_string_equal(read->model, written[i].model);
        assert_string_equal(read->identity, written[i].identity);
        assert_int_equal(strlen(read->device), sizeof read->device - 1);
        assert_int_equal(read->context, written[i].context);
        assert_int_equal(read->tokens_out, written[i].tokens_out);
        assert_memory_equal(read->predicted, written[i].predicted, sizeof read->predicted);
        assert_memory_equal(read->peak, written[i].peak, sizeof read->peak);
        assert_true(read->token_seconds == written[i].token_seconds);
        assert_true(isnan(read->coverage) && isnan(read->first_token_seconds));
    }
    struct stat info;
    assert_int_equal(stat("sub/folder/runs.db", &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
}

static void runs_are_found_by_model_verb_time_and_number(void **state)
{
    (void)state;
    static struct seen seen;
    ll_runlog *log = open_log("found.db", false);
    ll_runlog_entry entry = random_entry();
    ll_runlog_filter filter;
    int64_t id = 0;
    for (int i = 0; i < 6; i++) {
        snprintf(entry.model, sizeof entry.model, i < 4 ? "Big-%d" : "small-%d", i);
        snprintf(entry.verb, sizeof entry.verb, i % 2 ? "run" : "ask");
        assert_int_equal(ll_runlog_begin(log, &entry, &id, NULL), LL_OK);
    }
    ll_runlog_filter_init(&filter);
    filter.model = "bIG";
    filter.verb = "run";
    assert_int_equal(ll_runlog_query(log, &filter, see, &seen, NULL), LL_OK);
    assert_int_equal(seen.count, 2);
    assert_string_equal(seen.entries[0].model, "Big-1");
    filter.last = 1;
    seen.count = 0;
    assert_int_equal(ll_runlog_query(log, &filter, see, &seen, NULL), LL_OK);
    assert_int_equal(seen.count, 1);
    assert_string_equal(seen.entries[0].model, "Big-3");
    ll_runlog_filter_init(&filter);
    filter.id = id;
    seen.count = 0;
    assert_int_equal(ll_runlog_query(log, &filter, see, &seen, NULL), LL_OK);
    assert_int_equal(seen.count, 1);
    assert_string_equal(seen.entries[0].model, "small-5");
    filter.since = seen.entries[0].began + 1;
    seen.count = 0;
    assert_int_equal(ll_runlog_query(log, &filter, see, &seen, NULL), LL_OK);
    assert_int_equal(seen.count, 0);
    ll_runlog_close(log);
}

static void a_run_of_a_dead_process_is_cut(void **state)
{
    (void)state;
    static struct seen seen;
    pid_t child = fork();
    if (child == 0) {
        int64_t id;
        ll_runlog_entry entry = random_entry();
        ll_runlog *log = open_log("dead.db", false);
        _exit(ll_runlog_begin(log, &entry, &id, NULL) == LL_OK ? 0 : 1); /* nothing is closed */
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    ll_runlog *log = open_log("dead.db", true);
    assert_int_equal(ll_runlog_query(log, NULL, see, &seen, NULL), LL_OK);
    ll_runlog_close(log);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.entries[0].state, LL_RUN_CUT);
}

static void what_is_unknown_is_refused(void **state)
{
    (void)state;
    ll_error error = {0};
    ll_runlog *log = NULL;
    ll_runlog_entry entry = random_entry();
    ll_runlog_options options;
    ll_runlog_options_init(&options);
    options.read_only = true;
    assert_int_equal(ll_runlog_open("absent.db", &options, &log, &error), LL_NOT_FOUND);
    assert_int_not_equal(access("absent.db", F_OK), 0);
    log = open_log("known.db", false);
    assert_int_equal(ll_runlog_update(log, 7, &entry, true, &error), LL_NOT_FOUND);
    assert_non_null(strstr(error.text, "7"));
    entry.size = sizeof entry + 8;
    int64_t id = -1;
    assert_int_equal(ll_runlog_begin(log, &entry, &id, &error), LL_VERSION);
    assert_int_equal(id, -1);
    ll_runlog_close(log);
}

static void a_newer_log_is_said_to_be_newer_and_left_alone(void **state)
{
    (void)state;
    static const char *const steps[] = {"CREATE TABLE run (id INTEGER PRIMARY KEY)",
                                        "CREATE TABLE later (what TEXT)",
                                        "CREATE TABLE last (what TEXT)"};
    const struct database_schema newer = {"the run log", 0x4C4C524C, steps, 3};
    struct database_options options = {.schema = &newer};
    struct database *database = NULL;
    ll_runlog *log = NULL;
    ll_error error = {0};
    assert_int_equal(database_open("newer.db", &options, &database, NULL), LL_OK);
    assert_int_equal(database_run(database, "INSERT INTO later VALUES ('kept')", NULL), LL_OK);
    database_close(database);
    assert_int_equal(ll_runlog_open("newer.db", NULL, &log, &error), LL_UNSUPPORTED);
    assert_non_null(strstr(error.text, "newer"));
    assert_int_equal(database_open("newer.db", &options, &database, NULL), LL_OK);
    assert_int_equal(database_check(database, NULL), LL_OK);
    assert_int_equal(database_run(database, "UPDATE later SET what = 'still' WHERE what = 'kept'", NULL),
                     LL_OK);
    assert_int_equal(database_changed_rows(database), 1);
    database_close(database);
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
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(runs_are_found_by_model_verb_time_and_number),
        cmocka_unit_test(a_run_of_a_dead_process_is_cut),
        cmocka_unit_test(what_is_unknown_is_refused),
        cmocka_unit_test(a_newer_log_is_said_to_be_newer_and_left_alone),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
