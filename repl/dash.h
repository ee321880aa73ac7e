/* The dashboard: memory over time, KV blocks, windows and runs of one running program, on the whole screen.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPL_DASH_H
#define REPL_DASH_H

#include <stdio.h>

#include "console/beacon.h"
#include "console/report.h"

enum { DASH_SAMPLES = 4096 };

struct dash_sample { /* of memory, four a second */
    uint64_t used[LL_COMPONENTS];
};

struct dash {
    bool unicode, coloured;
    struct report report;
    bool with_report;
    struct text words;                        /* in place of a report: why there is none */
    size_t place, places;                     /* of the program among those that run, from 0 */
    struct dash_sample samples[DASH_SAMPLES]; /* a ring */
    size_t sample_count;                      /* since the program was turned to */
    struct text runs;                         /* the run log's last lines */
};

/* Shows it until a person leaves with q, Escape or Ctrl-C, or a signal comes. out: the terminal; own: this
 * program's beacon, shown first, or NULL; pid: the program to begin with, 0: the first that is found. False:
 * the terminal has no such screen, and nothing was done. */
bool dash_run(FILE *out, struct beacon *own, long pid);
/* Draws all of it in the terminal's present size. */
void dash_draw(const struct dash *dash);

#endif
