/* The tensors of a Hugging Face model as GGUF has them: named, put together and turned row by row.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/hf_layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "formats/hf_family.h"

enum { LAYERS_MOST = 1024, EXPERTS_MOST = 4096 };

static const char where[] = "convert";

struct planning {
    const struct hf_config *config;
    struct hf_layout *layout;
    ll_error *error;
};

/* A stored name taken apart. */
struct place {
    const struct safetensor *source;
    char rest[160];     /* behind prefixes and the layer, without .weight or .bias */
    char whole[160];    /* the same with it */
    const char *suffix; /* "weight", "bias" or "" */
    int64_t layer;      /* -1: none */
};

static ll_status refuse(const struct planning *p, const struct safetensor *source, ll_status status,
                        const char *what)
{
    char shown[120];
    utf8_printable(source->name, strlen(source->name), shown, sizeof shown);
    return error_set(p->error, status, where, "the tensor %s (%s) %s", shown, source->type, what);
}

/* ---- names ---- */

static const char *behind(const char *name, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(name, prefix, length) == 0 ? name + length : name;
}

/* A whole number below `most` at *text, which moves behind it; -1: none. */
static int64_t take_number(const char **text, int64_t most)
{
    char *end;
    if (**text < '0' || **text > '9')
        return -1;
    long value = strtol(*text, &end, 10);
    *text = end;
    return value < most ? (int64_t)value : -1;
}

static bool take_apart(const struct planning *p, const struct safetensor *source, struct place *ret)
{
    static const char *const prefixes[] = {"language_model.", "model.", "language_model.", "transformer."};
    const char *name = source->name, *layers = p->config->family->layers;
    *ret = (struct place){.source = source, .layer = -1, .suffix = ""};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        name = behind(name, prefixes[i]);
    if (strncmp(name, layers, strlen(layers)) == 0) {
        name += strlen(layers);
        ret->layer = take_number(&name, LAYERS_MOST);
        if (ret->layer < 0 || *name++ != '.')
            return false;
    }
    if (strlen(name) >= sizeof ret->rest)
        return false;
    snprintf(ret->rest, sizeof ret->rest, "%s", name);
    snprintf(ret->whole, sizeof ret->whole, "%s", name);
    char *dot = strrchr(ret->rest, '.');
    if (dot && (strcmp(dot, ".weight") == 0 || strcmp(dot, ".bias") == 0)) {
        ret->suffix = ret->whole + (dot + 1 - ret->rest);
        *dot = '\0';
    }
    return true;
}

/* Whether a stored name is of a row's form; *expert: the number at its #, or 0. */
static bool matches(const struct hf_name *row, const struct place *place, uint64_t *expert)
{
    const char *hash = strchr(row->from, '#'), *at = place->rest;
    *expert = 0;
    if (row->part == HF_SKIP)
        return strcmp(row->from, place->whole) == 0;
    if (!hash)
        return strcmp(row->from, at) == 0;
    if (strncmp(row->from, at, (size_t)(hash - row->from)) != 0)
        return false;
    at += hash - row->from;
    int64_t number = take_number(&at, EXPERTS_MOST);
    *expert = (uint64_t)number;
    return number >= 0 && strcmp(hash + 1, at) == 0;
}

/* Parts of models that also see or hear. */
static bool other_sense(const char *name)
{
    static const char *const parts[] = {"vision_tower.", "multi_modal_projector.", "audio_tower."};
    name = behind(name, "model.");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strncmp(name, parts[i], strlen(parts[i])) == 0)
            return true;
    return false;
}

/* ---- pieces ---- */

static struct hf_tensor *find_tensor(struct planning *p, const char *name)
{
    struct hf_layout *layout = p->layout;
    for (size_t i = layout->count; i > 0; i--) /* pieces of one tensor come close together */
        if (strcmp(layout->tensors[i - 1].name, name) == 0)
            return &layout->tensors[i - 1];
    if (!mem_grow((void **)&layout->tensors, &layout->capacity, layout->count + 1, sizeof *layout->tensors))
        return NULL;
    struct hf_tensor *tensor = &layout->tensors[layout->count++];
    *tensor = (struct hf_tensor){.scale = 1.0f};
    snprintf(tensor->name, sizeof tensor->name, "%s", name);
    return tensor;
}

static ll_status add_piece(struct planning *p, struct hf_tensor *tensor, const struct hf_piece *piece)
{
    if (!mem_grow((void **)&tensor->pieces, &tensor->capacity, tensor->count + 1, sizeof *piece))
        return error_nomem(p->error, where, sizeof *piece);
    tensor->pieces[tensor->count++] = *piece;
    return LL_OK;
}

/* Queries, keys and values of each head, or of each group of heads, become all queries, all keys, all values.
 */
