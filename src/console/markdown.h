/* Markdown as it streams in, for a terminal: finished rows, and how the unfinished end looks now.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Paragraphs wrap at words, lists hang, code keeps its lines, tables stand in columns. Control characters
 * are shown, not obeyed. A row that was finished never changes, so it may be printed and forgotten. */
#ifndef CONSOLE_MARKDOWN_H
#define CONSOLE_MARKDOWN_H

#include "console/text.h"

struct markdown {
    size_t columns;
    bool styled, unicode;
    bool code;         /* inside a fence */
    bool verbatim;     /* nothing is Markdown: rows are only wrapped */
    struct text line;  /* the source line under way */
    size_t taken;      /* bytes of it that stand in finished rows */
    unsigned style;    /* at that place */
    struct text table; /* lines of a table under way */
    struct text done;  /* finished rows; take them and clear it */
};

void markdown_init(struct markdown *markdown, size_t columns, bool styled, bool unicode);
void markdown_fini(struct markdown *markdown);
void markdown_feed(struct markdown *markdown, const char *bytes, size_t length);
/* The end of the text: all that is left becomes finished rows. */
void markdown_finish(struct markdown *markdown);
/* The rows that are not finished, as they look now; each ends with a newline. */
void markdown_rest(const struct markdown *markdown, struct text *out);
bool markdown_is_empty(const struct markdown *markdown); /* nothing is unfinished */

#endif
