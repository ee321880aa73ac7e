/* What will be computed before it is: method, windows, calls, tokens, memory.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DOCUMENT_PLAN_H
#define DOCUMENT_PLAN_H

#include "document/budget.h"
#include "document/chunk.h"

struct ll_plan {
    const struct ll_document *document;
    bool needs_model, small; /* small: fewer than a billion parameters */
    char *focus;             /* NULL: nothing special */
    char *language;          /* NULL: the document's */
    size_t words;
    struct budget budget; /* of TREE and REFINE */
    size_t label_tokens;  /* of a child's label in a merge */
    struct window_list windows;
    struct strbuf reason;
    ll_plan_info info;
};

/* llm may be NULL. It must describe the same model when the plan is carried out. */
ll_status plan_make(const struct ll_document *document, const struct llm *llm, const ll_plan_options *options,
                    const ll_run *run, ll_plan **ret, ll_error *error);

#endif
