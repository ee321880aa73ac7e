/* Which lines are headings: Markdown marks, "CHAPTER n", numbers, capitals, centred titles.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DOCUMENT_HEADING_H
#define DOCUMENT_HEADING_H

#include <stdbool.h>
#include <stddef.h>

enum heading_class { /* smaller encloses larger; numbered ones add their depth */
                     HEADING_PART = 10,
                     HEADING_CHAPTER = 20,
                     HEADING_CAPITALS = 30,
                     HEADING_NUMBERED = 40,
                     HEADING_MARKDOWN = 60, /* + 0 … 5 */
};

struct heading {
    int rank;           /* class and depth: only the order matters */
    size_t first, last; /* the title in the line */
    bool title_like;    /* capitals or centred: could be the name of the whole text */
};

/* An ATX line ("## Title ##"). */
bool heading_atx(const char *line, size_t length, struct heading *ret);
/* A line of = or - under a title line of similar length; ret_level 1 or 2. */
bool heading_underline(const char *line, size_t length, size_t title_length, int *ret_level);
/* A line with blank lines before and after it. */
bool heading_alone(const char *line, size_t length, struct heading *ret);
/* "3.2 Title", wherever it stands. */
bool heading_numbered(const char *line, size_t length, struct heading *ret);
/* A line that opens a block of text (PDFs seldom keep the blank line after a heading); next: the line
 * below it. */
bool heading_opening(const char *line, size_t length, const char *next, size_t next_length,
                     struct heading *ret);

#endif
