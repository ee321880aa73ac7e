/* The text of a structured document being written: blocks, headings, lists, tables, with their marks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Blanks fold into one outside of code. Breaks are owed, not written: nothing stands at the ends, and two
 * breaks in a row are one. Headings are written as Markdown does, "## Title". */
#ifndef READERS_PROSE_H
#define READERS_PROSE_H

#include "readers/reading.h"

struct prose { /* {.reading = …} is ready */
    struct reading *reading;
    int owed;      /* line ends due before the next text: 0, 1, 2 */
    bool space;    /* a blank is due */
    bool cell;     /* a TAB is due */
    bool listing;  /* the last block was a list item */
    bool prefixed; /* what stands at the end of the text is a mark ("# ", "- ") and its own blank */
    size_t tables; /* depth; inside of cells blocks are words of one line */
    size_t code;   /* depth of text whose blanks and line ends count */
    size_t items;  /* depth of lists */
    size_t code_first;
    bool code_open;
    bool origin_due; /* the next text comes from `origin` of the file */
    size_t origin;
    bool in_heading;
    struct reading_mark heading;
    bool failed;
};

void prose_text(struct prose *prose, const char *text, size_t length);
void prose_puts(struct prose *prose, const char *text);
void prose_block(struct prose *prose); /* a paragraph ends */
void prose_line(struct prose *prose);  /* a line ends */
void prose_heading(struct prose *prose, int level);
void prose_heading_end(struct prose *prose);
void prose_item(struct prose *prose);                     /* "- " at the depth of items */
void prose_label(struct prose *prose, const char *label); /* "[note 2]", in front of the next block */
void prose_code(struct prose *prose);
void prose_code_end(struct prose *prose);
void prose_row(struct prose *prose);
void prose_cell(struct prose *prose);
void prose_page(struct prose *prose);                  /* a page begins with the next text */
void prose_origin(struct prose *prose, size_t source); /* the next text stands at that byte of the file */
/* Ends the text. LL_NOMEM when something could not be kept. */
ll_status prose_finish(struct prose *prose, ll_error *error);

#endif
