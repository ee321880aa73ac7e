/* Headings of a PDF: what its bookmarks name, or what is printed larger or bolder than the rest.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_TITLES_H
#define READERS_TITLES_H

#include "readers/pdf_job.h"

/* Adds a mark to the reading for each line of its clean text that is a heading: levels are those of the
 * bookmarks, or follow the size of the letters. Nothing is marked when the geometry is not known, or when
 * what stands out is too much to be headings. */
ll_status titles_mark(const struct pdf *pdf);

#endif
