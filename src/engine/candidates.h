/* The tokens that may come next, best first as far as anybody asks, and the cuts that leave some out.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A heap instead of a sort: of a vocabulary of 150,000 a cut looks at a few dozen. Ranks count from 0, the
 * best; what is kept is always a stretch of ranks. Equal logits are ordered by token, so that every machine
 * keeps the same ones. Weights are exp((logit - greatest) / temperature), in double precision. */
#ifndef ENGINE_CANDIDATES_H
#define ENGINE_CANDIDATES_H

#include "longleaf.h"

struct candidate {
    double key; /* what the heap is ordered by: the logit, or for a while a cut's own measure */
    ll_token token;
};

struct candidates {
    struct candidate *heap; /* [vocabulary]; the best of rank i ends at heap[total - 1 - i] */
    double *weights;        /* [vocabulary]: of rank i, for ranks that are ordered */
    const float *logits;    /* [vocabulary], borrowed from fill to the draw */
    double greatest, temperature;
    size_t total, ordered; /* ranks below `ordered` are known */
    size_t first, last;    /* kept: ranks first … last - 1 */
    bool chosen;           /* some were left out already: those kept are drawn in order */
};

/* false: no memory; candidates_fini is right in any case. */
bool candidates_init(struct candidates *c, size_t vocabulary, double temperature);
void candidates_fini(struct candidates *c);
/* All tokens whose logit is a number above minus infinity; how many those are. */
size_t candidates_fill(struct candidates *c, const float *logits, size_t vocabulary);

/* Each keeps one at least. */
void candidates_top_k(struct candidates *c, size_t k);
/* The fewest likeliest that reach the share p of what is kept. */
void candidates_top_p(struct candidates *c, double p);
/* Those at least p times as likely as the likeliest. */
void candidates_min_p(struct candidates *c, double p);
/* Locally typical sampling (Meister et al. 2023): the fewest that reach the share p, taken by how near their
 * surprise is to the entropy. */
void candidates_typical(struct candidates *c, double p);
/* Exclude top choices: of those with a share of at least threshold only the least likely stays. */
void candidates_exclude_top(struct candidates *c, double threshold);
/* Those with a surprise of at most so many bits. */
void candidates_surprise(struct candidates *c, double bits);

/* The sum of the kept ones' weights. */
double candidates_mass(struct candidates *c);
/* The weight of a rank below total; ordered as far as that if need be. */
double candidates_weight(struct candidates *c, size_t rank);
/* One of the kept by their weights; at: 0 … 1, one excluded. */
ll_token candidates_draw(struct candidates *c, double at);

#endif
