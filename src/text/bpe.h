/* Byte-level BPE: a word's bytes merged pair by pair in the order of the model's merge list.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TEXT_BPE_H
#define TEXT_BPE_H

#include "text/pretokenize.h"
#include "text/vocab.h"

struct bpe_pair {         /* one merge */
    ll_token left, right; /* left -1: a free slot */
    uint32_t rank;
    ll_token merged;
};

struct bpe { /* immutable after bpe_open: any thread */
    const struct vocab *vocab;
    const struct pretokenizer *pretokenizer;
    struct bpe_pair *pairs; /* open addressing */
    size_t pair_mask;
};

/* Both must outlive it. LL_FORMAT: no merges, or one that names no tokens. */
ll_status bpe_open(const struct vocab *vocab, const struct pretokenizer *pretokenizer, struct bpe *ret,
                   ll_error *error);
void bpe_fini(struct bpe *bpe);
/* Appends the ids of text: any bytes, no added tokens inside. length < 2^31. */
ll_status bpe_encode(const struct bpe *bpe, const char *text, size_t length, struct token_list *out,
                     ll_error *error);

#endif
