/* Where the pieces of text stand on the pages of a PDF, as pdftohtml tells it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Units are those of pdftohtml's XML: two thirds of a point. */
#ifndef READERS_GEOMETRY_H
#define READERS_GEOMETRY_H

#include "readers/reader.h"

struct geometry_item {
    int left, top, width, height;
    int size;            /* of the font */
    unsigned colour;     /* 0xRRGGBB */
    size_t text, length; /* in texts */
    bool bold;           /* nearly all of it */
    bool hidden;         /* set by whoever finds out */
};

struct geometry_bookmark {
    size_t page; /* from 1; 0: it leads nowhere */
    int level;   /* from 1 */
    size_t text, length;
};

struct geometry_page {
    int width, height;
    size_t first, count; /* items */
};

struct geometry { /* zero-initialised storage is empty */
    struct geometry_item *items;
    size_t count, capacity;
    struct geometry_page *pages;
    size_t page_count, page_capacity;
    struct geometry_bookmark *bookmarks;
    size_t bookmark_count, bookmark_capacity;
    struct strbuf texts;
};

/* xml: what `pdftohtml -xml` printed. LL_UNREADABLE when it is broken. */
ll_status geometry_parse(const struct input *input, const char *xml, size_t length, struct geometry *ret);
void geometry_fini(struct geometry *geometry);

#endif
