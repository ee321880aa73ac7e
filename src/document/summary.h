/* A summary being made: the tree of parts, the sentences of the answer, what was covered.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DOCUMENT_SUMMARY_H
#define DOCUMENT_SUMMARY_H

#include "document/calls.h"
#include "document/claim.h"
#include "document/plan.h"
#include "document/terms.h"

struct summary_node {
    int level;
    size_t parent;
    size_t title; /* in titles; SIZE_MAX: none */
    struct strbuf text;
    struct claim_list claims; /* the sentences of text */
    struct word_set spoken;   /* of a window: all that the model said of it, whether it holds or not */
    size_t first, last;
};

struct ll_summary {
    struct summary_node *nodes;
    size_t node_count, node_capacity;
    struct strbuf titles, text;
    struct claim_list answer;
    ll_coverage coverage;
    ll_summary_stats stats;
    ll_error unkept; /* why answers were not kept */
    const struct ll_document *document;
};

/* What the steps of one summary share. */
struct summary_job {
    const struct ll_plan *plan;
    const struct ll_document *document;
    const struct llm *llm; /* NULL: key sentences only */
    const ll_summary_options *options;
    const ll_run *run;
    struct calls calls;
    struct terms terms;
    size_t text_words; /* of the document */
    struct ll_summary *summary;
    ll_error *error;
};

ll_status summary_make(const struct llm *llm, const ll_plan *plan, const ll_summary_options *options,
                       const ll_run *run, ll_summary **ret, ll_error *error);

/* For the steps. A node that borrows its claims' texts: `claims` moves into it. parent is set later. */
ll_status summary_add_node(struct summary_job *job, int level, size_t first, size_t last,
                           struct claim_list *claims);
/* Of the node added last, in place of its heading path. */
void summary_set_title(struct summary_job *job, const char *title);
/* tokens: computed since the run began; 0: none yet. */
void summary_report(const struct summary_job *job, ll_phase phase, size_t done, size_t total, size_t tokens);
ll_status summary_check_cancel(const struct summary_job *job);

#endif
