/* What the steps of reading one PDF share.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_PDF_JOB_H
#define READERS_PDF_JOB_H

#include "readers/child.h"
#include "readers/geometry.h"
#include "readers/reader.h"

struct pdf {
    int fd;
    bool unlocked; /* fd is our own: a copy without password */
    uint64_t bytes;
    const ll_document_options *options;
    size_t max_bytes;
    const ll_cancel *cancel;
    struct reading *reading;
    struct input *input;
    struct geometry geometry; /* empty when it could not be found out */
    ll_error *error;
};

struct child_limits pdf_limits(const struct pdf *pdf);
/* child_run with those limits; a missing program is LL_UNSUPPORTED and named with its package. */
ll_status pdf_run(const struct pdf *pdf, const char *const *argv, struct child_result *ret);
/* Appends "1-3, 7" for the marked pages. */
void pdf_name_pages(const bool *marked, size_t pages, struct strbuf *out);

#endif
