/* A sequence's keys and values as a stream of bytes, and back.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Per layer: K, then V, each [kv_head][position][row], rows as the cache keeps them; then, where some head
 * uses ALiBi, the prefix maxima of key norms, [block][kv_head] of fp32. Blocks are as large as the writer's.
 */
#ifndef CACHE_SNAPSHOT_H
#define CACHE_SNAPSHOT_H

#include "cache/blocks.h"

/* Takes or gives exactly these bytes. */
typedef ll_status (*snapshot_fn)(void *user, void *bytes, size_t length, ll_error *error);

/* Bytes of `length` positions, written with blocks of so many tokens; false when the sum wraps. */
bool snapshot_bytes(const struct block_pool *pool, int layers, int64_t length, int block_tokens,
                    uint64_t *ret);
/* LL_UNSUPPORTED when the device cannot give its cache out or a block was dropped. */
ll_status snapshot_write(const struct block_pool *pool, int layers, const struct block_table *table,
                         snapshot_fn put, void *user, ll_error *error);
/* Into an empty table; on failure it is empty again. */
ll_status snapshot_read(struct block_pool *pool, int layers, int64_t length, int block_tokens,
                        struct block_table *table, snapshot_fn get, void *user, ll_error *error);

#endif
