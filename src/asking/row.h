/* Rows of tables: the headings of their columns, and the cell that a question asks for.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A row is a line of a paragraph of lines whose cells stand apart by TABs or "|"; the first line of the
 * paragraph gives the columns' headings when it has as many cells and none of them is a figure. */
#ifndef ASKING_ROW_H
#define ASKING_ROW_H

#include "asking/question.h"

/* Whether the sentence is a row below a line of headings; *ret_head: the sentence that is that line. */
bool row_find_head(const struct ll_document *document, size_t sentence, size_t *ret_head);
/* Whether the sentence is such a line of headings itself. */
bool row_is_head(const struct ll_document *document, size_t sentence);
/* Puts "row, column: cell" for the one column whose heading meets the question best. false, and nothing is
 * put: the sentence is no row, the question names no cell of it, or no column before all others. */
bool row_answer(const struct ll_document *document, const struct question *question, size_t sentence,
                struct strbuf *out);

#endif
