/* The table of architectures: a new family is a row here.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_ARCHITECTURE_H
#define MODEL_ARCHITECTURE_H

#include "model/hparams.h"

struct architecture {
    const char *name;     /* general.architecture */
    ll_position position; /* of most of its models; hparams->position is the model's own */
    enum backend_norm norm;
    enum backend_activation activation;
    bool gated;          /* feed-forward: f(gate) · up, else f(up) */
    bool fused_gate;     /* gate and up are one ffn_up matrix, rows [gate; up] */
    bool adjacent_pairs; /* rotary layout; else half-split */
    bool fused_qkv;      /* one attn_qkv matrix, rows [Q; K; V] */
    bool qk_norm_heads;  /* Q and K norms work on each head; else on the whole row */
    bool required_qk_norm;
    bool no_pre_norms; /* attention and feed-forward read the residual stream as it is */
    bool post_norms;   /* norms after attention and feed-forward, before the residual add */
    bool embed_norm;   /* a norm after the embedding */
    int window_period; /* every n-th layer sees everything, the others the window; 0: all have it */
    bool experts;      /* feed-forward parts may be mixtures of experts */
    bool local_rotary; /* layers with a window turn by a rotary base of their own */
    /* What only this family's files say; called after the common keys are read. */
    ll_status (*read)(const struct gguf *gguf, struct model_hparams *hparams, ll_error *error);
};

const struct architecture *architecture_find(struct gguf_text name); /* NULL: unknown */
const struct architecture *architecture_at(size_t index);            /* NULL: no more */
/* "llama, qwen2, … mpt" */
void architecture_names(char *out, size_t cap);

/* ---- the readers of families.c ---- */

ll_status read_gemma2(const struct gguf *gguf, struct model_hparams *hparams, ll_error *error);
ll_status read_gemma3(const struct gguf *gguf, struct model_hparams *hparams, ll_error *error);
ll_status read_smollm3(const struct gguf *gguf, struct model_hparams *hparams, ll_error *error);
ll_status read_phi3(const struct gguf *gguf, struct model_hparams *hparams, ll_error *error);
ll_status read_granite(const struct gguf *gguf, struct model_hparams *hparams, ll_error *error);
ll_status read_bloom(const struct gguf *gguf, struct model_hparams *hparams, ll_error *error);
ll_status read_mpt(const struct gguf *gguf, struct model_hparams *hparams, ll_error *error);
ll_status read_falcon(const struct gguf *gguf, struct model_hparams *hparams, ll_error *error);
ll_status read_baichuan(const struct gguf *gguf, struct model_hparams *hparams, ll_error *error);
ll_status read_jais(const struct gguf *gguf, struct model_hparams *hparams, ll_error *error);

#endif
