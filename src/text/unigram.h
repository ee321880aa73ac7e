/* SentencePiece's unigram model: of all ways to cut a text, the one whose pieces score most.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Text is first changed as the model was trained (charsmap.h), its spaces become U+2581. Time is the text
 * times the longest pieces that begin at its characters, at most PIECE_LONGEST. What no piece spells becomes
 * byte tokens, or, in a vocabulary without them, one unknown token a run. */
#ifndef TEXT_UNIGRAM_H
#define TEXT_UNIGRAM_H

#include "text/added.h"
#include "text/charsmap.h"
#include "text/piece_trie.h"

struct unigram { /* immutable after unigram_open: any thread */
    const struct vocab *vocab;
    double *scores;       /* [count] log probabilities */
    double unknown_score; /* of a character that no piece spells */
    struct piece_trie trie;
    struct charsmap map;
    bool adds_space;   /* before a text */
    bool trims_spaces; /* runs become one; those at the ends none */
};

/* vocab must outlive it. LL_FORMAT: scores absent, too few, or not finite; or a damaged table of characters.
 */
ll_status unigram_open(const struct vocab *vocab, struct unigram *ret, ll_error *error);
void unigram_fini(struct unigram *unigram);
/* Appends the ids of text, any bytes, with the added tokens in it (control ones only when asked for). A text
 * behind a control token begins anew; `first`: the head of text is a beginning too. length < 2^29. */
ll_status unigram_encode(const struct unigram *unigram, const struct added *added, const char *text,
                         size_t length, bool control, bool first, struct token_list *out, ll_error *error);

#endif
