/* Files: mapped reads, whole reads with a limit, atomic writes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/strbuf.h"
#include "longleaf.h"

/* A read-only private mapping of a regular file. Only for model files: a file that shrinks while
 * mapped would fault, so documents are read with file_read. */
struct file_map {
    const unsigned char *bytes;
    size_t size;
};

ll_status file_map_open(const char *path, struct file_map *ret, ll_error *error);
void file_map_close(struct file_map *map);

/* Appends the whole of path ("-": standard input; FIFOs allowed) to out. More than max_bytes is
 * LL_UNSUPPORTED with both numbers: never cut. Directories are refused by name. cancel may be NULL. */
ll_status file_read(const char *path, size_t max_bytes, const ll_cancel *cancel, struct strbuf *out,
                    ll_error *error);
/* Writes to a temporary name beside path, syncs, renames. On failure path is untouched. */
ll_status file_write(const char *path, const char *bytes, size_t length, ll_error *error);

#endif
