/* What a running program says of itself (console/beacon.h), read and checked: it may say anything.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONSOLE_REPORT_H
#define CONSOLE_REPORT_H

#include "console/text.h"
#include "longleaf.h"

enum { REPORT_BYTES = 1 << 18, REPORT_PROGRAMS = 64 };

struct report {
    char program[32], verb[16], version[24], model[128]; /* UTF-8, not made safe for a terminal yet */
    long pid;
    int64_t began; /* milliseconds since 1970 */
    bool working;
    char phase[48], label[128];
    uint64_t done, total;
    double phase_seconds;
    bool with_memory, with_session; /* an engine is open; a session is */
    char device[128];
    ll_memory memory; /* of the first device */
    ll_session_stats session;
    ll_activity activity; /* windows 0: no document is read */
};

/* False: it is no report. */
bool report_read(const char *bytes, size_t length, struct report *ret);
/* The same in sentences and tables, for a terminal without a screen and for screen readers. */
void report_show(const struct report *report, struct text *out);
double report_time_left(const struct report *report); /* seconds; 0: unknown */

/* The numbers of this user's running programs, ascending, at most REPORT_PROGRAMS. False: problem says what
 * is wrong with the folder; none is no problem. */
bool report_find(long pids[REPORT_PROGRAMS], size_t *ret_count, struct text *problem);
enum { REPORT_WAKERS = 2 };
struct report_patience { /* what ends the wait for an answer: any of them readable; -1: none */
    int wakers[REPORT_WAKERS];
};

/* Asks one of them, for a second at most, or less as patience (may be NULL) has it. text: its report as it
 * came. False: problem says why, or nothing when the wait was ended. */
bool report_fetch(long pid, const struct report_patience *patience, struct text *text, struct text *problem);

#endif
