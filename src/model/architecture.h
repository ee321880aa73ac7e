/* The table of architectures: a new family is a row here.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_ARCHITECTURE_H
#define MODEL_ARCHITECTURE_H

#include "model/hparams.h"

struct architecture {
    const char *name; /* general.architecture */
    ll_position position;
    enum backend_norm norm;
    enum backend_activation activation;
    bool gated;          /* feed-forward: f(gate) · up, else f(up) */
    bool adjacent_pairs; /* rotary layout; else half-split */
    bool fused_qkv;      /* one attn_qkv matrix, rows [Q; K; V] */
    bool qk_norm_heads;  /* Q and K norms work on each head; else on the whole row */
    bool required_qk_norm;
    bool post_norms; /* norms after attention and feed-forward, before the residual add */
    bool embed_norm; /* a norm after the embedding */
    /* What only this family's files say; called after the common keys are read. */
    ll_status (*read)(const struct gguf *gguf, struct model_hparams *hparams, ll_error *error);
};

const struct architecture *architecture_find(struct gguf_text name); /* NULL: unknown */
/* "llama, gemma3, bloom, mpt" */
const char *architecture_names(void);

#endif
