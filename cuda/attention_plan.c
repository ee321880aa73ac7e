/* Shares out a step's attention: query tiles for prefill, parts of the keys for decode.
 * SPDX-License-Identifier: Apache-2.0 */
#include "attention_plan.h"

#include <stdlib.h>

/* A part is long enough to hide its start and its share of the merge. */
#define PART_KEYS 256
/* What heads that run side by side may hold of the L2 (60 MB on an H200, 40 MB on an A100). */
#define CACHE_BYTES (24 << 20)

bool attention_is_decode(const struct attention_sequence *sequence, int heads, int kv_heads)
{
    return sequence->rows * (heads / kv_heads) <= DECODE_ROWS;
}

static int splits_of(const struct attention_sequence *sequence)
{
    int splits = (sequence->start + sequence->rows + PART_KEYS - 1) / PART_KEYS;
    return splits < DECODE_SPLITS ? splits : DECODE_SPLITS;
}

struct attention_counts attention_plan_count(const struct attention_sequence *sequences, int count, int heads,
                                             int kv_heads, int tile_rows)
{
    struct attention_counts counts = {0, 0, 0};
    for (int i = 0; i < count; i++) {
        if (!attention_is_decode(&sequences[i], heads, kv_heads)) {
            counts.tiles += (sequences[i].rows + tile_rows - 1) / tile_rows;
        } else if (sequences[i].rows > 0) {
            int splits = splits_of(&sequences[i]);
            counts.parts += splits;
            counts.slots += splits;
        }
    }
    return counts;
}

struct weighed_tile {
    struct attention_tile tile;
    int last; /* position of its last row: its keys, that is its work */
    int order;
};

static int heavier(const void *a, const void *b)
{
    const struct weighed_tile *x = a, *y = b;
    if (x->last != y->last)
        return x->last > y->last ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

/* Sorts in place of the caller's array when there is memory for the weights; else leaves the order. */
static void sort_tiles(const struct attention_sequence *sequences, int tile_rows, struct attention_tile *tiles, int count)
{
    struct weighed_tile *weighed = malloc((size_t)count * sizeof *weighed);
    if (!weighed)
        return;
    for (int i = 0; i < count; i++) {
        const struct attention_sequence *sequence = &sequences[tiles[i].sequence];
        int end = tiles[i].first + tile_rows;
        weighed[i].tile = tiles[i];
        weighed[i].last = sequence->start + (end < sequence->rows ? end : sequence->rows);
        weighed[i].order = i;
    }
    qsort(weighed, (size_t)count, sizeof *weighed, heavier);
    for (int i = 0; i < count; i++)
        tiles[i] = weighed[i].tile;
    free(weighed);
}

void attention_plan_fill(const struct attention_sequence *sequences, int count, int heads, int kv_heads,
                         int tile_rows, struct attention_tile *tiles, struct attention_part *parts)
{
    int tile_count = 0, part_count = 0, slots = 0;
    for (int i = 0; i < count; i++) {
        if (!attention_is_decode(&sequences[i], heads, kv_heads)) {
            for (int first = 0; first < sequences[i].rows; first += tile_rows)
                tiles[tile_count++] = (struct attention_tile){i, first};
        } else if (sequences[i].rows > 0) {
            int splits = splits_of(&sequences[i]);
            for (int split = 0; split < splits; split++)
                parts[part_count++] = (struct attention_part){i, split, splits, slots};
            slots += splits;
        }
    }
    if (tile_count > 1)
        sort_tiles(sequences, tile_rows, tiles, tile_count);
}

int attention_heads_together(int heads, int kv_heads, int head_dim, int64_t keys)
{
    int group = heads / kv_heads, best = group;
    for (int n = 2; n <= kv_heads; n++)
        if (kv_heads % n == 0 && n * keys * head_dim * 4 <= CACHE_BYTES)
            best = n * group;
    return best;
}
