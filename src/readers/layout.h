/* The text of a page from where its pieces stand: columns one after another, cells of tables by TABs.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_LAYOUT_H
#define READERS_LAYOUT_H

#include "readers/geometry.h"

/* Whether some rows of the page are those of a table: short pieces, apart, below each other. */
bool layout_has_table(const struct geometry *geometry, size_t page);
/* Whether columns of the page, read one after another by whoever looks at it, stand row by row in text. */
bool layout_is_mixed(const struct geometry *geometry, size_t page, const char *text, size_t length);
/* Appends the page's text, hidden items left out, lines ended by "\n". false: no memory. */
bool layout_write(const struct geometry *geometry, size_t page, struct strbuf *out);

#endif
