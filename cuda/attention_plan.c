/* Shares out a step's attention: query tiles for prefill, parts of the keys for decode.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/attention_plan.h"

#include <stdlib.h>

/* Short granules let one short sequence fill the card; past `spread` of them they grow, for each costs a
 * result to write and to merge, and then there are twice as many. */
#define GRANULE_KEYS 256
#define LEAST_SPREAD 32
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

int attention_spread(int blocks, int kv_heads)
{
    int spread = blocks / kv_heads;
    return spread < LEAST_SPREAD ? LEAST_SPREAD : spread < DECODE_GRANULES ? spread : DECODE_GRANULES;
}

static int granules_of(const struct attention_sequence *sequence, const struct attention_shape *shape)
{
    int keys = sequence->start + sequence->rows;
    int granules = (keys + GRANULE_KEYS - 1) / GRANULE_KEYS, most = keys / LONG_GRANULE_KEYS;
    int twice = 2 * shape->spread <= DECODE_GRANULES ? 2 * shape->spread : shape->spread;
    most = most < shape->spread ? shape->spread : most < twice ? most : twice;
    return granules < most ? granules : most;
}

static int row_blocks(const struct attention_sequence *sequence, const struct attention_shape *shape)
{
    return (packed_rows(sequence, shape) + shape->packed - 1) / shape->packed;
}

/* How a sequence's granules are dealt: in rounds of `parts` parts each, the first ones large, the later ones
 * ever smaller. */
struct deal {
    int granules, parts, first;
};

/* A round of it: granules begin … end-1, `step` a part. */
struct deal_round {
    int begin, end, step;
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
        demand.granules += runs * granules_of(&sequences[i], shape);
    }
    return demand;
}

/* Parts of the first round, which deals four fifths: the fewest whose waves over the card end well before all
 * is done. */
static int first_parts(int granules, const struct demand *demand)
{
    for (int parts = 1; parts < granules; parts++) {
        int64_t waves = (parts * demand->runs + demand->room - 1) / demand->room;
        if (granules * 4 * waves * demand->room * 20 <= demand->granules * parts * 5 * 17)
            return parts;
    }
    return granules;
}

/* Blocks do not get equal shares of the memory's rate, so equal parts would leave the card waiting for
 * the slowest: a little work is dealt evenly, one part a block; of much, four fifths go out in large parts,
 * and the rest in ever smaller ones that whoever is ready takes. */
static struct deal deal_of(const struct attention_sequence *sequence, const struct attention_shape *shape,
                           const struct demand *demand)
{
    struct deal deal = {.granules = granules_of(sequence, shape), .parts = DECODE_GRANULES, .first = 1};
    if (deal.granules == 0)
        return deal;
    if (demand->granules <= 2 * demand->room) {
        int each = (int)((demand->granules + demand->room - 1) / demand->room);
        deal.first = each < 1 ? 1 : each;
        return deal;
    }
    int parts = first_parts(deal.granules, demand), first = deal.granules * 4 / 5 / parts;
    if (first > 0) {
        deal.parts = parts;
        deal.first = first;
    }
    return deal;
}

/* Each round deals about half of what the one before left. */
static struct deal_round next_round(const struct deal *deal, struct deal_round before)
{
    int left = deal->granules - before.end, step = (left + 2 * deal->parts - 1) / (2 * deal->parts);
    if (before.end == 0)
        step = deal->first;
    int end = left < deal->parts * step ? deal->granules : before.end + deal->parts * step;
    return (struct deal_round){before.end, end, step};
}

static struct deal_round round_of(const struct deal *deal, int nth)
{
    struct deal_round round = {0, 0, 1};
    for (int i = 0; i <= nth; i++)
        round = next_round(deal, round);
    return round;
}

static int parts_of(struct deal_round round)
{
    return round.step > 0 ? (round.end - round.begin + round.step - 1) / round.step : 0;
}

static int all_parts_of(const struct deal *deal)
{
    struct deal_round round = {0, 0, 1};
    int parts = 0;
    while (round.end < deal->granules) {
        round = next_round(deal, round);
        parts += parts_of(round);
    }
    return parts;
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
            struct deal deal = deal_of(&sequences[i], shape, &demand);
            counts.parts += row_blocks(&sequences[i], shape) * all_parts_of(&deal);
            counts.slots += row_blocks(&sequences[i], shape) * deal.granules;
        }
    }
    return counts;
}

/* One round of one sequence; returns how many parts. */
static int fill_parts(const struct attention_sequence *sequence, const struct attention_shape *shape,
                      const struct deal *deal, struct deal_round round, int first_slot,
                      struct attention_part *parts)
{
    int filled = 0;
    for (int block = 0; block < row_blocks(sequence, shape); block++) {
        for (int first = round.begin; first < round.end; first += round.step) {
            int left = round.end - first;
            parts[filled++] = (struct attention_part){.sequence = *sequence,
                                                      .first_packed = block * shape->packed,
                                                      .granule = first,
                                                      .granules = left < round.step ? left : round.step,
                                                      .all_granules = deal->granules,
                                                      .all_parts = all_parts_of(deal),
                                                      .first_slot = first_slot + block * deal->granules};
        }
    }
    return filled;
}

/* The first rounds of all sequences, then all second rounds, and so on. */
static void fill_all_parts(const struct attention_sequence *sequences, int count,
                           const struct attention_shape *shape, struct attention_part *parts)
{
    struct demand demand = demand_of(sequences, count, shape);
    int filled = 0, before = -1;
    for (int nth = 0; filled != before; nth++) {
        int slots = 0;
        before = filled;
        for (int i = 0; i < count; i++) {
            if (!attention_is_decode(&sequences[i], shape))
                continue;
            struct deal deal = deal_of(&sequences[i], shape, &demand);
            filled += fill_parts(&sequences[i], shape, &deal, round_of(&deal, nth), slots, parts + filled);
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
