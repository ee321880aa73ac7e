/* Bytes from a descriptor in blocks, with a look ahead, woken by signals.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPL_BYTES_H
#define REPL_BYTES_H

#include <stdbool.h>
#include <stddef.h>

enum { BYTES_END = -1, BYTES_INTERRUPTED = -2, BYTES_FAILED = -3, BYTES_LEAVE = -4 };

struct bytes {
    int fd;
    size_t at, length;
    void (*on_wake)(void *user); /* after a signal that does not stop: resize, continue */
    /* Before each wait: does what is due, and gives the milliseconds to the next time, -1 for none, or
     * BYTES_LEAVE to interrupt the reading. */
    int (*on_idle)(void *user);
    /* A signal asks to stop: whether something else than the reading takes it. */
    bool (*on_stop)(void *user);
    int extra; /* another descriptor that ends a wait; -1: none */
    void *user;
    char block[1 << 16];
};

int bytes_next(struct bytes *bytes); /* 0 … 255 or one of the above; waits */
/* Whether the next bytes are exactly these; waits a twentieth of a second for bytes that may be on
 * their way, and takes nothing. */
bool bytes_match(struct bytes *bytes, const char *sequence);
void bytes_skip(struct bytes *bytes, size_t count); /* of bytes that bytes_match has seen */

#endif
