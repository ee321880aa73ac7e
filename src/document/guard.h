/* Watches a text being generated and stops it when it goes in circles.
 * SPDX-License-Identifier: Apache-2.0
 *
 * From the first token on: any period of 1 … 64 tokens seen three times in a row, or a sentence that
 * was written before. Numbers may repeat digits ("1000" is four tokens), so periods without a letter
 * need eight rounds. Short n-grams are never forbidden: that breaks names. */
#ifndef DOCUMENT_GUARD_H
#define DOCUMENT_GUARD_H

#include "base/strbuf.h"
#include "document/llm.h"
#include "readers/words.h"

struct guard {                 /* zero-initialised storage is ready */
    struct strbuf text;        /* what has been written so far */
    struct word_set sentences; /* whole ones, by their words */
    size_t sentence_first;     /* of the one being written */
    size_t tokens;
    bool looped;
};

/* All tokens so far; the new one is last. true: stop. */
bool guard_add(struct guard *guard, const struct llm *llm, const ll_token *tokens, size_t count);
void guard_fini(struct guard *guard);

#endif
