/* The weights of a model by role: names in the file to layers, every shape checked.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/params.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/architecture.h"
#include "model/position.h"
#include "model/rotary.h"
#include "tensor/dequant.h"

struct loader {
    const struct gguf *gguf;
    struct adapters *adapters;
    const struct backend_split *split;
    struct backend *backend; /* where what is read now belongs; NULL: only checked */
    struct model_hparams *hparams;
    struct model_params *params;
    const ll_run *run;
    bool *used;           /* [tensors] */
    uint64_t done, total; /* bytes of weights */
    float vector_scale;   /* on the vectors that load_vector places; 1 */
    ll_error *error;
};

enum need { OPTIONAL, REQUIRED };

/* What is read from now on belongs to a layer, to the side before the layers or to the one behind them. */
enum { FRONT = -1, BACK = -2 };

static void turn_to(struct loader *l, int layer)
{
    if (l->split)
        l->backend = layer == FRONT  ? split_front(l->split)
                     : layer == BACK ? l->split->device
                                     : split_layer(l->split, layer);
}

/* ---- memory the model owns on the backend ---- */

static ll_status own_memory(struct loader *l, uint64_t bytes, void **ret)
{
    struct model_params *p = l->params;
    if (!mem_grow((void **)&p->owned, &p->owned_capacity, p->owned_count + 1, sizeof *p->owned))
        return error_nomem(l->error, "model", sizeof *p->owned);
    LL_TRY(l->backend->table->memory_new(l->backend, MEMORY_WEIGHTS, bytes, ret, l->error));
    p->owned[p->owned_count++] = (struct params_memory){l->backend, *ret, bytes};
    return LL_OK;
}

static ll_status place(struct loader *l, const void *host, uint64_t bytes, void **ret)
{
    LL_TRY(own_memory(l, bytes, ret));
    if (l->backend->host_memory) {
        memcpy(*ret, host, bytes);
        return LL_OK;
    }
    return l->backend->table->upload(l->backend, *ret, host, bytes, l->error);
}

static ll_status place_vector(struct loader *l, const float *values, int64_t count, struct tensor *ret)
{
    *ret = (struct tensor){.dtype = DT_F32, .rows = 1, .cols = count, .stride = count * 4};
    return place(l, values, (uint64_t)count * 4, &ret->data);
}

/* ---- looking tensors up ---- */

static const struct gguf_tensor *find(struct loader *l, enum need need, const char *name, ll_status *status)
{
    size_t index = gguf_tensor_index(l->gguf, name);
    *status = LL_OK;
    if (index == SIZE_MAX) {
        if (need == REQUIRED)
            *status = error_set(l->error, LL_FORMAT, "model", "the tensor %s is missing", name);
        return NULL;
    }
    const struct gguf_tensor *tensor = gguf_tensor_at(l->gguf, index);
    l->used[index] = true;
    bool supported =
        tensor->known && (!l->backend || l->backend->table->supports_weight(l->backend, tensor->dtype));
    if (!supported) {
        const char *type = dtype_gguf_name(tensor->type_number);
        *status = error_set(l->error, LL_UNSUPPORTED, "model",
                            "the tensor %s has type %s (%u), which is not supported%s", name,
                            type ? type : "unknown", tensor->type_number,
                            tensor->known ? " on this device; --device cpu runs it" : "");
        return NULL;
    }
    return tensor;
}

static ll_status check_shape(struct loader *l, const struct gguf_tensor *tensor, int64_t rows, int64_t cols)
{
    if (tensor->shape[0] == (uint64_t)cols && tensor->shape[1] == (uint64_t)rows && tensor->shape[2] == 1 &&
        tensor->shape[3] == 1)
        return LL_OK;
    return error_set(l->error, LL_FORMAT, "model",
                     "the tensor %s is %llu × %llu where the metadata asks for %lld × %lld", tensor->name,
                     (unsigned long long)tensor->shape[0], (unsigned long long)tensor->shape[1],
                     (long long)cols, (long long)rows);
}

