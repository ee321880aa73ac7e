/* Windows through the model, side by side: a few checked sentences for each.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DOCUMENT_MAP_H
#define DOCUMENT_MAP_H

#include "document/check.h"
#include "document/prompt.h"
#include "document/summary.h"

/* One node of level 0 for each window of the plan. Without a model, and for windows of which no generated
 * sentence holds, its key sentences. */
ll_status map_windows(struct summary_job *job);

/* ---- for merges ------------------------------------------------------------------------------ */

/* One text for the model and what came back. */
struct map_task {
    struct strbuf text;   /* in; borrowed by the run */
    struct strbuf output; /* out */
    bool looped, ended;   /* stopped by the guard; ended by the model itself */
};

/* Runs all tasks together under one prompt. At most max_tokens each. done, total: for progress. */
ll_status map_run(struct summary_job *job, const struct prompt *prompt, struct map_task *tasks, size_t count,
                  size_t max_tokens, ll_phase phase, size_t done, size_t total);
void map_task_fini(struct map_task *task);
/* A larger model may put things in words of its own: this share of them must still be in the text. */
#define LOOSE_SUPPORT 0.4f
/* Calls fn with each sentence of a task's output that may stand; an unfinished last one is left out. strict:
 * four in five of its words must be in the text, else least_support of them. */
ll_status map_sentences(const struct map_task *task, const struct checker *checker, bool strict,
                        float least_support,
                        ll_status (*fn)(void *context, const char *sentence, size_t length, float support),
                        void *context);

#endif
