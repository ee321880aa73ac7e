/* Tests how a step's attention is shared out: every query row and every key once, whatever the batch.
 * SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "cuda/attention_plan.h"

enum { MOST = 40 };

struct plan {
    struct attention_sequence sequences[MOST];
    int count;
    struct attention_shape shape;
    struct attention_counts counts;
    struct attention_tile *tiles;
    struct attention_part *parts;
};

static void make(struct plan *plan)
{
    plan->counts = attention_plan_count(plan->sequences, plan->count, &plan->shape);
    plan->tiles = calloc((size_t)plan->counts.tiles + 1, sizeof *plan->tiles);
    plan->parts = calloc((size_t)plan->counts.parts + 1, sizeof *plan->parts);
    assert_non_null(plan->tiles);
    assert_non_null(plan->parts);
    plan->tiles[plan->counts.tiles].first = plan->parts[plan->counts.parts].granule = -7;
    attention_plan_fill(plan->sequences, plan->count, &plan->shape, plan->tiles, plan->parts);
    assert_int_equal(plan->tiles[plan->counts.tiles].first, -7);
    assert_int_equal(plan->parts[plan->counts.parts].granule, -7);
}

static void drop(struct plan *plan)
{
    free(plan->tiles);
    free(plan->parts);
}

static void randomise(struct plan *plan)
{
    static const int heads[] = {1, 4, 8, 32, 40}, kv_heads[] = {1, 2, 8, 8, 1};
    size_t shape = unit_below(5);
    plan->shape = (struct attention_shape){heads[shape],
                                           kv_heads[shape],
                                           unit_below(2) ? 128 : 192,
                                           (int)unit_below(300),
                                           unit_below(2) ? DECODE_ROWS : DECODE_ROWS / 2,
                                           attention_spread((int)unit_below(300), kv_heads[shape])};
    plan->count = 1 + (int)unit_below(MOST);
    for (int i = 0; i < plan->count; i++)
        plan->sequences[i] =
            (struct attention_sequence){.rows = (int32_t)unit_below(unit_below(2) ? 4 : 2000),
                                        .start = (int32_t)unit_below(unit_below(2) ? 50 : 200000)};
}

static void every_row_is_in_one_tile_or_decoded(void **state)
{
    (void)state;
    for (size_t round = 0; round < unit_rounds(200); round++) {
        struct plan plan;
        randomise(&plan);
        make(&plan);
        int64_t rows = 0, expected = 0, packed = 0, expected_packed = 0;
        for (int i = 0; i < plan.counts.tiles; i++) {
            const struct attention_sequence *sequence = &plan.sequences[plan.tiles[i].sequence];
            int left = sequence->rows - plan.tiles[i].first;
            assert_true(left > 0 && plan.tiles[i].first % plan.shape.tile_rows == 0);
            rows += left < plan.shape.tile_rows ? left : plan.shape.tile_rows;
        }
        int group = plan.shape.heads / plan.shape.kv_heads;
        for (int i = 0; i < plan.counts.parts; i++)
            if (plan.parts[i].granule == 0) {
                int left = plan.parts[i].sequence.rows * group - plan.parts[i].first_packed;
                packed += left < plan.shape.packed ? left : plan.shape.packed;
            }
        for (int i = 0; i < plan.count; i++)
            if (attention_is_decode(&plan.sequences[i], &plan.shape))
                expected_packed += (int64_t)plan.sequences[i].rows * group;
            else
                expected += plan.sequences[i].rows;
        assert_int_equal(rows, expected);
        assert_int_equal(packed, expected_packed);
        drop(&plan);
    }
}

static void the_heaviest_tile_comes_first(void **state)
{
    (void)state;
    struct plan plan;
    do
        randomise(&plan);
    while (attention_plan_count(plan.sequences, plan.count, &plan.shape).tiles < 10);
    make(&plan);
    int before = INT32_MAX;
    for (int i = 0; i < plan.counts.tiles; i++) {
        const struct attention_sequence *sequence = &plan.sequences[plan.tiles[i].sequence];
        int end = plan.tiles[i].first + plan.shape.tile_rows;
        int last = sequence->start + (end < sequence->rows ? end : sequence->rows);
        assert_true(last <= before);
        before = last;
    }
    drop(&plan);
}

static void granules_are_dealt_once_and_slots_never_shared(void **state)
{
    (void)state;
    for (size_t round = 0; round < unit_rounds(200); round++) {
        struct plan plan;
        randomise(&plan);
        make(&plan);
        unsigned char *used = calloc((size_t)plan.counts.slots + 1, 1);
        assert_non_null(used);
        int dealt = 0;
        for (int i = 0; i < plan.counts.parts; i++) {
            const struct attention_part *part = &plan.parts[i];
            assert_true(part->granules > 0 && part->granule + part->granules <= part->all_granules);
            assert_true(part->all_granules <= DECODE_GRANULES);
            for (int granule = part->granule; granule < part->granule + part->granules; granule++) {
                int slot = part->first_slot + granule;
                assert_in_range(slot, 0, plan.counts.slots - 1);
                assert_int_equal(used[slot]++, 0);
                dealt++;
            }
        }
        assert_int_equal(dealt, plan.counts.slots);
        free(used);
        drop(&plan);
    }
}

static void a_sequence_has_the_same_granules_in_any_batch(void **state)
{
    (void)state;
    struct plan alone = {.count = 1, .shape = {32, 8, 128, 264, DECODE_ROWS, 33}},
                many = {.count = MOST, .shape = {32, 8, 128, 264, DECODE_ROWS, 33}};
    alone.sequences[0] = (struct attention_sequence){.rows = 1, .start = 1 + (int32_t)unit_below(100000)};
    for (int i = 0; i < MOST; i++)
        many.sequences[i] = alone.sequences[0];
    make(&alone);
    make(&many);
    assert_int_equal(alone.parts[0].all_granules, many.parts[0].all_granules);
    assert_int_equal(many.counts.slots, MOST * alone.counts.slots);
    drop(&alone);
    drop(&many);
}

/* The parts taken in order by whichever block is free first, all at one speed: how long beside the least. */
static double time_over_least(const struct plan *plan)
{
    int *free_at = calloc((size_t)plan->shape.blocks, sizeof *free_at);
    assert_non_null(free_at);
    int64_t all = 0;
    int end = 0;
    for (int i = 0; i < plan->counts.parts * plan->shape.kv_heads; i++) {
        int granules = plan->parts[i / plan->shape.kv_heads].granules, next = 0;
        for (int block = 1; block < plan->shape.blocks; block++)
            if (free_at[block] < free_at[next])
                next = block;
        free_at[next] += granules;
        end = free_at[next] > end ? free_at[next] : end;
        all += granules;
    }
    free(free_at);
    return (double)end * plan->shape.blocks / (double)all;
}

