/* A short text out of many sentences: spread over the document, nothing said twice, order kept.
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/select.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"

struct selection {
    const struct claim_list *claims;
    bool *chosen;
    size_t words, used; /* wanted, taken */
    float floor;        /* sentences scored lower are taken only when nothing else is there */
};

static bool says_nothing_new(const struct selection *s, size_t candidate)
{
    const struct claim *new = &s->claims->items[candidate];
    for (size_t i = 0; i < s->claims->count; i++) {
        const struct claim *old = &s->claims->items[i];
        if (s->chosen[i] &&
            (old->first == new->first || claim_overlaps(old->text, old->length, new->text, new->length)))
            return true;
    }
    return false;
}

/* The best sentence in [first, last) that still fits; SIZE_MAX when there is none. */
static size_t best_between(const struct selection *s, size_t first, size_t last)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < s->claims->count; i++) {
        const struct claim *claim = &s->claims->items[i];
        if (claim->score < s->floor || claim->first < first || claim->first >= last || s->chosen[i] ||
            s->used + claim->words > s->words)
            continue;
        if ((best == SIZE_MAX || claim->score > s->claims->items[best].score) && !says_nothing_new(s, i))
            best = i;
    }
    return best;
}

static void take(struct selection *s, size_t claim)
{
    s->chosen[claim] = true;
    s->used += s->claims->items[claim].words;
}

/* Contents lines and bits of tables score a hundredth of a sentence: they fill no gap. */
static float least_score(const struct claim_list *claims)
{
    double sum = 0;
    for (size_t i = 0; i < claims->count; i++)
        sum += claims->items[i].score;
    return (float)(sum / (double)claims->count / 8);
}

static size_t mean_words(const struct claim_list *claims)
{
    size_t sum = 0;
    for (size_t i = 0; i < claims->count; i++)
        sum += claims->items[i].words;
    return claims->count && sum / claims->count ? sum / claims->count : 1;
}

/* Stretches that gave nothing leave words over: they go to the longest gaps between chosen sentences. */
static void fill_gaps(struct selection *s, size_t length)
{
    for (size_t round = 0; round < s->claims->count; round++) {
        size_t gap_first = 0, gap_last = 0, from = 0, best = SIZE_MAX;
        for (size_t i = 0; i <= s->claims->count; i++) {
            bool end = i == s->claims->count;
            if (!end && !s->chosen[i])
                continue;
            size_t to = end ? length : s->claims->items[i].first;
            if (to > from && to - from > gap_last - gap_first) {
                size_t candidate = best_between(s, from, to);
                if (candidate != SIZE_MAX) {
                    gap_first = from;
                    gap_last = to;
                    best = candidate;
                }
            }
            from = end ? length : s->claims->items[i].first + 1;
        }
        if (best == SIZE_MAX)
            return;
        take(s, best);
    }
}

ll_status select_claims(const struct claim_list *claims, size_t length, size_t words, bool *chosen,
                        ll_error *error)
{
    struct selection s = {claims, chosen, words, 0, 0};
    if (claims->count == 0)
        return error_set(error, LL_INTERNAL, "summary", "no sentence to choose from");
    s.floor = least_score(claims);
    size_t stretches = words / mean_words(claims);
    stretches = stretches < 1 ? 1 : stretches > claims->count ? claims->count : stretches;
    for (size_t k = 0; k < stretches; k++) {
        size_t first = (size_t)((__uint128_t)length * k / stretches);
        size_t last = (size_t)((__uint128_t)length * (k + 1) / stretches);
        size_t best = best_between(&s, first, k + 1 == stretches ? SIZE_MAX : last);
        if (best != SIZE_MAX)
            take(&s, best);
    }
    fill_gaps(&s, length);
    if (s.used == 0) { /* all sentences are longer than what was asked for: the shortest one */
        size_t shortest = 0;
        for (size_t i = 1; i < claims->count; i++)
            if (claims->items[i].words < claims->items[shortest].words)
                shortest = i;
        take(&s, shortest);
    }
    return LL_OK;
}
