/* Follows a grammar byte by byte and says which tokens may come next.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A pushdown automaton whose stacks are shared nodes, made deterministic as it goes: a state is the set of
 * stacks that the bytes so far may have left, its moves are found once and kept, and so is the mask of tokens
 * it lets through. Everything is bounded; what outgrows the bounds is forgotten and found anew, and a set of
 * too many stacks is an error. */
#ifndef TEXT_RECOGNISER_H
#define TEXT_RECOGNISER_H

#include "text/grammar.h"
#include "text/tokenizer.h"

struct recogniser;

/* Takes the grammar. tokenizer is borrowed; NULL with a vocabulary of 0: only bytes are followed. end_tokens:
 * whether tokens that end a turn end the text. */
ll_status recogniser_open(struct grammar *grammar, const struct tokenizer *tokenizer, size_t vocabulary,
                          bool end_tokens, struct recogniser **ret, ll_error *error);
void recogniser_close(struct recogniser *recogniser);
/* Minus infinity for all tokens that cannot come. LL_UNSUPPORTED: too ambiguous, or no token spells what must
 * come. */
ll_status recogniser_mask(struct recogniser *recogniser, float *logits, ll_error *error);
/* One that the mask let through. */
ll_status recogniser_accept(struct recogniser *recogniser, ll_token token, ll_error *error);
/* Whether the text may end here, and whether it must. */
bool recogniser_may_end(const struct recogniser *recogniser);
bool recogniser_must_end(struct recogniser *recogniser);
/* Follows bytes; *ret: whether they can begin or go on a text of the grammar. For tests and tools. */
ll_status recogniser_follow(struct recogniser *recogniser, const char *bytes, size_t length, bool *ret,
                            ll_error *error);

#endif
