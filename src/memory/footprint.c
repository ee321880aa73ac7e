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
    DEVICE_PRODUCTS = 64 << 20, /* of the matrix library and for unpacked weights, as cuda/product.c has it */
    DEVICE_UNPACKED = 256 << 20,
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

/* Frequencies of two rotary sets, slopes of ALiBi, for the layers first … end-1. */
static uint64_t position_bytes(const struct model_hparams *h, int first, int end)
{
    uint64_t slopes = 0;
    for (int i = first; hparams_alibi(h) && i < end; i++)
        slopes += (uint64_t)h->layer[i].heads * sizeof(float);
    return slopes + (h->architecture->position == LL_ROTARY ? (uint64_t)h->rotary_dim * sizeof(float) : 0);
}

/* Behind the border; all of them where there is none. An output that is the embedding lies on both sides. */
static uint64_t device_weights(const struct model_hparams *h, const struct inventory *inventory,
                               const struct footprint_request *r)
{
    ll_device_kind kind = r->device.kind;
    bool tied = inventory->output.matrix_elements == 0;
    uint64_t bytes = position_bytes(h, r->host_layers, h->layers);
    if (!r->host_embedding)
        return add(bytes, footprint_weights(&inventory->whole, r->precision, kind));
    bytes = add(bytes, footprint_weights(&inventory->output, r->precision, kind));
    if (tied)
        bytes = add(bytes, matrix_bytes(&inventory->embedding, r->precision));
    for (int i = r->host_layers; i < h->layers; i++)
        bytes = add(bytes, footprint_weights(&inventory->layer[i], r->precision, kind));
    return bytes;
}

static uint64_t host_weights(const struct model_hparams *h, const struct inventory *inventory,
                             const struct footprint_request *r)
{
    uint64_t bytes = add(position_bytes(h, 0, r->host_layers),
                         footprint_weights(&inventory->embedding, r->precision, LL_CPU));
    for (int i = 0; i < r->host_layers; i++)
        bytes = add(bytes, footprint_weights(&inventory->layer[i], r->precision, LL_CPU));
    return bytes;
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
        uint64_t bytes = layer_cache(h, i, r, tokens);
        *part = add(*part, bytes);
        uint64_t *side = i < r->host_layers ? &need->host[LL_CACHE] : &need->bytes[LL_CACHE];
        *side = add(*side, bytes);
        need->sliding_layers += sliding;
        need->alibi_layers += alibi;
        need->full_layers += !sliding && !alibi;
    }
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

/* ---- working space of a GPU ---- */

/* Pages of eight-bit keys and values as f16, of as many heads as `limit` holds; as cuda/step.c has it. */
static uint64_t unpacked_bytes(const struct model_hparams *h, int i, uint64_t tokens)
{
    uint64_t heads = (uint64_t)h->layer[i].kv_heads, some = heads;
    uint64_t head = times(times(tokens, (uint64_t)h->head_dim), 2 * sizeof(uint16_t));
    while (some > 1 && (heads % some != 0 || times(head, some) > DEVICE_UNPACKED))
        some--;
    return times(head, some);
}

/* What a step of many rows takes: the products' space, queries in the cache's type, turns of the rotations,
 * and unpacked keys. */
static uint64_t device_working(const struct model_hparams *h, const struct footprint_request *r)
{
    uint64_t tokens = times(r->context, r->sequences), unpacked = 0;
    uint64_t rows = tokens < (uint64_t)r->device.rows ? tokens : (uint64_t)r->device.rows;
    uint64_t queries = rows * (uint64_t)h->max_heads * (uint64_t)h->head_dim * sizeof(uint16_t);
    uint64_t turns = 0;
    for (int i = r->host_layers; r->cache == DT_Q8_0 && i < h->layers; i++)
        unpacked = larger(unpacked, unpacked_bytes(h, i, r->context));
    if (h->architecture->position == LL_ROTARY)
        turns = rows * (uint64_t)h->rotary_dim * sizeof(float) * rotary_sets(h);
    return add(add(DEVICE_PRODUCTS, queries), add(turns, unpacked));
}

