/* Opens what a person names: files, folders, archives, standard input, pipes; content decides the reader.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_SOURCE_H
#define READERS_SOURCE_H

#include <sys/stat.h>

#include "readers/limits.h"
#include "readers/reading.h"
#include "readers/sieve.h"

/* One call that reads documents, and what it found on the way. */
struct source_call {
    const ll_document_options *options;
    const ll_run *run;
    struct notes *notes;
    /* Takes each file that was read, in order; it may keep what the reading holds. */
    ll_status (*take)(void *user, struct reading *reading, ll_error *error);
    void *user;
    struct allowance allowance;
    size_t taken;
    size_t skipped; /* files and parts that should have been read and could not be; named in notes */
};

/* path "-": standard input. Names are bytes and reach no shell and no child. A folder or archive gives many
 * readings, and what cannot be read in it is skipped by name; a file that is named itself must be readable.
 */
ll_status source_read(struct source_call *call, const char *path, ll_error *error);
/* The same for bytes already in memory; they are text whatever they look like. */
ll_status source_read_text(struct source_call *call, const char *bytes, size_t length, ll_error *error);

/* For folders and archives: one file of many, open as fd or as bytes. What cannot be read goes to the sieve;
 * only LL_NOMEM, LL_CANCELLED and a spent allowance are errors. */
struct source_member {
    const char *name; /* its bytes; made printable for a person */
    int fd;           /* -1: bytes */
    const struct stat *info;
    const char *bytes;
    size_t length;
    struct sieve *sieve;
};
ll_status source_read_member(struct source_call *call, const struct source_member *member, ll_error *error);

#endif
