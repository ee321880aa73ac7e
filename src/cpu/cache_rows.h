/* Where a key or value row lies in the paged cache, and how rows are stored there.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CPU_CACHE_ROWS_H
#define CPU_CACHE_ROWS_H

#include "cpu/host.h"

/* n elements of F32 to a row of dtype; Q8_0 in blocks of 32, n a multiple of it. */
typedef void (*store_row_fn)(enum dtype dtype, const float *from, void *to, int64_t n);
/* The Euclidean norm of a stored row, never too small. */
typedef float (*row_norm_fn)(enum dtype dtype, const void *row, int64_t n);

static inline void *cache_row(void *base, int64_t block_bytes, int64_t row_bytes,
                              const struct backend_cache *cache, int32_t block, int head,
                              int64_t token_in_block)
{
    return (char *)base + (int64_t)block * block_bytes +
           (head * (int64_t)cache->block_tokens + token_in_block) * row_bytes;
}

static inline void *cache_key(const struct backend_cache *cache, int32_t block, int head,
                              int64_t token_in_block)
{
    return cache_row(cache->k, cache->k_block_bytes,
                     (int64_t)dtype_row_bytes(cache->k_type, (uint64_t)cache->head_dim), cache, block, head,
                     token_in_block);
}

static inline void *cache_value(const struct backend_cache *cache, int32_t block, int head,
                                int64_t token_in_block)
{
    return cache_row(cache->v, cache->v_block_bytes,
                     (int64_t)dtype_row_bytes(cache->v_type, (uint64_t)cache->head_dim), cache, block, head,
                     token_in_block);
}

/* The plain forms. */
void store_row(enum dtype dtype, const float *from, void *to, int64_t n);
float row_norm(enum dtype dtype, const void *row, int64_t n);
/* The step's rows into the cache and the prefix norms beside them; fails the step on wrong shapes. */
void cache_store_step(struct host *host, const struct backend_cache *cache, const struct tensor *k,
                      const struct tensor *v, store_row_fn store, row_norm_fn norm);
/* False, and the step has failed, when the cache's types or head size are not to be had. */
bool cache_check(struct host *host, const char *operation, const struct backend_cache *cache);

#endif
