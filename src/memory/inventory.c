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

static void add_tensor(struct inventory *inventory, const struct gguf_tensor *tensor)
{
    uint64_t elements = tensor->shape[0] * tensor->shape[1] * tensor->shape[2] * tensor->shape[3];
    struct weight_part *part = part_of(inventory, tensor->name);
    bool vector = tensor->shape[1] == 1 && tensor->shape[2] == 1;
    if (!tensor->known) {
        inventory->unknown_bytes += tensor->bytes;
        return;
    }
    *(vector ? &part->vector_bytes : &part->matrix_bytes) += tensor->bytes;
    *(vector ? &part->vector_elements : &part->matrix_elements) += elements;
    struct weight_type *type = &inventory->types[tensor->dtype];
    type->bytes += tensor->bytes;
    type->elements += elements;
    type->tensors++;
    if (vector)
        return;
    if ((int64_t)tensor->shape[0] > inventory->widest)
        inventory->widest = (int64_t)tensor->shape[0];
    inventory->quantized |= dtype_info(tensor->dtype)->quantized;
}

ll_status inventory_read(const struct gguf *gguf, const struct model_hparams *hparams, struct inventory *ret,
                         ll_error *error)
{
    LL_TRY(start(ret, hparams->layers, error));
    for (size_t i = 0; i < gguf_tensor_count(gguf); i++)
        add_tensor(ret, gguf_tensor_at(gguf, i));
    add_up(ret);
    return LL_OK;
}

/* ---- from a shape ---- */

struct computing {
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

static void add_norm(struct computing *c, struct weight_part *part, const struct architecture *a, bool bias,
                     int64_t width)
{
    add_vector(c, part, width);
    if (a->norm == NORM_LAYER && bias)
        add_vector(c, part, width);
}

static void compute_layer(struct computing *c, const struct hf_config *config, const struct model_hparams *h,
                          int i)
{
    const struct architecture *a = h->architecture;
    const struct layer_hparams *layer = &h->layer[i];
    struct weight_part *part = &c->inventory->layer[i];
    int64_t q = (int64_t)layer->heads * h->head_dim, kv = (int64_t)layer->kv_heads * h->head_dim;
    add_matrix(c, part, q + 2 * kv, h->width);
    add_matrix(c, part, h->width, q);
    int64_t parts = h->experts ? h->experts : 1;
    if (h->experts)
        add_elements(c, part, (uint64_t)h->experts * (uint64_t)h->width, DT_F32, false); /* the router */
    add_matrix(c, part, layer->ffn * (a->gated ? 2 : 1) * parts, h->width);
    add_matrix(c, part, h->width * parts, layer->ffn);
    for (int norms = a->no_pre_norms ? 0 : 2; norms > 0; norms--)
        add_norm(c, part, a, config->other_bias, h->width);
    if (a->required_qk_norm)
        add_vector(c, part, a->qk_norm_heads ? 2 * (int64_t)h->head_dim : q + kv);
    if (a->post_norms)
        add_vector(c, part, 2 * h->width);
    if (config->attention_bias)
        add_vector(c, part, q + 2 * kv + h->width);
    if (config->other_bias)
        add_vector(c, part, layer->ffn * (a->gated ? 2 : 1) + h->width);
}

ll_status inventory_compute(const struct hf_config *config, const struct model_hparams *hparams,
                            struct inventory *ret, ll_error *error)
{
    struct computing c = {ret, config->dtype, true};
    int64_t vocabulary = (int64_t)config->vocabulary;
    LL_TRY(start(ret, hparams->layers, error));
    add_matrix(&c, &ret->embedding, vocabulary, hparams->width);
    if (hparams->architecture->embed_norm)
        add_norm(&c, &ret->embedding, hparams->architecture, config->other_bias, hparams->width);
    for (int i = 0; i < hparams->layers; i++)
        compute_layer(&c, config, hparams, i);
    add_norm(&c, &ret->output, hparams->architecture, config->other_bias, hparams->width);
    if (!config->tied)
        add_matrix(&c, &ret->output, vocabulary, hparams->width);
    add_up(ret);
    if (c.fits)
        return LL_OK;
    inventory_fini(ret);
    return error_set(error, LL_FORMAT, "plan", "the sizes in the configuration are larger than any memory");
}
