/* Which pages of a PDF show a picture large enough to be a scan.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_PICTURES_H
#define READERS_PICTURES_H

#include "readers/pdf_job.h"

/* pages_asked: set for the pages to look at; those that show no such picture are cleared. *ret_known false:
 * pdfimages could not tell. */
ll_status pictures_find(const struct pdf *pdf, bool *pages_asked, size_t pages, bool *ret_known);

#endif
