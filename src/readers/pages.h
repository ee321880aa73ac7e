/* Paged text to running text: page map kept, headers and footers dropped, hyphenated words joined.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Works on what pdftotext gives and on plain texts with form feeds (RFCs). Linear. */
#ifndef READERS_PAGES_H
#define READERS_PAGES_H

#include "base/strbuf.h"
#include "readers/notes.h"
#include "longleaf.h"

struct page_list {   /* zero-initialised storage is empty */
    size_t *starts;  /* byte of the cleaned text where page i + 1 begins */
    size_t *letters; /* letters and digits left on the page */
    size_t count, capacity, letter_capacity;
    size_t left_out;  /* lines: running heads, page numbers */
    char example[64]; /* one of them, made printable */
};

bool page_list_add(struct page_list *list, size_t start); /* false: no memory */
void page_list_fini(struct page_list *list);
/* Form feeds end pages; a last page without one counts when it holds anything. text: valid UTF-8.
 * repair: also join words hyphenated at line ends, expand ligatures, drop soft hyphens. */
ll_status pages_clean(const char *text, size_t length, bool repair, const ll_cancel *cancel,
                      struct strbuf *out, struct page_list *pages, ll_error *error);
/* What is left out must not go unsaid, even where nobody misses it. */
void pages_note(const struct page_list *pages, const char *name, struct notes *notes);

#endif
