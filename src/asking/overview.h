/* Questions about a document as a whole: what it is about, what its main points are, who wrote it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * No window answers them and no word of theirs need stand in the text, so they go by other ways: key
 * sentences, and the lines in which texts name their authors. No model is asked. */
#ifndef ASKING_OVERVIEW_H
#define ASKING_OVERVIEW_H

#include "asking/answer.h"

enum overview_kind { OVERVIEW_NONE, OVERVIEW_SUBJECT, OVERVIEW_AUTHOR };

/* NONE as soon as one word of the question names something of its own. */
enum overview_kind overview_of(const char *question);
/* Sets text, quotes and reason. */
ll_status overview_make(const struct ll_document *document, enum overview_kind kind, const ll_run *run,
                        struct ll_answer *answer, ll_error *error);

#endif
