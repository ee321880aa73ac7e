/* The paged KV cache: fixed-size blocks, block tables, reference counts.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A block holds K and V of block_tokens consecutive positions for every layer. Sequences share
 * blocks by counting references; a block is written by a sequence only while it is its sole owner
 * (copy on write), so sharing is never visible. One thread at a time (the engine's lock). */
#ifndef CACHE_BLOCKS_H
#define CACHE_BLOCKS_H

#include <stdatomic.h>

#include "backend/split.h"

struct block_pool;

struct block_shape { /* one layer's K and V */
    int kv_heads;
    bool norms; /* keep prefix maxima of key norms: some head uses ALiBi */
};

struct block_options {
    int layers;
    const struct block_shape *shapes; /* [layers] */
    int head_dim;
    enum dtype type;            /* of K and V */
    int64_t blocks;             /* capacity */
    /* Count the bytes of all pools' blocks that hold keys, and of those whose pages have been written to,
     * held or free, on the device; and of those that hold keys in a split's layers on the host. May be
     * NULL. */
    atomic_uint_fast64_t *used, *resident, *host_used;
};

struct block_counts { /* shared: held by more than one sequence, counted once */
    int64_t capacity, used, shared, free;
};

/* Bytes that the layers first … end-1 take in the pool of these options; false when the product wraps. */
bool blocks_bytes(const struct block_options *options, int first, int end, int block_tokens, uint64_t *ret);
/* In blocks of the device's size, each layer's beside its weights. Borrows the backends. */
ll_status blocks_open(const struct backend_split *split, const struct block_options *options,
                      struct block_pool **ret, ll_error *error);
void blocks_close(struct block_pool *pool);
/* [layers], for the forward pass. */
const struct backend_cache *blocks_caches(const struct block_pool *pool);
struct backend *blocks_backend(const struct block_pool *pool, int layer);
int blocks_tokens(const struct block_pool *pool); /* positions a block holds */
int64_t blocks_used(const struct block_pool *pool);
void blocks_count(const struct block_pool *pool, struct block_counts *ret);
/* Gives pages of free blocks back to the system where the memory is the host's; returns the bytes let go. */
uint64_t blocks_trim(struct block_pool *pool);
uint64_t blocks_memory(const struct block_pool *pool);

/* ---- one sequence's blocks; zero-initialised storage is an empty sequence ---- */

struct block_table {
    int32_t *blocks;
    size_t count, capacity;
    int64_t length; /* positions whose K and V are valid */
};

/* Makes positions length … length+tokens-1 writable: takes blocks, copies a shared last one.
 * LL_CONTEXT_FULL when the pool has no block left; the table is unchanged then. */
ll_status block_table_reserve(struct block_pool *pool, struct block_table *table, int64_t tokens,
                              ll_error *error);
/* The reserved positions now hold valid keys. */
void block_table_advance(struct block_table *table, int64_t tokens);
/* Forgets positions from length on; gives blocks back. */
void block_table_truncate(struct block_pool *pool, struct block_table *table, int64_t length);
/* `to` (empty) shares the first `length` positions of `from`. */
ll_status block_table_share(struct block_pool *pool, const struct block_table *from, int64_t length,
                            struct block_table *to, ll_error *error);
/* Bytes of the host's memory that a reserve of so many tokens would touch. */
uint64_t block_table_growth(const struct block_pool *pool, const struct block_table *table, int64_t tokens);
void block_table_fini(struct block_pool *pool, struct block_table *table);

#endif
