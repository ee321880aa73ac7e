/* Bytes from a descriptor in blocks, with a look ahead, woken by signals.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/bytes.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "repl/signals.h"

static bool must_stop(const struct bytes *bytes)
{
    return signals_seen() && !(bytes->on_stop && bytes->on_stop(bytes->user));
}

static int sooner(int a, int b)
{
    return a < 0 ? b : b < 0 || a < b ? a : b;
}

/* Waits until the descriptor can be read. 1: it can, 0: time is up, -1: a signal asks to stop. */
static int wait_readable(struct bytes *bytes, int milliseconds)
{
    struct pollfd polls[3] = {{.fd = bytes->fd, .events = POLLIN},
                              {.fd = signals_descriptor(), .events = POLLIN},
                              {.fd = bytes->extra, .events = POLLIN}};
    for (;;) {
        int idle = bytes->on_idle ? bytes->on_idle(bytes->user) : -1;
        if (idle == BYTES_LEAVE || must_stop(bytes))
            return -1;
        int ready = poll(polls, bytes->on_idle && bytes->extra >= 0 ? 3 : 2, sooner(milliseconds, idle));
        if (must_stop(bytes))
            return -1;
        if (ready > 0 && polls[1].revents) {
            signals_drain();
            if (bytes->on_wake)
                bytes->on_wake(bytes->user);
        }
        if (ready > 0 && polls[0].revents)
            return 1;
        if (ready == 0 && milliseconds >= 0)
            return 0;
        if (ready < 0 && errno != EINTR)
            return 1; /* read says what is wrong */
    }
}

/* Adds a block behind what is left. */
static int fill(struct bytes *bytes)
{
    memmove(bytes->block, bytes->block + bytes->at, bytes->length - bytes->at);
    bytes->length -= bytes->at;
    bytes->at = 0;
    ssize_t got;
    do
        got = read(bytes->fd, bytes->block + bytes->length, sizeof bytes->block - bytes->length);
    while (got < 0 && errno == EINTR && !must_stop(bytes));
    if (got < 0)
        return errno == EINTR ? BYTES_INTERRUPTED : errno == EIO ? BYTES_END : BYTES_FAILED;
    bytes->length += (size_t)got;
    return got ? 0 : BYTES_END;
}

int bytes_next(struct bytes *bytes)
{
    if (bytes->at == bytes->length) {
        if (wait_readable(bytes, -1) < 0)
            return BYTES_INTERRUPTED;
        int failure = fill(bytes);
        if (failure)
            return failure;
    }
    return (unsigned char)bytes->block[bytes->at++];
}

bool bytes_match(struct bytes *bytes, const char *sequence)
{
    size_t wanted = strlen(sequence);
    for (;;) {
        size_t have = bytes->length - bytes->at;
        if (memcmp(bytes->block + bytes->at, sequence, have < wanted ? have : wanted) != 0)
            return false;
        if (have >= wanted)
            return true;
        if (wait_readable(bytes, 50) <= 0 || fill(bytes) != 0)
            return false;
    }
}

void bytes_skip(struct bytes *bytes, size_t count)
{
    bytes->at += count;
}
