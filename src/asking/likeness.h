/* Words of a document that mean nearly the same as a given one, by the model's own embeddings.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The embedding of a word is the mean of those of its tokens, the average of many tokens taken off, so
 * that angles between words say something. Deterministic. */
#ifndef ASKING_LIKENESS_H
#define ASKING_LIKENESS_H

#include "document/document.h"
#include "document/llm.h"

struct likeness; /* the different words of one document with their directions */

struct likeness_match {
    uint64_t hash;      /* of the stem, as words_next gives it */
    float share;        /* 0 … 1: how far it may stand for the word asked for */
    size_t first, last; /* one place in the document where it stands */
};

/* *ret NULL with LL_OK when the model gives no embeddings. */
ll_status likeness_open(const struct ll_document *document, const struct llm *llm, const ll_run *run,
                        struct likeness **ret, ll_error *error);
/* The best `most` other words for one word, best first; none when the model cannot spell it. */
size_t likeness_find(const struct likeness *likeness, const char *word, size_t length, uint64_t own_hash,
                     struct likeness_match *out, size_t most);
void likeness_close(struct likeness *likeness);

#endif