/* On the device, and what the caller is handed. */
static uint64_t logits_bytes(const struct model_hparams *h, const struct footprint_request *r)
{
    uint64_t many = r->logit_rows > 1 ? r->logit_rows : 0;
    uint64_t rows = larger(r->sequences, many), row = times((uint64_t)h->vocabulary, sizeof(float));
    return add(forward_output_bytes(h, r->device.activation, (int64_t)rows),
               times(row, r->sequences + many));
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

static uint64_t program_bytes(uint64_t vocabulary, int threads)
{
    return PROGRAM_BYTES + times(vocabulary, BYTES_PER_WORD) + (uint64_t)threads * THREAD_BYTES;
}

/* The processor's side of a split, in blocks and steps of the device's size. */
static void count_host(const struct model_hparams *h, const struct inventory *inventory, uint64_t vocabulary,
                       const struct footprint_request *r, ll_need *need)
{
    bool layers = r->host_layers > 0;
    uint64_t stream = times((uint64_t)h->width * sizeof(float), (uint64_t)r->device.rows);
    need->host_layers = (size_t)r->host_layers;
    need->host[LL_WEIGHTS] = host_weights(h, inventory, r);
    need->host[LL_SCRATCH] =
        layers ? add(forward_step_bytes(h, DT_F32, DT_F32, r->device.rows), working_bytes(h, inventory, r))
               : stream;
    need->host[LL_PROGRAM] = program_bytes(vocabulary, r->device.threads);
    for (int i = 0; i < LL_COMPONENTS; i++)
        need->host_total = add(need->host_total, need->host[i]);
}

void footprint_compute(const struct model_hparams *h, const struct inventory *inventory, uint64_t vocabulary,
                       const struct footprint_request *r, ll_need *ret)
{
    ll_need need = {.context = r->context, .extrapolated = r->context > (uint64_t)h->context};
    struct model_hparams shape = *h;
    shape.vocabulary = (int64_t)vocabulary;
    bool cpu = r->device.kind == LL_CPU;
    uint64_t layers = (uint64_t)(h->layers - r->host_layers);
    need.bytes[LL_WEIGHTS] = device_weights(h, inventory, r);
    need.bytes[LL_WEIGHTS] = add(need.bytes[LL_WEIGHTS], add(inventory->unknown_bytes, h->adapter_bytes));
    count_cache(h, r, &need);
    need.activations = forward_step_bytes(h, r->device.residual, r->device.activation, r->device.rows);
    need.working = cpu ? working_bytes(h, inventory, r) : device_working(h, r);
    need.graphs = cpu ? 0 : (uint64_t)GRAPHS * GRAPH_NODE_BYTES * ((layers + 1) * LAYER_NODES);
    need.bytes[LL_SCRATCH] = add(add(need.activations, need.working), need.graphs);
    need.bytes[LL_LOGITS] = logits_bytes(&shape, r);
    need.bytes[LL_PROGRAM] = cpu ? program_bytes(vocabulary, r->device.threads) : DRIVER_BYTES;
    for (int i = 0; i < LL_COMPONENTS; i++)
        need.total = add(need.total, need.bytes[i]);
    if (r->host_embedding)
        count_host(h, inventory, vocabulary, r, &need);
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

int footprint_layers(const struct model_hparams *h, const struct inventory *inventory, uint64_t vocabulary,
                     const struct footprint_request *request, uint64_t memory)
{
    struct footprint_request r = *request;
    ll_need need;
    for (int layers = h->layers + 1; layers > 0; layers--) {
        r.host_embedding = layers <= h->layers;
        r.host_layers = r.host_embedding ? h->layers - layers : 0;
        footprint_compute(h, inventory, vocabulary, &r, &need);
        if (need.total <= memory)
            return layers;
    }
    return 0;
}
