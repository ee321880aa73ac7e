/* SentencePiece as GGUF files carry it: score-driven merges over text whose spaces are U+2581.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What no piece spells becomes byte tokens, or, in a vocabulary without them, one unknown token a run. */
#ifndef TEXT_SPM_H
#define TEXT_SPM_H

#include "text/vocab.h"

struct spm { /* immutable after spm_open: any thread */
    const struct vocab *vocab;
    uint32_t *ranks;  /* [count] 0: best score; equal scores share a rank */
    bool cross_words; /* some piece has U+2581 after another character: words cannot be taken apart */
    bool has_unused;  /* unused pieces are split again into what they were merged from */
};

/* vocab must outlive it. LL_FORMAT: scores absent, too few, or not numbers. */
ll_status spm_open(const struct vocab *vocab, struct spm *ret, ll_error *error);
void spm_fini(struct spm *spm);
/* Appends the ids of text: any bytes, no added tokens inside. length < 2^29. */
ll_status spm_encode(const struct spm *spm, const char *text, size_t length, struct token_list *out,
                     ll_error *error);

#endif
