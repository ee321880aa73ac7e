/* Summarising by the settings: plan, summary and what is known of both.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPL_SUMMING_H
#define REPL_SUMMING_H

#include "repl/json.h"
#include "repl/program.h"

struct summing {
    const ll_document *document; /* borrowed */
    ll_model *model;             /* borrowed; NULL for the extractive method */
    const char *model_name;      /* borrowed; NULL without a model */
    ll_document_info document_info;
    ll_plan *plan;
    ll_plan_info plan_info;
    size_t wanted_words; /* of the summary; set before summing_plan to override the settings, as is focus */
    const char *focus;   /* borrowed; NULL: the settings' */
    double seconds;      /* predicted; 0: not asked for */
    ll_summary *summary;
    ll_coverage coverage;
    ll_summary_stats stats;
};

/* LEAVE_OK or an exit code, said. model NULL: only with the extractive method. */
int summing_plan(struct summing *summing, struct program *program, const ll_document *document,
                 ll_model *model, const char *model_name);
int summing_predict(struct summing *summing, struct program *program);
int summing_make(struct summing *summing, struct program *program);
void summing_fini(struct summing *summing);
bool summing_complete(const struct summing *summing); /* every byte of every page was read */
const char *summing_method_name(ll_method method);

/* The place of bytes [first, last) of the text within their file; all 0 when there is none. */
ll_place summing_place(const struct summing *summing, uint64_t first, uint64_t last);
bool summing_is_written(
    const struct summing *summing); /* a sentence at least, also of the outline, is the model's own */
/* Whether a node is a part of the outline: a window's, and of several files a file's. */
bool summing_is_part(const struct summing *summing, const ll_summary_node *node);
void summing_print_plan(const struct summing *summing, struct output *output);
void summing_print_markdown(const struct summing *summing, struct output *output);
void summing_print_html(const struct summing *summing, struct output *output);
void summing_print(const struct summing *summing, struct output *output); /* summary, outline, coverage */
void summing_trace(const struct summing *summing); /* what came of each window, on standard error */
json_t *summing_plan_json(const struct summing *summing);
json_t *summing_json(const struct summing *summing, bool with_outline);
json_t *summing_node_json(const struct summing *summing, size_t node);

#endif
