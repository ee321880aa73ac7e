/* Runs a recorded step: each operation by a kernel, or several by one where they fit together.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each function takes the operation at an index, runs it with those behind it that it can take in, and
 * returns how many these were; 0: not this one's business, or the step has failed. An intermediate is left
 * out only when nothing reads it (range.h). */
#include "cuda/run.h"

#include "cuda/attention_any.h"
#include "cuda/device.h"
#include "cuda/place.h"
#include "cuda/range.h"
#include "cuda/rows.h"

/* Operations queued before the cancel flag is looked at again, and runs of them that may be queued ahead. */
enum { RUN_LENGTH = 24, RUNS_AHEAD = 2 };

static const struct op *at(const struct device *d, size_t i, enum op_kind kind)
{
    return i < d->ops.count && d->ops.items[i].kind == kind ? &d->ops.items[i] : NULL;
}

static const struct tensor *present(const struct tensor *tensor)
{
    return tensor->data ? tensor : NULL;
}

static int64_t numbers(const struct tensor *tensor)
{
    return tensor->stride / (int64_t)dtype_row_bytes(tensor->dtype, 1);
}

/* ---- products, with the norm before and the gate behind ---- */

static struct product_weight weight_of(const struct tensor *weight)
{
    return (struct product_weight){.dtype = weight->dtype,
                                   .n = weight->rows,
                                   .k = weight->cols,
                                   .stride = weight->stride,
                                   .data = weight->data};
}

static struct product_output output_of(const struct op_product *product)
{
    return (struct product_output){.weight = weight_of(&product->weight),
                                   .bias = product->bias.data,
                                   .out = product->out.data,
                                   .dtype = product->out.dtype,
                                   .out_stride = numbers(&product->out),
                                   .accumulate = product->accumulate};
}

static struct product_call products_call(const struct device *d, const struct op *op)
{
    struct product_call call = {.dtype = d->base.activation,
                                .in = op->a.data,
                                .in_dtype = op->a.dtype,
                                .rows = op->a.rows,
                                .in_stride = numbers(&op->a),
                                .count = op->groups,
                                .scratch = d->tables.product.memory,
                                .scratch_bytes = d->tables.product.bytes};
    for (int i = 0; i < op->groups; i++)
        call.outputs[i] = output_of(&op->more.products[i]);
    return call;
}

static void add_norm(struct product_call *call, const struct op *norm)
{
    call->norm = norm->variant == NORM_LAYER ? PRODUCT_NORM_LAYER : PRODUCT_NORM_RMS;
    call->in = norm->a.data;
    call->in_dtype = norm->a.dtype;
    call->in_stride = numbers(&norm->a);
    call->norm_weight = norm->b.data;
    call->norm_bias = norm->c.data;
    call->norm_eps = norm->number;
}

/* The operation behind products i, when it is their gate and the gate's own numbers are not needed. */
static const struct op *gate_behind(const struct device *d, size_t i)
{
    const struct op *products = &d->ops.items[i], *activate = at(d, i + 1, OP_ACTIVATE);
    if (!activate || products->groups != 2 || !activate->b.data)
        return NULL;
    for (int k = 0; k < 2; k++) {
        const struct tensor *gate = &products->more.products[k].out,
                            *up = &products->more.products[1 - k].out;
        if (range_same(gate, &activate->a) && range_same(up, &activate->b) &&
            range_same(up, &activate->out) && !products->more.products[0].accumulate &&
            !products->more.products[1].accumulate && range_is_dead(&d->ops, i + 1, gate))
            return activate;
    }
    return NULL;
}

static void add_gate(struct product_call *call, const struct op *activate)
{
    static const enum product_gate kinds[] = {[ACTIVATE_SILU] = PRODUCT_GATE_SILU,
                                              [ACTIVATE_GELU_TANH] = PRODUCT_GATE_GELU_TANH,
                                              [ACTIVATE_GELU_ERF] = PRODUCT_GATE_GELU_ERF};
    call->gate = kinds[activate->variant];
    if (call->outputs[0].out == activate->a.data)
        return;
    struct product_output up = call->outputs[0];
    call->outputs[0] = call->outputs[1];
    call->outputs[1] = up;
}

