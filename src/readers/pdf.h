/* PDF files, read by poppler's programs as child processes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_PDF_H
#define READERS_PDF_H

#include "readers/reading.h"

/* fd: the file, of `bytes` bytes, open for reading. Fills text, title, pages, unread_pages and notes.
 * LL_UNREADABLE: needs a password, is damaged, or holds pictures only; LL_UNSUPPORTED: poppler-utils
 * is missing, or the text would exceed max_bytes. */
ll_status pdf_read(int fd, uint64_t bytes, const ll_document_options *options, size_t max_bytes,
                   const ll_cancel *cancel, struct reading *reading, ll_error *error);
/* The same text as pdf_read makes of what pdftotext printed. */
ll_status pdf_text_clean(const char *text, size_t length, const ll_cancel *cancel, struct reading *reading,
                         ll_error *error);

#endif
