/* The tables that a step's kernels read: its tokens, sequences and pages, and how attention is shared out.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/step.h"

#include <string.h>

#include "base/mem.h"
#include "cuda/device.h"
#include "cuda/rows.h"

/* ---- growing ---- */

static uint64_t aligned(uint64_t at)
{
    return (at + 255) & ~(uint64_t)255;
}

/* Graphs hold these addresses: whoever grows one makes all graphs stale. */
static bool reserve(struct device *d, struct step_buffer *buffer, uint64_t bytes, bool zeroed)
{
    if (bytes <= buffer->bytes)
        return true;
    void *memory = NULL;
    ll_error error;
    cudaStreamSynchronize(d->stream);
    memory_give(&d->memory, MEMORY_SCRATCH, buffer->memory, buffer->bytes);
    *buffer = (struct step_buffer){0};
    d->tables.generation++;
    ll_status status = memory_take(&d->memory, MEMORY_SCRATCH, bytes, &memory, &error);
    if (status != LL_OK) {
        device_fail(d, status, "step", "%s", error.text);
        return false;
    }
    *buffer = (struct step_buffer){memory, bytes};
    return !zeroed || device_check(d, cudaMemsetAsync(memory, 0, bytes, d->stream), "step");
}

static bool reserve_tables(struct device *d, uint64_t bytes)
{
    struct step_tables *t = &d->tables;
    if (bytes <= t->capacity)
        return true;
    uint64_t capacity = 64 << 10;
    while (capacity < bytes)
        capacity *= 2;
    struct step_buffer buffer = {t->device, t->capacity};
    if (!reserve(d, &buffer, capacity, false)) {
        t->device = NULL;
        t->capacity = 0;
        return false;
    }
    t->device = buffer.memory;
    t->capacity = 0;
    cudaFreeHost(t->host);
    t->host = NULL;
    if (!device_check(d, cudaHostAlloc((void **)&t->host, capacity, cudaHostAllocDefault), "step"))
        return false;
    t->capacity = capacity;
    return true;
}

/* ---- attention's plans ---- */

enum dtype step_attention_type(const struct op *op)
{
    const struct backend_cache *cache = &op->more.keys.cache;
    bool packed = cache->k_type == DT_Q8_0 && cache->head_dim % 32 == 0;
    enum dtype type = packed ? DT_F16 : cache->k_type;
    struct attention_call call = {.dtype = type, .head_dim = cache->head_dim};
    return cache->v_type == cache->k_type && attention_tile_rows(&call, ATTENTION_AUTO) > 0 ? type : DT_F32;
}

static struct attention_shape shape_of(const struct op *op, int blocks)
{
    const struct backend_cache *cache = &op->more.keys.cache;
    struct attention_call call = {.dtype = step_attention_type(op),
                                  .head_dim = cache->head_dim,
                                  .softcap = op->more.keys.attention.softcap};
    return (struct attention_shape){.heads = op->groups,
                                    .kv_heads = cache->kv_heads,
                                    .tile_rows = attention_tile_rows(&call, ATTENTION_AUTO),
                                    .blocks = blocks,
                                    .packed = attention_decode_rows(cache->k_type),
                                    .spread = attention_spread(blocks, cache->kv_heads)};
}

static bool same_shape(const struct attention_shape *a, const struct attention_shape *b)
{
    return a->heads == b->heads && a->kv_heads == b->kv_heads && a->tile_rows == b->tile_rows &&
           a->packed == b->packed;
}

static struct step_plan *find_plan(struct step_tables *t, const struct attention_shape *shape)
{
    for (int i = 0; i < t->plan_count; i++)
        if (same_shape(&t->plans[i].shape, shape))
            return &t->plans[i];
    return NULL;
}

const struct step_plan *step_plan_of(const struct device *device, const struct op *op)
{
    struct attention_shape shape = shape_of(op, 0);
    for (int i = 0; i < device->tables.plan_count; i++)
        if (same_shape(&device->tables.plans[i].shape, &shape))
            return &device->tables.plans[i];
    return NULL;
}

/* A few sizes only, so that a growing context rarely needs another graph. */
static int padded(int parts)
{
    int unit = 8;
    while (unit * 8 < parts)
        unit *= 2;
    return (parts + unit - 1) / unit * unit;
}

