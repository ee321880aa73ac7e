/* What the reader of one file hands on: clean text, page map, what was learned on the way.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_READING_H
#define READERS_READING_H

#include "base/strbuf.h"
#include "readers/kind.h"
#include "readers/notes.h"
#include "readers/pages.h"
#include "longleaf.h"

struct reading {
    struct strbuf text;     /* normalised UTF-8 */
    struct strbuf title;    /* from the file's metadata; may be empty */
    struct page_list pages; /* empty: the file has no pages */
    size_t unread_pages;    /* pictures of text */
    enum kind kind;
    char encoding[40];
    uint64_t source_bytes;
    char name[256];      /* the file as shown to a person */
    struct notes *notes; /* the document's */
};

void reading_fini(struct reading *reading);

#endif
