/* PDF files, read by poppler's programs as child processes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_PDF_H
#define READERS_PDF_H

#include "readers/reading.h"

/* The text that read_pdf makes of what pdftotext printed. */
ll_status pdf_text_clean(const char *text, size_t length, const ll_cancel *cancel, struct reading *reading,
                         ll_error *error);

#endif