static bool add_plans(struct device *d, const struct attention_sequence *sequences)
{
    struct step_tables *t = &d->tables;
    int blocks = attention_decode_blocks();
    for (size_t i = 0; i < d->ops.count; i++) {
        const struct op *op = &d->ops.items[i];
        if (op->kind != OP_ATTENTION || step_attention_type(op) == DT_F32)
            continue;
        struct attention_shape shape = shape_of(op, blocks);
        if (find_plan(t, &shape))
            continue;
        if (t->plan_count == STEP_PLANS) {
            device_fail(d, LL_UNSUPPORTED, "attention", "a model with more than %d shapes of heads",
                        STEP_PLANS);
            return false;
        }
        struct step_plan *plan = &t->plans[t->plan_count++];
        *plan = (struct step_plan){.shape = shape};
        plan->counts = attention_plan_count(sequences, t->sequence_count, &shape);
        plan->parts = padded(plan->counts.parts);
        t->tiles = t->tiles || plan->counts.tiles > 0;
    }
    return true;
}

/* ---- the layout ---- */

struct layout {
    uint64_t tokens, positions, outputs, sequences, plans[STEP_PLANS], pages, end;
};

static uint64_t plan_bytes(const struct step_plan *plan)
{
    return aligned((uint64_t)plan->counts.tiles * sizeof(struct attention_tile)) +
           aligned((uint64_t)plan->parts * sizeof(struct attention_part));
}

/* Rows are counted in two sizes, and the pages come last: so decoding steps share one layout. */
static struct layout layout_of(const struct device *d, uint64_t pages)
{
    uint64_t rows = d->step->rows <= GRAPH_ROWS ? GRAPH_ROWS : (uint64_t)d->step->rows;
    struct layout l = {.tokens = 0};
    l.positions = aligned(rows * sizeof(int32_t));
    l.outputs = l.positions + aligned(rows * sizeof(int32_t));
    l.sequences = l.outputs + aligned(rows * sizeof(int32_t));
    uint64_t at = l.sequences + aligned(rows * sizeof(struct attention_sequence));
    for (int i = 0; i < d->tables.plan_count; i++) {
        l.plans[i] = at;
        at += plan_bytes(&d->tables.plans[i]);
    }
    l.pages = at;
    l.end = at + aligned(pages * sizeof(int32_t));
    return l;
}

static void put(char *to, const void *from, uint64_t bytes)
{
    if (from)
        memcpy(to, from, bytes);
}

static void fill_plan(struct device *d, struct step_plan *plan, uint64_t at,
                      const struct attention_sequence *sequences)
{
    struct step_tables *t = &d->tables;
    uint64_t parts = at + aligned((uint64_t)plan->counts.tiles * sizeof(struct attention_tile));
    struct attention_part *dealt = (struct attention_part *)(void *)(t->host + parts);
    attention_plan_fill(sequences, t->sequence_count, &plan->shape,
                        (struct attention_tile *)(void *)(t->host + at), dealt);
    for (int i = plan->counts.parts; i < plan->parts; i++)
        dealt[i] = (struct attention_part){.granules = 0};
    plan->tiles = (const struct attention_tile *)(const void *)(t->device + at);
    plan->dealt = (const struct attention_part *)(const void *)(t->device + parts);
}

static void fill(struct device *d, const struct layout *l, const struct attention_sequence *sequences)
{
    const struct backend_step *step = d->step;
    struct step_tables *t = &d->tables;
    uint64_t rows = (uint64_t)step->rows * sizeof(int32_t);
    put(t->host + l->tokens, step->tokens, rows);
    put(t->host + l->positions, step->positions, rows);
    put(t->host + l->outputs, step->outputs, (uint64_t)step->output_count * sizeof(int32_t));
    put(t->host + l->sequences, sequences, (uint64_t)t->sequence_count * sizeof *sequences);
    for (int i = 0; i < t->plan_count; i++)
        fill_plan(d, &t->plans[i], l->plans[i], sequences);
    int32_t *pages = (int32_t *)(void *)(t->host + l->pages);
    for (int i = 0; i < t->sequence_count; i++) {
        const struct backend_sequence *from = &step->sequences[i];
        int64_t needed = (from->start + from->rows + PAGE_KEYS - 1) / PAGE_KEYS;
        memcpy(pages + sequences[i].first_page, from->blocks, (uint64_t)needed * sizeof *pages);
    }
    t->tokens = (const int32_t *)(const void *)(t->device + l->tokens);
    t->positions = (const int32_t *)(const void *)(t->device + l->positions);
    t->outputs = (const int32_t *)(const void *)(t->device + l->outputs);
    t->sequences = (const struct attention_sequence *)(const void *)(t->device + l->sequences);
    t->pages = (const int32_t *)(const void *)(t->device + l->pages);
}