static void finish_products(struct device *d, const struct product_call *call)
{
    device_check(d, product_run(d->products, call, d->stream), "products");
}

/* The products' input rounded to the activations' type, when it is of another. */
static void round_input(struct device *d, struct product_call *call, const struct tensor *in)
{
    struct tensor rounded = {.dtype = d->base.activation,
                             .rows = in->rows,
                             .cols = in->cols,
                             .stride = (in->cols + 7) / 8 * 8 * (int64_t)sizeof(uint16_t),
                             .data = d->tables.inputs.memory};
    device_check(d, rows_gather(in, NULL, &rounded, d->stream), "products");
    call->in = rounded.data;
    call->in_dtype = rounded.dtype;
    call->in_stride = numbers(&rounded);
}

/* Products at i, after a norm when it is not NULL; with their gate where that is one launch. */
static size_t try_fused_products(struct device *d, size_t i, const struct op *norm)
{
    const struct op *activate = gate_behind(d, i);
    struct product_call call = products_call(d, &d->ops.items[i]);
    if (norm)
        add_norm(&call, norm);
    else if (call.in_dtype != call.dtype)
        round_input(d, &call, &d->ops.items[i].a);
    if (activate) {
        struct product_call gated = call;
        add_gate(&gated, activate);
        if (product_fuses(d->products, &gated)) {
            finish_products(d, &gated);
            return 2;
        }
    }
    if (norm && !product_fuses(d->products, &call))
        return 0;
    finish_products(d, &call);
    return 1;
}

static size_t run_products(struct device *d, size_t i)
{
    return try_fused_products(d, i, NULL);
}

/* ---- norms ---- */

static size_t norm_and_products(struct device *d, size_t i)
{
    const struct op *norm = at(d, i, OP_NORM), *products = at(d, i + 1, OP_PRODUCTS);
    if (!products || norm->groups != 1 || !range_same(&norm->out, &products->a) ||
        !range_is_dead(&d->ops, i + 1, &norm->out))
        return 0;
    size_t taken = try_fused_products(d, i + 1, norm);
    return taken > 0 ? 1 + taken : 0;
}

/* A post-norm: its result goes onto the residual stream and nowhere else. */
static size_t norm_and_add(struct device *d, size_t i)
{
    const struct op *norm = at(d, i, OP_NORM), *add = at(d, i + 1, OP_ADD);
    if (!add || !range_same(&add->b, &norm->out) || !range_same(&add->a, &add->out) ||
        !range_is_dead(&d->ops, i + 1, &norm->out))
        return 0;
    device_check(d,
                 rows_norm(norm->variant == NORM_LAYER, &norm->a, present(&norm->b), present(&norm->c),
                           norm->number, norm->groups, &add->out, true, d->stream),
                 "norm");
    return 2;
}

static size_t run_norm(struct device *d, size_t i)
{
    size_t taken = norm_and_products(d, i);
    if (taken == 0)
        taken = norm_and_add(d, i);
    if (taken > 0)
        return taken;
    const struct op *op = &d->ops.items[i];
    device_check(d,
                 rows_norm(op->variant == NORM_LAYER, &op->a, present(&op->b), present(&op->c), op->number,
                           op->groups, &op->out, false, d->stream),
                 "norm");
    return 1;
}

/* ---- rotation ---- */

/* The table for a rotation, made at its first use in a step. */
static struct place_turn turn_of(struct device *d, const struct op *rotary)
{
    struct place_turn turn = {.rotary_dim = rotary->more.rotary.rotary_dim,
                              .adjacent = rotary->more.rotary.adjacent};
    struct step_turns *turns = d->tables.turns;
    int i = 0;
    while (i < STEP_TURNS - 1 && turns[i].frequencies &&
           (turns[i].frequencies != rotary->b.data || turns[i].scale != rotary->number))
        i++;
    turn.turns = turns[i].values;
    if (turns[i].frequencies == rotary->b.data && turns[i].scale == rotary->number)
        return turn;
    turns[i].frequencies = rotary->b.data;
    turns[i].scale = rotary->number;
    device_check(d,
                 place_turns(rotary->b.data, turn.rotary_dim / 2, rotary->number, d->tables.positions,
                             d->step->rows, turns[i].values, d->stream),
                 "rotary");
    return turn;
}

