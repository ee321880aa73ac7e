/* What a run will take from memory, by component, before anything is allocated.
 * SPDX-License-Identifier: Apache-2.0 */
#include "memory/footprint.h"

#include "base/mem.h"
#include "base/workers.h"
#include "memory/estimate.h"
#include "model/architecture.h"
#include "model/forward.h"

/* The CPU backend's habits, from src/cpu: buffers grow by a quarter more than is needed; a task of attention
 * has 96 rows and tiles of 64 keys; panels of a product have up to 16 lanes, several at once. */
enum {
    GROWTH_PART = 4,
    UNIT_ROWS = 96,
    TILE_KEYS = 64,
    LANES = 16,
    PANELS_AT_ONCE = 2,
    PRODUCT_ROWS = 240,
    BYTE_COLUMNS = 768,
    FLOAT_COLUMNS = 256
};

/* What the program holds besides: measured on 64-bit Linux, see docs/memory.md. */
enum {
    PROGRAM_BYTES = 13 << 20,
    THREAD_BYTES = 64 << 10,
    BYTES_PER_WORD = 80,      /* of the vocabulary: pieces, hashes, merges */
    DRIVER_BYTES = 512 << 20, /* a CUDA context; assumed, not measured */
    GRAPHS = 24,              /* recorded steps that cuda/graph.h keeps at the most */
    LAYER_NODES = 10,
    GRAPH_NODE_BYTES = 1 << 10 /* assumed, not measured */
};

/* ---- sums that stay at the top instead of wrapping ---- */

static uint64_t add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return mem_add(a, b, &sum) ? sum : UINT64_MAX;
}

static uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t product;
    return mem_multiply(a, b, &product) ? product : UINT64_MAX;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---- weights ---- */

static uint64_t matrix_bytes(const struct weight_part *part, ll_precision precision)
{
    static const struct {
        uint64_t bytes, elements; /* a block's */
    } rates[] = {[LL_IN_F32] = {4, 1},
                 [LL_IN_F16] = {2, 1},
                 [LL_IN_BF16] = {2, 1},
                 [LL_IN_8BIT] = {34, 32},
                 [LL_IN_4BIT] = {18, 32}};
    if (precision == LL_AS_STORED)
        return part->matrix_bytes;
    return times(part->matrix_elements, rates[precision].bytes) / rates[precision].elements;
}

uint64_t footprint_weights(const struct weight_part *part, ll_precision precision, ll_device_kind kind)
{
    /* On the CPU the file is mapped, vectors included, and vectors are kept as F32 besides. */
    uint64_t vectors = times(part->vector_elements, sizeof(float));
    if (kind == LL_CPU)
        vectors = add(vectors, part->vector_bytes);
    return add(matrix_bytes(part, precision), vectors);
}

/* Frequencies of two rotary sets, slopes of ALiBi. */
static uint64_t position_bytes(const struct model_hparams *h)
{
    uint64_t slopes = 0;
    for (int i = 0; hparams_alibi(h) && i < h->layers; i++)
        slopes += (uint64_t)h->layer[i].heads * sizeof(float);
    return slopes + (h->architecture->position == LL_ROTARY ? (uint64_t)h->rotary_dim * sizeof(float) : 0);
}

/* ---- cache ---- */

/* As model_open_cache sizes the pool. */
static uint64_t pool_tokens(const struct footprint_request *r)
{
    uint64_t per_block = (uint64_t)r->device.block_tokens, spare = 1;
    uint64_t tokens = times(r->context, r->sequences);
    if (r->sequences > 1) {
        tokens = add(tokens, r->shared);
        spare = 2 * r->sequences + 2;
    }
    if (tokens > (uint64_t)INT32_MAX * 64)
        return UINT64_MAX;
    return (tokens / per_block + (tokens % per_block != 0) + spare) * per_block;
}

