/* Whether a text is a table of cells apart by commas, TABs and the like.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_TABLE_H
#define READERS_TABLE_H

#include <stdbool.h>
#include <stddef.h>

/* Of the beginning of a text: at least three lines of equally many cells, two or more. */
bool table_is_plausible(const char *text, size_t length);

#endif
