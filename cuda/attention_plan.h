/* Shares out a step's attention: query tiles for prefill, parts of the keys for decode.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CUDA_ATTENTION_PLAN_H
#define CUDA_ATTENTION_PLAN_H

#include "cuda/launch.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct attention_counts {
    int tiles, parts;
    int slots; /* partial results a KV head */
};

/* What the plan must know of a step besides its sequences. */
struct attention_shape {
    int heads, kv_heads;
    int tile_rows; /* attention_tile_rows() */
    int blocks;    /* decode blocks that the card runs at once: attention_decode_blocks() */
    int packed;    /* rows that one of them takes: attention_decode_rows() */
    int spread;    /* granules of a long sequence: so many that it fills the card, attention_spread() */
};

/* What one KV head's share of the blocks is: a number of the model and the card, never of the batch. */
int attention_spread(int blocks, int kv_heads);
/* Few enough rows for the decode kernel? Then all query heads of a group share one read of the keys. */
bool attention_is_decode(const struct attention_sequence *sequence, const struct attention_shape *shape);

/* How many of each; host arrays in and out. */
struct attention_counts attention_plan_count(const struct attention_sequence *sequences, int count,
                                             const struct attention_shape *shape);
/* Fills tiles (heaviest first) and parts, as many as counted. */
void attention_plan_fill(const struct attention_sequence *sequences, int count,
                         const struct attention_shape *shape, struct attention_tile *tiles,
                         struct attention_part *parts);
/* attention_call.heads_together for caches of up to `keys` keys. */
int attention_heads_together(int heads, int kv_heads, int head_dim, int64_t keys);

#ifdef __cplusplus
}
#endif
#endif
