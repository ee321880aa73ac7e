/* Words into rows of a width: wrapping by display columns, with Markdown's inline styles.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONSOLE_FLOW_H
#define CONSOLE_FLOW_H

#include "console/text.h"

enum flow_style { FLOW_BOLD = 1, FLOW_ITALIC = 2, FLOW_CODE = 4, FLOW_STRIKE = 8, FLOW_DIM = 16 };

struct flow {
    size_t columns;           /* of a row, two at least */
    bool styled;              /* styles are shown, and their marks are not; else the marks stay */
    const char *first, *rest; /* what stands before the first row and before those after it */
    unsigned style;           /* at the start */
};

/* Where a row began, so that it can be flowed again from there. */
struct flow_place {
    size_t offset; /* in the source */
    unsigned style;
};

/* Flows a piece of one source line (no newline in it) and adds rows, each with a newline at its end. Rows
 * from the skip-th on have their place stored, up to cap of them. Gives the number of rows, one at least. */
size_t flow_rows(const struct flow *flow, const char *source, size_t length, struct text *out,
                 struct flow_place *places, size_t cap);
/* Columns of a row, style sequences not counted. */
size_t flow_columns(const char *row, size_t length);
/* The sequence that switches to these styles from none; "" for 0. */
const char *flow_sequence(unsigned style, char sequence[24]);

#endif
