/* One line of progress on a terminal: phase, bar, rate, time left.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Nothing is drawn during a phase's first second, so that quick work stays quiet, and at most ten
 * times a second after. The width is asked for at each drawing, so a resized terminal is no matter. */
#ifndef CONSOLE_METER_H
#define CONSOLE_METER_H

#include <stdbool.h>
#include <stdint.h>

#include "console/text.h"
#include "longleaf.h"

struct meter {
    int fd; /* where it draws; -1: never */
    bool unicode;
    bool shown; /* a line stands on the terminal now */
    int phase;  /* -1: none yet */
    double began, drawn;
    uint64_t first;           /* done when the phase began */
    double hold;              /* seconds of quiet at a phase's start */
    const char *words, *unit; /* shown in place of the phase's own; NULL: the phase's */
};

void meter_init(struct meter *meter, int fd, bool on);
void meter_update(struct meter *meter, const ll_progress *progress);
void meter_clear(struct meter *meter); /* wipes the line; the next phase begins anew */
/* The line's text for so many columns, elapsed seconds into the phase; what meter_update draws. */
void meter_line(const struct meter *meter, struct text *out, const ll_progress *progress, double elapsed,
                size_t columns);
const char *meter_phase_words(ll_phase phase);

#endif
