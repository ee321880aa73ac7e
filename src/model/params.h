/* The weights of a model by role: names in the file to layers, every shape checked.
 * SPDX-License-Identifier: Apache-2.0
 *
 * All matrices are [outputs, inputs]. Vectors are F32. A tensor with data NULL is absent. */
#ifndef MODEL_PARAMS_H
#define MODEL_PARAMS_H

#include "backend/split.h"
#include "model/adapter.h"
#include "model/hparams.h"

struct norm_params {
    struct tensor weight, bias; /* [1, n] */
};

struct low_rank { /* of an adapter: adds b · (a · input) to a product's output */
    struct tensor a; /* [rank, inputs]                  */
    struct tensor b; /* [outputs, rank], scale included */
    struct low_rank *next;
};

struct linear_params {
    struct tensor weight;      /* [outputs, inputs] */
    struct tensor bias;        /* [1, outputs] */
    struct low_rank *low_rank; /* NULL: no adapter changes it */
};

struct layer_params {
    struct norm_params attention_norm, q_norm, k_norm, attention_post_norm;
    struct norm_params attention_norm_2; /* parallel layers may give attention a norm of its own */
    struct norm_params ffn_norm, ffn_post_norm;
    struct linear_params qkv;     /* fused families: [(heads + 2·kv_heads)·head_dim, width] */
    struct linear_params q, k, v; /* the others */
    struct linear_params attention_output;
    struct linear_params gate, up, down;
    struct tensor router;                   /* [experts, width] */
    struct tensor gate_experts, up_experts; /* [experts·ffn, width] */
    struct tensor down_experts;             /* [experts·width, ffn] */
};

/* Sets of angles. BEYOND serves sessions longer than the training before scaling (longrope). */
enum { PARAMS_DEVICE, PARAMS_HOST, PARAMS_SIDES }; /* of a split */
enum { ROTARY_GLOBAL, ROTARY_LOCAL, ROTARY_BEYOND, ROTARY_SETS };

struct model_params {
    struct tensor embedding; /* [vocabulary, width] */
    struct norm_params embed_norm, output_norm;
    struct linear_params output;       /* may be the embedding itself */
    struct tensor rotary[PARAMS_SIDES][ROTARY_SETS]; /* [1, rotary_dim/2]; made here */
    struct tensor *slopes;             /* [layers] of [1, heads]; NULL without ALiBi; made here */
    struct layer_params *layer;        /* [layers] */

    struct low_rank **low_ranks; /* [low_rank_count], all there are: owned */
    size_t low_rank_count, low_rank_capacity;
    struct params_memory {
        struct backend *backend; /* where it lives */
        void *memory;
        uint64_t bytes;
    } * owned;
    size_t owned_count, owned_capacity;
};

/* Sets hparams->vocabulary. A weight missing, misshapen, of an unreadable type, or present but of no
 * use to the architecture (running without it would be wrong) is an error naming it. gguf must
 * outlive params when a backend uses host memory. adapters: NULL for none; not used afterwards. */
ll_status params_load(const struct gguf *gguf, struct adapters *adapters,
                      const struct backend_split *split, struct model_hparams *hparams, const ll_run *run,
                      struct model_params *ret, ll_error *error);
/* The same checks without reading a weight: names, shapes and types, no device. Sets hparams->vocabulary. */
ll_status params_check(const struct gguf *gguf, struct model_hparams *hparams, ll_error *error);
void params_fini(struct model_params *params);

#endif
