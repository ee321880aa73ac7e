/* The log of runs in SQLite: begun with a row, ended in it; figures and names, never a text.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/database.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/options.h"
#include "memory/process.h"

enum { KEPT_RUNS = 100000, WAIT_MS = 2000 };

static const char *const steps[] = {
    "CREATE TABLE run (id INTEGER PRIMARY KEY AUTOINCREMENT, process TEXT NOT NULL, began INTEGER NOT NULL, "
    "ended INTEGER NOT NULL, version TEXT NOT NULL, verb TEXT, how TEXT, model TEXT, identity TEXT, "
    "weights TEXT, device TEXT, backend TEXT, kv TEXT, context INTEGER, windows INTEGER, width INTEGER, "
    "tokens_in INTEGER, tokens_out INTEGER, predicted_weights INTEGER, predicted_cache INTEGER, "
    "predicted_scratch INTEGER, predicted_logits INTEGER, predicted_program INTEGER, peak_weights INTEGER, "
    "peak_cache INTEGER, peak_scratch INTEGER, peak_logits INTEGER, peak_program INTEGER, "
    "resident_peak INTEGER, first_token_seconds REAL, token_seconds REAL, coverage REAL)",
    "ALTER TABLE run ADD COLUMN joules REAL"};
static const struct database_schema schema = {"the run log", 0x4C4C524C, steps, 2};

/* What an entry's own columns are called, in the order in which bind_entry and read_entry take them. */
#define COLUMNS                                                                                              \
    "verb, how, model, identity, weights, device, backend, kv, context, windows, width, tokens_in, "         \
    "tokens_out, predicted_weights, predicted_cache, predicted_scratch, predicted_logits, "                  \
    "predicted_program, peak_weights, peak_cache, peak_scratch, peak_logits, peak_program, "                 \
    "resident_peak, first_token_seconds, token_seconds, coverage, joules"
_Static_assert(LL_COMPONENTS == 5, "each component has its column in the table and in COLUMNS");

struct ll_runlog {
    struct database *database;
};

void ll_runlog_options_init(ll_runlog_options *options)
{
    *options = (ll_runlog_options){.size = sizeof *options};
}

void ll_runlog_entry_init(ll_runlog_entry *entry)
{
    *entry = (ll_runlog_entry){.size = sizeof *entry,
                               .first_token_seconds = (double)__builtin_nanf(""),
                               .token_seconds = (double)__builtin_nanf(""),
                               .coverage = (double)__builtin_nanf(""),
                               .joules = (double)__builtin_nanf("")};
}

void ll_runlog_filter_init(ll_runlog_filter *filter)
{
    *filter = (ll_runlog_filter){.size = sizeof *filter};
}

ll_status ll_runlog_open(const char *path, const ll_runlog_options *given, ll_runlog **ret, ll_error *error)
{
    ll_runlog_options options;
    OPTIONS_READ(options, given, ll_runlog_options_init, error);
    struct database_options how = {.schema = &schema,
                                   .safety = DATABASE_QUICK,
                                   .must_exist = options.read_only,
                                   .read_only = options.read_only,
                                   .wait_ms = options.wait_ms ? options.wait_ms : WAIT_MS};
    ll_runlog *log = mem_new(1, sizeof *log);
    if (!log)
        return error_nomem(error, "run log", sizeof *log);
    ll_status status = database_open(path, &how, &log->database, error);
    if (status == LL_OK)
        *ret = log;
    else
        mem_free(log);
    return status;
}