static size_t run_rotary(struct device *d, const struct op *op)
{
    struct place_turn turn = turn_of(d, op);
    device_check(d,
                 place_turn_rows(&turn, op->a.dtype, op->a.data, op->a.rows, numbers(&op->a), op->groups,
                                 op->more.rotary.head_dim, d->stream),
                 "rotary");
    return 1;
}

/* ---- keys, values and attention ---- */

static struct place_call place_keys_call(const struct device *d, const struct op *write)
{
    const struct backend_cache *cache = &write->more.keys.cache;
    return (struct place_call){.in_type = write->a.dtype,
                               .kv_heads = cache->kv_heads,
                               .head_dim = cache->head_dim,
                               .k = write->a.data,
                               .v = write->b.data,
                               .k_stride = numbers(&write->a),
                               .v_stride = numbers(&write->b),
                               .cache_type = cache->k_type,
                               .k_pages = cache->k,
                               .v_pages = cache->v,
                               .k_norms = cache->k_norms,
                               .pages = d->tables.pages,
                               .sequences = d->tables.sequences,
                               .sequence_count = d->tables.sequence_count,
                               .max_rows = d->tables.max_rows};
}

static void add_queries(const struct device *d, struct place_call *call, const struct op *attention)
{
    call->heads = attention->groups;
    call->q = attention->a.data;
    call->q_stride = numbers(&attention->a);
    call->q_out = d->tables.queries.memory;
    call->q_out_stride = attention->a.cols;
    call->q_type = step_attention_type(attention);
}

static size_t run_write(struct device *d, const struct op *op)
{
    struct place_call call = place_keys_call(d, op);
    device_check(d, place(&call, d->stream), "cache_write");
    return 1;
}

static struct attention_call attention_call_of(const struct device *d, const struct op *op)
{
    const struct backend_cache *cache = &op->more.keys.cache;
    const struct backend_attention *a = &op->more.keys.attention;
    enum dtype type = step_attention_type(op);
    return (struct attention_call){.dtype = type,
                                   .out_type = op->out.dtype,
                                   .cache_type = cache->k_type,
                                   .heads = op->groups,
                                   .kv_heads = cache->kv_heads,
                                   .head_dim = cache->head_dim,
                                   .scale = a->scale,
                                   .softcap = a->softcap,
                                   .window = a->window,
                                   .sinks = a->sinks,
                                   .slopes = op->c.data,
                                   .reach = a->reach,
                                   .q = d->tables.queries.memory,
                                   .out = op->out.data,
                                   .rows = op->a.rows,
                                   .q_stride = op->a.cols,
                                   .out_stride = numbers(&op->out),
                                   .k = cache->k,
                                   .v = cache->v,
                                   .k_norms = cache->k_norms,
                                   .pages = d->tables.pages,
                                   .sequences = d->tables.sequences};
}

/* Prefill over a packed cache: a few KV heads at a time as f16 pages, and their query heads over those. */
static void run_unpacked(struct device *d, const struct op *op, const struct attention_call *whole)
{
    struct step_unpacked to = step_unpacked_of(d, op);
    int group = whole->heads / whole->kv_heads, heads = to.kv_heads * group;
    for (int first = 0; first < whole->kv_heads && d->error.status == LL_OK; first += to.kv_heads) {
        struct place_unpack_call unpack = {.kv_heads = to.kv_heads,
                                           .head_dim = whole->head_dim,
                                           .all_heads = whole->kv_heads,
                                           .first = first,
                                           .k = whole->k,
                                           .v = whole->v,
                                           .k_norms = whole->k_norms,
                                           .pages = whole->pages,
                                           .page_count = d->tables.page_count,
                                           .k_out = to.k,
                                           .v_out = to.v,
                                           .norms_out = to.norms,
                                           .pages_out = to.pages};
        struct attention_call call = *whole;
        int64_t column = (int64_t)first * group * whole->head_dim;
        call.heads = heads;
        call.kv_heads = to.kv_heads;
        call.cache_type = call.dtype;
        call.k = to.k;
        call.v = to.v;
        call.k_norms = whole->k_norms ? to.norms : NULL;
        call.pages = to.pages;
        call.q = (const char *)whole->q + column * 2;
        call.out = (char *)whole->out + column * 2;
        call.slopes = whole->slopes ? whole->slopes + first * group : NULL;
        call.heads_together =
            attention_heads_together(heads, to.kv_heads, whole->head_dim, d->tables.max_keys);
        if (device_check(d, place_unpack(&unpack, d->stream), "attention"))
            device_check(d, attention_prefill(&call, ATTENTION_AUTO, d->stream), "attention");
    }
}

