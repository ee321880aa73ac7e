/* One pass of a step through all layers, as a plain list of backend calls.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/forward.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/architecture.h"

/* The share of softmax mass that ALiBi's reach may leave out: below fp32 rounding. */
static const float reach_epsilon = 0x1p-24f;

/* The layers of one backend, with what they work in. */
struct stretch {
    struct backend *backend;
    const struct backend_table *table;
    const struct model_hparams *hparams;
    const struct model_params *params;
    const struct tensor *rotary; /* [ROTARY_SETS], there */
    int first, end;              /* its layers */
    void *scratch;               /* one block, cut into the tensors below */
    uint64_t scratch_bytes;
    void *output; /* logits and the rows they are made from */
    uint64_t output_bytes;
    int64_t output_capacity;
    bool beyond; /* this step's sessions are longer than the training before scaling */
    /* [forward_rows(), n]; views with the step's rows are made for each pass */
    struct tensor x;        /* residual stream, n = width */
    struct tensor h;        /* what a product reads or a post-norm works on, n = width */
    struct tensor qkv;      /* n = (heads + 2·kv_heads)·head_dim of the widest layer */
    struct tensor attended; /* n = heads·head_dim */
    struct tensor low;      /* n = the largest rank of an adapter; absent without */
    struct tensor gate, up; /* n = ffn; gate: twice that where gate and up are one product */
    struct tensor mixed, gathered, result; /* of experts, n = width */
    struct tensor scores;                  /* of experts, n = their number */
    struct tensor last;     /* [outputs, width] */
    struct tensor logits;   /* [outputs, vocabulary] */
};

struct forward {
    struct stretch device; /* with the output, and the embedding unless the host has it */
    struct stretch host;   /* backend NULL: nothing is split */
    int64_t written;       /* rows of the largest step so far */
};

/* ---- scratch ---- */

static int64_t qkv_columns(const struct model_hparams *h)
{
    return (int64_t)(h->max_heads + 2 * h->max_kv_heads) * h->head_dim;
}

static int64_t gate_columns(const struct model_hparams *h)
{
    return h->architecture->fused_gate ? 2 * h->max_ffn : h->max_ffn;
}

static uint64_t element_bytes(enum dtype dtype)
{
    return dtype_row_bytes(dtype, 1);
}

static uint64_t row_bytes(enum dtype dtype, int64_t columns)
{
    return ((uint64_t)columns * element_bytes(dtype) + 63) & ~(uint64_t)63;
}

static void cut(char **at, struct tensor *tensor, enum dtype dtype, int64_t rows, int64_t columns)
{
    *tensor = (struct tensor){.dtype = dtype,
                              .rows = rows,
                              .cols = columns,
                              .stride = (int64_t)row_bytes(dtype, columns),
                              .data = *at};
    *at += tensor->stride * rows;
}

int64_t forward_rows(const struct backend *backend)
{
    int rows = backend->step_rows > 0 ? backend->step_rows : FORWARD_ROWS;
    return rows < FORWARD_MAX_ROWS ? rows : FORWARD_MAX_ROWS;
}

uint64_t forward_step_bytes(const struct model_hparams *h, enum dtype residual, enum dtype activation,
                            int64_t rows)
{
    uint64_t row = row_bytes(residual, h->width) + row_bytes(activation, h->width) +
                   row_bytes(activation, qkv_columns(h)) +
                   row_bytes(activation, (int64_t)h->max_heads * h->head_dim) +
                   row_bytes(activation, gate_columns(h)) + row_bytes(activation, h->max_ffn) +
                   row_bytes(activation, h->adapter_rank);
    if (h->experts)
        row += 3 * row_bytes(activation, h->width) + row_bytes(DT_F32, h->experts);
    return row * (uint64_t)rows;
}

uint64_t forward_output_bytes(const struct model_hparams *h, enum dtype activation, int64_t outputs)
{
    return (uint64_t)outputs * (row_bytes(activation, h->width) + row_bytes(DT_F32, h->vocabulary));
}

