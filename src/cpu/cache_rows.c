/* Stores the step's keys and values in the paged cache and keeps the prefix norms of the keys.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cpu/cache_rows.h"

#include <math.h>
#include <string.h>

#include "tensor/dequant.h"

enum { Q8_BLOCK = 32, Q8_BYTES = 34, MAX_HEAD = 1024 };

/* Signed 8 bits with an F16 scale. Rounds against the scale as stored, so that no second error enters. */
static void store_q8_0_block(const float *from, uint8_t *to)
{
    float largest = 0;
    for (int i = 0; i < Q8_BLOCK; i++)
        largest = fmaxf(largest, fabsf(from[i]));
    uint16_t half = f32_to_f16(fminf(largest / 127, 65504));
    float scale = f16_to_f32(half);
    memcpy(to, &half, sizeof half);
    for (int i = 0; i < Q8_BLOCK; i++) {
        float q = scale > 0 ? rintf(from[i] / scale) : 0;
        to[2 + i] = (uint8_t)(int8_t)fmaxf(-127, fminf(127, q));
    }
}

void store_row(enum dtype dtype, const float *from, void *to, int64_t n)
{
    uint16_t *halves = to;
    switch (dtype) {
    case DT_F32:
        memcpy(to, from, (size_t)n * sizeof(float));
        break;
    case DT_F16:
        for (int64_t i = 0; i < n; i++)
            halves[i] = f32_to_f16(from[i]);
        break;
    case DT_BF16:
        for (int64_t i = 0; i < n; i++)
            halves[i] = f32_to_bf16(from[i]);
        break;
    default:
        for (int64_t i = 0; i < n / Q8_BLOCK; i++)
            store_q8_0_block(from + i * Q8_BLOCK, (uint8_t *)to + i * Q8_BYTES);
    }
}

static bool cache_type_usable(enum dtype dtype, int head_dim)
{
    return dtype == DT_F32 || dtype == DT_F16 || dtype == DT_BF16 ||
           (dtype == DT_Q8_0 && head_dim % Q8_BLOCK == 0);
}

bool cache_check(struct host *host, const char *operation, const struct backend_cache *cache)
{
    if (cache_type_usable(cache->k_type, cache->head_dim) &&
        cache_type_usable(cache->v_type, cache->head_dim) && cache->head_dim > 0 &&
        cache->head_dim <= MAX_HEAD && cache->block_tokens > 0 && cache->kv_heads > 0)
        return true;
    host_fail(host, LL_UNSUPPORTED, operation,
              "no cache of %s keys and %s values with heads of %d (at most %d)",
              dtype_info(cache->k_type)->name, dtype_info(cache->v_type)->name, cache->head_dim, MAX_HEAD);
    return false;
}

float row_norm(enum dtype dtype, const void *row, int64_t n)
{
    float values[MAX_HEAD];
    double sum = 0;
    dequantize_row(dtype, row, values, n);
    for (int64_t i = 0; i < n; i++)
        sum += (double)values[i] * values[i];
    return nextafterf((float)(sqrt(sum) * (1 + 1e-12)), INFINITY);
}

/* The largest norm in the blocks before `index`; those dropped no longer count. */
static float norm_before(const struct backend_cache *cache, const struct backend_sequence *sequence,
                         int64_t index, int head)
{
    while (--index >= 0)
        if (sequence->blocks[index] >= 0)
            return cache->k_norms[(int64_t)sequence->blocks[index] * cache->kv_heads + head];
    return 0;
}

static float larger(float norm, float other)
{
    return other > norm || isnan(other) ? other : norm; /* a NaN stays: it compares as no bound at all */
}

/* A step that begins inside a block takes the block's earlier keys anew: what was there may have been
 * overwritten after a rewind, and the norm must depend on nothing but the keys up to here. */
static void store_key_norm(const struct backend_cache *cache, const struct backend_sequence *sequence,
                           int64_t position, int head, row_norm_fn norm)
{
    int64_t index = position / cache->block_tokens, token = position % cache->block_tokens;
    int32_t block = sequence->blocks[index];
    float *kept = &cache->k_norms[(int64_t)block * cache->kv_heads + head];
    int64_t first = position == sequence->start ? 0 : token;
    if (first == 0)
        *kept = norm_before(cache, sequence, index, head);
    for (; first <= token; first++)
        *kept = larger(*kept, norm(cache->k_type, cache_key(cache, block, head, first), cache->head_dim));
}

struct cache_writer {
    const struct backend_cache *cache;
    store_row_fn store;
    row_norm_fn norm;
};

static void store_position(const struct cache_writer *writer, const struct backend_sequence *sequence,
                           int64_t position, const float *k, const float *v)
{
    const struct backend_cache *cache = writer->cache;
    int32_t block = sequence->blocks[position / cache->block_tokens];
    int64_t token = position % cache->block_tokens;
    if (block < 0)
        return;
    for (int head = 0; head < cache->kv_heads; head++) {
        int64_t at = (int64_t)head * cache->head_dim;
        writer->store(cache->k_type, k + at, cache_key(cache, block, head, token), cache->head_dim);
        writer->store(cache->v_type, v + at, cache_value(cache, block, head, token), cache->head_dim);
        if (cache->k_norms)
            store_key_norm(cache, sequence, position, head, writer->norm);
    }
}

void cache_store_step(struct host *host, const struct backend_cache *cache, const struct tensor *k,
                      const struct tensor *v, store_row_fn store, row_norm_fn norm)
{
    int64_t cols = (int64_t)cache->kv_heads * cache->head_dim;
    struct cache_writer writer = {cache, store, norm};
    if (host_stopped(host) || !cache_check(host, "cache_write", cache) ||
        !host_check_rows(host, "cache_write", k, host->step->rows, cols) ||
        !host_check_rows(host, "cache_write", v, host->step->rows, cols))
        return;
    for (int64_t s = 0; s < host->step->sequence_count; s++) {
        const struct backend_sequence *sequence = &host->step->sequences[s];
        for (int64_t i = 0; i < sequence->rows; i++)
            store_position(&writer, sequence, sequence->start + i, tensor_row(k, sequence->first_row + i),
                           tensor_row(v, sequence->first_row + i));
    }
}
