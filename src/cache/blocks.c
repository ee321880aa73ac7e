/* The paged KV cache: fixed-size blocks, block tables, reference counts.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cache/blocks.h"

#include <string.h>

#include "base/error.h"
#include "base/machine.h"
#include "base/mem.h"

/* Each layer's memory: K of all blocks, V of all blocks, then the norms. */
struct block_pool {
    struct backend_split split;
    int layers, block_tokens;
    int64_t capacity, free_count;
    struct backend_cache *caches; /* [layers] */
    uint64_t *layer_bytes;        /* [layers] */
    int32_t *references;          /* [capacity] */
    int32_t *free_blocks;         /* [capacity], a stack */
    int64_t shared_count;         /* blocks with more than one reference */
    int64_t touched;              /* blocks below this number have been handed out since the last trim */
    bool *written;                /* [capacity] handed out since the last trim: its pages are in memory */
    uint64_t block_bytes;         /* of one block in the device's layers */
    uint64_t host_block_bytes;    /* in the host's layers of a split */
    atomic_uint_fast64_t *used, *resident, *host_used;
};

struct layer_sizes {
    uint64_t block; /* K or V of one block */
    uint64_t half;  /* K or V of all blocks, rounded for alignment */
    uint64_t norms;
    uint64_t total;
};

static bool round_up(uint64_t *bytes)
{
    if (!mem_add(*bytes, 127, bytes))
        return false;
    *bytes &= ~(uint64_t)127;
    return true;
}

static bool layer_bytes(const struct block_options *options, const struct block_shape *shape,
                        int block_tokens, struct layer_sizes *ret)
{
    uint64_t blocks = (uint64_t)options->blocks,
             row = dtype_row_bytes(options->type, (uint64_t)options->head_dim);
    struct layer_sizes s = {0};
    if (row == 0 || !mem_multiply(row, (uint64_t)block_tokens * (uint64_t)shape->kv_heads, &s.block) ||
        !mem_multiply(s.block, blocks, &s.half) || !round_up(&s.half))
        return false;
    if (shape->norms &&
        (!mem_multiply(blocks, (uint64_t)shape->kv_heads * sizeof(float), &s.norms) || !round_up(&s.norms)))
        return false;
    if (!mem_add(s.half, s.half, &s.total) || !mem_add(s.total, s.norms, &s.total))
        return false;
    *ret = s;
    return true;
}

bool blocks_bytes(const struct block_options *options, int first, int end, int block_tokens, uint64_t *ret)
{
    uint64_t sum = 0;
    struct layer_sizes sizes;
    for (int i = first; i < end; i++)
        if (!layer_bytes(options, &options->shapes[i], block_tokens, &sizes) ||
            !mem_add(sum, sizes.total, &sum))
            return false;
    *ret = sum;
    return true;
}

static ll_status open_layer(struct block_pool *pool, int i, const struct block_options *options,
                            ll_error *error)
{
    const struct block_shape *shape = &options->shapes[i];
    struct backend *backend = split_layer(&pool->split, i);
    struct layer_sizes sizes;
    void *memory;
    if (!layer_bytes(options, shape, pool->block_tokens, &sizes))
        return error_set(error, LL_NOMEM, "cache", "a KV cache of %lld blocks is larger than any memory",
                         (long long)options->blocks);
    LL_TRY(backend->table->memory_new(backend, MEMORY_CACHE, sizes.total, &memory, error));
    pool->layer_bytes[i] = sizes.total;
    *(backend == pool->split.device ? &pool->block_bytes : &pool->host_block_bytes) += 2 * sizes.block;
    pool->caches[i] = (struct backend_cache){.k = memory,
                                             .v = (char *)memory + sizes.half,
                                             .k_type = options->type,
                                             .v_type = options->type,
                                             .kv_heads = shape->kv_heads,
                                             .head_dim = options->head_dim,
                                             .block_tokens = pool->block_tokens,
                                             .k_block_bytes = (int64_t)sizes.block,
                                             .v_block_bytes = (int64_t)sizes.block};
    if (shape->norms)
        pool->caches[i].k_norms = (float *)(void *)((char *)memory + 2 * sizes.half);
    return LL_OK;
}

static bool allocate_lists(struct block_pool *pool, const struct block_options *options)
{
    pool->caches = mem_new((size_t)options->layers, sizeof *pool->caches);
    pool->layer_bytes = mem_new((size_t)options->layers, sizeof *pool->layer_bytes);
    pool->references = mem_new((size_t)options->blocks, sizeof *pool->references);
    pool->free_blocks = mem_new((size_t)options->blocks, sizeof *pool->free_blocks);
    pool->written = mem_new((size_t)options->blocks, sizeof *pool->written);
    return pool->caches && pool->layer_bytes && pool->references && pool->free_blocks && pool->written;
}

