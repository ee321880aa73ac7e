/* What a table comes to: how many rows, and what stands in each column.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DOCUMENT_TALLY_H
#define DOCUMENT_TALLY_H

#include "document/document.h"

/* "A table of 500 rows; date: 336 different; region: north, south, east; price from 0.08 to 99.9." of cells
 * apart by TABs under a row of names; long tables were told by their reader, whose words are taken. Nothing
 * for a text of one row. false: no memory. */
bool tally_describe(const struct ll_document *document, const struct doc_file *file, struct strbuf *out);

#endif
