/* From the engine's thread to the screen's: text in the order it came, and the latest progress.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Put functions may be called from any thread, take functions from the screen's only. */
#ifndef REPL_FEED_H
#define REPL_FEED_H

#include <stdbool.h>
#include <stddef.h>

#include "longleaf.h"

struct feed;

enum feed_kind {
    FEED_PROSE,    /* an answer or a summary: Markdown */
    FEED_VERBATIM, /* lists and tables of the program's own */
    FEED_SAID      /* sentences about the work */
};

struct feed_progress {
    bool active;
    ll_phase phase;
    uint64_t done, total, first; /* first: what was done at the phase's first report */
    double began;                /* of the phase, by human_clock */
    char label[120];
};

typedef void (*feed_fn)(void *user, enum feed_kind kind, const char *bytes, size_t length);

struct feed *feed_open(void); /* NULL: errno says why */
void feed_close(struct feed *feed);
void feed_put(struct feed *feed, enum feed_kind kind, const char *bytes, size_t length);
void feed_put_progress(struct feed *feed, const ll_progress *progress); /* NULL: none is going on */
void feed_wake(struct feed *feed);
int feed_descriptor(const struct feed *feed); /* readable after a put or a wake */
void feed_drain(struct feed *feed);           /* empties it */
void feed_take(struct feed *feed, feed_fn each, void *user);
void feed_get_progress(struct feed *feed, struct feed_progress *ret);

#endif
