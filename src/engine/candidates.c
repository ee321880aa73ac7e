/* The tokens that may come next, best first as far as anybody asks, and the cuts that leave some out.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine/candidates.h"

#include <math.h>

#include "base/mem.h"

bool candidates_init(struct candidates *c, size_t vocabulary, double temperature)
{
    *c = (struct candidates){.temperature = temperature};
    c->heap = mem_new(vocabulary, sizeof *c->heap);
    c->weights = mem_new(vocabulary, sizeof *c->weights);
    return c->heap && c->weights;
}

void candidates_fini(struct candidates *c)
{
    mem_free(c->heap);
    mem_free(c->weights);
    *c = (struct candidates){0};
}

/* ---- the heap ---- */

static bool before(const struct candidate *a, const struct candidate *b)
{
    return a->key > b->key || (a->key == b->key && a->token < b->token);
}

static void sift_down(struct candidate *heap, size_t count, size_t at)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count)
            return;
        if (child + 1 < count && before(&heap[child + 1], &heap[child]))
            child++;
        if (before(&heap[at], &heap[child]))
            return;
        struct candidate swapped = heap[at];
        heap[at] = heap[child];
        heap[child] = swapped;
        at = child;
    }
}

static void make_heap(struct candidate *heap, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
        sift_down(heap, count, i);
}

/* Takes the best off the heap of `count`; it lands at heap[count - 1]. */
static struct candidate pop(struct candidate *heap, size_t count)
{
    struct candidate best = heap[0];
    heap[0] = heap[count - 1];
    heap[count - 1] = best;
    sift_down(heap, count - 1, 0);
    return best;
}

/* heap[0 … count) holds tokens, in any order: they are the candidates now. */
static void begin(struct candidates *c, size_t count)
{
    for (size_t i = 0; i < count; i++)
        c->heap[i].key = c->logits[c->heap[i].token];
    make_heap(c->heap, count);
    c->total = c->last = count;
    c->ordered = c->first = 0;
}

size_t candidates_fill(struct candidates *c, const float *logits, size_t vocabulary)
{
    size_t count = 0;
    for (size_t i = 0; i < vocabulary; i++)
        if (logits[i] > -INFINITY) /* leaves NaN out too */
            c->heap[count++].token = (ll_token)i;
    c->logits = logits;
    c->chosen = false;
    begin(c, count);
    c->greatest = count ? c->heap[0].key : 0.0;
    return count;
}

static double weigh(const struct candidates *c, ll_token token)
{
    return exp((c->logits[token] - c->greatest) / c->temperature);
}

double candidates_weight(struct candidates *c, size_t rank)
{
    for (; c->ordered <= rank; c->ordered++)
        c->weights[c->ordered] = weigh(c, pop(c->heap, c->total - c->ordered).token);
    return c->weights[rank];
}

/* Whether nothing was cut, so that sums need no order. */
static bool whole(const struct candidates *c)
{
    return !c->chosen && c->first == 0 && c->last == c->total && c->ordered == 0;
}

double candidates_mass(struct candidates *c)
{
    double sum = 0.0;
    if (whole(c))
        for (size_t i = 0; i < c->total; i++)
            sum += c->weights[i] = weigh(c, c->heap[i].token);
    else
        for (size_t i = c->first; i < c->last; i++)
            sum += candidates_weight(c, i);
    return sum;
}

/* ---- cuts ---- */

void candidates_top_k(struct candidates *c, size_t k)
{
    if (k > 0 && k < c->last - c->first)
        c->last = c->first + k;
}

void candidates_top_p(struct candidates *c, double p)
{
    double enough = p * candidates_mass(c), sum = 0.0;
    size_t rank = c->first;
    while (rank < c->last && (rank == c->first || sum < enough))
        sum += candidates_weight(c, rank++);
    c->last = rank;
}

void candidates_min_p(struct candidates *c, double p)
{
    double least = p * candidates_weight(c, c->first);
    size_t rank = c->first + 1;
    while (rank < c->last && candidates_weight(c, rank) >= least)
        rank++;
    c->last = rank;
}

void candidates_surprise(struct candidates *c, double bits)
{
    double least = candidates_mass(c) * exp2(-bits);
    size_t rank = c->first + 1;
    while (rank < c->last && candidates_weight(c, rank) >= least)
        rank++;
    c->last = rank;
}

void candidates_exclude_top(struct candidates *c, double threshold)
{
    double least = threshold * candidates_mass(c);
    size_t rank = c->first;
    while (rank < c->last && candidates_weight(c, rank) >= least)
        rank++;
    if (rank > c->first + 1)
        c->first = rank - 1;
}

/* The kept ones at heap[0 … n), in any order. */
static size_t gather(struct candidates *c)
{
    if (whole(c))
        return c->total;
    size_t count = c->last - c->first;
    candidates_weight(c, c->last - 1);
    for (size_t i = 0, at = c->total - c->last; i < count; i++)
        c->heap[i] = c->heap[at + i];
    return count;
}

void candidates_typical(struct candidates *c, double p)
{
    size_t count = gather(c), kept = 0;
    double mass = 0.0, entropy = 0.0, sum = 0.0;
    for (size_t i = 0; i < count; i++)
        mass += weigh(c, c->heap[i].token);
    for (size_t i = 0; i < count; i++) {
        double share = weigh(c, c->heap[i].token) / mass;
        c->heap[i].key = log(share);
        entropy -= share > 0.0 ? share * c->heap[i].key : 0.0;
    }
    for (size_t i = 0; i < count; i++)
        c->heap[i].key = -fabs(c->heap[i].key + entropy);
    make_heap(c->heap, count);
    while (kept < count && (kept == 0 || sum < p))
        sum += weigh(c, pop(c->heap, count - kept++).token) / mass;
    for (size_t i = 0; i < kept; i++)
        c->heap[i] = c->heap[count - kept + i];
    begin(c, kept);
    c->chosen = true;
}

/* ---- the draw ---- */

ll_token candidates_draw(struct candidates *c, double at)
{
    bool all = whole(c);
    double left = at * candidates_mass(c);
    for (size_t i = c->first; i < c->last; i++) {
        left -= all ? c->weights[i] : candidates_weight(c, i); /* all: by place, as the mass left them */
        if (left < 0.0)
            return c->heap[all ? i : c->total - 1 - i].token;
    }
    return c->heap[all ? 0 : c->total - c->last].token; /* rounding left a crumb */
}