static ll_status check_stack(struct loader *l, const struct gguf_tensor *tensor, int64_t experts,
                             int64_t rows, int64_t cols)
{
    if (experts == 1)
        return check_shape(l, tensor, rows, cols);
    if (tensor->shape[0] == (uint64_t)cols && tensor->shape[1] == (uint64_t)rows &&
        tensor->shape[2] == (uint64_t)experts && tensor->shape[3] == 1)
        return LL_OK;
    return error_set(l->error, LL_FORMAT, "model",
                     "the tensor %s is %llu × %llu × %llu where the metadata asks for %lld × %lld × %lld",
                     tensor->name, (unsigned long long)tensor->shape[0], (unsigned long long)tensor->shape[1],
                     (unsigned long long)tensor->shape[2], (long long)cols, (long long)rows,
                     (long long)experts);
}

static void report_progress(struct loader *l, uint64_t bytes)
{
    l->done += bytes;
    if (!l->run || !l->run->on_progress)
        return;
    ll_progress progress = {LL_LOADING, l->done, l->total, NULL};
    l->run->on_progress(l->run->user, &progress);
}

/* The memory owned last is the weight's: preparing may have moved it. */
static ll_status prepare(struct loader *l, struct tensor *weight)
{
    const void *before = weight->data;
    LL_TRY(l->backend->table->prepare_weight(l->backend, weight, l->error));
    if (weight->data != before)
        l->params->owned[l->params->owned_count - 1] =
            (struct params_memory){l->backend, weight->data, (uint64_t)(weight->rows * weight->stride)};
    return LL_OK;
}

/* `experts` matrices of one shape, one below the other. */
static ll_status load_stack(struct loader *l, enum need need, const char *name, int64_t experts, int64_t rows,
                            int64_t cols, struct tensor *ret)
{
    ll_status status;
    const struct gguf_tensor *tensor = find(l, need, name, &status);
    if (!tensor)
        return status;
    LL_TRY(check_stack(l, tensor, experts, rows, cols));
    if (!l->backend)
        return LL_OK;
    rows *= experts;
    struct tensor matrix = {.dtype = tensor->dtype,
                            .rows = rows,
                            .cols = cols,
                            .stride = (int64_t)dtype_row_bytes(tensor->dtype, (uint64_t)cols)};
    union {
        const void *read;
        void *write;
    } mapped = {.read = tensor->data};
    matrix.data = mapped.write; /* never written: weights are read-only to every operation */
    if (!l->backend->host_memory)
        LL_TRY(place(l, tensor->data, tensor->bytes, &matrix.data));
    LL_TRY(prepare(l, &matrix));
    report_progress(l, tensor->bytes);
    if (l->run && cancel_requested(l->run->cancel))
        return error_set(l->error, LL_CANCELLED, "model", "loading was cancelled");
    *ret = matrix;
    return LL_OK;
}

static ll_status load_matrix(struct loader *l, enum need need, const char *name, int64_t rows, int64_t cols,
                             struct tensor *ret)
{
    return load_stack(l, need, name, 1, rows, cols, ret);
}

/* Vectors become F32 whatever the file holds. *ret: [count] on the host, the caller's; NULL when absent. */
static ll_status read_vector(struct loader *l, enum need need, const char *name, int64_t count, float **ret)
{
    ll_status status;
    const struct gguf_tensor *tensor = find(l, need, name, &status);
    *ret = NULL;
    if (!tensor)
        return status;
    LL_TRY(check_shape(l, tensor, 1, count));
    if (!l->backend)
        return LL_OK;
    *ret = mem_new((size_t)count, sizeof **ret);
    if (!*ret)
        return error_nomem(l->error, "model", (size_t)count * sizeof **ret);
    dequantize_row(tensor->dtype, tensor->data, *ret, count);
    report_progress(l, tensor->bytes);
    return LL_OK;
}

static ll_status load_vector(struct loader *l, enum need need, const char *name, int64_t count,
                             struct tensor *ret)
{
    float *values;
    ll_status status = read_vector(l, need, name, count, &values);
    if (status == LL_OK && values)
        status = adapters_add_deltas(l->adapters, name, values, count, l->error);
    for (int64_t i = 0; status == LL_OK && values && l->vector_scale != 1.0f && i < count; i++)
        values[i] *= l->vector_scale;
    if (status == LL_OK && values)
        status = place_vector(l, values, count, ret);
    mem_free(values);
    return status;
}

/* ---- names ---- */

struct tensor_name {
    char text[96];
};

