/* Bytes by component, from shapes alone, before anything is allocated.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MEMORY_ESTIMATE_H
#define MEMORY_ESTIMATE_H

#include "cache/blocks.h"
#include "model/hparams.h"

/* The block shapes of a model, [layers], for blocks_open; NULL: no memory. Freed with mem_free. */
struct block_shape *estimate_block_shapes(const struct model_hparams *hparams);
/* KV cache of one sequence of `tokens` positions; UINT64_MAX when it is beyond any memory. */
uint64_t estimate_cache(const struct model_hparams *hparams, int block_tokens, uint64_t tokens,
                        enum dtype type);
/* The same of the layers first … end-1. */
uint64_t estimate_layers(const struct model_hparams *hparams, int first, int end, int block_tokens,
                         uint64_t tokens, enum dtype type);

#endif
