/* Finds the name somebody probably meant.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONSOLE_SUGGEST_H
#define CONSOLE_SUGGEST_H

#include <stddef.h>

struct suggestion {
    const char *typed;
    const char *best; /* NULL while nothing is near enough */
    size_t distance;
};

void suggest_begin(struct suggestion *suggestion, const char *typed);
/* Offers one candidate; the nearest is kept (edits and swaps of neighbours; a third of the length). */
void suggest_offer(struct suggestion *suggestion, const char *name);

#endif