/* ---- the step ---- */

static bool describe_sequences(struct device *d, struct attention_sequence *sequences, uint64_t *ret_pages)
{
    struct step_tables *t = &d->tables;
    int64_t pages = 0;
    t->sequence_count = (int)d->step->sequence_count;
    t->max_rows = 0;
    t->max_keys = 0;
    for (int i = 0; i < t->sequence_count; i++) {
        const struct backend_sequence *from = &d->step->sequences[i];
        int64_t keys = from->start + from->rows, needed = (keys + PAGE_KEYS - 1) / PAGE_KEYS;
        if (keys > INT32_MAX / 2 || needed > from->block_count || pages + needed > INT32_MAX / 2) {
            device_fail(d, LL_UNSUPPORTED, "step", "a sequence of %lld keys in %lld blocks", (long long)keys,
                        (long long)from->block_count);
            return false;
        }
        sequences[i] = (struct attention_sequence){.first_row = (int32_t)from->first_row,
                                                   .rows = (int32_t)from->rows,
                                                   .start = (int32_t)from->start,
                                                   .first_page = (int32_t)pages};
        for (int64_t page = 0; page < needed; page++)
            if (from->blocks[page] < 0)
                sequences[i].holes = 1;
        pages += needed;
        t->max_rows = from->rows > t->max_rows ? (int)from->rows : t->max_rows;
        t->max_keys = keys > t->max_keys ? keys : t->max_keys;
    }
    t->page_count = (int)pages;
    *ret_pages = (uint64_t)pages;
    return true;
}

/* Few heads at a time where the pages are many: the packed cache is there to save memory. */
#define UNPACKED_BYTES ((uint64_t)256 << 20)

struct step_unpacked step_unpacked_of(const struct device *d, const struct op *op)
{
    const struct backend_cache *cache = &op->more.keys.cache;
    uint64_t pages = (uint64_t)d->tables.page_count;
    uint64_t head = aligned(pages * PAGE_KEYS * (uint64_t)cache->head_dim * 2);
    struct step_unpacked u = {.kv_heads = cache->kv_heads};
    while (u.kv_heads > 1 &&
           (cache->kv_heads % u.kv_heads || 2 * head * (uint64_t)u.kv_heads > UNPACKED_BYTES))
        u.kv_heads--;
    uint64_t half = head * (uint64_t)u.kv_heads,
             norms = aligned(pages * (uint64_t)u.kv_heads * sizeof(float));
    char *at = d->tables.unpacked.memory;
    u.k = at;
    u.v = at + half;
    u.norms = (float *)(void *)(at + 2 * half);
    u.pages = (int32_t *)(void *)(at + 2 * half + norms);
    u.bytes = 2 * half + norms + aligned(pages * sizeof(int32_t));
    return u;
}

