/* Questions to a document: the best windows asked side by side, the answer checked against its sentence.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ASKING_ASK_H
#define ASKING_ASK_H

#include "asking/answer.h"
#include "document/llm.h"

/* llm may be NULL: sentences are quoted only. */
ll_status ask_make(const struct llm *llm, const struct ll_document *document, const char *question,
                   const ll_ask_options *options, const ll_run *run, ll_answer **ret, ll_error *error);

#endif