static ll_status reserve_outputs(struct stretch *f, int64_t outputs, ll_error *error)
{
    if (outputs <= f->output_capacity)
        return LL_OK;
    f->table->memory_free(f->backend, MEMORY_LOGITS, f->output, f->output_bytes);
    f->output = NULL;
    f->output_capacity = 0;
    uint64_t bytes = forward_output_bytes(f->hparams, f->backend->activation, outputs);
    LL_TRY(f->table->memory_new(f->backend, MEMORY_LOGITS, bytes, &f->output, error));
    f->output_bytes = bytes;
    f->output_capacity = outputs;
    char *at = f->output;
    cut(&at, &f->last, f->backend->activation, outputs, f->hparams->width);
    cut(&at, &f->logits, DT_F32, outputs, f->hparams->vocabulary);
    return LL_OK;
}

/* Without layers only the stream is needed, and of that no more than the embedding fills. */
static ll_status open_stretch(struct stretch *f, int64_t rows, ll_error *error)
{
    const struct model_hparams *h = f->hparams;
    enum dtype activation = f->backend->activation;
    bool idle = f->first == f->end;
    f->table = f->backend->table;
    f->scratch_bytes = idle ? row_bytes(f->backend->residual, h->width) * (uint64_t)rows
                            : forward_step_bytes(h, f->backend->residual, activation, rows);
    LL_TRY(f->table->memory_new(f->backend, MEMORY_SCRATCH, f->scratch_bytes, &f->scratch, error));
    char *at = f->scratch;
    cut(&at, &f->x, f->backend->residual, rows, h->width);
    if (idle)
        return LL_OK;
    cut(&at, &f->h, activation, rows, h->width);
    cut(&at, &f->qkv, activation, rows, qkv_columns(h));
    cut(&at, &f->attended, activation, rows, (int64_t)h->max_heads * h->head_dim);
    cut(&at, &f->gate, activation, rows, gate_columns(h));
    cut(&at, &f->up, activation, rows, h->max_ffn);
    cut(&at, &f->low, activation, rows, h->adapter_rank);
    if (h->experts) {
        cut(&at, &f->mixed, activation, rows, h->width);
        cut(&at, &f->gathered, activation, rows, h->width);
        cut(&at, &f->result, activation, rows, h->width);
        cut(&at, &f->scores, DT_F32, rows, h->experts);
    }
    return LL_OK;
}

static void close_stretch(struct stretch *f)
{
    if (f->scratch)
        f->table->memory_free(f->backend, MEMORY_SCRATCH, f->scratch, f->scratch_bytes);
    if (f->output)
        f->table->memory_free(f->backend, MEMORY_LOGITS, f->output, f->output_bytes);
}

static ll_status open_stretches(struct forward *f, int64_t rows, ll_error *error)
{
    LL_TRY(open_stretch(&f->device, rows, error));
    if (!f->host.backend)
        return LL_OK;
    if (f->host.backend->residual != f->device.backend->residual || !f->host.backend->host_memory)
        return error_set(error, LL_INTERNAL, "forward", "%s and %s cannot share a model's layers",
                         f->host.backend->name, f->device.backend->name);
    return open_stretch(&f->host, rows, error);
}

ll_status forward_open(const struct backend_split *split, const struct model_hparams *hparams,
                       const struct model_params *params, struct forward **ret, ll_error *error)
{
    struct forward *f = mem_new(1, sizeof *f);
    if (!f)
        return error_nomem(error, "forward", sizeof *f);
    int border = split->host ? split->first : 0;
    f->device = (struct stretch){.backend = split->device,
                                 .hparams = hparams,
                                 .params = params,
                                 .rotary = params->rotary[PARAMS_DEVICE],
                                 .first = border,
                                 .end = hparams->layers};
    f->host = (struct stretch){.backend = split->host,
                               .hparams = hparams,
                               .params = params,
                               .rotary = params->rotary[PARAMS_HOST],
                               .end = border};
    ll_status status = open_stretches(f, forward_rows(split->device), error);
    if (status != LL_OK) {
        forward_close(f);
        return status;
    }
    *ret = f;
    return LL_OK;
}

