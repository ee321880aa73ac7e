/* SQLite databases: opened whole or refused in words; statements, transactions, upgrades.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/database.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"

enum { DEFAULT_WAIT_MS = 5000, SHOWN_PATH = 200 };

struct database {
    sqlite3 *handle;
    const struct database_schema *schema;
    const ll_cancel *cancel;
    double wait_seconds;    /* for a lock */
    double waiting_since;   /* when the present wait began */
    char shown[SHOWN_PATH]; /* the path, for sentences */
};

struct statement {
    struct database *database;
    sqlite3_stmt *handle;
    int bind_result; /* first failure since the last reset */
};

/* ---- failures in words ---- */

static ll_status say(const struct database *d, ll_status status, const char *reason, ll_error *error)
{
    return error_set(error, status, "database", "%s (%s) %s", d->schema->what, d->shown, reason);
}

static ll_status say_system(const struct database *d, ll_error *error)
{
    int reason = sqlite3_system_errno(d->handle);
    return error_set(error, LL_IO, "database", "%s (%s) cannot be read or written: %s", d->schema->what,
                     d->shown, reason ? strerror(reason) : sqlite3_errmsg(d->handle));
}

static ll_status fail(const struct database *d, int result, ll_error *error)
{
    switch (result & 0xFF) {
    case SQLITE_FULL:
        return say(d, LL_IO, "cannot grow: the disk is full; make room", error);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return say(d, LL_IO, "may only be read here; look at the rights of the file and its folder", error);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        if (cancel_requested(d->cancel))
            return say(d, LL_CANCELLED, "was waited for until the run was cancelled", error);
        return say(d, LL_BUSY, "is kept locked by another program; try again when that is done", error);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return say(d, LL_FORMAT, "is damaged or no database; move the file away and start anew", error);
    case SQLITE_NOMEM:
        return say(d, LL_NOMEM, "needs more memory than there is", error);
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
        return say_system(d, error);
    default:
        return error_set(error, LL_INTERNAL, "database", "%s (%s): %s", d->schema->what, d->shown,
                         sqlite3_errmsg(d->handle));
    }
}

/* SQLite asks again and again while another process holds the lock. */
static int wait_for_lock(void *user, int times)
{
    struct database *d = user;
    double now = clock_seconds();
    if (times == 0)
        d->waiting_since = now;
    if (cancel_requested(d->cancel) || now - d->waiting_since >= d->wait_seconds)
        return 0;
    struct timespec pause = {.tv_nsec = (times < 10 ? 2 : 20) * 1000000L};
    nanosleep(&pause, NULL);
    return 1;
}

/* ---- opening ---- */

static ll_status make_folders(const char *path, ll_error *error)
{
    char folder[PATH_MAX];
    size_t length = strlen(path);
    if (length >= sizeof folder)
        return error_errno(error, "database", path, ENAMETOOLONG);
    memcpy(folder, path, length + 1);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int reason = mkdir(folder, 0700) == 0 ? 0 : errno;
        if (reason && reason != EEXIST && access(folder, F_OK) != 0)
            return error_errno(error, "database", folder, reason);
        *slash = '/';
    }
    return LL_OK;
}

/* SQLite would make the file as wide as the mask allows; its -wal and -shm take the file's rights. The file
 * is never opened here: closing it would let go of all locks on it that this process holds elsewhere. */
static ll_status make_file(const char *path, ll_error *error)
{
    LL_TRY(make_folders(path, error));
    struct stat info;
    int reason = mknod(path, S_IFREG | 0600, 0) == 0 ? 0 : errno;
    if (stat(path, &info) != 0)
        return error_errno(error, "database", path, reason && reason != EEXIST ? reason : errno);
    if (!S_ISREG(info.st_mode))
        return error_set(error, LL_ARGUMENT, "database", "%s is no regular file; name another", path);
    return LL_OK;
}

static ll_status query_integer(struct database *d, const char *sql, int64_t *ret, ll_error *error)
{
    struct statement *statement;
    bool row;
    LL_TRY(statement_open(d, sql, &statement, error));
    ll_status status = statement_step(statement, &row, error);
    if (status == LL_OK)
        *ret = row ? statement_integer(statement, 0) : 0;
    statement_close(statement);
    return status;
}

/* What the file is: *ret_version 0 for one that nothing has been written to. */
static ll_status read_version(struct database *d, int64_t *ret_version, ll_error *error)
{
    int64_t application, version, tables;
    LL_TRY(query_integer(d, "PRAGMA application_id", &application, error));
    LL_TRY(query_integer(d, "PRAGMA user_version", &version, error));
    LL_TRY(query_integer(d, "SELECT count(*) FROM sqlite_master", &tables, error));
    bool fresh = application == 0 && version == 0 && tables == 0;
    if (!fresh && application != d->schema->application)
        return say(d, LL_FORMAT, "is a database of another program; name another file", error);
    if (version > d->schema->version)
        return error_set(
            error, LL_UNSUPPORTED, "database",
            "%s (%s) has format %lld and this longleaf knows %d; use the newer one that wrote it",
            d->schema->what, d->shown, (long long)version, d->schema->version);
    if (version < 0)
        return say(d, LL_FORMAT, "is damaged: its format number is negative", error);
    *ret_version = version;
    return LL_OK;
}