static struct tensor_name name_of(int layer, const char *part, const char *suffix)
{
    struct tensor_name name;
    if (layer < 0)
        snprintf(name.text, sizeof name.text, "%s.%s", part, suffix);
    else
        snprintf(name.text, sizeof name.text, "blk.%d.%s.%s", layer, part, suffix);
    return name;
}

static ll_status load_norm(struct loader *l, enum need need, int layer, const char *part, int64_t n,
                           struct norm_params *ret)
{
    LL_TRY(load_vector(l, need, name_of(layer, part, "weight").text, n, &ret->weight));
    return load_vector(l, OPTIONAL, name_of(layer, part, "bias").text, n, &ret->bias);
}

static ll_status place_matrix(struct loader *l, const float *values, int64_t rows, int64_t cols,
                              struct tensor *ret)
{
    *ret = (struct tensor){.dtype = DT_F32, .rows = rows, .cols = cols, .stride = cols * 4};
    LL_TRY(place(l, values, (uint64_t)(rows * cols) * 4, &ret->data));
    return prepare(l, ret);
}

static ll_status place_low_rank(struct loader *l, const struct adapter_matrices *m, int64_t outputs,
                                int64_t inputs, struct linear_params *linear)
{
    struct model_params *p = l->params;
    if (!mem_grow((void **)&p->low_ranks, &p->low_rank_capacity, p->low_rank_count + 1,
                  sizeof(struct low_rank *)))
        return error_nomem(l->error, "adapter", sizeof(struct low_rank));
    struct low_rank *made = mem_new(1, sizeof *made);
    if (!made)
        return error_nomem(l->error, "adapter", sizeof *made);
    p->low_ranks[p->low_rank_count++] = made;
    LL_TRY(place_matrix(l, m->a, m->rank, inputs, &made->a));
    LL_TRY(place_matrix(l, m->b, outputs, m->rank, &made->b));
    struct low_rank **end = &linear->low_rank;
    while (*end)
        end = &(*end)->next;
    *end = made;
    return LL_OK;
}

static ll_status attach_adapters(struct loader *l, const char *name, int64_t outputs, int64_t inputs,
                                 struct linear_params *linear)
{
    for (size_t i = 0; i < adapters_count(l->adapters); i++) {
        struct adapter_matrices matrices;
        LL_TRY(adapters_matrices(l->adapters, i, name, outputs, inputs, &matrices, l->error));
        if (matrices.rank == 0)
            continue;
        ll_status status = place_low_rank(l, &matrices, outputs, inputs, linear);
        mem_free(matrices.a);
        mem_free(matrices.b);
        if (status != LL_OK)
            return status;
    }
    return LL_OK;
}

static ll_status load_linear(struct loader *l, enum need need, int layer, const char *part, int64_t outputs,
                             int64_t inputs, struct linear_params *ret)
{
    LL_TRY(load_matrix(l, need, name_of(layer, part, "weight").text, outputs, inputs, &ret->weight));
    if (ret->weight.data)
        LL_TRY(attach_adapters(l, name_of(layer, part, "weight").text, outputs, inputs, ret));
    return load_vector(l, OPTIONAL, name_of(layer, part, "bias").text, outputs, &ret->bias);
}

static ll_status load_attention(struct loader *l, int i)
{
    const struct model_hparams *h = l->hparams;
    const struct architecture *a = h->architecture;
    struct layer_params *layer = &l->params->layer[i];
    int64_t q = (int64_t)h->layer[i].heads * h->head_dim, kv = (int64_t)h->layer[i].kv_heads * h->head_dim;
    if (a->fused_qkv) {
        LL_TRY(load_linear(l, REQUIRED, i, "attn_qkv", q + 2 * kv, h->width, &layer->qkv));
    } else {
        LL_TRY(load_linear(l, REQUIRED, i, "attn_q", q, h->width, &layer->q));
        LL_TRY(load_linear(l, REQUIRED, i, "attn_k", kv, h->width, &layer->k));
        LL_TRY(load_linear(l, REQUIRED, i, "attn_v", kv, h->width, &layer->v));
    }
    enum need norms = a->required_qk_norm ? REQUIRED : OPTIONAL;
    LL_TRY(load_norm(l, norms, i, "attn_q_norm", a->qk_norm_heads ? h->head_dim : q, &layer->q_norm));
    LL_TRY(load_norm(l, norms, i, "attn_k_norm", a->qk_norm_heads ? h->head_dim : kv, &layer->k_norm));
    return load_linear(l, REQUIRED, i, "attn_output", h->width, q, &layer->attention_output);
}

