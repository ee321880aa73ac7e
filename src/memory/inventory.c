/* The weights of a model by part and by type: from a file's directory, or from the shape alone.
 * SPDX-License-Identifier: Apache-2.0 */
#include "memory/inventory.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/architecture.h"

static ll_status start(struct inventory *inventory, int layers, ll_error *error)
{
    *inventory = (struct inventory){.layers = layers};
    inventory->layer = mem_new((size_t)layers, sizeof *inventory->layer);
    return inventory->layer ? LL_OK : error_nomem(error, "plan", (size_t)layers * sizeof *inventory->layer);
}

void inventory_fini(struct inventory *inventory)
{
    mem_free(inventory->layer);
    *inventory = (struct inventory){0};
}

static void add_part(struct weight_part *to, const struct weight_part *part)
{
    to->matrix_bytes += part->matrix_bytes;
    to->matrix_elements += part->matrix_elements;
    to->vector_bytes += part->vector_bytes;
    to->vector_elements += part->vector_elements;
}

static void add_up(struct inventory *inventory)
{
    inventory->whole = inventory->embedding;
    add_part(&inventory->whole, &inventory->output);
    for (int i = 0; i < inventory->layers; i++)
        add_part(&inventory->whole, &inventory->layer[i]);
}

void inventory_parameters(const struct inventory *inventory, const struct model_hparams *hparams,
                          uint64_t *ret_all, uint64_t *ret_token)
{
    const struct weight_part *whole = &inventory->whole;
    uint64_t experts = (uint64_t)(hparams->experts ? hparams->experts : 1),
             used = (uint64_t)(hparams->experts ? hparams->experts_used : 1);
    *ret_all = whole->matrix_elements + whole->vector_elements + inventory->unknown_elements -
               inventory->divisors;
    *ret_token = *ret_all - inventory->expert_elements / experts * (experts - used);
}

enum dtype inventory_main_type(const struct inventory *inventory)
{
    int best = DT_F32;
    for (int i = 0; i < DT_COUNT; i++)
        if (inventory->types[i].bytes > inventory->types[best].bytes)
            best = i;
    return (enum dtype)best;
}

/* ---- from a file ---- */

/* Tensors that name no layer and are not the output's count with the embedding. */
static struct weight_part *part_of(struct inventory *inventory, const char *name)
{
    if (strncmp(name, "blk.", 4) == 0) {
        long layer = strtol(name + 4, NULL, 10);
        if (layer >= 0 && layer < inventory->layers)
            return &inventory->layer[layer];
    }
    return strncmp(name, "output", 6) == 0 ? &inventory->output : &inventory->embedding;
}

/* shape: [4], fastest first. */
static void add_tensor(struct inventory *inventory, const char *name, enum dtype dtype, const uint64_t *shape,
                       uint64_t bytes)
{
    uint64_t elements = shape[0] * shape[1] * shape[2] * shape[3];
    struct weight_part *part = part_of(inventory, name);
    bool vector = shape[1] == 1 && shape[2] == 1;
    *(vector ? &part->vector_bytes : &part->matrix_bytes) += bytes;
    *(vector ? &part->vector_elements : &part->matrix_elements) += elements;
    struct weight_type *type = &inventory->types[dtype];
    type->bytes += bytes;
    type->elements += elements;
    type->tensors++;
    if (strncmp(name, "rope_", 5) == 0)
        inventory->divisors += elements;
    if (strstr(name, "_exps.")) {
        inventory->expert_bytes += bytes;
        inventory->expert_elements += elements;
    }
    if (vector)
        return;
    if ((int64_t)shape[0] > inventory->widest)
        inventory->widest = (int64_t)shape[0];
    inventory->quantized |= dtype_info(dtype)->quantized;
}

static void add_unknown(struct inventory *inventory, const struct gguf_tensor *tensor)
{
    const uint64_t *shape = tensor->shape;
    inventory->unknown_bytes += tensor->bytes;
    inventory->unknown_elements += shape[0] * shape[1] * shape[2] * shape[3];
}

ll_status inventory_read(const struct gguf *gguf, const struct model_hparams *hparams, struct inventory *ret,
                         ll_error *error)
{
    LL_TRY(start(ret, hparams->layers, error));
    for (size_t i = 0; i < gguf_tensor_count(gguf); i++) {
        const struct gguf_tensor *tensor = gguf_tensor_at(gguf, i);
        if (tensor->known)
            add_tensor(ret, tensor->name, tensor->dtype, tensor->shape, tensor->bytes);
        else
            add_unknown(ret, tensor);
    }
    add_up(ret);
    return LL_OK;
}

ll_status inventory_layout(const struct hf_layout *layout, const struct model_hparams *hparams,
                           struct inventory *ret, ll_error *error)
{
    LL_TRY(start(ret, hparams->layers, error));
    for (size_t i = 0; i < layout->count; i++) {
        const struct hf_tensor *tensor = &layout->tensors[i];
        uint64_t rows = tensor->shape[1] * tensor->shape[2] * tensor->shape[3];
        add_tensor(ret, tensor->name, tensor->dtype, tensor->shape,
                   rows * dtype_row_bytes(tensor->dtype, tensor->shape[0]));
    }
    add_up(ret);
    return LL_OK;
}

/* ---- from a shape ---- */

struct computing {
    const struct hf_config *config;
    struct inventory *inventory;
    enum dtype dtype;
    bool fits; /* no product has wrapped */
};

