/* A Markdown table in columns of a terminal.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONSOLE_TABLE_H
#define CONSOLE_TABLE_H

#include "console/text.h"

/* source: lines that begin with a bar, each with a newline. Columns are narrowed and their cells wrapped
 * until the table is no wider than columns; with too many columns for that, the lines are shown as they are.
 */
void table_rows(const char *source, size_t columns, bool styled, bool unicode, struct text *out);

#endif