static ll_status load_feed_forward(struct loader *l, int i)
{
    const struct model_hparams *h = l->hparams;
    struct layer_params *layer = &l->params->layer[i];
    int64_t ffn = h->layer[i].ffn;
    bool fused = h->architecture->fused_gate;
    if (h->architecture->gated && !fused)
        LL_TRY(load_linear(l, REQUIRED, i, "ffn_gate", ffn, h->width, &layer->gate));
    LL_TRY(load_linear(l, REQUIRED, i, "ffn_up", fused ? 2 * ffn : ffn, h->width, &layer->up));
    return load_linear(l, REQUIRED, i, "ffn_down", h->width, ffn, &layer->down);
}

/* One tensor for each expert, in place of one for all. */
static ll_status refuse_single_experts(struct loader *l, int i)
{
    struct tensor_name name = name_of(i, "ffn_up.0", "weight");
    if (gguf_tensor_index(l->gguf, name.text) == SIZE_MAX)
        return LL_OK;
    return error_set(
        l->error, LL_UNSUPPORTED, "model",
        "every expert is a tensor of its own (%s), as files had it before April 2024; take a newer file "
        "of this model, or convert its Hugging Face folder again",
        name.text);
}

static ll_status load_experts(struct loader *l, int i)
{
    if (l->backend && !l->backend->table->experts)
        return error_set(l->error, LL_UNSUPPORTED, "model",
                         "models with experts do not run on this device (%s) yet; --device cpu runs them",
                         l->backend->table->name);
    const struct model_hparams *h = l->hparams;
    struct layer_params *layer = &l->params->layer[i];
    int64_t ffn = h->layer[i].ffn, n = h->experts;
    LL_TRY(refuse_single_experts(l, i));
    LL_TRY(load_matrix(l, REQUIRED, name_of(i, "ffn_gate_inp", "weight").text, n, h->width, &layer->router));
    LL_TRY(load_stack(l, REQUIRED, name_of(i, "ffn_gate_exps", "weight").text, n, ffn, h->width,
                      &layer->gate_experts));
    LL_TRY(load_stack(l, REQUIRED, name_of(i, "ffn_up_exps", "weight").text, n, ffn, h->width,
                      &layer->up_experts));
    return load_stack(l, REQUIRED, name_of(i, "ffn_down_exps", "weight").text, n, h->width, ffn,
                      &layer->down_experts);
}

static ll_status load_layer(struct loader *l, int i)
{
    const struct model_hparams *h = l->hparams;
    struct layer_params *layer = &l->params->layer[i];
    turn_to(l, i);
    if (!h->architecture->no_pre_norms) {
        LL_TRY(load_norm(l, REQUIRED, i, "attn_norm", h->width, &layer->attention_norm));
        if (h->parallel)
            LL_TRY(load_norm(l, OPTIONAL, i, "attn_norm_2", h->width, &layer->attention_norm_2));
        else
            LL_TRY(load_norm(l, REQUIRED, i, "ffn_norm", h->width, &layer->ffn_norm));
    }
    LL_TRY(load_attention(l, i));
    LL_TRY(h->experts ? load_experts(l, i) : load_feed_forward(l, i));
    if (h->architecture->post_norms) {
        LL_TRY(load_norm(l, REQUIRED, i, "post_attention_norm", h->width, &layer->attention_post_norm));
        LL_TRY(load_norm(l, REQUIRED, i, "post_ffw_norm", h->width, &layer->ffn_post_norm));
    }
    return LL_OK;
}

/* ---- what positions need ---- */

/* Divisors of the pairs' frequencies; NULL without them. A zero or a NaN would spoil every answer. */
static ll_status read_divisors(struct loader *l, enum need need, const char *name, int pairs, float **ret)
{
    LL_TRY(read_vector(l, need, name, pairs, ret));
    for (int i = 0; *ret && i < pairs; i++)
        if (!((*ret)[i] > 0.0f) || !isfinite((*ret)[i])) {
            error_set(l->error, LL_FORMAT, "model", "%s holds %g for pair %d, not a positive number", name,
                      (double)(*ret)[i], i);
            mem_free(*ret);
            *ret = NULL;
            return LL_FORMAT;
        }
    return LL_OK;
}

