/* What a reader of the pages sees: text that hides is left out, rows of tables are put in order.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_VISIBLE_H
#define READERS_VISIBLE_H

#include "readers/pdf_job.h"

/* raw: what pdftotext printed, pages ended by form feeds; the geometry of pdf is known. Pages with text drawn
 * invisibly, white on white, smaller than two points or off the page are written anew without it, and so are
 * those with tables; the notes say what was left out. The invisible text over a page-sized picture is its OCR
 * layer and stays. */
ll_status visible_text(struct pdf *pdf, struct strbuf *raw);

#endif
