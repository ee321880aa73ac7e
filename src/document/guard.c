/* Watches a text being generated and stops it when it goes in circles.
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/guard.h"

#include <string.h>

#include "document/sentence.h"

enum { LONGEST_PERIOD = 64, ROUNDS = 3, ROUNDS_WITHOUT_LETTER = 8 };

static bool holds_letter(const struct llm *llm, const ll_token *tokens, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t length;
        const char *piece = llm->piece(llm->self, tokens[i], &length);
        for (size_t k = 0; piece && k < length; k++) {
            unsigned char c = (unsigned char)piece[k];
            if ((c | 0x20) >= 'a' && (c | 0x20) <= 'z')
                return true;
            if (c >= 0x80)
                return true;
        }
    }
    return false;
}

/* Whether the last `rounds` stretches of `period` tokens are equal. */
static bool repeats(const ll_token *tokens, size_t count, size_t period, size_t rounds)
{
    if (count < period * rounds)
        return false;
    const ll_token *end = tokens + count;
    return memcmp(end - period, end - 2 * period, period * sizeof *tokens) == 0 &&
           (rounds < 3 || memcmp(end - period * (rounds - 1), end - period * rounds,
                                 period * (rounds - 1) * sizeof *tokens) == 0);
}

static bool is_periodic(const struct llm *llm, const ll_token *tokens, size_t count)
{
    for (size_t period = 1; period <= LONGEST_PERIOD && period * ROUNDS <= count; period++) {
        if (!repeats(tokens, count, period, ROUNDS))
            continue;
        if (holds_letter(llm, tokens + count - period, period) ||
            repeats(tokens, count, period, ROUNDS_WITHOUT_LETTER))
            return true;
    }
    return false;
}

/* The words of a sentence in order, whatever stands between them. */
static uint64_t sentence_key(const char *text, size_t length, size_t *ret_words)
{
    struct words walk = words_of(text, length);
    struct word word;
    uint64_t key = 0;
    for (*ret_words = 0; words_next(&walk, &word); ++*ret_words)
        key = (key ^ word.exact) * 0x9E3779B97F4A7C15u;
    return key;
}

/* Ends the sentences that are complete once a blank follows them. */
static bool repeats_sentence(struct guard *g)
{
    while (g->sentence_first < g->text.length) {
        const char *text = g->text.text + g->sentence_first;
        size_t left = g->text.length - g->sentence_first, words;
        size_t length = sentence_length(text, left);
        if (length >= left)
            return false;
        uint64_t key = sentence_key(text, length, &words);
        if (words >= 3 && word_set_has(&g->sentences, key))
            return true;
        if (words >= 3)
            (void)word_set_add(&g->sentences, key);
        g->sentence_first += length;
    }
    return false;
}

bool guard_add(struct guard *g, const struct llm *llm, const ll_token *tokens, size_t count)
{
    while (g->tokens < count) {
        size_t length;
        const char *piece = llm->piece(llm->self, tokens[g->tokens++], &length);
        if (piece)
            strbuf_append(&g->text, piece, length);
    }
    g->looped = g->looped || is_periodic(llm, tokens, count) || repeats_sentence(g);
    return g->looped;
}

void guard_fini(struct guard *g)
{
    strbuf_fini(&g->text);
    word_set_fini(&g->sentences);
    *g = (struct guard){0};
}