/* Read again inside the transaction: another process may have been quicker. */
static ll_status upgrade(struct database *d, void *user, ll_error *error)
{
    int64_t version;
    char sql[96];
    (void)user;
    LL_TRY(read_version(d, &version, error));
    if (version == d->schema->version)
        return LL_OK;
    for (int64_t i = version; i < d->schema->version; i++)
        LL_TRY(database_run(d, d->schema->steps[i], error));
    sqlite3_snprintf(sizeof sql, sql, "PRAGMA application_id = %d; PRAGMA user_version = %d",
                     d->schema->application, d->schema->version);
    return database_run(d, sql, error);
}

/* Changing the journal asks for the lock only once, so that two processes that make a file would meet here.
 * A file system without shared memory stays with the older journal: as safe, a little slower. */
static ll_status log_ahead(struct database *d, ll_error *error)
{
    int result, times = 0;
    do
        result = sqlite3_exec(d->handle, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
    while ((result & 0xFF) == SQLITE_BUSY && wait_for_lock(d, times++));
    return result == SQLITE_OK ? LL_OK : fail(d, result, error);
}

/* In one transaction, so that a file that another process is just making is seen before or after. */
static ll_status read_version_at_once(struct database *d, int64_t *ret_version, ll_error *error)
{
    LL_TRY(database_run(d, "BEGIN", error));
    ll_status status = read_version(d, ret_version, error);
    if (!sqlite3_get_autocommit(d->handle))
        sqlite3_exec(d->handle, "COMMIT", NULL, NULL, NULL);
    return status;
}

static ll_status prepare_file(struct database *d, const struct database_options *options, ll_error *error)
{
    int64_t version;
    LL_TRY(read_version_at_once(d, &version, error));
    if (options->read_only)
        return version == d->schema->version
                   ? LL_OK
                   : say(d, LL_UNSUPPORTED, "has an older format and is opened for reading only", error);
    LL_TRY(log_ahead(d, error));
    LL_TRY(database_run(
        d, options->safety == DATABASE_LASTING ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL",
        error));
    LL_TRY(database_run(d, "PRAGMA foreign_keys = ON", error));
    return version == d->schema->version ? LL_OK : database_transaction(d, upgrade, NULL, error);
}

static ll_status open_handle(struct database *d, const char *path, const struct database_options *options,
                             ll_error *error)
{
    int flags = SQLITE_OPEN_FULLMUTEX | (options->read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE);
    int wait = options->wait_ms ? options->wait_ms : DEFAULT_WAIT_MS;
    bool in_memory = strcmp(path, ":memory:") == 0;
    if (!in_memory && (options->must_exist || options->read_only)) {
        if (access(path, F_OK) != 0)
            return error_errno(error, "database", path, errno);
    } else if (!in_memory) {
        LL_TRY(make_file(path, error));
    }
    int result = sqlite3_open_v2(path, &d->handle, flags, NULL);
    if (!d->handle)
        return error_nomem(error, "database", sizeof *d);
    if (result != SQLITE_OK)
        return fail(d, result, error);
    d->wait_seconds = wait > 0 ? wait / 1000.0 : 0.0;
    sqlite3_busy_handler(d->handle, wait_for_lock, d);
    /* A file from elsewhere must not make functions run through views or triggers of its own. */
    sqlite3_db_config(d->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)NULL);
    sqlite3_db_config(d->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL);
    return prepare_file(d, options, error);
}

ll_status database_open(const char *path, const struct database_options *options, struct database **ret,
                        ll_error *error)
{
    struct database *d = mem_new(1, sizeof *d);
    if (!d)
        return error_nomem(error, "database", sizeof *d);
    d->schema = options->schema;
    d->cancel = options->cancel;
    utf8_printable(path, strlen(path), d->shown, sizeof d->shown);
    ll_status status = open_handle(d, path, options, error);
    if (status != LL_OK) {
        database_close(d);
        return status;
    }
    *ret = d;
    return LL_OK;
}

void database_close(struct database *d)
{
    if (!d)
        return;
    sqlite3_close_v2(d->handle);
    mem_free(d);
}

/* ---- whole statements ---- */

ll_status database_run(struct database *d, const char *sql, ll_error *error)
{
    int result = sqlite3_exec(d->handle, sql, NULL, NULL, NULL);
    return result == SQLITE_OK ? LL_OK : fail(d, result, error);
}