uint64_t forward_idle_bytes(const struct forward *f, const struct backend *backend)
{
    uint64_t rows = (uint64_t)forward_rows(f->device.backend), bytes = 0;
    for (const struct stretch *s = &f->device; s; s = s == &f->device ? &f->host : NULL)
        if (s->backend == backend)
            bytes += s->scratch_bytes / rows * (rows - (uint64_t)f->written);
    return bytes;
}

void forward_close(struct forward *f)
{
    if (!f)
        return;
    close_stretch(&f->device);
    close_stretch(&f->host);
    mem_free(f);
}

/* ---- the pass ---- */

static const struct tensor *present(const struct tensor *tensor)
{
    return tensor->data ? tensor : NULL;
}

static void norm(struct stretch *f, const struct norm_params *norm, const struct tensor *in, int groups,
                 struct tensor *out)
{
    f->table->norm(f->backend, f->hparams->architecture->norm, in, &norm->weight, present(&norm->bias),
                   f->hparams->norm_eps, groups, out);
}

struct linear_product { /* out = in · linear (+ what out held, when accumulate) */
    const struct linear_params *linear;
    struct tensor *out;
    bool accumulate;
};

enum { MOST_PRODUCTS = 4 };

/* What an adapter adds: two narrow products onto the wide one. */
static void add_low_rank(struct stretch *f, const struct tensor *in, const struct low_rank *low_rank,
                         struct tensor *out)
{
    struct tensor rows = tensor_rows(&f->low, 0, in->rows);
    struct tensor low = tensor_columns(&rows, 0, low_rank->a.rows);
    struct backend_product down = {&low_rank->a, NULL, &low, false}, up = {&low_rank->b, NULL, out, true};
    f->table->products(f->backend, in, &down, 1);
    f->table->products(f->backend, &low, &up, 1);
}

static void multiply(struct stretch *f, const struct tensor *in, const struct linear_product *products,
                     int count)
{
    struct backend_product to[MOST_PRODUCTS] = {{0}};
    for (int i = 0; i < count; i++)
        to[i] = (struct backend_product){&products[i].linear->weight, present(&products[i].linear->bias),
                                         products[i].out, products[i].accumulate};
    f->table->products(f->backend, in, to, count);
    for (int i = 0; i < count; i++)
        for (const struct low_rank *low = products[i].linear->low_rank; low; low = low->next)
            add_low_rank(f, in, low, products[i].out);
}

/* Projects in to the residual stream: straight onto it, or through a post-norm first. */
static void add_to_residual(struct stretch *f, const struct tensor *in, const struct linear_params *linear,
                            const struct norm_params *post, struct tensor *scratch, struct tensor *x)
{
    struct linear_product to = {linear, post->weight.data ? scratch : x, !post->weight.data};
    multiply(f, in, &to, 1);
    if (!post->weight.data)
        return;
    norm(f, post, scratch, 1, scratch);
    f->table->add(f->backend, x, scratch, x);
}

static void rotate(struct stretch *f, int i, int heads, struct tensor *x)
{
    const struct model_hparams *h = f->hparams;
    int set = h->layer[i].local ? ROTARY_LOCAL : f->beyond ? ROTARY_BEYOND : ROTARY_GLOBAL;
    struct backend_rotary rotary = {.heads = heads,
                                    .head_dim = h->head_dim,
                                    .rotary_dim = h->rotary_dim,
                                    .adjacent = h->architecture->adjacent_pairs,
                                    .frequencies = &f->rotary[set],
                                    .scale = (float)h->rotary[h->layer[i].local].magnitude};
    f->table->rotary(f->backend, &rotary, x);
}

