/* Running headers, footers and page numbers: lines that come back at the same edge of most pages.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_RUNNING_H
#define READERS_RUNNING_H

#include <stdbool.h>
#include <stddef.h>

enum { RUNNING_DEPTH = 4 }; /* lines looked at, at each edge of a page */

struct page_line {
    size_t first, last; /* bytes, line end left out, trailing blanks too */
    size_t page;
    bool dropped;
};

/* Marks the lines to leave out. A line counts as running when it, its digits hidden, stands at the
 * same edge of more than half of the pages (a third, when at least five: left and right pages), and
 * either its words repeat or its number counts the pages: a "Chapter 3" above each chapter stays. So
 * do words at the top of the first page (a title), and the first of a chapter's own running heads.
 * Where all this would take more than two fifths of the text, only bare numbers are marked.
 * lines are in page order. false: no memory. */
bool running_mark(const char *text, struct page_line *lines, size_t count, size_t pages);

#endif