/* What attention writes its parts to, and the queries in the cache's type. */
static bool reserve_attention(struct device *d)
{
    struct step_tables *t = &d->tables;
    uint64_t partial = 0, tickets = 0, queries = 0, unpacked = 0;
    for (size_t i = 0; i < d->ops.count; i++) {
        const struct op *op = &d->ops.items[i];
        if (op->kind != OP_ATTENTION)
            continue;
        uint64_t size = step_attention_type(op) == DT_F32 ? sizeof(float) : sizeof(uint16_t);
        uint64_t bytes = (uint64_t)op->a.rows * (uint64_t)op->a.cols * size;
        queries = bytes > queries ? bytes : queries;
        const struct step_plan *plan = step_attention_type(op) == DT_F32 ? NULL : step_plan_of(d, op);
        uint64_t slots = plan ? (uint64_t)plan->counts.slots * (uint64_t)plan->shape.kv_heads : 0;
        bytes = slots * attention_slot_floats((uint64_t)op->more.keys.cache.head_dim) * sizeof(float);
        partial = bytes > partial ? bytes : partial;
        tickets = slots > tickets ? slots : tickets;
        if (plan && plan->counts.tiles > 0 && op->more.keys.cache.k_type == DT_Q8_0) {
            bytes = step_unpacked_of(d, op).bytes;
            unpacked = bytes > unpacked ? bytes : unpacked;
        }
    }
    if (queries == 0)
        return true;
    /* Rounded up, so that a growing context grows them rarely. */
    partial = (partial + (1 << 20)) & ~(uint64_t)((1 << 20) - 1);
    tickets = (ATTENTION_TICKETS + tickets + 1024) & ~(uint64_t)1023;
    return reserve(d, &t->partial, partial, false) &&
           reserve(d, &t->tickets, tickets * sizeof(int32_t), true) &&
           reserve(d, &t->queries, queries, false) && reserve(d, &t->unpacked, unpacked, false);
}

/* Inputs of products that are not of the activations' type are rounded to it first. */
static bool reserve_inputs(struct device *d)
{
    uint64_t most = 0;
    for (size_t i = 0; i < d->ops.count; i++) {
        const struct tensor *in = &d->ops.items[i].a;
        uint64_t bytes = (uint64_t)in->rows * (uint64_t)(in->cols + 8) * sizeof(uint16_t);
        if (d->ops.items[i].kind == OP_PRODUCTS && in->dtype != d->base.activation && bytes > most)
            most = bytes;
    }
    return reserve(d, &d->tables.inputs, most, false);
}

/* Tables of the rotations that occur; one past the last is made anew in its place. */
static bool reserve_turns(struct device *d)
{
    int pairs = 0;
    for (size_t i = 0; i < d->ops.count; i++)
        if (d->ops.items[i].kind == OP_ROTARY && d->ops.items[i].more.rotary.rotary_dim / 2 > pairs)
            pairs = d->ops.items[i].more.rotary.rotary_dim / 2;
    uint64_t rows = d->step->rows <= GRAPH_ROWS ? GRAPH_ROWS : (uint64_t)d->step->rows;
    for (int i = 0; pairs > 0 && i < STEP_TURNS; i++) {
        struct step_turns *turns = &d->tables.turns[i];
        struct step_buffer buffer = {turns->values, turns->bytes};
        bool fine = reserve(d, &buffer, rows * (uint64_t)pairs * 2 * sizeof(float), false);
        *turns = (struct step_turns){.values = buffer.memory, .bytes = buffer.bytes};
        if (!fine)
            return false;
    }
    return true;
}

static bool prepare(struct device *d, struct attention_sequence *sequences)
{
    struct step_tables *t = &d->tables;
    uint64_t pages;
    t->plan_count = 0;
    t->tiles = false;
    if (!describe_sequences(d, sequences, &pages) || !add_plans(d, sequences) || !reserve_attention(d) ||
        !reserve_turns(d) || !reserve_inputs(d) ||
        (d->picked_rows > 0 &&
         !reserve(d, &t->picks,
                  rows_greatest_bytes(GRAPH_ROWS > d->picked_rows ? GRAPH_ROWS : d->picked_rows), true)) ||
        !reserve(d, &t->product, product_scratch_bytes(d->products, d->step->rows), false))
        return false;
    struct layout layout = layout_of(d, pages);
    if (!reserve_tables(d, layout.end))
        return false;
    fill(d, &layout, sequences);
    return device_check(d, cudaMemcpyAsync(t->device, t->host, layout.end, cudaMemcpyHostToDevice, d->stream),
                        "step");
}

bool step_prepare(struct device *d)
{
    struct attention_sequence *sequences = mem_new((size_t)d->step->sequence_count, sizeof *sequences);
    if (!sequences) {
        device_fail(d, LL_NOMEM, "step", "no memory for %lld sequences", (long long)d->step->sequence_count);
        return false;
    }
    bool fine = prepare(d, sequences);
    mem_free(sequences);
    return fine;
}

void step_fini(struct device *d)
{
    cudaFreeHost(d->tables.host); /* device memory goes with the device's */
    d->tables.host = NULL;
}