ll_status blocks_open(const struct backend_split *split, const struct block_options *options,
                      struct block_pool **ret, ll_error *error)
{
    if (options->blocks < 1 || options->blocks > INT32_MAX)
        return error_set(error, LL_ARGUMENT, "cache", "a KV cache of %lld blocks cannot be made",
                         (long long)options->blocks);
    struct block_pool *pool = mem_new(1, sizeof *pool);
    if (!pool)
        return error_nomem(error, "cache", sizeof *pool);
    *pool = (struct block_pool){.split = *split,
                                .layers = options->layers,
                                .block_tokens = split->device->block_tokens,
                                .capacity = options->blocks};
    ll_status status = LL_OK;
    if (!allocate_lists(pool, options))
        status = error_nomem(error, "cache", (size_t)options->blocks * 8);
    for (int i = 0; i < options->layers && status == LL_OK; i++)
        status = open_layer(pool, i, options, error);
    if (status != LL_OK) {
        blocks_close(pool);
        return status;
    }
    for (int64_t i = 0; i < pool->capacity; i++) /* low numbers are handed out first */
        pool->free_blocks[i] = (int32_t)(pool->capacity - 1 - i);
    pool->free_count = pool->capacity;
    pool->used = options->used;
    pool->resident = options->resident;
    pool->host_used = options->host_used;
    *ret = pool;
    return LL_OK;
}

static void set_written(struct block_pool *pool, int64_t block, bool written)
{
    if (pool->written[block] == written)
        return;
    pool->written[block] = written;
    if (pool->resident)
        atomic_fetch_add_explicit(pool->resident, written ? pool->block_bytes : -pool->block_bytes,
                                  memory_order_relaxed);
}

/* The blocks begin to hold keys, or hold none any more. The counters are set last, when the pool is whole. */
static void count_blocks(struct block_pool *pool, int64_t blocks)
{
    if (pool->used)
        atomic_fetch_add_explicit(pool->used, (uint64_t)blocks * pool->block_bytes, memory_order_relaxed);
    if (pool->host_used)
        atomic_fetch_add_explicit(pool->host_used, (uint64_t)blocks * pool->host_block_bytes,
                                  memory_order_relaxed);
}

void blocks_close(struct block_pool *pool)
{
    if (!pool)
        return;
    count_blocks(pool, -blocks_used(pool));
    for (int64_t i = 0; pool->resident && i < pool->touched; i++)
        set_written(pool, i, false);
    for (int i = 0; pool->caches && pool->layer_bytes && i < pool->layers; i++) {
        struct backend *backend = split_layer(&pool->split, i);
        if (pool->caches[i].k)
            backend->table->memory_free(backend, MEMORY_CACHE, pool->caches[i].k, pool->layer_bytes[i]);
    }
    mem_free(pool->caches);
    mem_free(pool->layer_bytes);
    mem_free(pool->references);
    mem_free(pool->free_blocks);
    mem_free(pool->written);
    mem_free(pool);
}

const struct backend_cache *blocks_caches(const struct block_pool *pool)
{
    return pool->caches;
}

struct backend *blocks_backend(const struct block_pool *pool, int layer)
{
    return split_layer(&pool->split, layer);
}

int blocks_tokens(const struct block_pool *pool)
{
    return pool->block_tokens;
}

int64_t blocks_used(const struct block_pool *pool)
{
    return pool->capacity - pool->free_count;
}

void blocks_count(const struct block_pool *pool, struct block_counts *ret)
{
    *ret = (struct block_counts){.capacity = pool->capacity,
                                 .used = blocks_used(pool),
                                 .shared = pool->shared_count,
                                 .free = pool->free_count};
}

/* A run of free blocks is let go in each layer, K and V, whose memory is the host's. */
static uint64_t forget_run(struct block_pool *pool, int64_t first, int64_t end)
{
    uint64_t bytes = 0;
    for (int64_t block = first; block < end; block++)
        set_written(pool, block, false);
    for (int i = 0; i < pool->layers; i++) {
        const struct backend_cache *cache = &pool->caches[i];
        if (!split_layer(&pool->split, i)->host_memory)
            continue;
        bytes += machine_forget((char *)cache->k + first * cache->k_block_bytes,
                                (size_t)((end - first) * cache->k_block_bytes));
        bytes += machine_forget((char *)cache->v + first * cache->v_block_bytes,
                                (size_t)((end - first) * cache->v_block_bytes));
    }
    return bytes;
}

