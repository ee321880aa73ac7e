/* Summaries and plans of documents as bundles: words, pages, what was read, where it stands.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef JUPYTER_KERNEL_DIGEST_H
#define JUPYTER_KERNEL_DIGEST_H

#include "jupyter_kernel/talk.h"

/* Bundles: text/plain, text/markdown, application/json; a summary's passages are kept for %cite. */
bool digest_summarise(struct turn *turn, const ll_document *document, const char *name, json_t **ret);
/* Shows the windows as a picture, too. */
bool digest_plan(struct turn *turn, const ll_document *document, const char *name, json_t **ret);

struct digest { /* zero-initialised: nothing yet */
    ll_plan *plan;
    ll_plan_info info;
    ll_summary *summary;
};

/* Plans and summarises; give it back also when that fails. */
bool digest_make(struct turn *turn, const ll_document *document, const ll_plan_options *wanted,
                 struct digest *digest);
void digest_fini(struct digest *digest);

#endif
