/* What HTML elements mean for the text: which are blocks, headings, lists, tables, and which say nothing.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Fed with the events of one document in order, whoever parses it. */
#ifndef READERS_MARKUP_H
#define READERS_MARKUP_H

#include "readers/prose.h"

struct markup { /* {.prose = …} is ready */
    struct prose *prose;
    size_t hidden; /* hidden elements that held text */
    bool keep_navigation;
};

/* What the parser knows of an element. attribute: its value or NULL; borrowed until the next call. */
struct markup_element {
    const char *tag; /* lower case */
    const char *(*attribute)(const void *element, const char *name);
    const void *element;
};

/* false: the element and all in it are left out (and markup_close is not called for it). */
bool markup_open(struct markup *markup, const struct markup_element *element);
void markup_close(struct markup *markup, const char *tag);

#endif