static uint64_t layer_cache(const struct model_hparams *h, int i, const struct footprint_request *r,
                            uint64_t tokens)
{
    uint64_t row = dtype_row_bytes(r->cache, (uint64_t)h->head_dim), heads = (uint64_t)h->layer[i].kv_heads;
    uint64_t half = add(times(times(row, heads), tokens), 127) & ~(uint64_t)127, norms = 0;
    if (hparams_alibi(h))
        norms =
            (times(tokens / (uint64_t)r->device.block_tokens, heads * sizeof(float)) + 127) & ~(uint64_t)127;
    return tokens == UINT64_MAX ? UINT64_MAX : add(times(half, 2), norms);
}

static void count_cache(const struct model_hparams *h, const struct footprint_request *r, ll_need *need)
{
    uint64_t tokens = pool_tokens(r);
    for (int i = 0; i < h->layers; i++) {
        bool sliding = h->layer[i].window > 0, alibi = !sliding && hparams_alibi(h);
        uint64_t *part = sliding ? &need->cache_sliding : alibi ? &need->cache_alibi : &need->cache_full;
        *part = add(*part, layer_cache(h, i, r, tokens));
        need->sliding_layers += sliding;
        need->alibi_layers += alibi;
        need->full_layers += !sliding && !alibi;
    }
    need->bytes[LL_CACHE] = add(add(need->cache_full, need->cache_sliding), need->cache_alibi);
}

/* ---- working space of the CPU ---- */

static uint64_t attention_scratch(const struct model_hparams *h, int i)
{
    uint64_t group = (uint64_t)(h->layer[i].heads / h->layer[i].kv_heads);
    uint64_t rows = larger(UNIT_ROWS, group), width = ((uint64_t)h->head_dim + LANES - 1) / LANES * LANES;
    uint64_t floats = rows * (3 * width + TILE_KEYS + 64) + 2 * (width + 64) * TILE_KEYS;
    return floats * sizeof(float) + rows * sizeof(int64_t) + 1024;
}

/* Panels of a stretch of columns, sums that wait between stretches, and the rows of a last panel. */
static uint64_t product_scratch(uint64_t columns, bool quantized)
{
    uint64_t sums = PRODUCT_ROWS * LANES * PANELS_AT_ONCE * sizeof(float);
    if (quantized)
        return PANELS_AT_ONCE * (BYTE_COLUMNS / 32) * 10 * LANES * sizeof(float) + sums +
               columns * LANES * 17 / 16;
    return PANELS_AT_ONCE * FLOAT_COLUMNS * LANES * sizeof(float) + sums + columns * LANES * sizeof(float);
}

static uint64_t rotary_sets(const struct model_hparams *h)
{
    bool seen[2] = {false, false};
    for (int i = 0; i < h->layers; i++)
        seen[h->layer[i].local] = true;
    return (uint64_t)seen[0] + (uint64_t)seen[1];
}

static uint64_t working_bytes(const struct model_hparams *h, const struct inventory *inventory,
                              const struct footprint_request *r)
{
    uint64_t columns = (uint64_t)inventory->widest, scratch = 0, shared = 0;
    uint64_t rows = larger(times(r->context, r->sequences), 1);
    rows = rows < (uint64_t)r->device.rows ? rows : (uint64_t)r->device.rows; /* of the largest step */
    uint64_t product = product_scratch(columns, inventory->quantized);
    for (int i = 0; i < h->layers; i++)
        scratch = larger(scratch, attention_scratch(h, i));
    if (inventory->quantized) /* activations as bytes, with a scale and sums for every 32 */
        shared = rows * columns * 3 / 2;
    if (h->architecture->position == LL_ROTARY)
        shared += rows * (uint64_t)h->rotary_dim * sizeof(float) * rotary_sets(h);
    scratch = larger(scratch, product) * (uint64_t)r->device.threads + shared;
    return scratch + scratch / GROWTH_PART;
}

/* ---- the naive engine ---- */