static void project_qkv(struct stretch *f, int i, const struct tensor *in, struct tensor *qkv,
                        struct tensor *q, struct tensor *k, struct tensor *v)
{
    const struct layer_params *layer = &f->params->layer[i];
    const struct model_hparams *h = f->hparams;
    if (h->architecture->fused_qkv) {
        struct linear_product to = {&layer->qkv, qkv, false};
        multiply(f, in, &to, 1);
    } else {
        struct linear_product to[3] = {
            {&layer->q, q, false}, {&layer->k, k, false}, {&layer->v, v, false}};
        multiply(f, in, to, 3);
    }
    if (h->clamp_qkv > 0.0f)
        f->table->clamp(f->backend, qkv, h->clamp_qkv);
    bool by_head = h->architecture->qk_norm_heads;
    if (layer->q_norm.weight.data)
        norm(f, &layer->q_norm, q, by_head ? h->layer[i].heads : 1, q);
    if (layer->k_norm.weight.data)
        norm(f, &layer->k_norm, k, by_head ? h->layer[i].kv_heads : 1, k);
}

static void attend(struct stretch *f, int i, const struct backend_cache *cache, const struct tensor *in,
                   int64_t rows, struct tensor *attended)
{
    const struct model_hparams *h = f->hparams;
    const struct layer_hparams *layer = &h->layer[i];
    int64_t wide = (int64_t)layer->heads * h->head_dim, narrow = (int64_t)layer->kv_heads * h->head_dim;
    struct tensor all = tensor_rows(&f->qkv, 0, rows);
    struct tensor qkv = tensor_columns(&all, 0, wide + 2 * narrow);
    struct tensor q = tensor_columns(&all, 0, wide), k = tensor_columns(&all, wide, narrow);
    struct tensor v = tensor_columns(&all, wide + narrow, narrow);
    project_qkv(f, i, in, &qkv, &q, &k, &v);
    if (h->position == LL_ROTARY && !layer->still) {
        rotate(f, i, layer->heads, &q);
        rotate(f, i, layer->kv_heads, &k);
    }
    f->table->cache_write(f->backend, cache, &k, &v);
    struct backend_attention attention = {.heads = layer->heads,
                                          .scale = h->attention_scale,
                                          .softcap = h->attention_softcap,
                                          .window = layer->window,
                                          .slopes = f->params->slopes ? &f->params->slopes[i] : NULL,
                                          .reach = f->params->slopes ? reach_epsilon : 0.0f};
    f->table->attention(f->backend, &attention, cache, &q, attended);
}

static void feed_forward(struct stretch *f, int i, const struct tensor *in, int64_t rows, struct tensor *ret)
{
    const struct layer_params *layer = &f->params->layer[i];
    const struct architecture *a = f->hparams->architecture;
    int64_t ffn = f->hparams->layer[i].ffn;
    struct tensor gate_rows = tensor_rows(&f->gate, 0, rows), up_rows = tensor_rows(&f->up, 0, rows);
    struct tensor gate = tensor_columns(&gate_rows, 0, ffn), up = tensor_columns(&up_rows, 0, ffn);
    *ret = up;
    if (a->fused_gate) {
        struct tensor both = tensor_columns(&gate_rows, 0, 2 * ffn);
        struct tensor second = tensor_columns(&gate_rows, ffn, ffn);
        struct linear_product to = {&layer->up, &both, false};
        multiply(f, in, &to, 1);
        f->table->activate(f->backend, a->activation, &gate, &second, &up);
        return;
    }
    struct linear_product to[2] = {{&layer->up, &up, false}, {&layer->gate, &gate, false}};
    multiply(f, in, to, a->gated ? 2 : 1);
    f->table->activate(f->backend, a->activation, a->gated ? &gate : &up, a->gated ? &up : NULL, &up);
}

