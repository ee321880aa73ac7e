/* Summaries and plans of documents as bundles: words, pages, what was read, where it stands.
 * SPDX-License-Identifier: Apache-2.0
 *
 * bool: false, and the turn's output holds the failure. */
#ifndef JUPYTER_KERNEL_DIGEST_H
#define JUPYTER_KERNEL_DIGEST_H

#include "jupyter_kernel/talk.h"

/* name: what the document is called in what is shown. *ret: Markdown, text and JSON with citations; the
 * passages that they rest on are kept for %cite. */
bool digest_summarise(struct turn *turn, const ll_document *document, const char *name, json_t **ret);
/* What a summary would take: text, Markdown, JSON and a picture of the windows. */
bool digest_plan(struct turn *turn, const ll_document *document, const char *name, json_t **ret);

#endif
