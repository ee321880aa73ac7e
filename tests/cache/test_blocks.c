/* Tests of the paged KV cache: ownership, sharing, copy on write, exhaustion.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cache/blocks.h"

#include "cpu/cpu.h"
#include "unit.h"

enum { LAYERS = 2, HEADS = 3, HEAD_DIM = 8 };

struct fixture {
    struct backend *backend;
    struct block_pool *pool;
};

static struct fixture open_pool(int64_t blocks)
{
    static const struct block_shape shapes[LAYERS] = {{HEADS, false}, {HEADS, true}};
    struct backend_options backend_options = {.threads = 1};
    struct block_options options = {
        .layers = LAYERS, .shapes = shapes, .head_dim = HEAD_DIM, .type = DT_F32, .blocks = blocks};
    struct fixture f = {0};
    ll_error error;
    assert_int_equal(reference_backend.open(&backend_options, &f.backend, &error), LL_OK);
    struct backend_split split = split_none(f.backend);
    assert_int_equal(blocks_open(&split, &options, &f.pool, &error), LL_OK);
    return f;
}

static void close_pool(struct fixture *f)
{
    blocks_close(f->pool);
    f->backend->table->close(f->backend);
}

static void a_table_takes_only_the_blocks_its_tokens_need(void **state)
{
    (void)state;
    struct fixture f = open_pool(8);
    struct block_table table = {0};
    int64_t per_block = blocks_tokens(f.pool);
    assert_int_equal(block_table_reserve(f.pool, &table, per_block, NULL), LL_OK);
    assert_int_equal(blocks_used(f.pool), 1);
    block_table_advance(&table, per_block);
    assert_int_equal(block_table_reserve(f.pool, &table, 1, NULL), LL_OK);
    assert_int_equal(blocks_used(f.pool), 2);
    block_table_fini(f.pool, &table);
    assert_int_equal(blocks_used(f.pool), 0);
    close_pool(&f);
}

static void a_full_pool_refuses_and_leaves_the_table_as_it_was(void **state)
{
    (void)state;
    struct fixture f = open_pool(2);
    struct block_table table = {0};
    ll_error error;
    assert_int_equal(block_table_reserve(f.pool, &table, 3 * blocks_tokens(f.pool), &error), LL_CONTEXT_FULL);
    assert_int_equal(table.count, 0);
    assert_int_equal(blocks_used(f.pool), 0);
    assert_non_null(strstr(error.text, "2 of 2 blocks free and 3 are needed"));
    block_table_fini(f.pool, &table);
    close_pool(&f);
}

static char *k_of(const struct fixture *f, int layer, int32_t block)
{
    const struct backend_cache *cache = &blocks_caches(f->pool)[layer];
    return (char *)cache->k + block * cache->k_block_bytes;
}

static void writing_to_a_shared_block_makes_a_copy_and_leaves_the_other_sequence_alone(void **state)
{
    (void)state;
    struct fixture f = open_pool(8);
    struct block_table first = {0}, second = {0};
    size_t bytes = (size_t)blocks_caches(f.pool)[1].k_block_bytes;
    assert_int_equal(block_table_reserve(f.pool, &first, 3, NULL), LL_OK);
    block_table_advance(&first, 3);
    memset(k_of(&f, 1, first.blocks[0]), 0x5A, bytes);
    assert_int_equal(block_table_share(f.pool, &first, 2, &second, NULL), LL_OK);
    assert_int_equal(blocks_used(f.pool), 1);
    assert_int_equal(block_table_reserve(f.pool, &second, 1, NULL), LL_OK);
    assert_int_equal(blocks_used(f.pool), 2);
    assert_int_not_equal(first.blocks[0], second.blocks[0]);
    assert_memory_equal(k_of(&f, 1, first.blocks[0]), k_of(&f, 1, second.blocks[0]), bytes);
    block_table_fini(f.pool, &first);
    block_table_fini(f.pool, &second);
    assert_int_equal(blocks_used(f.pool), 0);
    close_pool(&f);
}

static void a_sole_owner_writes_in_place(void **state)
{
    (void)state;
    struct fixture f = open_pool(4);
    struct block_table first = {0}, second = {0};
    block_table_reserve(f.pool, &first, 3, NULL);
    block_table_advance(&first, 3);
    block_table_share(f.pool, &first, 3, &second, NULL);
    block_table_fini(f.pool, &first);
    int32_t before = second.blocks[0];
    assert_int_equal(block_table_reserve(f.pool, &second, 1, NULL), LL_OK);
    assert_int_equal(second.blocks[0], before);
    block_table_fini(f.pool, &second);
    close_pool(&f);
}

/* A model of the pool: each sequence is a list of (block content owner) tags. Random operations must
 * keep every sequence's own content and never lose or double a block. */
