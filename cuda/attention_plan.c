/* Shares out a step's attention: query tiles for prefill, parts of the keys for decode.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/attention_plan.h"

#include <stdlib.h>

/* A granule is long enough to be worth a partial result. */
#define GRANULE_KEYS 256
#define MOST_WAVES 16
/* Packed rows that decode takes: beyond these, prefill reads the keys fewer times. */
#define MOST_PACKED (4 * DECODE_ROWS)
/* What heads that run side by side may hold of the L2 (60 MB on an H200, 40 MB on an A100). */
#define CACHE_BYTES (24 << 20)

static int packed_rows(const struct attention_sequence *sequence, const struct attention_shape *shape)
{
    return sequence->rows * (shape->heads / shape->kv_heads);
}

bool attention_is_decode(const struct attention_sequence *sequence, const struct attention_shape *shape)
{
    return packed_rows(sequence, shape) <= MOST_PACKED;
}

static int granules_of(const struct attention_sequence *sequence)
{
    int granules = (sequence->start + sequence->rows + GRANULE_KEYS - 1) / GRANULE_KEYS;
    return granules < DECODE_GRANULES ? granules : DECODE_GRANULES;
}

static int row_blocks(const struct attention_sequence *sequence, const struct attention_shape *shape)
{
    return (packed_rows(sequence, shape) + DECODE_ROWS - 1) / DECODE_ROWS;
}

/* Granules a part: one while the card has room for all, then as many as fill it once, and beyond that
 * as many as fill it MOST_WAVES times (so that a late block does not leave it idle). */
static int granules_a_part(const struct attention_sequence *sequences, int count,
                           const struct attention_shape *shape)
{
    int64_t items = 0;
    for (int i = 0; i < count; i++)
        if (attention_is_decode(&sequences[i], shape))
            items += (int64_t)granules_of(&sequences[i]) * row_blocks(&sequences[i], shape) * shape->kv_heads;
    int64_t room = shape->blocks > 0 ? shape->blocks : 1;
    if (items > MOST_WAVES * room)
        room *= MOST_WAVES;
    int64_t each = (items + room - 1) / room;
    return each < 1 ? 1 : each < DECODE_GRANULES ? (int)each : DECODE_GRANULES;
}

struct attention_counts attention_plan_count(const struct attention_sequence *sequences, int count,
                                             const struct attention_shape *shape)
{
    struct attention_counts counts = {0, 0, 0};
    int each = granules_a_part(sequences, count, shape);
    for (int i = 0; i < count; i++) {
        if (!attention_is_decode(&sequences[i], shape)) {
            counts.tiles += (sequences[i].rows + shape->tile_rows - 1) / shape->tile_rows;
        } else {
            int granules = granules_of(&sequences[i]), blocks = row_blocks(&sequences[i], shape);
            counts.parts += blocks * ((granules + each - 1) / each);
            counts.slots += blocks * granules;
        }
    }
    return counts;
}

/* Parts of one sequence, its granules shared out evenly; returns how many. */
static int fill_parts(const struct attention_sequence *sequence, const struct attention_shape *shape,
                      int each, int first_slot, struct attention_part *parts)
{
    int granules = granules_of(sequence), count = (granules + each - 1) / each, filled = 0;
    for (int block = 0; block < row_blocks(sequence, shape); block++) {
        for (int i = 0; i < count; i++) {
            int first = granules * i / count;
            parts[filled++] = (struct attention_part){.sequence = *sequence,
                                                      .first_packed = block * DECODE_ROWS,
                                                      .granule = first,
                                                      .granules = granules * (i + 1) / count - first,
                                                      .all_granules = granules,
                                                      .all_parts = count,
                                                      .first_slot = first_slot + block * granules};
        }
    }
    return filled;
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
static void sort_tiles(const struct attention_sequence *sequences, int tile_rows,
                       struct attention_tile *tiles, int count)
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

void attention_plan_fill(const struct attention_sequence *sequences, int count,
                         const struct attention_shape *shape, struct attention_tile *tiles,
                         struct attention_part *parts)
{
    int tile_count = 0, part_count = 0, slots = 0, each = granules_a_part(sequences, count, shape);
    for (int i = 0; i < count; i++) {
        if (!attention_is_decode(&sequences[i], shape)) {
            for (int first = 0; first < sequences[i].rows; first += shape->tile_rows)
                tiles[tile_count++] = (struct attention_tile){i, first};
        } else {
            part_count += fill_parts(&sequences[i], shape, each, slots, parts + part_count);
            slots += row_blocks(&sequences[i], shape) * granules_of(&sequences[i]);
        }
    }
    if (tile_count > 1)
        sort_tiles(sequences, shape->tile_rows, tiles, tile_count);
}

int attention_heads_together(int heads, int kv_heads, int head_dim, int64_t keys)
{
    int group = heads / kv_heads, best = group;
    for (int n = 2; n <= kv_heads; n++)
        if (kv_heads % n == 0 && n * keys * head_dim * 4 <= CACHE_BYTES)
            best = n * group;
    return best;
}
