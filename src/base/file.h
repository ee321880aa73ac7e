/* Files: mapped reads, whole reads with a limit, atomic writes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <time.h>

#include "base/strbuf.h"
#include "longleaf.h"

/* A read-only private mapping of a regular file. Only for model files: a file that shrinks while
 * mapped would fault, so documents are read with file_read. The file stays open, to be asked about. */
struct file_map {
    const unsigned char *bytes; /* NULL: closed; all zero is a closed map */
    size_t size;
    int fd;
    struct timespec changed; /* when the file was last written to, as it was opened */
};

ll_status file_map_open(const char *path, struct file_map *ret, ll_error *error);
/* LL_IO when the file has been cut or written to since; about a microsecond. */
ll_status file_map_check(const struct file_map *map, ll_error *error);
/* Lets go of the pages here and in the system's cache of files; they are read again when they are next used.
 * Returns the bytes let go here. */
uint64_t file_map_forget(const struct file_map *map);
void file_map_close(struct file_map *map);

/* Appends the whole of path ("-": standard input; FIFOs allowed) to out. More than max_bytes is
 * LL_UNSUPPORTED with both numbers: never cut. Directories are refused by name. cancel may be NULL. */
ll_status file_read(const char *path, size_t max_bytes, const ll_cancel *cancel, struct strbuf *out,
                    ll_error *error);
/* Writes to a temporary name beside path, syncs, renames. On failure path is untouched. A link stays a link:
 * the file behind it is replaced. */
ll_status file_write(const char *path, const char *bytes, size_t length, ll_error *error);

/* The same piece by piece. Zero-initialised storage; every open is followed by one end. */
struct file_writer {
    int fd;
    const char *path; /* borrowed, or real */
    char *real;       /* where a link leads; NULL: path is none */
    struct strbuf temporary;
};

/* secret: only the owner may read the file. A folder, device, pipe or socket at path is refused: the rename
 * at the end would put a plain file in its place. */
ll_status file_writer_open(struct file_writer *writer, const char *path, bool secret, ll_error *error);
ll_status file_writer_put(struct file_writer *writer, const void *bytes, size_t length, ll_error *error);
/* With LL_OK so far the file takes its place; else it goes. Gives the status so far, or its own failure. */
ll_status file_writer_end(struct file_writer *writer, ll_status so_far, ll_error *error);

#endif