static ll_status add_interleaved(struct planning *p, struct hf_tensor *tensor,
                                 const struct safetensor *source)
{
    const struct hf_shape *s = &p->config->shape;
    uint64_t groups = s->kv_heads, share = groups ? s->heads / groups : 0, head = s->head_dim;
    uint64_t widths[3] = {share * head, head, head}, starts[3] = {0, share * head, (share + 1) * head};
    if (share == 0 || s->heads % groups != 0 || source->shape[0] != groups * (share + 2) * head)
        return refuse(p, source, LL_FORMAT, "does not have the rows that the configuration asks for");
    for (int part = 0; part < 3; part++)
        for (uint64_t g = 0; g < groups; g++) {
            struct hf_piece piece = {
                .source = source, .first = g * (share + 2) * head + starts[part], .rows = widths[part]};
            LL_TRY(add_piece(p, tensor, &piece));
        }
    return LL_OK;
}

/* Which rows of the source a row of the table names. */
static ll_status choose_rows(struct planning *p, enum hf_part part, struct hf_piece *piece)
{
    const struct hf_shape *s = &p->config->shape;
    uint64_t all = piece->source->shape[0], divisor = 1, index = 0;
    bool pairs = p->config->family->adjacent_pairs;
    switch (part) {
    case HF_PACK_Q:
    case HF_PACK_K:
    case HF_PACK_V:
        divisor = 3;
        index = (uint64_t)(part - HF_PACK_Q);
        break;
    case HF_KV_K:
    case HF_KV_V:
        divisor = 2;
        index = (uint64_t)(part - HF_KV_K);
        break;
    case HF_FIRST_HALF:
    case HF_SECOND_HALF:
        divisor = 2;
        index = (uint64_t)(part - HF_FIRST_HALF);
        break;
    default:
        break;
    }
    if (all % divisor != 0)
        return refuse(p, piece->source, LL_FORMAT, "cannot be divided as its family asks for");
    piece->rows = all / divisor;
    piece->first = index * piece->rows;
    if (pairs && (part == HF_QUERIES || part == HF_KEYS || part == HF_PACK_Q || part == HF_PACK_K)) {
        piece->pairs = s->head_dim;
        if (piece->rows % s->head_dim != 0 || s->head_dim % 2 != 0)
            return refuse(p, piece->source, LL_FORMAT, "has rows that are no multiple of the size of a head");
    }
    return LL_OK;
}

static void set_values(struct planning *p, const struct hf_name *row, const struct place *place,
                       struct hf_tensor *tensor)
{
    const struct hf_config *config = p->config;
    if (row->part == HF_NORM && config->family->norms_plus_one)
        tensor->plus = 1.0f;
    if (row->part == HF_EMBEDDING)
        tensor->scale = (float)config->embedding_scale;
    if (row->part == HF_OUTPUT)
        tensor->unit_rows = config->unit_output;
    if (strcmp(row->to, "output_norm") == 0) /* logits are a product of it, and it is kept in F32 */
        tensor->scale = (float)config->output_scale;
    tensor->transposed = row->part == HF_TRANSPOSED && place->source->dims == 2;
}

static ll_status add_rows(struct planning *p, const struct hf_name *row, const struct place *place,
                          uint64_t expert)
{
    char name[96];
    if (place->layer >= 0)
        snprintf(name, sizeof name, "blk.%d.%s.%s", (int)place->layer, row->to, place->suffix);
    else
        snprintf(name, sizeof name, "%s.%s", row->to, place->suffix);
    struct hf_tensor *tensor = find_tensor(p, name);
    if (!tensor)
        return error_nomem(p->error, where, sizeof *tensor);
    if (tensor->count > 0 && !strchr(row->from, '#'))
        return refuse(p, place->source, LL_FORMAT, "has the place of another one");
    set_values(p, row, place, tensor);
    if (row->part == HF_INTERLEAVED)
        return add_interleaved(p, tensor, place->source);
    struct hf_piece piece = {.source = place->source, .expert = expert};
    LL_TRY(choose_rows(p, row->part, &piece));
    return add_piece(p, tensor, &piece);
}

static ll_status place_tensor(struct planning *p, const struct safetensor *source)
{
    struct place place;
    bool found = false;
    uint64_t expert;
    if (other_sense(source->name))
        return LL_OK;
    if (!take_apart(p, source, &place))
        return refuse(p, source, LL_UNSUPPORTED, "has no place in this family as this version knows it");
    const struct hf_name *row = place.layer >= 0 ? p->config->family->layer : p->config->family->whole;
    for (; row->from; row++) {
        if (!matches(row, &place, &expert))
            continue;
        found = true;
        if (row->part == HF_SKIP || (row->part == HF_OUTPUT && p->config->tied))
            continue;
        if (!source->known || source->dims > 2 || !*place.suffix)
            return refuse(p, source, LL_UNSUPPORTED, "is of a type or a shape that is not read");
        LL_TRY(add_rows(p, row, &place, expert));
    }
    return found ? LL_OK
                 : refuse(p, source, LL_UNSUPPORTED, "has no place in this family as this version knows it");
}

/* ---- shapes ---- */

