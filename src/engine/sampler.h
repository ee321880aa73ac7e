/* Picks the next token: a chain of rules, run in the order in which it is printed.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Same seed and same logits give the same tokens with the same math library (exp may differ in its last
 * bit between libraries). Greedy (temperature 0) takes the lowest id among equals. */
#ifndef ENGINE_SAMPLER_H
#define ENGINE_SAMPLER_H

#include "longleaf.h"
#include "text/tokenizer.h"

struct sampler;

struct sampler_place {
    const struct tokenizer *tokenizer; /* NULL: tokens have no text, so that no sequence breaker is found */
    size_t vocabulary;
    size_t context; /* the longest history there will be */
};

/* LL_ARGUMENT names the setting that is out of range. Copies sampling, not the strings it points at. */
ll_status sampler_open(const ll_sampling *sampling, const struct sampler_place *place, struct sampler **ret,
                       ll_error *error);
void sampler_close(struct sampler *sampler);
/* history: all tokens so far, for the penalties. -1 when the logits are not numbers, or for a reason that
 * sampler_problem tells. */
ll_token sampler_pick(struct sampler *sampler, const float *logits, const ll_token *history, size_t count);
/* Why the last pick failed: LL_OK when the logits are not numbers, else the status of *error. */
ll_status sampler_problem(const struct sampler *sampler, ll_error *error);
/* Whether the text of a grammar may end after what was picked, and whether it must. */
bool sampler_may_end(const struct sampler *sampler);
bool sampler_must_end(const struct sampler *sampler);
/* Whether it always picks the greatest logit, whatever came before. */
bool sampler_is_plain(const struct sampler *sampler);
/* The untouched distribution at this position: *ret_logprob of token, and the best alternatives. */
void sampler_choices(const float *logits, size_t vocabulary, ll_token token, float *ret_logprob,
                     ll_choice *choices, size_t count);
/* log Σ exp(logits), in double precision. */
double sampler_log_sum(const float *logits, size_t vocabulary);

#endif