static void add_elements(struct computing *c, struct weight_part *part, uint64_t elements, enum dtype dtype,
                         bool vector)
{
    uint64_t bytes = 0;
    c->fits &= mem_multiply(elements, dtype == DT_F32 ? 4 : 2, &bytes);
    *(vector ? &part->vector_bytes : &part->matrix_bytes) += bytes;
    *(vector ? &part->vector_elements : &part->matrix_elements) += elements;
    struct weight_type *type = &c->inventory->types[dtype];
    type->bytes += bytes;
    type->elements += elements;
    type->tensors++;
}

static void add_matrix(struct computing *c, struct weight_part *part, int64_t rows, int64_t columns)
{
    uint64_t elements = 0;
    c->fits &= mem_multiply((uint64_t)rows, (uint64_t)columns, &elements);
    add_elements(c, part, elements, c->dtype, false);
    if (columns > c->inventory->widest)
        c->inventory->widest = columns;
}

static void add_vector(struct computing *c, struct weight_part *part, int64_t elements)
{
    add_elements(c, part, (uint64_t)elements, DT_F32, true);
}

static void add_norm(struct computing *c, struct weight_part *part, int64_t width)
{
    add_vector(c, part, width);
    if (c->config->vectors.norm_bias)
        add_vector(c, part, width);
}

static void add_linear(struct computing *c, struct weight_part *part, bool bias, int64_t outputs,
                       int64_t inputs)
{
    add_matrix(c, part, outputs, inputs);
    if (bias)
        add_vector(c, part, outputs);
}

static void compute_attention(struct computing *c, const struct model_hparams *h, int i)
{
    const struct architecture *a = h->architecture;
    const struct hf_vectors *vectors = &c->config->vectors;
    struct weight_part *part = &c->inventory->layer[i];
    int64_t q = (int64_t)h->layer[i].heads * h->head_dim, kv = (int64_t)h->layer[i].kv_heads * h->head_dim;
    int64_t rows[] = {q, kv, kv};
    if (a->fused_qkv)
        add_linear(c, part, vectors->qkv_bias, q + 2 * kv, h->width);
    for (size_t m = 0; !a->fused_qkv && m < sizeof rows / sizeof *rows; m++)
        add_linear(c, part, vectors->qkv_bias, rows[m], h->width);
    add_linear(c, part, vectors->output_bias, h->width, q);
    if (a->required_qk_norm || vectors->qk_norms) {
        add_norm(c, part, a->qk_norm_heads ? h->head_dim : q);
        add_norm(c, part, a->qk_norm_heads ? h->head_dim : kv);
    }
}

/* Experts are stacks of matrices, and what decides between them is kept in F32. */
static void compute_experts(struct computing *c, const struct model_hparams *h, int i)
{
    struct weight_part *part = &c->inventory->layer[i];
    int64_t ffn = h->layer[i].ffn, n = h->experts;
    struct weight_part before;
    add_elements(c, part, (uint64_t)n * (uint64_t)h->width, DT_F32, false);
    before = *part;
    add_matrix(c, part, n * ffn, h->width);
    add_matrix(c, part, n * ffn, h->width);
    add_matrix(c, part, n * h->width, ffn);
    c->inventory->expert_bytes += part->matrix_bytes - before.matrix_bytes;
    c->inventory->expert_elements += part->matrix_elements - before.matrix_elements;
}

static void compute_feed_forward(struct computing *c, const struct model_hparams *h, int i)
{
    const struct architecture *a = h->architecture;
    struct weight_part *part = &c->inventory->layer[i];
    bool bias = c->config->vectors.ffn_bias;
    int64_t ffn = h->layer[i].ffn;
    if (a->gated && !a->fused_gate)
        add_linear(c, part, bias, ffn, h->width);
    add_linear(c, part, bias, a->fused_gate ? 2 * ffn : ffn, h->width);
    add_linear(c, part, bias, h->width, ffn);
}

static void compute_layer(struct computing *c, const struct model_hparams *h, int i)
{
    const struct architecture *a = h->architecture;
    int norms = a->no_pre_norms ? 0 : c->config->vectors.one_norm ? 1 : 2;
    compute_attention(c, h, i);
    if (h->experts)
        compute_experts(c, h, i);
    else
        compute_feed_forward(c, h, i);
    for (norms += a->post_norms ? 2 : 0; norms > 0; norms--)
        add_norm(c, &c->inventory->layer[i], h->width);
}

/* What the configuration itself says of positions becomes tensors. */
static void compute_divisors(struct computing *c)
{
    const struct hf_config *config = c->config;
    const struct hf_divisors *divisors[] = {&config->freqs, &config->factors_short, &config->factors_long};
    for (size_t i = 0; i < sizeof divisors / sizeof *divisors; i++)
        if (divisors[i]->values) {
            add_vector(c, &c->inventory->embedding, (int64_t)divisors[i]->count);
            c->inventory->divisors += divisors[i]->count;
        }
}

ll_status inventory_compute(const struct hf_config *config, const struct model_hparams *hparams,
                            struct inventory *ret, ll_error *error)
{
    struct computing c = {config, ret, config->dtype, true};
    int64_t vocabulary = (int64_t)config->vocabulary;
    LL_TRY(start(ret, hparams->layers, error));
    add_matrix(&c, &ret->embedding, vocabulary, hparams->width);
    if (hparams->architecture->embed_norm)
        add_norm(&c, &ret->embedding, hparams->width);
    compute_divisors(&c);
    for (int i = 0; i < hparams->layers; i++)
        compute_layer(&c, hparams, i);
    add_norm(&c, &ret->output, hparams->width);
    if (!config->tied)
        add_matrix(&c, &ret->output, vocabulary, hparams->width);
    add_up(ret);
    if (c.fits)
        return LL_OK;
    inventory_fini(ret);
    return error_set(error, LL_FORMAT, "plan", "the sizes in the configuration are larger than any memory");
}
