/* What source code says of itself: its comments and documentation strings.
 * SPDX-License-Identifier: Apache-2.0
 *
 * No grammar of any language: lines that begin with a comment mark, and what stands between triple quotes at
 * the beginning of a line. What follows code on its own line is passed by. */
#ifndef DOCUMENT_COMMENT_H
#define DOCUMENT_COMMENT_H

#include "base/strbuf.h"

struct comment {
    size_t first, last; /* whole lines of the text, marks and all */
};

/* The first comment at or after `at`, which must begin a line; false: there is none. */
bool comment_next(const char *text, size_t length, size_t at, struct comment *ret);
/* Its words without the marks, lines joined by blanks, empty lines kept. */
void comment_text(const char *text, const struct comment *comment, struct strbuf *out);

#endif