ll_status database_transaction(struct database *d,
                               ll_status (*body)(struct database *database, void *user, ll_error *error),
                               void *user, ll_error *error)
{
    LL_TRY(database_run(d, "BEGIN IMMEDIATE", error));
    ll_status status = body(d, user, error);
    if (status == LL_OK)
        status = database_run(d, "COMMIT", error);
    if (status != LL_OK && !sqlite3_get_autocommit(d->handle)) /* some failures have taken it back already */
        sqlite3_exec(d->handle, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

int64_t database_last_id(const struct database *d)
{
    return sqlite3_last_insert_rowid(d->handle);
}

int64_t database_changed_rows(const struct database *d)
{
    return sqlite3_changes(d->handle);
}

ll_status database_check(struct database *d, ll_error *error)
{
    struct statement *statement;
    bool row;
    LL_TRY(statement_open(d, "PRAGMA integrity_check(1)", &statement, error));
    ll_status status = statement_step(statement, &row, error);
    const char *answer = status == LL_OK && row ? statement_text(statement, 0, NULL) : NULL;
    if (status == LL_OK && (!answer || strcmp(answer, "ok") != 0))
        status = error_set(error, LL_FORMAT, "database", "%s (%s) is damaged: %.200s", d->schema->what,
                           d->shown, answer ? answer : "no answer");
    statement_close(statement);
    return status;
}

/* ---- statements ---- */

ll_status statement_open(struct database *d, const char *sql, struct statement **ret, ll_error *error)
{
    struct statement *s = mem_new(1, sizeof *s);
    if (!s)
        return error_nomem(error, "database", sizeof *s);
    s->database = d;
    int result = sqlite3_prepare_v3(d->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &s->handle, NULL);
    if (result != SQLITE_OK) {
        mem_free(s);
        return fail(d, result, error);
    }
    *ret = s;
    return LL_OK;
}

void statement_close(struct statement *s)
{
    if (!s)
        return;
    sqlite3_finalize(s->handle);
    mem_free(s);
}

static void note_binding(struct statement *s, int result)
{
    if (s->bind_result == SQLITE_OK)
        s->bind_result = result;
}

void statement_bind_integer(struct statement *s, int parameter, int64_t value)
{
    note_binding(s, sqlite3_bind_int64(s->handle, parameter, value));
}

void statement_bind_real(struct statement *s, int parameter, double value)
{
    note_binding(s, isnan(value) ? sqlite3_bind_null(s->handle, parameter)
                                 : sqlite3_bind_double(s->handle, parameter, value));
}

void statement_bind_text(struct statement *s, int parameter, const char *text)
{
    note_binding(s, sqlite3_bind_text(s->handle, parameter, text, -1, SQLITE_TRANSIENT));
}

void statement_bind_bytes(struct statement *s, int parameter, const void *bytes, size_t length)
{
    note_binding(s, sqlite3_bind_blob64(s->handle, parameter, bytes, length, SQLITE_TRANSIENT));
}

void statement_bind_null(struct statement *s, int parameter)
{
    note_binding(s, sqlite3_bind_null(s->handle, parameter));
}

ll_status statement_step(struct statement *s, bool *ret_row, ll_error *error)
{
    int result = s->bind_result == SQLITE_OK ? sqlite3_step(s->handle) : s->bind_result;
    if (result == SQLITE_ROW || result == SQLITE_DONE) {
        *ret_row = result == SQLITE_ROW;
        return LL_OK;
    }
    ll_status status = fail(s->database, result, error);
    statement_reset(s);
    return status;
}

ll_status statement_run(struct statement *s, ll_error *error)
{
    bool row;
    LL_TRY(statement_step(s, &row, error));
    statement_reset(s);
    return LL_OK;
}

void statement_reset(struct statement *s)
{
    sqlite3_reset(s->handle);
    sqlite3_clear_bindings(s->handle);
    s->bind_result = SQLITE_OK;
}

int64_t statement_integer(const struct statement *s, int column)
{
    return sqlite3_column_int64(s->handle, column);
}

double statement_real(const struct statement *s, int column)
{
    return statement_is_null(s, column) ? (double)NAN : sqlite3_column_double(s->handle, column);
}

const char *statement_text(const struct statement *s, int column, size_t *ret_length)
{
    const char *text = (const char *)sqlite3_column_text(s->handle, column);
    if (ret_length)
        *ret_length = (size_t)sqlite3_column_bytes(s->handle, column);
    return text;
}

const void *statement_bytes(const struct statement *s, int column, size_t *ret_length)
{
    const void *bytes = sqlite3_column_blob(s->handle, column);
    if (ret_length)
        *ret_length = (size_t)sqlite3_column_bytes(s->handle, column);
    return bytes;
}

bool statement_is_null(const struct statement *s, int column)
{
    return sqlite3_column_type(s->handle, column) == SQLITE_NULL;
}
