/* The best quotations of a window: sentences of prose, lines of logs, words of comments.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DOCUMENT_PICK_H
#define DOCUMENT_PICK_H

#include "document/chunk.h"
#include "document/claim.h"
#include "document/terms.h"

/* Whether a file is made of lines that say what they say (logs, tables, code): they are quoted and counted,
 * and are not put before a small model, which has nothing to add to them. */
bool pick_is_of_lines(const struct doc_file *file);
/* Adds at most `most` claims, in their order; of a log up to MOST_LOG_LINES, for trouble comes in crowds.
 * false: no memory. */
bool pick_claims(const struct ll_document *document, const struct terms *terms, const struct window *window,
                 size_t window_index, size_t most, struct claim_list *out);
/* What all lines of a log or rows of a table come to, as a claim of the whole file; nothing of other kinds.
 */
bool pick_counted(const struct ll_document *document, const struct doc_file *file, size_t window_index,
                  struct claim_list *out);

#endif
