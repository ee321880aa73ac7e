/* A short text out of many sentences: spread over the document, nothing said twice, order kept.
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/select.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"

enum {
    RUN = 4,
    MOST_AGAIN = 12, /* one run in so many may have come before */
    FOCUS_TENTHS = 6,
    CORE_TENTHS = 3, /* of the words go to the best sentences, wherever they stand */
    BEGINNING = 25   /* one part of so many of the range is its beginning */
};

static const float beginning_gain = 1.4f;

struct selection {
    const struct claim_list *claims;
    bool *chosen;
    size_t words, used;   /* wanted, taken */
    size_t first, last;   /* bytes of the document to choose from */
    struct word_set runs; /* of four words, of the sentences taken */
    float floor;          /* sentences scored lower are taken only when nothing else is there */
    bool lenient;         /* also what shares phrases with sentences taken */
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

static bool in_range(const struct selection *s, const struct claim *claim)
{
    return claim->first >= s->first && claim->first < s->last;
}

static size_t count_in_range(const struct selection *s)
{
    size_t count = 0;
    for (size_t i = 0; i < s->claims->count; i++)
        count += in_range(s, &s->claims->items[i]);
    return count;
}

static float worth(const struct selection *s, size_t i)
{
    const struct claim *claim = &s->claims->items[i];
    bool beginning = claim->first - s->first <= (s->last - s->first) / BEGINNING;
    return claim->score * (beginning ? beginning_gain : 1.0f);
}

/* Runs of four words: what is said again in other sentences' words. */
static void each_run(const char *text, size_t length, struct word_set *runs, size_t *ret_count,
                     size_t *ret_again, bool add)
{
    struct words walk = words_of(text, length);
    struct word word;
    uint64_t last[RUN] = {0};
    *ret_count = *ret_again = 0;
    for (size_t n = 0; words_next(&walk, &word); n++) {
        uint64_t key = 0;
        last[n % RUN] = word.exact;
        for (size_t i = 1; i <= RUN; i++)
            key = (key ^ last[(n + i) % RUN]) * 0x9E3779B97F4A7C15u;
        if (n + 1 < RUN)
            continue;
        ++*ret_count;
        *ret_again += word_set_has(runs, key);
        if (add)
            (void)word_set_add(runs, key);
    }
}

/* Texts of one kind use the same phrases over and over ("under the terms of this License"). */
static bool sounds_like_before(const struct selection *s, size_t candidate)
{
    const struct claim *claim = &s->claims->items[candidate];
    size_t count, again;
    each_run(claim->text, claim->length, (struct word_set *)(uintptr_t)&s->runs, &count, &again, false);
    return again * MOST_AGAIN > count;
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
        if ((best == SIZE_MAX || worth(s, i) > worth(s, best)) && !says_nothing_new(s, i) &&
            (s->lenient || !sounds_like_before(s, i)))
            best = i;
    }
    return best;
}

static void take(struct selection *s, size_t claim)
{
    s->chosen[claim] = true;
    s->used += s->claims->items[claim].words;
    size_t count, again;
    each_run(s->claims->items[claim].text, s->claims->items[claim].length, &s->runs, &count, &again, true);
}

/* Contents lines and bits of tables score a hundredth of a sentence, "Let us look at lists." a tenth: they
 * fill no gap. */
static float least_score(const struct selection *s)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < s->claims->count; i++)
        if (in_range(s, &s->claims->items[i])) {
            sum += s->claims->items[i].score;
            count++;
        }
    return count ? (float)(sum / (double)count / 4) : 0;
}

static size_t mean_words(const struct claim_list *claims)
{
    size_t sum = 0;
    for (size_t i = 0; i < claims->count; i++)
        sum += claims->items[i].words;
    return claims->count && sum / claims->count ? sum / claims->count : 1;
}

/* Stretches that gave nothing leave words over: they go to the longest gaps between chosen sentences. */
static void fill_gaps(struct selection *s)
{
    for (size_t round = 0; round < s->claims->count; round++) {
        size_t gap_first = 0, gap_last = 0, from = s->first, best = SIZE_MAX;
        for (size_t i = 0; i <= s->claims->count; i++) {
            bool end = i == s->claims->count;
            if (!end && !s->chosen[i])
                continue;
            size_t to = end ? s->last : s->claims->items[i].first;
            if (to > from && to - from > gap_last - gap_first) {
                size_t candidate = best_between(s, from, to);
                if (candidate != SIZE_MAX) {
                    gap_first = from;
                    gap_last = to;
                    best = candidate;
                }
            }
            from = end ? s->last : s->claims->items[i].first + 1;
        }
        if (best == SIZE_MAX)
            return;
        take(s, best);
    }
}