static void random_use_never_mixes_sequences_nor_leaks_blocks(void **state)
{
    (void)state;
    enum { SEQUENCES = 6, ROUNDS = 4000 };
    struct fixture f = open_pool(40);
    struct block_table tables[SEQUENCES] = {{0}};
    unsigned char content[SEQUENCES][4096]; /* what position p of sequence s holds */
    const struct backend_cache *cache = &blocks_caches(f.pool)[0];
    int64_t per_block = blocks_tokens(f.pool), row = HEAD_DIM * 4;
    for (int round = 0; round < ROUNDS; round++) {
        size_t s = unit_below(SEQUENCES), other = unit_below(SEQUENCES);
        struct block_table *t = &tables[s];
        switch (unit_below(4)) {
        case 0:
        case 1: {
            int64_t n = 1 + (int64_t)unit_below((size_t)per_block * 2);
            if (t->length + n > 4096 || block_table_reserve(f.pool, t, n, NULL) != LL_OK)
                break;
            for (int64_t p = t->length; p < t->length + n; p++) {
                content[s][p] = (unsigned char)unit_random();
                memset(k_of(&f, 0, t->blocks[p / per_block]) + (p % per_block) * row, content[s][p],
                       (size_t)row);
            }
            block_table_advance(t, n);
            break;
        }
        case 2:
            block_table_truncate(f.pool, t, t->length ? (int64_t)unit_below((size_t)t->length + 1) : 0);
            break;
        default:
            if (other == s || t->length == 0)
                break;
            block_table_truncate(f.pool, &tables[other], 0);
            assert_int_equal(block_table_share(f.pool, t, (int64_t)unit_below((size_t)t->length) + 1,
                                               &tables[other], NULL),
                             LL_OK);
            memcpy(content[other], content[s], (size_t)tables[other].length);
        }
        for (size_t i = 0; i < SEQUENCES; i++)
            for (int64_t p = 0; p < tables[i].length; p++)
                assert_int_equal(
                    (unsigned char)k_of(&f, 0, tables[i].blocks[p / per_block])[(p % per_block) * row],
                    content[i][p]);
    }
    assert_non_null(cache->k);
    for (size_t i = 0; i < SEQUENCES; i++)
        block_table_fini(f.pool, &tables[i]);
    assert_int_equal(blocks_used(f.pool), 0);
    close_pool(&f);
}

static void sizes_beyond_any_memory_are_refused_without_wrapping(void **state)
{
    (void)state;
    static const struct block_shape shape = {4096, true};
    struct block_options options = {
        .layers = 1, .shapes = &shape, .head_dim = 1024, .type = DT_F32, .blocks = INT64_MAX / 2};
    uint64_t bytes;
    assert_false(blocks_bytes(&options, 0, options.layers, 128, &bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_takes_only_the_blocks_its_tokens_need),
        cmocka_unit_test(a_full_pool_refuses_and_leaves_the_table_as_it_was),
        cmocka_unit_test(writing_to_a_shared_block_makes_a_copy_and_leaves_the_other_sequence_alone),
        cmocka_unit_test(a_sole_owner_writes_in_place),
        cmocka_unit_test(random_use_never_mixes_sequences_nor_leaks_blocks),
        cmocka_unit_test(sizes_beyond_any_memory_are_refused_without_wrapping),
    };
    unit_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