static void much_work_keeps_all_blocks_busy(void **state)
{
    (void)state;
    for (int count = 9; count <= MOST; count++) { /* sequences of one length: no luck with small ones */
        struct plan plan = {.count = count, .shape = {32, 8, 128, 264, DECODE_ROWS, 33}};
        int32_t start = 30000 + (int32_t)unit_below(100000);
        for (int i = 0; i < count; i++)
            plan.sequences[i] = (struct attention_sequence){.rows = 1, .start = start};
        make(&plan);
        double ratio = time_over_least(&plan);
        if (ratio > 1.12)
            print_error("%d sequences of %d keys: %.3f of the least time\n", count, (int)start, ratio);
        assert_true(ratio <= 1.12);
        drop(&plan);
    }
}

static void heads_that_run_together_divide_the_heads(void **state)
{
    (void)state;
    assert_int_equal(attention_heads_together(32, 32, 128, 1 << 20), 1);
    assert_int_equal(attention_heads_together(32, 8, 128, 1 << 20), 4);
    for (int64_t keys = 1; keys < 1 << 18; keys *= 2) {
        int together = attention_heads_together(32, 8, 64, keys);
        assert_true(together >= 4 && 32 % together == 0);
    }
}

int main(void)
{
    unit_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_in_one_tile_or_decoded),
        cmocka_unit_test(the_heaviest_tile_comes_first),
        cmocka_unit_test(granules_are_dealt_once_and_slots_never_shared),
        cmocka_unit_test(a_sequence_has_the_same_granules_in_any_batch),
        cmocka_unit_test(much_work_keeps_all_blocks_busy),
        cmocka_unit_test(heads_that_run_together_divide_the_heads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
