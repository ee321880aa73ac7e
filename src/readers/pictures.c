/* Which pages of a PDF show a picture large enough to be a scan.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/pictures.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

enum { SMALLEST_SCAN = 300 /* pixels of width and height; smaller pictures are ornaments */ };

enum { MOST_LOOKS = 16 }; /* programs started for pages that lie apart; more: all pages at once */

static void mark(const char *report, bool *found, size_t pages)
{
    for (const char *line = report; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        unsigned long page, width, height;
        if (sscanf(line, "%lu %*u %*15s %lu %lu", &page, &width, &height) == 3 && page >= 1 &&
            page <= pages && width >= SMALLEST_SCAN && height >= SMALLEST_SCAN)
            found[page - 1] = true;
    }
}

/* Pages [first, last). */
static ll_status look(const struct pdf *pdf, size_t first, size_t last, bool *found, bool *ret_known)
{
    char from[24], to[24];
    snprintf(from, sizeof from, "%zu", first + 1);
    snprintf(to, sizeof to, "%zu", last);
    const char *argv[] = {"pdfimages", "-list", "-f", from, "-l", to, CHILD_INPUT, NULL};
    struct child_result result;
    LL_TRY(pdf_run(pdf, argv, &result));
    *ret_known &= result.exit_code == 0 && !result.too_much && !result.too_long;
    mark(strbuf_text(&result.out), found, last);
    child_result_fini(&result);
    return LL_OK;
}

static size_t run_end(const bool *asked, size_t pages, size_t first)
{
    while (first < pages && asked[first])
        first++;
    return first;
}

/* pdfimages opens every picture of the pages it is given, so it is given few. */
static ll_status look_all(const struct pdf *pdf, const bool *asked, size_t pages, bool *found,
                          bool *ret_known)
{
    size_t runs = 0;
    for (size_t i = 0; i < pages; i++)
        runs += asked[i] && (i == 0 || !asked[i - 1]);
    if (runs > MOST_LOOKS)
        return look(pdf, 0, pages, found, ret_known);
    for (size_t first = 0, last; first < pages; first = last + 1) {
        last = run_end(asked, pages, first);
        if (last > first)
            LL_TRY(look(pdf, first, last, found, ret_known));
    }
    return LL_OK;
}

ll_status pictures_find(const struct pdf *pdf, bool *pages_asked, size_t pages, bool *ret_known)
{
    bool *found = mem_new(pages + 1, sizeof *found);
    if (!found)
        return error_nomem(pdf->error, "pdf", pages);
    *ret_known = true;
    ll_status status = look_all(pdf, pages_asked, pages, found, ret_known);
    for (size_t i = 0; i < pages; i++)
        pages_asked[i] &= found[i];
    mem_free(found);
    return status;
}
