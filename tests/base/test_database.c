/* Tests of base/database: made, upgraded, refused, filled up, killed in the middle.
 * SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cancel.h"
#include "base/database.h"
#include "base/error.h"
#include "base/file.h"

static char scratch[64];

static const char *const steps[] = {
    "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, weight REAL, body BLOB)",
    "ALTER TABLE item ADD COLUMN colour TEXT DEFAULT 'none'"};
static const struct database_schema first = {"the test list", 0x6C6C7431, steps, 1};
static const struct database_schema second = {"the test list", 0x6C6C7431, steps, 2};

static struct database *open_as(const char *path, const struct database_schema *schema)
{
    struct database *database;
    ll_error error = {0};
    struct database_options options = {.schema = schema, .safety = DATABASE_QUICK};
    if (database_open(path, &options, &database, &error) != LL_OK)
        fail_msg("%s", error.text);
    return database;
}

static int64_t number(struct database *database, const char *sql)
{
    struct statement *statement;
    bool row;
    assert_int_equal(statement_open(database, sql, &statement, NULL), LL_OK);
    assert_int_equal(statement_step(statement, &row, NULL), LL_OK);
    assert_true(row);
    int64_t value = statement_integer(statement, 0);
    statement_close(statement);
    return value;
}

static void random_rows_come_back_as_they_were_put_in(void **state)
{
    enum { ROWS = 50 };
    int64_t seeds[ROWS];
    (void)state;
    struct database *database = open_as("made/in/folders/rows", &first);
    struct statement *insert, *select;
    assert_int_equal(statement_open(database, "INSERT INTO item VALUES (?, ?, ?, ?)", &insert, NULL), LL_OK);
    for (int i = 0; i < ROWS; i++) {
        char text[32];
        seeds[i] = (int64_t)unit_random();
        snprintf(text, sizeof text, "%lld", (long long)seeds[i]);
        statement_bind_integer(insert, 1, i + 1);
        statement_bind_text(insert, 2, i % 5 ? text : NULL);
        statement_bind_real(insert, 3, i % 7 ? (double)seeds[i] / 3.0 : (double)NAN);
        statement_bind_bytes(insert, 4, &seeds[i], sizeof seeds[i]);
        assert_int_equal(statement_run(insert, NULL), LL_OK);
        assert_int_equal(database_last_id(database), i + 1);
        assert_int_equal(database_changed_rows(database), 1);
    }
    statement_close(insert);
    database_close(database);
    database = open_as("made/in/folders/rows", &first);
    assert_int_equal(database_check(database, NULL), LL_OK);
    assert_int_equal(statement_open(database, "SELECT * FROM item ORDER BY id", &select, NULL), LL_OK);
    bool row = true;
    for (int i = 0; i < ROWS; i++) {
        size_t length;
        assert_int_equal(statement_step(select, &row, NULL), LL_OK);
        assert_true(row);
        assert_int_equal(statement_is_null(select, 1), i % 5 == 0);
        if (i % 5)
            assert_int_equal(strtoll(statement_text(select, 1, &length), NULL, 10), seeds[i]);
        if (i % 7)
            assert_true(statement_real(select, 2) == (double)seeds[i] / 3.0);
        else
            assert_true(isnan(statement_real(select, 2)));
        assert_memory_equal(statement_bytes(select, 3, &length), &seeds[i], sizeof seeds[i]);
        assert_int_equal(length, sizeof seeds[i]);
    }
    assert_int_equal(statement_step(select, &row, NULL), LL_OK);
    assert_false(row);
    statement_close(select);
    database_close(database);
}

static void files_and_folders_it_makes_are_its_owners_alone(void **state)
{
    struct stat info;
    (void)state;
    mode_t before = umask(0);
    struct database *database = open_as("private/list", &first);
    umask(before);
    assert_int_equal(database_run(database, "INSERT INTO item (name) VALUES ('x')", NULL), LL_OK);
    static const char *const files[] = {"private/list", "private/list-wal", "private/list-shm"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        assert_int_equal(stat(files[i], &info), 0);
        assert_int_equal(info.st_mode & 0777, 0600);
    }
    assert_int_equal(stat("private", &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    database_close(database);
}

static void an_older_file_is_upgraded_and_keeps_its_rows(void **state)
{
    (void)state;
    struct database *database = open_as("old", &first);
    assert_int_equal(database_run(database, "INSERT INTO item (name) VALUES ('kept')", NULL), LL_OK);
    database_close(database);
    database = open_as("old", &second);
    assert_int_equal(number(database, "SELECT count(*) FROM item WHERE colour = 'none'"), 1);
    assert_int_equal(number(database, "PRAGMA user_version"), 2);
    database_close(database);
}

static void refused(const char *path, const struct database_options *options, ll_status status,
                    const char *said)
{
    struct database *database = NULL;
    ll_error error = {0};
    assert_int_equal(database_open(path, options, &database, &error), status);
    assert_null(database);
    if (!strstr(error.text, said) || !strstr(error.text, path))
        fail_msg("'%s' does not say '%s' and '%s'", error.text, said, path);
}

static void newer_foreign_damaged_and_absent_files_are_refused_by_name(void **state)
{
    static const struct database_schema other = {"the other list", 0x6C6C7432, steps, 1};
    struct database_options options = {.schema = &first};
    struct database_options absent = {.schema = &first, .must_exist = true};
    struct database_options reading = {.schema = &second, .read_only = true};
    char noise[5000];
    (void)state;
    database_close(open_as("newer", &second));
    refused("newer", &options, LL_UNSUPPORTED, "format 2");
    database_close(open_as("foreign", &other));
    refused("foreign", &options, LL_FORMAT, "another program");
    database_close(open_as("older", &first));
    refused("older", &reading, LL_UNSUPPORTED, "older format");
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (char)unit_random();
    assert_int_equal(file_write("noise", noise, sizeof noise, NULL), LL_OK);
    refused("noise", &options, LL_FORMAT, "damaged or no database");
    refused("nowhere", &absent, LL_NOT_FOUND, "nowhere");
    assert_int_equal(mkdir("folder", 0700), 0);
    refused("folder", &options, LL_ARGUMENT, "no regular file");
    refused("noise/under", &options, LL_IO, "noise");
    assert_int_equal(mkfifo("pipe", 0600), 0);
    refused("pipe", &options, LL_ARGUMENT, "pipe");
}

static void damage_inside_is_an_error_in_words_and_never_a_crash(void **state)
{
    (void)state;
    for (size_t round = 0; round < unit_rounds(20); round++) {
        struct database_options options = {.schema = &first};
        struct database *database = open_as("damaged", &first);
        for (int i = 0; i < 100; i++)
            assert_int_equal(database_run(database, "INSERT INTO item (body) VALUES (randomblob(300))", NULL),
                             LL_OK);
        database_close(database);
        int fd = open("damaged", O_RDWR | O_CLOEXEC);
        off_t size = lseek(fd, 0, SEEK_END);
        for (int i = 0; i < 200; i++) {
            unsigned char byte = (unsigned char)unit_random();
            assert_int_equal(pwrite(fd, &byte, 1, 100 + (off_t)unit_below((size_t)size - 100)), 1);
        }
        close(fd);
        ll_error error = {0};
        if (database_open("damaged", &options, &database, &error) != LL_OK) {
            assert_int_equal(error.status, LL_FORMAT);
        } else {
            if (database_check(database, &error) != LL_OK)
                assert_int_equal(error.status, LL_FORMAT);
            database_close(database);
        }
        unlink("damaged");
        unlink("damaged-wal");
        unlink("damaged-shm");
    }
}

static ll_status insert_then_fail(struct database *database, void *user, ll_error *error)
{
    LL_TRY(database_run(database, "INSERT INTO item (name) VALUES ('lost')", error));
    return *(bool *)user ? error_set(error, LL_STATE, "test", "on purpose") : LL_OK;
}

static void a_transaction_that_fails_leaves_nothing_behind(void **state)
{
    bool fails = true;
    (void)state;
    struct database *database = open_as("atomic", &first);
    assert_int_equal(database_transaction(database, insert_then_fail, &fails, NULL), LL_STATE);
    assert_int_equal(number(database, "SELECT count(*) FROM item"), 0);
    fails = false;
    assert_int_equal(database_transaction(database, insert_then_fail, &fails, NULL), LL_OK);
    assert_int_equal(number(database, "SELECT count(*) FROM item"), 1);
    database_close(database);
}

static ll_status insert_many(struct database *database, void *user, ll_error *error)
{
    (void)user;
    for (int i = 0; i < 200; i++)
        LL_TRY(database_run(database, "INSERT INTO item (body) VALUES (randomblob(4000))", error));
    return LL_OK;
}

static void a_full_disk_is_told_and_what_was_there_stays_whole(void **state)
{
    ll_error error = {0};
    (void)state;
    struct database *database = open_as("full", &first);
    assert_int_equal(database_run(database, "INSERT INTO item (name) VALUES ('kept')", NULL), LL_OK);
    assert_int_equal(database_run(database, "PRAGMA max_page_count = 50", NULL), LL_OK);
    assert_int_equal(database_transaction(database, insert_many, NULL, &error), LL_IO);
    assert_non_null(strstr(error.text, "disk is full"));
    assert_int_equal(number(database, "SELECT count(*) FROM item"), 1);
    assert_int_equal(database_check(database, NULL), LL_OK);
    database_close(database);
}

/* A file that may not grow, as the system sees it: the writes themselves fail. */
static void writes_that_the_system_refuses_are_told_and_lose_nothing(void **state)
{
    (void)state;
    struct database *database = open_as("limited", &first);
    assert_int_equal(database_run(database, "INSERT INTO item (name) VALUES ('kept')", NULL), LL_OK);
    database_close(database);
    pid_t child = fork();
    if (child == 0) {
        ll_error error = {0};
        struct rlimit limit = {100000, 100000};
        signal(SIGXFSZ, SIG_IGN);
        database = open_as("limited", &first);
        bool right = setrlimit(RLIMIT_FSIZE, &limit) == 0 &&
                     database_transaction(database, insert_many, NULL, &error) == LL_IO && error.text[0];
        _exit(right ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    database = open_as("limited", &first);
    assert_int_equal(number(database, "SELECT count(*) FROM item"), 1);
    assert_int_equal(database_check(database, NULL), LL_OK);
    database_close(database);
}

static void a_file_opened_for_reading_cannot_be_written(void **state)
{
    struct database_options options = {.schema = &first, .read_only = true};
    struct database *database;
    ll_error error = {0};
    (void)state;
    database_close(open_as("reading", &first));
    assert_int_equal(database_open("reading", &options, &database, NULL), LL_OK);
    assert_int_equal(database_run(database, "INSERT INTO item (name) VALUES ('x')", &error), LL_IO);
    assert_non_null(strstr(error.text, "may only be read"));
    database_close(database);
}

static void a_lock_held_elsewhere_is_waited_for_until_time_or_cancel(void **state)
{
    ll_cancel *cancel = ll_cancel_new();
    struct database_options options = {.schema = &first, .wait_ms = 60000, .cancel = cancel};
    struct database_options impatient = {.schema = &first, .wait_ms = -1};
    struct database *holder = open_as("locked", &first), *waiter, *other;
    (void)state;
    assert_int_equal(database_open("locked", &options, &waiter, NULL), LL_OK);
    assert_int_equal(database_open("locked", &impatient, &other, NULL), LL_OK);
    assert_int_equal(database_run(holder, "BEGIN IMMEDIATE", NULL), LL_OK);
    assert_int_equal(database_run(other, "INSERT INTO item (name) VALUES ('x')", NULL), LL_BUSY);
    ll_cancel_request(cancel);
    assert_int_equal(database_run(waiter, "INSERT INTO item (name) VALUES ('x')", NULL), LL_CANCELLED);
    assert_int_equal(database_run(holder, "ROLLBACK", NULL), LL_OK);
    assert_int_equal(database_run(waiter, "INSERT INTO item (name) VALUES ('x')", NULL), LL_OK);
    database_close(waiter);
    database_close(other);
    database_close(holder);
    ll_cancel_free(cancel);
}

/* POSIX takes a process's locks on a file away when it closes any descriptor of that file. A database that
 * has lost them is no longer seen by the others: the last of those to close takes the log of writes away. */
static void a_database_opened_twice_keeps_the_locks_of_both(void **state)
{
    struct stat info;
    int result;
    (void)state;
    struct database *first_one = open_as("twice", &first), *second_one = open_as("twice", &first);
    assert_int_equal(database_run(first_one, "INSERT INTO item (name) VALUES ('x')", NULL), LL_OK);
    pid_t child = fork();
    if (child == 0) {
        execlp("/proc/self/exe", "test_database", "twice", (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result) && WEXITSTATUS(result) == 0);
    assert_int_equal(stat("twice-wal", &info), 0);
    assert_int_equal(number(second_one, "SELECT count(*) FROM item"), 1);
    database_close(first_one);
    database_close(second_one);
}

static void bad_bindings_and_bad_statements_are_internal_errors(void **state)
{
    struct statement *statement;
    ll_error error = {0};
    (void)state;
    struct database *database = open_as(":memory:", &first);
    assert_int_equal(statement_open(database, "SELECT x FROM nowhere", &statement, &error), LL_INTERNAL);
    assert_int_equal(statement_open(database, "INSERT INTO item (name) VALUES (?)", &statement, NULL), LL_OK);
    statement_bind_text(statement, 2, "beyond");
    assert_int_equal(statement_run(statement, &error), LL_INTERNAL);
    statement_bind_text(statement, 1, "fine");
    assert_int_equal(statement_run(statement, NULL), LL_OK);
    statement_close(statement);
    database_close(database);
}

/* Each pair is one transaction; the writer tells each commit through the pipe. */
static ll_status insert_pair(struct database *database, void *user, ll_error *error)
{
    (void)user;
    LL_TRY(database_run(database, "INSERT INTO item (name, body) VALUES ('a', randomblob(900))", error));
    return database_run(database, "INSERT INTO item (name, body) VALUES ('b', randomblob(900))", error);
}

static void write_until_killed(int pipe_end)
{
    struct database *database = open_as("killed", &first);
    while (database_transaction(database, insert_pair, NULL, NULL) == LL_OK)
        if (write(pipe_end, "+", 1) != 1)
            break;
    _exit(1);
}

static void kill_9_at_any_moment_leaves_every_commit_and_no_half_one(void **state)
{
    int64_t told = 0;
    (void)state;
    database_close(open_as("killed", &first));
    for (size_t round = 0; round < unit_rounds(10); round++) {
        int ends[2], status;
        char told_now[4096];
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        if (child == 0)
            write_until_killed(ends[1]);
        close(ends[1]);
        struct timespec pause = {.tv_nsec = (long)unit_below(30000000) + 1000000};
        nanosleep(&pause, NULL);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        for (ssize_t got; (got = read(ends[0], told_now, sizeof told_now)) > 0;)
            told += got;
        close(ends[0]);
        struct database *database = open_as("killed", &first);
        assert_int_equal(database_check(database, NULL), LL_OK);
        int64_t rows = number(database, "SELECT count(*) FROM item");
        assert_int_equal(rows % 2, 0);
        assert_true(rows / 2 >= told && rows / 2 <= told + (int64_t)round + 1);
        assert_int_equal(number(database, "SELECT count(*) FROM item WHERE name = 'a'"), rows / 2);
        database_close(database);
    }
    assert_true(told > 0);
}

static void two_processes_make_the_same_file_without_harm(void **state)
{
    (void)state;
    for (size_t round = 0; round < unit_rounds(5); round++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            struct database *database = open_as("raced", &second);
            _exit(database_run(database, "INSERT INTO item (name) VALUES ('child')", NULL) == LL_OK ? 0 : 1);
        }
        struct database *database = open_as("raced", &second);
        assert_int_equal(database_run(database, "INSERT INTO item (name) VALUES ('parent')", NULL), LL_OK);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        assert_int_equal(number(database, "SELECT count(*) FROM item"), 2);
        database_close(database);
        unlink("raced");
        unlink("raced-wal");
        unlink("raced-shm");
    }
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

/* With a name: another process that opens that database and closes it. */
int main(int argc, char **argv)
{
    if (argc > 1) {
        database_close(open_as(argv[1], &first));
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_rows_come_back_as_they_were_put_in),
        cmocka_unit_test(files_and_folders_it_makes_are_its_owners_alone),
        cmocka_unit_test(an_older_file_is_upgraded_and_keeps_its_rows),
        cmocka_unit_test(newer_foreign_damaged_and_absent_files_are_refused_by_name),
        cmocka_unit_test(damage_inside_is_an_error_in_words_and_never_a_crash),
        cmocka_unit_test(a_transaction_that_fails_leaves_nothing_behind),
        cmocka_unit_test(a_full_disk_is_told_and_what_was_there_stays_whole),
        cmocka_unit_test(writes_that_the_system_refuses_are_told_and_lose_nothing),
        cmocka_unit_test(a_file_opened_for_reading_cannot_be_written),
        cmocka_unit_test(a_lock_held_elsewhere_is_waited_for_until_time_or_cancel),
        cmocka_unit_test(a_database_opened_twice_keeps_the_locks_of_both),
        cmocka_unit_test(bad_bindings_and_bad_statements_are_internal_errors),
        cmocka_unit_test(kill_9_at_any_moment_leaves_every_commit_and_no_half_one),
        cmocka_unit_test(two_processes_make_the_same_file_without_harm),
    };
    return cmocka_run_group_tests_name("base/database", tests, enter, leave);
}