/* The set is made from hparams' set `from`, with the divisors of a tensor where one is named. */
static ll_status make_set(struct loader *l, int from, enum need need, const char *divisors_name,
                          struct tensor *ret)
{
    const struct model_hparams *h = l->hparams;
    int pairs = h->rotary_dim / 2;
    float *divisors = NULL;
    if (divisors_name)
        LL_TRY(read_divisors(l, need, divisors_name, pairs, &divisors));
    if (!l->backend)
        return LL_OK;
    float *values = mem_new((size_t)pairs, sizeof *values);
    ll_status status = values ? LL_OK : error_nomem(l->error, "model", (size_t)pairs * sizeof *values);
    if (status == LL_OK) {
        rotary_frequencies(&h->rotary[from], h->rotary_dim, divisors, values);
        status = place_vector(l, values, pairs, ret);
    }
    mem_free(values);
    mem_free(divisors);
    return status;
}

static ll_status make_rotary(struct loader *l, struct tensor *sets)
{
    bool both = l->hparams->rotary[0].scaling == ROTARY_LONG;
    LL_TRY(make_set(l, 1, OPTIONAL, NULL, &sets[ROTARY_LOCAL]));
    LL_TRY(make_set(l, 0, both ? REQUIRED : OPTIONAL,
                    both                            ? "rope_factors_short.weight"
                    : l->hparams->rotary[0].divided ? "rope_freqs.weight"
                                                    : NULL,
                    &sets[ROTARY_GLOBAL]));
    if (both)
        return make_set(l, 0, REQUIRED, "rope_factors_long.weight", &sets[ROTARY_BEYOND]);
    sets[ROTARY_BEYOND] = sets[ROTARY_GLOBAL];
    return LL_OK;
}

static ll_status make_slopes(struct loader *l)
{
    const struct model_hparams *h = l->hparams;
    if (!l->backend)
        return LL_OK;
    const float *given = h->slopes;
    l->params->slopes = mem_new((size_t)h->layers, sizeof *l->params->slopes);
    if (!l->params->slopes)
        return error_nomem(l->error, "model", (size_t)h->layers * sizeof *l->params->slopes);
    for (int i = 0; i < h->layers; i++) {
        int heads = h->layer[i].heads;
        float *values = mem_new((size_t)heads, sizeof *values);
        if (!values)
            return error_nomem(l->error, "model", (size_t)heads * sizeof *values);
        if (!given)
            alibi_slopes(heads, h->alibi_max_bias, values);
        turn_to(l, i);
        for (int head = 0; head < heads; head++)
            values[head] = given ? *given++ : values[head] * h->alibi_scale;
        ll_status status = place_vector(l, values, heads, &l->params->slopes[i]);
        mem_free(values);
        LL_TRY(status);
    }
    return LL_OK;
}

/* ---- the whole ---- */

static ll_status load_ends(struct loader *l)
{
    struct model_hparams *h = l->hparams;
    ll_status status;
    const struct gguf_tensor *table = find(l, REQUIRED, "token_embd.weight", &status);
    if (!table)
        return status;
    if (table->shape[1] == 0 || table->shape[1] > 1u << 24)
        return error_set(l->error, LL_FORMAT, "model", "token_embd.weight has %llu rows",
                         (unsigned long long)table->shape[1]);
    h->vocabulary = (int64_t)table->shape[1];
    LL_TRY(load_matrix(l, REQUIRED, "token_embd.weight", h->vocabulary, h->width, &l->params->embedding));
    if (h->architecture->embed_norm)
        LL_TRY(load_norm(l, REQUIRED, -1, "token_embd_norm", h->width, &l->params->embed_norm));
    turn_to(l, BACK);
    l->vector_scale = h->output_scale; /* logits are a product of this norm: scaled here, once */
    LL_TRY(load_norm(l, REQUIRED, -1, "output_norm", h->width, &l->params->output_norm));
    l->vector_scale = 1.0f;
    LL_TRY(load_linear(l, OPTIONAL, -1, "output", h->vocabulary, h->width, &l->params->output));
    if (l->params->output.weight.data || !l->backend)
        return LL_OK;
    l->params->output.weight = l->params->embedding;
    if (split_front(l->split) == l->backend)
        return LL_OK;
    l->total += table->bytes; /* on both sides */
    return load_matrix(l, REQUIRED, "token_embd.weight", h->vocabulary, h->width, &l->params->output.weight);
}