/* A mixture of experts in place of the feed-forward part, added to the stream. */
static void mix_experts(struct stretch *f, int i, const struct tensor *in, struct tensor *x)
{
    const struct model_hparams *h = f->hparams;
    const struct layer_params *layer = &f->params->layer[i];
    struct tensor mixed = tensor_rows(&f->mixed, 0, in->rows);
    struct backend_experts experts = {.router = &layer->router,
                                      .gate = &layer->gate_experts,
                                      .up = &layer->up_experts,
                                      .down = &layer->down_experts,
                                      .experts = h->experts,
                                      .used = h->experts_used,
                                      .normalise = h->experts_normal,
                                      .scale = h->experts_scale,
                                      .activation = h->architecture->activation,
                                      .scores = &f->scores,
                                      .gathered = &f->gathered,
                                      .result = &f->result,
                                      .gate_rows = &f->gate,
                                      .up_rows = &f->up};
    f->table->experts(f->backend, &experts, in, &mixed);
    f->table->add(f->backend, x, &mixed, x);
}

/* Attention and feed-forward read the same stream, and both are added to it. */
static void run_parallel(struct stretch *f, int i, const struct backend_cache *cache, struct tensor *attended,
                         struct tensor *x, struct tensor *h)
{
    const struct layer_params *layer = &f->params->layer[i];
    bool own = layer->attention_norm_2.weight.data != NULL;
    struct tensor inner;
    norm(f, own ? &layer->attention_norm_2 : &layer->attention_norm, x, 1, h);
    attend(f, i, cache, h, x->rows, attended);
    if (own)
        norm(f, &layer->attention_norm, x, 1, h);
    feed_forward(f, i, h, x->rows, &inner);
    add_to_residual(f, attended, &layer->attention_output, &layer->attention_post_norm, h, x);
    add_to_residual(f, &inner, &layer->down, &layer->ffn_post_norm, h, x);
}

/* What attention or the feed-forward part reads: the stream's norm, or the stream itself. */
static const struct tensor *input_of(struct stretch *f, const struct norm_params *pre, struct tensor *x,
                                     struct tensor *h)
{
    if (!pre->weight.data)
        return x;
    norm(f, pre, x, 1, h);
    return h;
}

static void run_layer(struct stretch *f, int i, const struct backend_cache *cache, struct tensor *x,
                      struct tensor *h)
{
    const struct layer_params *layer = &f->params->layer[i];
    struct tensor attended_rows = tensor_rows(&f->attended, 0, x->rows);
    struct tensor attended =
        tensor_columns(&attended_rows, 0, (int64_t)f->hparams->layer[i].heads * f->hparams->head_dim);
    struct tensor inner;
    if (f->hparams->parallel) {
        run_parallel(f, i, cache, &attended, x, h);
        return;
    }
    attend(f, i, cache, input_of(f, &layer->attention_norm, x, h), x->rows, &attended);
    add_to_residual(f, &attended, &layer->attention_output, &layer->attention_post_norm, h, x);
    if (f->hparams->experts) {
        mix_experts(f, i, input_of(f, &layer->ffn_norm, x, h), x);
        return;
    }
    feed_forward(f, i, input_of(f, &layer->ffn_norm, x, h), x->rows, &inner);
    add_to_residual(f, &inner, &layer->down, &layer->ffn_post_norm, h, x);
}

static void run_outputs(struct stretch *f, int64_t outputs, const struct tensor *x, ll_token *greatest)
{
    struct tensor last = tensor_rows(&f->last, 0, outputs), logits = tensor_rows(&f->logits, 0, outputs);
    f->table->gather_outputs(f->backend, x, &last);
    norm(f, &f->params->output_norm, &last, 1, &last);
    struct linear_product to = {&f->params->output, &logits, false};
    multiply(f, &last, &to, 1);
    if (f->hparams->final_softcap > 0.0f)
        f->table->softcap(f->backend, &logits, f->hparams->final_softcap);
    if (greatest)
        f->table->greatest(f->backend, &logits, greatest);
}

