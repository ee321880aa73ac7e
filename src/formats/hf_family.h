/* The families of Hugging Face models: how each one's configuration and weights are read.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_HF_FAMILY_H
#define FORMATS_HF_FAMILY_H

#include <jansson.h>

#include "formats/hf_config.h"

/* ---- configuration ---- */

struct hf_reader {
    const json_t *root; /* the part that describes the text model */
    struct gguf_writer *writer;
    struct hf_config *config;
    ll_error *error;
};

/* Either name of a key; NULL when neither is there or it is null. */
const json_t *hf_find(const json_t *object, const char *name, const char *other);
/* A whole number from 1 to 2^31-1; fallback 0: it must be there. */
ll_status hf_count(struct hf_reader *r, const json_t *object, const char *name, const char *other,
                   uint64_t fallback, uint64_t *ret);
ll_status hf_number(struct hf_reader *r, const json_t *object, const char *name, double fallback,
                    double *ret);
bool hf_flag(const json_t *object, const char *name, bool fallback);
void hf_put_count(struct hf_reader *r, const char *rest, uint64_t value);
void hf_put_number(struct hf_reader *r, const char *rest, double value);
void hf_put_flag(struct hf_reader *r, const char *rest, bool value);
void hf_put_flags(struct hf_reader *r, const char *rest, const bool *values, size_t count);
void hf_put_text(struct hf_reader *r, const char *rest, const char *value);
ll_status hf_copy_count(struct hf_reader *r, const char *name, const char *other, uint64_t fallback,
                        const char *rest);
/* Rotary base and scaling, of either form that transformers has written. */
ll_status hf_rotary(struct hf_reader *r, double base, double local_base);
/* LL_UNSUPPORTED when the key is there and names something else. */
ll_status hf_expect(struct hf_reader *r, const char *name, const char *const *words);

/* ---- weights ---- */

enum hf_part {
    HF_WHOLE,
    HF_QUERIES,
    HF_KEYS, /* rows of heads, to be reordered where rotated pairs lie side by side */
    HF_PACK_Q,
    HF_PACK_K,
    HF_PACK_V, /* thirds of one matrix: queries, keys, values */
    HF_KV_K,
    HF_KV_V, /* halves */
    HF_FIRST_HALF,
    HF_SECOND_HALF,
    HF_INTERLEAVED, /* queries, keys and values of each head (group of heads) side by side */
    HF_NORM,        /* 1 is added where the family keeps norms that way */
    HF_TRANSPOSED,  /* stored [inputs, outputs] */
    HF_EMBEDDING,
    HF_OUTPUT,
    HF_SKIP /* nothing that a model needs */
};

struct hf_name {
    const char *from; /* behind "layers.N." or the model's own prefix, without .weight; # is an expert */
    const char *to;   /* behind "blk.N." for those of layers */
    enum hf_part part;
};

struct hf_family {
    const char *model_type, *architecture;
    ll_status (*read)(struct hf_reader *reader);
    const struct hf_name *layer, *whole; /* each ends with a row of NULL */
    const char *layers;                  /* "layers.", "h.", "blocks." */
    bool adjacent_pairs, norms_plus_one;
};

const struct hf_family *hf_family_find(const char *model_type); /* NULL: unknown */
const struct hf_family *hf_family_at(size_t index);             /* NULL: no more */
/* The tables of names, in hf_names.c. */
extern const struct hf_name hf_layer_llama[], hf_layer_gemma[], hf_layer_phi3[], hf_layer_olmo2[],
    hf_layer_starcoder2[], hf_layer_mixtral[], hf_layer_qwen3moe[], hf_layer_bloom[], hf_layer_mpt[],
    hf_layer_falcon[], hf_layer_refact[], hf_layer_baichuan[], hf_layer_jais[];
extern const struct hf_name hf_whole_llama[], hf_whole_bloom[], hf_whole_mpt[], hf_whole_gpt[];

#endif
