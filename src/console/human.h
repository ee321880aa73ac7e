/* Numbers as people read them: bytes, counts, durations, rates, shares, bars.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Results are values: human_bytes(n).text may stand inside a printf call. */
#ifndef CONSOLE_HUMAN_H
#define CONSOLE_HUMAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct human {
    char text[48];
};

struct human human_bytes(uint64_t bytes);                   /* "93.4 MiB"; binary units */
struct human human_count(uint64_t count);                   /* "12,345" */
struct human human_seconds(double seconds);                 /* "0.84 s", "3 min 20 s", "2 h 5 min" */
struct human human_rate(double per_second);                 /* "158", "12.3", "0.41"; "?" when not a number */
struct human human_share(double share);                     /* "99.9 %"; never rounds up to 100 % */
struct human human_things(uint64_t count, const char *one); /* "1 window", "1,200 windows" */
/* Begins with the first bit of a share and is full at 1 only; cells of at most 40; blocks when unicode, else
 * # and . */
struct human human_bar(double share, size_t cells, bool unicode);
double human_clock(void); /* monotonic seconds */

#endif