uint64_t blocks_trim(struct block_pool *pool)
{
    uint64_t bytes = 0;
    for (int64_t first = 0; first < pool->touched;) {
        int64_t end = first;
        while (end < pool->touched && pool->references[end] == 0)
            end++;
        if (end > first)
            bytes += forget_run(pool, first, end);
        first = end + 1;
    }
    while (pool->touched > 0 && pool->references[pool->touched - 1] == 0)
        pool->touched--;
    return bytes;
}

uint64_t blocks_memory(const struct block_pool *pool)
{
    uint64_t sum = 0;
    for (int i = 0; i < pool->layers; i++)
        sum += pool->layer_bytes[i];
    return sum;
}

/* ---- tables ---- */

static int32_t take(struct block_pool *pool)
{
    int32_t block = pool->free_blocks[--pool->free_count];
    pool->references[block] = 1;
    pool->touched = block >= pool->touched ? block + 1 : pool->touched;
    set_written(pool, block, true);
    count_blocks(pool, 1);
    return block;
}

static void drop(struct block_pool *pool, int32_t block)
{
    int32_t left = --pool->references[block];
    pool->shared_count -= left == 1;
    if (left > 0)
        return;
    pool->free_blocks[pool->free_count++] = block;
    count_blocks(pool, -1);
}

/* The block that is written next; when another sequence shares it, this one gets a copy. */
static ll_status unshare(struct block_pool *pool, struct block_table *table, size_t index, ll_error *error)
{
    int32_t old = table->blocks[index], copy = take(pool);
    for (int i = 0; i < pool->layers; i++) {
        struct backend *backend = split_layer(&pool->split, i);
        ll_status status = backend->table->cache_copy(backend, &pool->caches[i], old, copy, error);
        if (status != LL_OK) {
            drop(pool, copy);
            return status;
        }
    }
    drop(pool, old);
    table->blocks[index] = copy;
    return LL_OK;
}

static size_t blocks_for(const struct block_pool *pool, int64_t tokens)
{
    return (size_t)((tokens + pool->block_tokens - 1) / pool->block_tokens);
}

ll_status block_table_reserve(struct block_pool *pool, struct block_table *table, int64_t tokens,
                              ll_error *error)
{
    size_t need = blocks_for(pool, table->length + tokens);
    size_t partial = (size_t)(table->length / pool->block_tokens);
    bool copy = tokens > 0 && partial < table->count && pool->references[table->blocks[partial]] > 1;
    int64_t wanted = (need > table->count ? (int64_t)(need - table->count) : 0) + copy;
    if (wanted > pool->free_count)
        return error_set(error, LL_CONTEXT_FULL, "cache",
                         "the KV cache has %lld of %lld blocks free and %lld are needed",
                         (long long)pool->free_count, (long long)pool->capacity, (long long)wanted);
    if (!mem_grow((void **)&table->blocks, &table->capacity, need, sizeof *table->blocks))
        return error_nomem(error, "cache", need * sizeof *table->blocks);
    if (copy)
        LL_TRY(unshare(pool, table, partial, error));
    while (table->count < need)
        table->blocks[table->count++] = take(pool);
    return LL_OK;
}

uint64_t block_table_growth(const struct block_pool *pool, const struct block_table *table, int64_t tokens)
{
    size_t need = blocks_for(pool, table->length + tokens);
    uint64_t bytes = pool->host_block_bytes + (pool->split.device->host_memory ? pool->block_bytes : 0);
    return need > table->count ? (uint64_t)(need - table->count) * bytes : 0;
}

void block_table_advance(struct block_table *table, int64_t tokens)
{
    table->length += tokens;
}

void block_table_truncate(struct block_pool *pool, struct block_table *table, int64_t length)
{
    if (length > table->length)
        length = table->length;
    size_t keep = blocks_for(pool, length);
    while (table->count > keep)
        drop(pool, table->blocks[--table->count]);
    table->length = length;
}

ll_status block_table_share(struct block_pool *pool, const struct block_table *from, int64_t length,
                            struct block_table *to, ll_error *error)
{
    size_t count = blocks_for(pool, length);
    if (!mem_grow((void **)&to->blocks, &to->capacity, count, sizeof *to->blocks))
        return error_nomem(error, "cache", count * sizeof *to->blocks);
    for (size_t i = 0; i < count; i++) {
        to->blocks[i] = from->blocks[i];
        pool->shared_count += ++pool->references[to->blocks[i]] == 2;
    }
    to->count = count;
    to->length = length;
    return LL_OK;
}

void block_table_fini(struct block_pool *pool, struct block_table *table)
{
    if (pool)
        block_table_truncate(pool, table, 0);
    mem_free(table->blocks);
    *table = (struct block_table){0};
}