/* What a plain implementation takes: all weights and keys in FP32, the matrix of scores of one layer, logits
 * of all positions. */
static void count_naive(const struct model_hparams *h, const struct inventory *inventory, uint64_t vocabulary,
                        const struct footprint_request *r, ll_need *need)
{
    uint64_t tokens = times(r->context, r->sequences), keys = 0;
    for (int i = 0; i < h->layers; i++)
        keys += 2 * (uint64_t)h->layer[i].kv_heads * (uint64_t)h->head_dim * sizeof(float);
    need->naive_weights = times(inventory->whole.matrix_elements + inventory->whole.vector_elements, 4);
    need->naive_cache = times(keys, tokens);
    need->naive_scores = times(times((uint64_t)h->max_heads * sizeof(float), r->context), tokens);
    need->naive_logits = times(times(vocabulary, sizeof(float)), tokens);
    need->naive_total =
        add(add(need->naive_weights, need->naive_cache), add(need->naive_scores, need->naive_logits));
}

/* ---- the whole ---- */

struct footprint_device footprint_device(ll_device_kind kind, int threads)
{
    struct footprint_device device = {
        kind, threads > 0 ? threads : workers_default_count(), 64, DT_F32, DT_F32, FORWARD_ROWS};
    if (kind == LL_CUDA) {
        device.block_tokens = 128;
        device.activation = DT_BF16;
        device.rows = FORWARD_MAX_ROWS;
    }
    return device;
}

void footprint_compute(const struct model_hparams *h, const struct inventory *inventory, uint64_t vocabulary,
                       const struct footprint_request *r, ll_need *ret)
{
    ll_need need = {.context = r->context, .extrapolated = r->context > (uint64_t)h->context};
    struct model_hparams shape = *h;
    shape.vocabulary = (int64_t)vocabulary;
    bool cpu = r->device.kind == LL_CPU;
    need.bytes[LL_WEIGHTS] =
        add(footprint_weights(&inventory->whole, r->precision, r->device.kind), position_bytes(h));
    need.bytes[LL_WEIGHTS] = add(need.bytes[LL_WEIGHTS], add(inventory->unknown_bytes, h->adapter_bytes));
    count_cache(h, r, &need);
    need.activations = forward_step_bytes(h, r->device.residual, r->device.activation, r->device.rows);
    need.working = cpu ? working_bytes(h, inventory, r) : 0;
    need.graphs =
        cpu ? 0 : (uint64_t)GRAPHS * GRAPH_NODE_BYTES * ((uint64_t)h->layers * LAYER_NODES + LAYER_NODES);
    need.bytes[LL_SCRATCH] = add(add(need.activations, need.working), need.graphs);
    need.bytes[LL_LOGITS] = add(forward_output_bytes(&shape, r->device.activation, (int64_t)r->sequences),
                                times(times(vocabulary, sizeof(float)), r->sequences));
    need.bytes[LL_PROGRAM] =
        cpu ? PROGRAM_BYTES + times(vocabulary, BYTES_PER_WORD) + (uint64_t)r->device.threads * THREAD_BYTES
            : DRIVER_BYTES;
    for (int i = 0; i < LL_COMPONENTS; i++)
        need.total = add(need.total, need.bytes[i]);
    count_naive(h, inventory, vocabulary, r, &need);
    *ret = need;
}

uint64_t footprint_fit(const struct model_hparams *h, const struct inventory *inventory, uint64_t vocabulary,
                       const struct footprint_request *request, uint64_t memory)
{
    struct footprint_request r = *request;
    uint64_t low = 0, high = (uint64_t)1 << 30; /* in blocks that fit, and that do not */
    ll_need need;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        r.context = middle * (uint64_t)r.device.block_tokens;
        footprint_compute(h, inventory, vocabulary, &r, &need);
        *(need.total <= memory ? &low : &high) = middle;
    }
    return low * (uint64_t)request->device.block_tokens;
}
