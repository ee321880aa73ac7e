/* Pages that are pictures, read by tesseract.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_OCR_H
#define READERS_OCR_H

#include "readers/pdf_job.h"

/* Replaces the text of the marked pages in raw (pages ended by form feeds) by what tesseract reads on them.
 * LL_UNSUPPORTED: pdftoppm or tesseract is missing, or the language. */
ll_status ocr_pages(const struct pdf *pdf, const bool *marked, size_t pages, struct strbuf *raw);

#endif