/* Old converters stored rotary tables that every engine computes anew. */
static bool harmless(const char *name)
{
    size_t length = strlen(name);
    static const char suffix[] = "rotary_emb.inv_freq";
    return (length >= sizeof suffix - 1 && strcmp(name + length - (sizeof suffix - 1), suffix) == 0) ||
           strstr(name, "attn_rot_embd") != NULL;
}

static ll_status refuse_unused(struct loader *l)
{
    for (size_t i = 0; i < gguf_tensor_count(l->gguf); i++) {
        const char *name = gguf_tensor_at(l->gguf, i)->name;
        /* Divisors of angles are idle where another scaling, or an adapter's slopes, take their place. */
        bool idle = strncmp(name, "rope_", 5) == 0 && (l->hparams->slopes || !l->hparams->rotary[0].divided);
        if (!l->used[i] && !idle && !harmless(name))
            return error_set(l->error, LL_UNSUPPORTED, "model",
                             "the tensor %s has no place in architecture %s as this version knows it", name,
                             l->hparams->architecture->name);
    }
    return LL_OK;
}

static ll_status load_all(struct loader *l)
{
    const struct model_hparams *h = l->hparams;
    l->params->layer = mem_new((size_t)h->layers, sizeof *l->params->layer);
    l->used = mem_new(gguf_tensor_count(l->gguf), sizeof *l->used);
    if (!l->params->layer || !l->used)
        return error_nomem(l->error, "model", (size_t)h->layers * sizeof *l->params->layer);
    for (size_t i = 0; i < gguf_tensor_count(l->gguf); i++)
        l->total += gguf_tensor_at(l->gguf, i)->bytes;
    turn_to(l, FRONT);
    LL_TRY(load_ends(l));
    for (int i = 0; i < h->layers; i++)
        LL_TRY(load_layer(l, i));
    for (int side = 0; h->position == LL_ROTARY && side < PARAMS_SIDES; side++) {
        turn_to(l, side == PARAMS_DEVICE ? BACK : FRONT);
        if (side == PARAMS_DEVICE || (l->split && l->split->host))
            LL_TRY(make_rotary(l, l->params->rotary[side]));
    }
    if (hparams_alibi(h))
        LL_TRY(make_slopes(l));
    LL_TRY(adapters_refuse_unused(l->adapters, l->error));
    return refuse_unused(l);
}

ll_status params_check(const struct gguf *gguf, struct model_hparams *hparams, ll_error *error)
{
    struct model_params params = {0};
    struct loader loader = {
        .gguf = gguf, .hparams = hparams, .params = &params, .vector_scale = 1.0f, .error = error};
    ll_status status = load_all(&loader);
    mem_free(loader.used);
    params_fini(&params);
    return status;
}

ll_status params_load(const struct gguf *gguf, struct adapters *adapters,
                      const struct backend_split *split, struct model_hparams *hparams, const ll_run *run,
                      struct model_params *ret, ll_error *error)
{
    struct model_params params = {0};
    struct loader loader = {.gguf = gguf,
                            .adapters = adapters,
                            .split = split,
                            .hparams = hparams,
                            .params = &params,
                            .run = run,
                            .vector_scale = 1.0f,
                            .error = error};
    ll_status status = load_all(&loader);
    mem_free(loader.used);
    if (status == LL_OK)
        *ret = params;
    else
        params_fini(&params);
    return status;
}

void params_fini(struct model_params *params)
{
    for (size_t i = 0; i < params->owned_count; i++)
        params->owned[i].backend->table->memory_free(params->owned[i].backend, MEMORY_WEIGHTS,
                                                     params->owned[i].memory, params->owned[i].bytes);
    for (size_t i = 0; i < params->low_rank_count; i++)
        mem_free(params->low_ranks[i]);
    mem_free(params->low_ranks);
    mem_free(params->owned);
    mem_free(params->slopes);
    mem_free(params->layer);
    *params = (struct model_params){0};
}