void ll_runlog_close(ll_runlog *log)
{
    if (!log)
        return;
    database_close(log->database);
    mem_free(log);
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- writing ---- */

/* An array of a caller that was filled to its end holds no NUL. */
static void bind_name(struct statement *statement, int at, const char *name, size_t size)
{
    char text[160];
    snprintf(text, sizeof text, "%.*s", (int)(size - 1), name);
    statement_bind_text(statement, at, text);
}

#define BIND_NAME(field) bind_name(statement, at++, entry->field, sizeof entry->field)

static void bind_count(struct statement *statement, int at, uint64_t count)
{
    statement_bind_integer(statement, at, count > INT64_MAX ? INT64_MAX : (int64_t)count);
}

static void bind_entry(struct statement *statement, int at, const ll_runlog_entry *entry)
{
    BIND_NAME(verb);
    BIND_NAME(end);
    BIND_NAME(model);
    BIND_NAME(identity);
    BIND_NAME(weights);
    BIND_NAME(device);
    BIND_NAME(backend);
    BIND_NAME(kv);
    bind_count(statement, at++, entry->context);
    bind_count(statement, at++, entry->windows);
    bind_count(statement, at++, entry->width);
    bind_count(statement, at++, entry->tokens_in);
    bind_count(statement, at++, entry->tokens_out);
    for (int i = 0; i < LL_COMPONENTS; i++)
        bind_count(statement, at++, entry->predicted[i]);
    for (int i = 0; i < LL_COMPONENTS; i++)
        bind_count(statement, at++, entry->peak[i]);
    bind_count(statement, at++, entry->resident_peak);
    statement_bind_real(statement, at++, entry->first_token_seconds);
    statement_bind_real(statement, at++, entry->token_seconds);
    statement_bind_real(statement, at++, entry->coverage);
    statement_bind_real(statement, at, entry->joules);
}

#define PLACES                                                                                               \
    "?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,?22,?23,?24,?25,?26,?27,?28,"            \
    "?29,?30,?31,?32"

static ll_status forget_oldest(struct database *database, int64_t newest, ll_error *error)
{
    struct statement *statement;
    LL_TRY(statement_open(database, "DELETE FROM run WHERE id <= ?1", &statement, error));
    statement_bind_integer(statement, 1, newest - KEPT_RUNS);
    ll_status status = statement_run(statement, error);
    statement_close(statement);
    return status;
}

ll_status ll_runlog_begin(ll_runlog *log, const ll_runlog_entry *given, int64_t *ret_id, ll_error *error)
{
    ll_runlog_entry entry;
    struct statement *statement;
    char process[128];
    OPTIONS_READ(entry, given, ll_runlog_entry_init, error);
    LL_TRY(statement_open(log->database,
                          "INSERT INTO run (process, began, ended, version, " COLUMNS
                          ") VALUES (?1, ?2, ?3, ?4, " PLACES ")",
                          &statement, error));
    process_name((long)getpid(), process, sizeof process);
    statement_bind_text(statement, 1, process);
    statement_bind_integer(statement, 2, now_ms());
    statement_bind_integer(statement, 3, 0);
    statement_bind_text(statement, 4, ll_version());
    bind_entry(statement, 5, &entry);
    ll_status status = statement_run(statement, error);
    int64_t id = status == LL_OK ? database_last_id(log->database) : 0;
    statement_close(statement);
    if (status == LL_OK && id > KEPT_RUNS)
        status = forget_oldest(log->database, id, error);
    if (status == LL_OK)
        *ret_id = id;
    return status;
}

ll_status ll_runlog_update(ll_runlog *log, int64_t id, const ll_runlog_entry *given, bool ended,
                           ll_error *error)
{
    ll_runlog_entry entry;
    struct statement *statement;
    OPTIONS_READ(entry, given, ll_runlog_entry_init, error);
    LL_TRY(statement_open(log->database,
                          "UPDATE run SET (ended, " COLUMNS ") = (?4, " PLACES ") WHERE id = ?1", &statement,
                          error));
    statement_bind_integer(statement, 1, id);
    statement_bind_integer(statement, 4, ended ? now_ms() : 0);
    bind_entry(statement, 5, &entry);
    ll_status status = statement_run(statement, error);
    int64_t changed = database_changed_rows(log->database);
    statement_close(statement);
    if (status == LL_OK && changed != 1)
        status = error_set(error, LL_NOT_FOUND, "run log", "there is no run %lld in it", (long long)id);
    return status;
}

/* ---- reading ---- */

static void read_name(const struct statement *row, int at, char *out, size_t size)
{
    const char *text = statement_text(row, at, NULL);
    snprintf(out, size, "%s", text ? text : "");
}

#define READ_NAME(field) read_name(row, at++, entry->field, sizeof entry->field)

static uint64_t read_count(const struct statement *row, int at)
{
    int64_t count = statement_integer(row, at);
    return count > 0 ? (uint64_t)count : 0;
}

static void read_entry(const struct statement *row, ll_runlog_entry *entry)
{
    int at = 5;
    ll_runlog_entry_init(entry);
    entry->id = statement_integer(row, 0);
    entry->began = statement_integer(row, 2);
    entry->ended = statement_integer(row, 3);
    read_name(row, 4, entry->version, sizeof entry->version);
    const char *process = statement_text(row, 1, NULL);
    entry->state = entry->ended                        ? LL_RUN_ENDED
                   : process && process_lives(process) ? LL_RUN_GOING
                                                       : LL_RUN_CUT;
    READ_NAME(verb);
    READ_NAME(end);
    READ_NAME(model);
    READ_NAME(identity);
    READ_NAME(weights);
    READ_NAME(device);
    READ_NAME(backend);
    READ_NAME(kv);
    entry->context = read_count(row, at++);
    entry->windows = read_count(row, at++);
    entry->width = read_count(row, at++);
    entry->tokens_in = read_count(row, at++);
    entry->tokens_out = read_count(row, at++);
    for (int i = 0; i < LL_COMPONENTS; i++)
        entry->predicted[i] = read_count(row, at++);
    for (int i = 0; i < LL_COMPONENTS; i++)
        entry->peak[i] = read_count(row, at++);
    entry->resident_peak = read_count(row, at++);
    entry->first_token_seconds = statement_real(row, at++);
    entry->token_seconds = statement_real(row, at++);
    entry->coverage = statement_real(row, at++);
    entry->joules = statement_real(row, at);
}

static void bind_filter(struct statement *statement, const ll_runlog_filter *filter)
{
    statement_bind_text(statement, 1, filter->model);
    statement_bind_text(statement, 2, filter->verb);
    statement_bind_integer(statement, 3, filter->since);
    statement_bind_integer(statement, 4, filter->id);
    statement_bind_integer(statement, 5,
                           filter->last && filter->last < INT64_MAX ? (int64_t)filter->last : -1);
}

ll_status ll_runlog_query(ll_runlog *log, const ll_runlog_filter *given, ll_runlog_fn each, void *user,
                          ll_error *error)
{
    ll_runlog_filter filter;
    ll_runlog_entry entry;
    struct statement *statement;
    bool row = false;
    OPTIONS_READ(filter, given, ll_runlog_filter_init, error);
    LL_TRY(
        statement_open(log->database,
                       "SELECT * FROM (SELECT id, process, began, ended, version, " COLUMNS " FROM run "
                       "WHERE (?1 IS NULL OR instr(lower(model), lower(?1))) AND (?2 IS NULL OR verb = ?2) "
                       "AND began >= ?3 AND (?4 = 0 OR id = ?4) ORDER BY id DESC LIMIT ?5) ORDER BY id",
                       &statement, error));
    bind_filter(statement, &filter);
    ll_status status = statement_step(statement, &row, error);
    while (status == LL_OK && row) {
        read_entry(statement, &entry);
        if (each(user, &entry) == LL_STOP)
            break;
        status = statement_step(statement, &row, error);
    }
    statement_close(statement);
    return status;
}
