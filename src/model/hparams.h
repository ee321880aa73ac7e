/* What a model file says about its own shape, checked and in one struct.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_HPARAMS_H
#define MODEL_HPARAMS_H

#include "backend/backend.h"
#include "formats/gguf.h"

enum { MODEL_MAX_LAYERS = 1024 };

/* Rotary angles come in one or two sets: global layers, and local ones where a family uses another
 * base inside its sliding window. */
enum rotary_scaling { ROTARY_PLAIN, ROTARY_YARN, ROTARY_LONG, ROTARY_LLAMA3 };

struct rotary_hparams {
    double base;          /* θ: pair i turns by base^(-2i/dim) radians per position */
    double linear_factor; /* positions are divided by this; 1 */
    enum rotary_scaling scaling;
    double original;             /* tokens of the training before scaling; 0: not said */
    double beta_fast, beta_slow; /* YaRN: turns within `original` between which it blends */
    double magnitude;            /* on cosines and sines; 1 */
    bool divided;                /* the pairs' divisors in rope_freqs.weight hold, if the file has them */
    double low, high; /* llama3: wavelengths between original / low and original / high are mixed */
};

struct layer_hparams {
    int heads, kv_heads;
    int64_t ffn; /* inner width of the feed-forward part */
    int window;  /* keys seen, itself included; 0: all before it */
    bool local;  /* uses the local rotary set */
    bool still;  /* no positions at all */
};

struct model_hparams {
    const struct architecture *architecture;
    char name[128];
    ll_position position;
    int64_t width, vocabulary, context; /* context: trained tokens */
    int head_dim, rotary_dim;
    int layers;
    struct layer_hparams *layer; /* [layers] */
    float norm_eps;
    float attention_scale;
    float attention_softcap, final_softcap; /* 0: none */
    float embed_scale;                      /* 1: none */
    float clamp_qkv;                        /* 0: none */
    float alibi_max_bias;                   /* 0: no ALiBi */
    float alibi_scale;                      /* on the slopes; 1 */
    float output_scale;                     /* on the logits; 1 */
    bool parallel; /* attention and feed-forward read the same norm and are added together */
    struct rotary_hparams rotary[2]; /* global, local */
    const float *slopes;    /* [heads of all layers], in place of the formula; NULL: none. An adapter's */
    int64_t adapter_rank;   /* the largest of any adapter; 0: none */
    uint64_t adapter_bytes; /* of adapters' matrices, as F32 */
    int experts, experts_used;       /* 0: none; then every layer's ffn is that of one expert */
    bool experts_normal;             /* the shares of those used sum to 1 */
    float experts_scale;
    int max_heads, max_kv_heads;
    int64_t max_ffn;
};

/* LL_UNSUPPORTED names an architecture or setting this build does not run; LL_FORMAT a key that is
 * missing, of the wrong type or out of range. */
ll_status hparams_read(const struct gguf *gguf, struct model_hparams *ret, ll_error *error);
void hparams_fini(struct model_hparams *hparams);
/* Whether heads have slopes. */
static inline bool hparams_alibi(const struct model_hparams *hparams)
{
    return hparams->alibi_max_bias > 0.0f || hparams->slopes;
}

#endif