static void run_planned(struct device *d, const struct op *op, struct attention_call *call)
{
    const struct step_plan *plan = step_plan_of(d, op);
    call->tiles = plan->tiles;
    call->tile_count = plan->counts.tiles;
    call->tile_rows = plan->shape.tile_rows;
    call->heads_together =
        attention_heads_together(call->heads, call->kv_heads, call->head_dim, d->tables.max_keys);
    call->parts = plan->dealt;
    call->part_count = plan->parts;
    call->partial = d->tables.partial.memory;
    call->tickets = d->tables.tickets.memory;
    if (call->tile_count > 0 && call->cache_type == DT_Q8_0)
        run_unpacked(d, op, call);
    else
        device_check(d, attention_prefill(call, ATTENTION_AUTO, d->stream), "attention");
    if (d->error.status == LL_OK)
        device_check(d, attention_decode(call, d->stream), "attention");
}

/* The queries are in their buffer already. */
static void run_attention(struct device *d, const struct op *op)
{
    struct attention_call call = attention_call_of(d, op);
    if (call.dtype == DT_F32)
        device_check(d, attention_any(&call, d->tables.sequence_count, d->stream), "attention");
    else
        run_planned(d, op, &call);
}

static size_t run_attention_alone(struct device *d, const struct op *op)
{
    struct place_call call = {.in_type = op->a.dtype,
                              .head_dim = op->more.keys.cache.head_dim,
                              .cache_type = op->more.keys.cache.k_type,
                              .sequences = d->tables.sequences,
                              .pages = d->tables.pages,
                              .sequence_count = d->tables.sequence_count,
                              .max_rows = d->tables.max_rows};
    add_queries(d, &call, op);
    if (device_check(d, place(&call, d->stream), "attention"))
        run_attention(d, op);
    return 1;
}

/* Whether decode may put the rows in place itself; then *ret is its call. */
static bool decodes_alone(const struct device *d, const struct op *op, const struct place_call *rows,
                          struct attention_call *ret)
{
    *ret = attention_call_of(d, op);
    if (ret->dtype == DT_F32 || ret->k_norms || d->tables.max_rows != 1 ||
        ret->heads / ret->kv_heads > attention_decode_rows(ret->cache_type) ||
        step_plan_of(d, op)->counts.tiles > 0)
        return false;
    ret->fresh = (struct attention_fresh){.in_type = rows->in_type,
                                          .q = rows->q,
                                          .k = rows->k,
                                          .v = rows->v,
                                          .q_stride = rows->q_stride,
                                          .k_stride = rows->k_stride,
                                          .v_stride = rows->v_stride,
                                          .q_turn = rows->q_turn,
                                          .k_turn = rows->k_turn};
    return true;
}

/* Rotations of q and k, the cache's rows, and attention: one launch for all that comes before attention, or
 * none in a decoding step. */