/* Tokens to the stream. */
static void run_front(struct stretch *f, struct tensor *x)
{
    f->table->embed(f->backend, &f->params->embedding, f->hparams->embed_scale, x);
    if (f->params->embed_norm.weight.data)
        norm(f, &f->params->embed_norm, x, 1, x);
}

static void run_layers(struct stretch *f, const struct backend_cache *caches, const ll_cancel *cancel,
                       struct tensor *x)
{
    struct tensor h = tensor_rows(&f->h, 0, x->rows);
    for (int i = f->first; i < f->end && !cancel_requested(cancel); i++)
        run_layer(f, i, &caches[i], x, &h);
}

static ll_status run_host(struct stretch *f, const struct backend_step *step,
                          const struct backend_cache *caches, const ll_cancel *cancel, ll_error *error)
{
    struct tensor x = tensor_rows(&f->x, 0, step->rows);
    f->table->begin(f->backend, step, cancel);
    run_front(f, &x);
    run_layers(f, caches, cancel, &x);
    return f->table->end(f->backend, error);
}

/* The stream from the host to the device, whose step has begun. */
static ll_status cross(const struct stretch *from, const struct stretch *to, int64_t rows, ll_error *error)
{
    uint64_t bytes = (uint64_t)(rows * from->x.stride);
    if (!to->backend->host_memory)
        return to->table->upload(to->backend, to->x.data, from->x.data, bytes, error);
    memcpy(to->x.data, from->x.data, bytes);
    return LL_OK;
}

/* A step that has begun is ended whatever happens in it. */
static ll_status run_device(struct forward *forward, const struct backend_step *step,
                            const struct backend_cache *caches, const ll_cancel *cancel, ll_token *greatest,
                            ll_error *error)
{
    struct stretch *f = &forward->device;
    struct tensor x = tensor_rows(&f->x, 0, step->rows);
    ll_status crossed = LL_OK;
    f->table->begin(f->backend, step, cancel);
    if (forward->host.backend)
        crossed = cross(&forward->host, f, step->rows, error);
    else
        run_front(f, &x);
    if (crossed == LL_OK)
        run_layers(f, caches, cancel, &x);
    if (crossed == LL_OK && step->output_count > 0 && !cancel_requested(cancel))
        run_outputs(f, step->output_count, &x, greatest);
    ll_status ended = f->table->end(f->backend, crossed == LL_OK ? error : NULL);
    return crossed == LL_OK ? ended : crossed;
}

ll_status forward_run(struct forward *forward, const struct backend_step *step,
                      const struct backend_cache *caches, int64_t context, const ll_cancel *cancel,
                      float *logits, ll_token *greatest, ll_error *error)
{
    struct stretch *f = &forward->device;
    if (step->rows < 1 || step->rows > forward_rows(f->backend))
        return error_set(error, LL_INTERNAL, "forward", "a step of %lld rows", (long long)step->rows);
    LL_TRY(reserve_outputs(f, step->output_count, error));
    forward->written = step->rows > forward->written ? step->rows : forward->written;
    f->beyond = forward->host.beyond = (double)context > f->hparams->rotary[0].original;
    if (forward->host.backend && !cancel_requested(cancel))
        LL_TRY(run_host(&forward->host, step, caches, cancel, error));
    if (!cancel_requested(cancel))
        LL_TRY(run_device(forward, step, caches, cancel, greatest, error));
    if (cancel_requested(cancel)) /* the loop may have been left between two operations */
        return error_set(error, LL_CANCELLED, "forward", "cancelled");
    if (step->output_count == 0 || !logits)
        return LL_OK;
    struct tensor done = tensor_rows(&f->logits, 0, step->output_count);
    return f->table->read(f->backend, &done, logits, error);
}
