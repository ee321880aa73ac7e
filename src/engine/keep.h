/* Keys and values of a prompt's beginning as bytes, for another prompt that begins so.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The bytes belong to one model with one KV type; whoever keeps them keeps that apart. What comes back from
 * where it was kept is not trusted: length and hash must fit. */
#ifndef ENGINE_KEEP_H
#define ENGINE_KEEP_H

#include "base/strbuf.h"
#include "cache/blocks.h"

/* Appends the first `length` positions of a sequence. false: the device gives nothing out, the keys are
 * gone, or there is no memory; *out is then to be thrown away. Under the engine's lock. */
bool keep_write(ll_model *model, struct block_pool *pool, const struct block_table *table, int64_t length,
                struct strbuf *out);
/* Into an empty sequence, which is left empty when the bytes are not whole. Under the engine's lock. */
bool keep_read(ll_model *model, struct block_pool *pool, const char *bytes, size_t count, int64_t length,
               struct block_table *table);

#endif
