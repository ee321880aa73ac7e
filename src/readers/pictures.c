/* Which pages of a PDF show a picture large enough to be a scan.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/pictures.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

enum { SMALLEST_SCAN = 300 /* pixels of width and height; smaller pictures are ornaments */ };

static void mark(const char *report, bool *pictured, size_t pages)
{
    for (const char *line = report; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        unsigned long page, width, height;
        if (sscanf(line, "%lu %*u %*15s %lu %lu", &page, &width, &height) == 3 && page >= 1 &&
            page <= pages && width >= SMALLEST_SCAN && height >= SMALLEST_SCAN)
            pictured[page - 1] = true;
    }
}

ll_status pictures_find(const struct pdf *pdf, bool *pictured, size_t pages, bool *ret_known)
{
    const char *argv[] = {"pdfimages", "-list", CHILD_INPUT, NULL};
    struct child_result result;
    LL_TRY(pdf_run(pdf, argv, &result));
    *ret_known = result.exit_code == 0 && !result.too_much && !result.too_long;
    mark(strbuf_text(&result.out), pictured, pages);
    child_result_fini(&result);
    return LL_OK;
}
