/* HTML parsed by gumbo, its text written as prose.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_HTML_H
#define READERS_HTML_H

#include "readers/prose.h"

struct html_page {         /* what a page is written with */
    bool fragment_of_book; /* XHTML of an e-book: navigation out */
    double seconds;
    size_t memory; /* of the parsed page */
    const char *name;
    const ll_cancel *cancel;
};

/* Appends the page to the prose; title: filled from <title> when not NULL. text: UTF-8. *ret_hidden: hidden
 * elements left out. LL_UNREADABLE when the page is nested so deeply that it takes too long. */
ll_status html_write(const char *text, size_t length, const struct html_page *page, struct prose *prose,
                     struct strbuf *title, size_t *ret_hidden, ll_error *error);
/* The encoding that a page of unknown bytes names in its head; false when none. */
bool html_charset(const char *bytes, size_t length, char *ret, size_t cap);

#endif
