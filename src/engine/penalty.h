/* What is added to logits before anything is cut: biases, penalties for tokens seen lately, DRY.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_PENALTY_H
#define ENGINE_PENALTY_H

#include "longleaf.h"
#include "text/tokenizer.h"

struct penalty;

/* *ret: NULL when the sampling changes no logit. tokenizer: for the breakers' text; NULL: no token holds one.
 * LL_ARGUMENT names a bias that is none. context: the longest history there will be. */
ll_status penalty_open(const ll_sampling *sampling, const struct tokenizer *tokenizer, size_t vocabulary,
                       size_t context, struct penalty **ret, ll_error *error);
void penalty_close(struct penalty *penalty);

/* Which of them the sampling asks for. */
bool penalty_has_bias(const ll_sampling *sampling);
bool penalty_has_repeat(const ll_sampling *sampling);
bool penalty_has_dry(const ll_sampling *sampling);

/* In place; history: all tokens so far. Linear in the window. */
void penalty_bias(const struct penalty *penalty, float *logits);
void penalty_repeat(struct penalty *penalty, float *logits, const ll_token *history, size_t count);
void penalty_dry(struct penalty *penalty, float *logits, const ll_token *history, size_t count);

#endif
