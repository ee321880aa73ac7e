/* SQLite databases: opened whole or refused in words; statements, transactions, upgrades.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is committed outlives kill -9 at any moment. A database is used by one thread at a time; several
 * processes may have one file open. All failures are sentences that name the file:
 *   LL_IO           the disk is full, the file or folder cannot be read or written
 *   LL_FORMAT       the file is damaged, is no database or belongs to another program
 *   LL_UNSUPPORTED  the file was written by a newer longleaf
 *   LL_BUSY         another process kept it locked for the whole waiting time
 *   LL_CANCELLED    the cancel flag was raised while waiting for that lock
 *   LL_INTERNAL     a statement that SQLite does not understand: a bug */
#ifndef BASE_DATABASE_H
#define BASE_DATABASE_H

#include "longleaf.h"

struct database;
struct statement;

struct database_schema {
    const char *what;         /* "the run log": stands in sentences */
    int32_t application;      /* marks our files of this kind, so that others are refused; not 0 */
    const char *const *steps; /* [version]: SQL that leads from version i to version i + 1 */
    int version;
};

enum database_safety {
    DATABASE_LASTING, /* a commit is on disk when it returns: outlives a power cut */
    DATABASE_QUICK    /* outlives every end of the process; a power cut may lose the last commits, no more */
};

struct database_options {
    const struct database_schema *schema;
    enum database_safety safety;
    bool must_exist;         /* LL_NOT_FOUND when there is no such file; else it is made */
    bool read_only;          /* implies must_exist; an old version is refused, as it cannot be upgraded */
    int wait_ms;             /* for another process's lock; 0: 5,000; negative: not at all */
    const ll_cancel *cancel; /* ends that waiting; may be NULL. Borrowed until database_close */
};

/* Makes missing folders (0700) and the file (0600), write-ahead logged where the file system allows it.
 * The schema is borrowed and outlives the database. path ":memory:" is a database that leaves with it. */
ll_status database_open(const char *path, const struct database_options *options, struct database **ret,
                        ll_error *error);
void database_close(struct database *database); /* NULL is allowed; all statements must be closed before */

/* One or several statements that give no rows. */
ll_status database_run(struct database *database, const char *sql, ll_error *error);
/* Everything that `body` does becomes lasting together or not at all; `body`'s failure is returned after
 * all was taken back. Not to be nested. */
ll_status database_transaction(struct database *database,
                               ll_status (*body)(struct database *database, void *user, ll_error *error),
                               void *user, ll_error *error);
int64_t database_last_id(const struct database *database);      /* rowid of the last insertion */
int64_t database_changed_rows(const struct database *database); /* by the last statement */
/* Reads all of it: LL_FORMAT with the first fault found. Slow. */
ll_status database_check(struct database *database, ll_error *error);

/* ---- statements: prepare, bind, step to the end, read columns, reset and again, close ---- */

ll_status statement_open(struct database *database, const char *sql, struct statement **ret, ll_error *error);
void statement_close(struct statement *statement); /* NULL is allowed */

/* Parameters count from 1. Bytes are copied; NULL text or bytes are SQL's NULL. A binding that fails is
 * told by the next step. */
void statement_bind_integer(struct statement *statement, int parameter, int64_t value);
void statement_bind_real(struct statement *statement, int parameter, double value); /* NAN is NULL */
void statement_bind_text(struct statement *statement, int parameter, const char *text);
void statement_bind_bytes(struct statement *statement, int parameter, const void *bytes, size_t length);
void statement_bind_null(struct statement *statement, int parameter);

/* *ret_row: a row is there to be read; false at the end. On failure the statement has been reset. */
ll_status statement_step(struct statement *statement, bool *ret_row, ll_error *error);
/* For statements that give no rows: one step, then ready to be bound again. */
ll_status statement_run(struct statement *statement, ll_error *error);
/* Ready to be bound and stepped again; bound values are forgotten. */
void statement_reset(struct statement *statement);

/* Columns count from 0; pointers live until the next step, reset or close. */
int64_t statement_integer(const struct statement *statement, int column);
double statement_real(const struct statement *statement, int column); /* NULL is NAN */
/* NULL for SQL's NULL; ret_length may be NULL. */
const char *statement_text(const struct statement *statement, int column, size_t *ret_length);
const void *statement_bytes(const struct statement *statement, int column, size_t *ret_length);
bool statement_is_null(const struct statement *statement, int column);

#endif
