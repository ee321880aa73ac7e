/* A sequence's keys and values as a stream of bytes, and back.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cache/snapshot.h"

#include <math.h>

#include "base/error.h"
#include "base/mem.h"

struct passage { /* one stream through one cache */
    struct backend *backend; /* of the layer that passes now */
    const struct block_table *table;
    int64_t length;
    snapshot_fn move;
    void *user;
    bool reading;             /* from the stream into the cache */
    unsigned char *row_space; /* for devices: the rows of one head in one block */
};

static size_t blocks_for(int64_t length, int block_tokens)
{
    return (size_t)((length + block_tokens - 1) / block_tokens);
}

static uint64_t row_bytes(const struct backend_cache *cache, enum dtype type)
{
    return dtype_row_bytes(type, (uint64_t)cache->head_dim);
}

bool snapshot_bytes(const struct block_pool *pool, int layers, int64_t length, int block_tokens,
                    uint64_t *ret)
{
    const struct backend_cache *caches = blocks_caches(pool);
    uint64_t sum = 0;
    for (int i = 0; i < layers; i++) {
        uint64_t rows, part;
        uint64_t row = row_bytes(&caches[i], caches[i].k_type) + row_bytes(&caches[i], caches[i].v_type);
        if (!mem_multiply((uint64_t)length, (uint64_t)caches[i].kv_heads, &rows) ||
            !mem_multiply(rows, row, &part) || !mem_add(sum, part, &sum))
            return false;
        part = caches[i].k_norms
                   ? blocks_for(length, block_tokens) * (uint64_t)caches[i].kv_heads * sizeof(float)
                   : 0;
        if (!mem_add(sum, part, &sum))
            return false;
    }
    *ret = sum;
    return true;
}

/* Bytes of the cache's memory to or from the stream, by way of host memory where the device has its own. */
static ll_status move_span(struct passage *p, unsigned char *memory, size_t length, ll_error *error)
{
    const struct backend_table *table = p->backend->table;
    if (p->backend->host_memory)
        return p->move(p->user, memory, length, error);
    if (p->reading) {
        LL_TRY(p->move(p->user, p->row_space, length, error));
        return table->upload(p->backend, memory, p->row_space, length, error);
    }
    LL_TRY(table->download(p->backend, p->row_space, memory, length, error));
    return p->move(p->user, p->row_space, length, error);
}

static ll_status move_rows(struct passage *p, const struct backend_cache *cache, void *memory,
                           int64_t block_bytes, enum dtype type, ll_error *error)
{
    uint64_t row = row_bytes(cache, type), head_bytes = row * (uint64_t)cache->block_tokens;
    for (int head = 0; head < cache->kv_heads; head++)
        for (int64_t at = 0; at < p->length; at += cache->block_tokens) {
            int64_t rows = p->length - at < cache->block_tokens ? p->length - at : cache->block_tokens;
            int32_t block = p->table->blocks[at / cache->block_tokens];
            unsigned char *from = (unsigned char *)memory + (uint64_t)block * (uint64_t)block_bytes +
                                  (uint64_t)head * head_bytes;
            LL_TRY(move_span(p, from, (size_t)((uint64_t)rows * row), error));
        }
    return LL_OK;
}

static ll_status write_norms(struct passage *p, const struct backend_cache *cache, ll_error *error)
{
    for (size_t i = 0; i < blocks_for(p->length, cache->block_tokens); i++)
        LL_TRY(move_span(
            p, (unsigned char *)(cache->k_norms + (size_t)p->table->blocks[i] * (size_t)cache->kv_heads),
            (size_t)cache->kv_heads * sizeof(float), error));
    return LL_OK;
}

static ll_status set_norms(struct passage *p, const struct backend_cache *cache, size_t block, float *norms,
                           ll_error *error)
{
    float *to = cache->k_norms + (size_t)p->table->blocks[block] * (size_t)cache->kv_heads;
    size_t bytes = (size_t)cache->kv_heads * sizeof *norms;
    if (!p->backend->host_memory)
        return p->backend->table->upload(p->backend, to, norms, bytes, error);
    for (int head = 0; head < cache->kv_heads; head++)
        to[head] = norms[head];
    return LL_OK;
}

/* The writer's blocks may be of another size: then all of ours get the largest, which bounds every one. A
 * norm that is no number bounds nothing, so it becomes infinite: nothing is skipped. */
