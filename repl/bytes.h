/* Bytes from a descriptor in blocks, with a look ahead, woken by signals.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPL_BYTES_H
#define REPL_BYTES_H

#include <stdbool.h>
#include <stddef.h>

enum { BYTES_END = -1, BYTES_INTERRUPTED = -2, BYTES_FAILED = -3 };

struct bytes {
    int fd;
    size_t at, length;
    void (*on_wake)(void *user); /* after a signal that does not stop: resize, continue */
    void *user;
    char block[1 << 16];
};

int bytes_next(struct bytes *bytes); /* 0 … 255 or one of the above; waits */
/* Whether the next bytes are exactly these; waits a twentieth of a second for bytes that may be on
 * their way, and takes nothing. */
bool bytes_match(struct bytes *bytes, const char *sequence);
void bytes_skip(struct bytes *bytes, size_t count); /* of bytes that bytes_match has seen */

#endif