static int by_expert(const void *a, const void *b)
{
    const struct hf_piece *left = a, *right = b;
    return (left->expert > right->expert) - (left->expert < right->expert);
}

static uint64_t columns_of(const struct safetensor *source)
{
    return source->dims == 1 ? 1 : source->shape[1];
}

/* Experts must all be there, once each and of one shape. */
static ll_status measure_experts(struct planning *p, struct hf_tensor *tensor)
{
    qsort(tensor->pieces, tensor->count, sizeof *tensor->pieces, by_expert);
    const struct safetensor *first = tensor->pieces[0].source;
    for (size_t i = 0; i < tensor->count; i++) {
        const struct safetensor *source = tensor->pieces[i].source;
        if (tensor->pieces[i].expert != i || source->dims != 2 || source->shape[0] != first->shape[0] ||
            source->shape[1] != first->shape[1])
            return refuse(p, source, LL_FORMAT, "is an expert that does not fit to the others");
    }
    if (tensor->count != p->config->shape.experts)
        return refuse(p, first, LL_FORMAT, "has fewer or more experts beside it than the configuration says");
    tensor->dims = 3;
    tensor->shape[0] = first->shape[1];
    tensor->shape[1] = first->shape[0];
    tensor->shape[2] = tensor->count;
    return LL_OK;
}

/* Vectors and what decides between experts are kept in F32. */
static ll_status measure(struct planning *p, struct hf_tensor *tensor)
{
    const struct safetensor *source = tensor->pieces[0].source;
    uint64_t rows = 0;
    bool vector = source->dims == 1, router = strstr(tensor->name, "ffn_gate_inp") != NULL;
    for (int i = 0; i < 4; i++)
        tensor->shape[i] = 1;
    tensor->dtype = vector || router ? DT_F32 : source->dtype;
    if (strstr(tensor->name, "_exps."))
        return measure_experts(p, tensor);
    for (size_t i = 0; i < tensor->count; i++)
        rows += tensor->pieces[i].rows;
    tensor->dims = vector ? 1 : 2;
    tensor->shape[0] = vector ? rows : tensor->transposed ? source->shape[0] : columns_of(source);
    tensor->shape[1] = vector ? 1 : tensor->transposed ? source->shape[1] : rows;
    return LL_OK;
}

/* ---- tensors that are no stored ones ---- */

static ll_status add_divisors(struct planning *p, const char *name, const struct hf_divisors *divisors)
{
    if (!divisors->values)
        return LL_OK;
    struct hf_tensor *tensor = find_tensor(p, name);
    if (!tensor)
        return error_nomem(p->error, where, sizeof *tensor);
    tensor->own = divisors->values;
    tensor->dtype = DT_F32;
    tensor->dims = 1;
    tensor->shape[0] = divisors->count;
    tensor->shape[1] = tensor->shape[2] = tensor->shape[3] = 1;
    return LL_OK;
}

/* Where the embedding is scaled, a tied output is a matrix of its own. */
static ll_status add_output(struct planning *p)
{
    if (p->config->embedding_scale == 1.0 || p->config->tied)
        return LL_OK;
    struct hf_piece piece = {0};
    for (size_t i = 0; i < p->layout->count; i++) {
        if (strcmp(p->layout->tensors[i].name, "output.weight") == 0)
            return LL_OK;
        if (strcmp(p->layout->tensors[i].name, "token_embd.weight") == 0)
            piece = p->layout->tensors[i].pieces[0];
    }
    if (!piece.source)
        return LL_OK;
    struct hf_tensor *tensor = find_tensor(p, "output.weight");
    if (!tensor)
        return error_nomem(p->error, where, sizeof *tensor);
    return add_piece(p, tensor, &piece);
}

static ll_status plan(struct planning *p, const struct safetensors *weights)
{
    for (size_t i = 0; i < safetensors_count(weights); i++)
        LL_TRY(place_tensor(p, safetensors_at(weights, i)));
    LL_TRY(add_output(p));
    for (size_t i = 0; i < p->layout->count; i++)
        LL_TRY(measure(p, &p->layout->tensors[i]));
    LL_TRY(add_divisors(p, "rope_freqs.weight", &p->config->freqs));
    LL_TRY(add_divisors(p, "rope_factors_short.weight", &p->config->factors_short));
    return add_divisors(p, "rope_factors_long.weight", &p->config->factors_long);
}

ll_status hf_layout_plan(const struct hf_config *config, const struct safetensors *weights,
                         struct hf_layout *ret, ll_error *error)
{
    struct hf_layout layout = {.config = config};
    struct planning planning = {config, &layout, error};
    ll_status status = plan(&planning, weights);
    if (status == LL_OK)
        *ret = layout;
    else
        hf_layout_fini(&layout);
    return status;
}

void hf_layout_fini(struct hf_layout *layout)
{
    for (size_t i = 0; i < layout->count; i++) {
        mem_free(layout->tensors[i].pieces);
        mem_free(layout->tensors[i].made);
    }
    mem_free(layout->tensors);
    *layout = (struct hf_layout){0};
}