static ll_status read_norms(struct passage *p, const struct backend_cache *cache, int block_tokens,
                            float *norms, ll_error *error)
{
    size_t theirs = blocks_for(p->length, block_tokens), ours = blocks_for(p->length, cache->block_tokens);
    bool same = block_tokens == cache->block_tokens;
    for (size_t i = 0; i < theirs; i++) {
        LL_TRY(p->move(p->user, norms, (size_t)cache->kv_heads * sizeof *norms, error));
        for (int head = 0; head < cache->kv_heads; head++)
            norms[head] = norms[head] >= 0 ? norms[head] : INFINITY;
        if (same)
            LL_TRY(set_norms(p, cache, i, norms, error));
    }
    for (size_t i = 0; !same && i < ours; i++)
        LL_TRY(set_norms(p, cache, i, norms, error));
    return LL_OK;
}

static ll_status move_layer(struct passage *p, const struct backend_cache *cache, int block_tokens,
                            ll_error *error)
{
    LL_TRY(move_rows(p, cache, cache->k, cache->k_block_bytes, cache->k_type, error));
    LL_TRY(move_rows(p, cache, cache->v, cache->v_block_bytes, cache->v_type, error));
    if (!cache->k_norms)
        return LL_OK;
    if (!p->reading)
        return write_norms(p, cache, error);
    float *norms = mem_new((size_t)cache->kv_heads, sizeof *norms);
    if (!norms)
        return error_nomem(error, "snapshot", (size_t)cache->kv_heads * sizeof *norms);
    ll_status status = read_norms(p, cache, block_tokens, norms, error);
    mem_free(norms);
    return status;
}

/* The largest K or V of one block; for devices. */
static uint64_t most_bytes(const struct backend_cache *caches, int layers)
{
    uint64_t most = 0;
    for (int i = 0; i < layers; i++) {
        uint64_t k = (uint64_t)caches[i].k_block_bytes, v = (uint64_t)caches[i].v_block_bytes;
        most = k > most ? k : most;
        most = v > most ? v : most;
    }
    return most;
}

static ll_status move_layers(struct passage *p, const struct block_pool *pool, int layers, int block_tokens,
                             ll_error *error)
{
    const struct backend_cache *caches = blocks_caches(pool);
    ll_status status = LL_OK;
    for (size_t i = 0; i < blocks_for(p->length, caches[0].block_tokens); i++)
        if (p->table->blocks[i] < 0)
            return error_set(
                error, LL_UNSUPPORTED, "snapshot",
                "this session has let go of keys that lie before its window, so it cannot be saved");
    uint64_t most = most_bytes(caches, layers);
    p->row_space = mem_new((size_t)most, 1);
    if (!p->row_space)
        return error_nomem(error, "snapshot", (size_t)most);
    for (int i = 0; i < layers && status == LL_OK; i++) {
        p->backend = blocks_backend(pool, i);
        status = move_layer(p, &caches[i], block_tokens, error);
    }
    mem_free(p->row_space);
    return status;
}

static ll_status check_devices(const struct block_pool *pool, int layers, bool reading, ll_error *error)
{
    for (int i = 0; i < layers; i++) {
        const struct backend *backend = blocks_backend(pool, i);
        const struct backend_table *table = backend->table;
        if (!backend->host_memory && !(reading ? table->upload != NULL : table->download != NULL))
            return error_set(error, LL_UNSUPPORTED, "snapshot", "%s keeps its keys and values to itself",
                             backend->name);
    }
    return LL_OK;
}

ll_status snapshot_write(const struct block_pool *pool, int layers, const struct block_table *table,
                         snapshot_fn put, void *user, ll_error *error)
{
    struct passage p = {NULL, table, table->length, put, user, false, NULL};
    LL_TRY(check_devices(pool, layers, false, error));
    return move_layers(&p, pool, layers, blocks_tokens(pool), error);
}

ll_status snapshot_read(struct block_pool *pool, int layers, int64_t length, int block_tokens,
                        struct block_table *table, snapshot_fn get, void *user, ll_error *error)
{
    struct passage p = {NULL, table, length, get, user, true, NULL};
    LL_TRY(check_devices(pool, layers, true, error));
    LL_TRY(block_table_reserve(pool, table, length, error));
    ll_status status = move_layers(&p, pool, layers, block_tokens, error);
    block_table_advance(table, length);
    if (status != LL_OK)
        block_table_truncate(pool, table, 0);
    return status;
}