/* Sentences on what the reader cares about, those that hold most of its words first. */
static void take_focused(struct selection *s, const struct terms *terms)
{
    size_t most = s->words * FOCUS_TENTHS / 10;
    while (s->used < most) {
        size_t best = SIZE_MAX, best_hits = 0;
        for (size_t i = 0; i < s->claims->count; i++) {
            const struct claim *c = &s->claims->items[i];
            if (s->chosen[i] || !in_range(s, c) || s->used + c->words > s->words)
                continue;
            size_t hits = terms_focus(terms, c->text, c->length);
            bool better =
                hits > best_hits || (hits && hits == best_hits && c->score > s->claims->items[best].score);
            if (better && !says_nothing_new(s, i)) {
                best = i;
                best_hits = hits;
            }
        }
        if (best == SIZE_MAX)
            return;
        take(s, best);
    }
}

/* The best sentences of the range before each stretch gives its own. */
static void take_core(struct selection *s)
{
    size_t most = s->used + (s->words - s->used) * CORE_TENTHS / 10;
    while (s->used < most) {
        size_t best = best_between(s, s->first, s->last);
        if (best == SIZE_MAX)
            return;
        take(s, best);
    }
}

static void spread(struct selection *s)
{
    take_core(s);
    size_t left = s->words > s->used ? s->words - s->used : 0, in = count_in_range(s);
    size_t stretches = left / mean_words(s->claims), length = s->last - s->first;
    stretches = stretches < 1 ? 1 : stretches > in ? in : stretches;
    for (size_t k = 0; k < stretches; k++) {
        size_t first = s->first + (size_t)((__uint128_t)length * k / stretches);
        size_t last = s->first + (size_t)((__uint128_t)length * (k + 1) / stretches);
        size_t best = best_between(s, first, last);
        if (best != SIZE_MAX)
            take(s, best);
    }
    fill_gaps(s);
    /* Where most sentences have phrases in common, those are how the text speaks, and no repetition. */
    s->lenient = s->used * 2 < s->words;
    if (s->lenient)
        fill_gaps(s);
}

static bool speaks_for_group(const struct selection *s, size_t candidate)
{
    uint64_t group = s->claims->items[candidate].group;
    for (size_t i = 0; i < s->claims->count && group; i++)
        if (s->chosen[i] && s->claims->items[i].group == group)
            return false;
    return true;
}

static void take_by_worth(struct selection *s)
{
    for (;;) {
        size_t best = SIZE_MAX;
        for (size_t i = 0; i < s->claims->count; i++) {
            const struct claim *c = &s->claims->items[i];
            if (!s->chosen[i] && in_range(s, c) && s->used + c->words <= s->words &&
                (best == SIZE_MAX || c->score > s->claims->items[best].score) && speaks_for_group(s, i))
                best = i;
        }
        if (best == SIZE_MAX)
            return;
        take(s, best);
    }
}

/* All sentences are longer than what was asked for: the shortest one. */
static void take_shortest(struct selection *s)
{
    size_t shortest = SIZE_MAX;
    for (size_t i = 0; i < s->claims->count; i++)
        if (in_range(s, &s->claims->items[i]) &&
            (shortest == SIZE_MAX || s->claims->items[i].words < s->claims->items[shortest].words))
            shortest = i;
    if (shortest != SIZE_MAX)
        take(s, shortest);
}

ll_status select_claims(const struct claim_list *claims, const struct select_wish *wish,
                        const struct terms *terms, bool *chosen, ll_error *error)
{
    struct selection s = {
        .claims = claims, .chosen = chosen, .words = wish->words, .first = wish->first, .last = wish->last};
    if (claims->count == 0)
        return error_set(error, LL_INTERNAL, "summary", "no sentence to choose from");
    if (count_in_range(&s) == 0)
        return LL_OK;
    s.floor = least_score(&s);
    take_focused(&s, terms);
    if (wish->by_worth)
        take_by_worth(&s);
    else
        spread(&s);
    if (s.used == 0)
        take_shortest(&s);
    word_set_fini(&s.runs);
    return LL_OK;
}
