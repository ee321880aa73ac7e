/* Headings to sections: contents lists told apart, levels made even, ranges and parents set.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DOCUMENT_OUTLINE_H
#define DOCUMENT_OUTLINE_H

#include "document/document.h"
#include "document/heading.h"

struct outline_entry {
    size_t paragraph; /* the heading's */
    int rank;
    size_t first, last; /* the title in the text */
    bool title_like;
};

struct outline { /* zero-initialised storage is empty */
    struct outline_entry *entries;
    size_t count, capacity;
};

bool outline_add(struct outline *outline, const struct outline_entry *entry); /* false: no memory */
/* Adds the file's section and those below it to the document and gives each paragraph its section.
 * Headings of contents lists become ordinary paragraphs. false: no memory. */
bool outline_build(struct outline *outline, struct ll_document *document, struct doc_file *file,
                   size_t first_paragraph, const char *title, const char *name);
void outline_fini(struct outline *outline);

#endif
