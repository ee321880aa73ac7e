/* Questions answered from documents: the answer, and the sentences it stands in.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef JUPYTER_KERNEL_INQUIRY_H
#define JUPYTER_KERNEL_INQUIRY_H

#include "jupyter_kernel/talk.h"

/* *ret: Markdown, text and JSON with the quotes, which %cite shows, too. bool: false, and the turn's output
 * holds the failure. */
bool inquiry_answer(struct turn *turn, const ll_document *document, const char *question, json_t **ret);

#endif
