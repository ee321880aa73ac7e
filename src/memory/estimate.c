/* Bytes by component, from shapes alone, before anything is allocated.
 * SPDX-License-Identifier: Apache-2.0 */
#include "memory/estimate.h"

#include "base/mem.h"

struct block_shape *estimate_block_shapes(const struct model_hparams *hparams)
{
    struct block_shape *shapes = mem_new((size_t)hparams->layers, sizeof *shapes);
    for (int i = 0; shapes && i < hparams->layers; i++)
        shapes[i] = (struct block_shape){hparams->layer[i].kv_heads, hparams_alibi(hparams)};
    return shapes;
}

uint64_t estimate_cache(const struct model_hparams *hparams, int block_tokens, uint64_t tokens,
                        enum dtype type)
{
    return estimate_layers(hparams, 0, hparams->layers, block_tokens, tokens, type);
}

uint64_t estimate_layers(const struct model_hparams *hparams, int first, int end, int block_tokens,
                         uint64_t tokens, enum dtype type)
{
    uint64_t bytes = UINT64_MAX,
             blocks = tokens / (uint64_t)block_tokens + (tokens % (uint64_t)block_tokens != 0);
    struct block_shape *shapes = estimate_block_shapes(hparams);
    if (!shapes || blocks > INT32_MAX) {
        mem_free(shapes);
        return UINT64_MAX;
    }
    struct block_options options = {.layers = hparams->layers,
                                    .shapes = shapes,
                                    .head_dim = hparams->head_dim,
                                    .type = type,
                                    .blocks = (int64_t)blocks};
    if (!blocks_bytes(&options, first, end, block_tokens, &bytes))
        bytes = UINT64_MAX;
    mem_free(shapes);
    return bytes;
}