static size_t run_keys(struct device *d, size_t i)
{
    const struct op *turns[2] = {at(d, i, OP_ROTARY), NULL};
    size_t rotations = 0;
    while (rotations < 2 && at(d, i + rotations, OP_ROTARY))
        rotations++;
    turns[1] = rotations == 2 ? at(d, i + 1, OP_ROTARY) : NULL;
    const struct op *write = at(d, i + rotations, OP_CACHE_WRITE);
    const struct op *attention = at(d, i + rotations + 1, OP_ATTENTION);
    size_t last = i + rotations + 1;
    if (!write || !attention || write->a.dtype != attention->a.dtype || write->b.dtype != write->a.dtype ||
        write->more.keys.cache.k != attention->more.keys.cache.k ||
        (rotations > 0 &&
         (!range_is_dead(&d->ops, last, &attention->a) || !range_is_dead(&d->ops, last, &write->a))))
        return 0;
    struct place_call call = place_keys_call(d, write);
    add_queries(d, &call, attention);
    for (size_t r = 0; r < rotations; r++) {
        bool of_q = range_same(&turns[r]->a, &attention->a);
        if (!of_q && !range_same(&turns[r]->a, &write->a))
            return 0;
        *(of_q ? &call.q_turn : &call.k_turn) = turn_of(d, turns[r]);
    }
    struct attention_call fresh;
    if (decodes_alone(d, attention, &call, &fresh))
        run_planned(d, attention, &fresh);
    else if (device_check(d, place(&call, d->stream), "cache_write"))
        run_attention(d, attention);
    return rotations + 2;
}

/* ---- the rest ---- */

static size_t run_embed(struct device *d, const struct op *op)
{
    struct product_weight table = weight_of(&op->a);
    device_check(d,
                 product_unpack(&table, d->tables.tokens, 0, op->out.rows, op->number, op->out.data,
                                op->out.dtype, numbers(&op->out), d->stream),
                 "embed");
    return 1;
}

static size_t run_activate(struct device *d, const struct op *op)
{
    static const enum rows_activation kinds[] = {[ACTIVATE_SILU] = ROWS_SILU,
                                                 [ACTIVATE_GELU_TANH] = ROWS_GELU_TANH,
                                                 [ACTIVATE_GELU_ERF] = ROWS_GELU_ERF};
    device_check(d, rows_activate(kinds[op->variant], &op->a, present(&op->b), &op->out, d->stream),
                 "activate");
    return 1;
}

static size_t run_simple(struct device *d, const struct op *op)
{
    int status = cudaErrorInvalidValue;
    if (op->kind == OP_ADD)
        status = rows_add(&op->a, &op->b, &op->out, d->stream);
    else if (op->kind == OP_CLAMP)
        status = rows_clamp(&op->out, op->number, d->stream);
    else if (op->kind == OP_SOFTCAP)
        status = rows_softcap(&op->out, op->number, d->stream);
    else if (op->kind == OP_GREATEST)
        status = rows_greatest(&op->a, d->tables.picks.memory, d->picked, d->stream);
    else if (op->kind == OP_GATHER)
        status = rows_gather(&op->a, d->tables.outputs, &op->out, d->stream);
    device_check(d, status, "elementwise");
    return 1;
}

static size_t run_one(struct device *d, size_t i)
{
    const struct op *op = &d->ops.items[i];
    size_t taken = 0;
    switch (op->kind) {
    case OP_EMBED:
        return run_embed(d, op);
    case OP_NORM:
        return run_norm(d, i);
    case OP_PRODUCTS:
        return run_products(d, i);
    case OP_ROTARY:
        taken = run_keys(d, i);
        return taken > 0 ? taken : run_rotary(d, op);
    case OP_CACHE_WRITE:
        taken = run_keys(d, i);
        return taken > 0 ? taken : run_write(d, op);
    case OP_ATTENTION:
        return run_attention_alone(d, op);
    case OP_ACTIVATE:
        return run_activate(d, op);
    default:
        return run_simple(d, op);
    }
}

/* Waits until few enough runs are queued, so that a raised flag is answered soon. */
static void pace(struct device *d, size_t run)
{
    cudaEvent_t event = d->paces[run % RUNS_AHEAD];
    if (run >= RUNS_AHEAD)
        device_check(d, cudaEventSynchronize(event), "step");
    device_check(d, cudaEventRecord(event, d->stream), "step");
    device_stopped(d);
}

void run_operations(struct device *d)
{
    enum cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    cudaStreamIsCapturing(d->stream, &capturing);
    size_t run = 0, next = RUN_LENGTH;
    for (size_t i = 0; i < d->ops.count && d->error.status == LL_OK && !d->cancelled;) {
        i += run_one(d, i);
        if (capturing == cudaStreamCaptureStatusNone && i >= next) {
            pace(d, run++);
            next = i + RUN_LENGTH;
        }
    }
}
