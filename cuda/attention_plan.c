/* Shares out a step's attention: query tiles for prefill, parts of the keys for decode.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/attention_plan.h"

#include <stdlib.h>

/* Short granules let one short sequence fill the card; past SHORT_GRANULES they grow, for each costs a
 * result to write and to merge. */
#define GRANULE_KEYS 256
#define SHORT_GRANULES 32
#define LONG_GRANULE_KEYS 1024
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
    int keys = sequence->start + sequence->rows;
    int granules = (keys + GRANULE_KEYS - 1) / GRANULE_KEYS, most = keys / LONG_GRANULE_KEYS;
    most = most < SHORT_GRANULES ? SHORT_GRANULES : most < DECODE_GRANULES ? most : DECODE_GRANULES;
    return granules < most ? granules : most;
}

static int row_blocks(const struct attention_sequence *sequence, const struct attention_shape *shape)
{
    return (packed_rows(sequence, shape) + DECODE_ROWS - 1) / DECODE_ROWS;
}

/* How a sequence's granules are dealt: first `large` parts of large_granules each, then parts of
 * small_granules until none are left. */
struct deal {
    int granules, large, large_granules, small_granules;
};

/* What the whole batch asks for. */
struct demand {
    int64_t granules, runs; /* runs: of granules, one a KV head and block of packed rows */
    int64_t room;           /* blocks at once */
};

static struct demand demand_of(const struct attention_sequence *sequences, int count,
                               const struct attention_shape *shape)
{
    struct demand demand = {.room = shape->blocks > 0 ? shape->blocks : 1};
    for (int i = 0; i < count; i++) {
        if (!attention_is_decode(&sequences[i], shape))
            continue;
        int64_t runs = (int64_t)row_blocks(&sequences[i], shape) * shape->kv_heads;
        demand.runs += runs;
        demand.granules += runs * granules_of(&sequences[i]);
    }
    return demand;
}

/* Blocks do not get equal shares of the memory's rate, so equal parts would leave the card waiting for
 * the slowest: a little work is dealt evenly, one part a block; of much, four fifths go out in one
 * part a block, and the rest in small parts that whoever is ready takes. */
static struct deal deal_of(const struct attention_sequence *sequence, const struct demand *demand)
{
    struct deal deal = {.granules = granules_of(sequence), .small_granules = 1};
    if (deal.granules == 0 || demand->granules <= 2 * demand->room) {
        deal.small_granules = (int)((demand->granules + demand->room - 1) / demand->room);
        if (deal.small_granules < 1)
            deal.small_granules = 1;
        return deal;
    }
    int64_t each = demand->room / (demand->runs > 0 ? demand->runs : 1);
    deal.large = each < 1 ? 1 : each < deal.granules ? (int)each : deal.granules;
    deal.large_granules = deal.granules * 4 / 5 / deal.large;
    if (deal.large_granules == 0)
        deal.large = 0;
    else if (deal.large_granules >= 12)
        deal.small_granules = deal.large_granules / 6;
    return deal;
}

static int small_parts(const struct deal *deal)
{
    int left = deal->granules - deal->large * deal->large_granules;
    return (left + deal->small_granules - 1) / deal->small_granules;
}

struct attention_counts attention_plan_count(const struct attention_sequence *sequences, int count,
                                             const struct attention_shape *shape)
{
    struct attention_counts counts = {0, 0, 0};
    struct demand demand = demand_of(sequences, count, shape);
    for (int i = 0; i < count; i++) {
        if (!attention_is_decode(&sequences[i], shape)) {
            counts.tiles += (sequences[i].rows + shape->tile_rows - 1) / shape->tile_rows;
        } else {
            struct deal deal = deal_of(&sequences[i], &demand);
            counts.parts += row_blocks(&sequences[i], shape) * (deal.large + small_parts(&deal));
            counts.slots += row_blocks(&sequences[i], shape) * deal.granules;
        }
    }
    return counts;
}

/* The large or the small parts of one sequence; returns how many. */
static int fill_parts(const struct attention_sequence *sequence, const struct attention_shape *shape,
                      const struct deal *deal, bool large, int first_slot, struct attention_part *parts)
{
    int filled = 0, begin = large ? 0 : deal->large * deal->large_granules;
    int end = large ? deal->large * deal->large_granules : deal->granules;
    int step = large ? deal->large_granules : deal->small_granules;
    for (int block = 0; block < row_blocks(sequence, shape); block++) {
        for (int first = begin; first < end; first += step) {
            parts[filled++] = (struct attention_part){.sequence = *sequence,
                                                      .first_packed = block * DECODE_ROWS,
                                                      .granule = first,
                                                      .granules = end - first < step ? end - first : step,
                                                      .all_granules = deal->granules,
                                                      .all_parts = deal->large + small_parts(deal),
                                                      .first_slot = first_slot + block * deal->granules};
        }
    }
    return filled;
}

static void fill_all_parts(const struct attention_sequence *sequences, int count,
                           const struct attention_shape *shape, struct attention_part *parts)
{
    struct demand demand = demand_of(sequences, count, shape);
    int filled = 0;
    for (int large = 1; large >= 0; large--) {
        int slots = 0;
        for (int i = 0; i < count; i++) {
            if (!attention_is_decode(&sequences[i], shape))
                continue;
            struct deal deal = deal_of(&sequences[i], &demand);
            filled += fill_parts(&sequences[i], shape, &deal, large, slots, parts + filled);
            slots += row_blocks(&sequences[i], shape) * deal.granules;
        }
    }
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
    int tile_count = 0;
    for (int i = 0; i < count; i++)
        if (!attention_is_decode(&sequences[i], shape))
            for (int first = 0; first < sequences[i].rows; first += shape->tile_rows)
                tiles[tile_count++] = (struct attention_tile){i, first};
    if (tile_count > 1)
        sort_tiles(sequences, shape->tile_rows, tiles, tile_count);
    fill_all_parts(sequences, count, shape, parts);
}

int attention_heads_together(int heads, int kv_heads, int head_dim, int64_t keys)
{
    int group = heads / kv_heads, best = group;
    for (int n = 2; n <= kv_heads; n++)
        if (kv_heads % n == 0 && n * keys * head_dim * 4 <= CACHE_BYTES)
            best = n * group;
    return best;
}
