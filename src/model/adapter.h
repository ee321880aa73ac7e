/* Adapters: small files that change a model as it runs, by low-rank products, deltas of vectors and slopes.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The file is a GGUF one with general.type "adapter" and adapter.type "lora" as llama.cpp's converter writes
 * it: NAME.lora_a [rank, inputs] and NAME.lora_b [outputs, rank] for a matrix NAME, adapter.lora.alpha. A
 * product's output gains scale · alpha / rank · b · (a · input). Two things go beyond that:
 *   - NAME.delta, added to the vector NAME (a norm or a bias), times the scale;
 *   - adapter.alibi.slopes, one number for each head of each layer in order: the model's rotary positions are
 *     turned off and ALiBi with these slopes takes their place; adapter.context_length says how far.
 * adapter.base_file names the base's file, so that an adapter beside it can stand for both.
 * Nothing of the base is changed or copied. Immutable after loading: any thread. */
#ifndef MODEL_ADAPTER_H
#define MODEL_ADAPTER_H

#include "formats/gguf.h"
#include "model/hparams.h"

struct adapters;

/* Checks each file against the model's shape and puts into hparams what they change of it. NULL for count 0.
 * Errors name the file. hparams keeps a pointer into *ret, which must outlive it. */
ll_status adapters_open(const ll_adapter *given, size_t count, struct model_hparams *hparams,
                        struct adapters **ret, ll_error *error);
void adapters_close(struct adapters *adapters);
size_t adapters_count(const struct adapters *adapters); /* 0 for NULL */
const struct gguf *adapters_gguf(const struct adapters *adapters, size_t index);
float adapters_scale(const struct adapters *adapters, size_t index);

struct adapter_matrices { /* the caller's; freed with mem_free */
    int64_t rank;         /* 0: this adapter has none for the matrix */
    float *a;             /* [rank, inputs]                 */
    float *b;             /* [outputs, rank], scale applied */
};

/* What an adapter has for the matrix [outputs, inputs] of that name. */
ll_status adapters_matrices(struct adapters *adapters, size_t index, const char *name, int64_t outputs,
                            int64_t inputs, struct adapter_matrices *ret, ll_error *error);
/* Adds the deltas of all adapters to the vector of that name. */
ll_status adapters_add_deltas(struct adapters *adapters, const char *name, float *values, int64_t count,
                              ll_error *error);
/* LL_UNSUPPORTED names a tensor that nothing asked for: running without it would be wrong. */
ll_status adapters_refuse_unused(const struct adapters *adapters, ll_error *error);

/* Whether a file says that it is an adapter and not a model. */
bool adapter_is(const struct gguf *gguf);
/* The file by itself, for people. */
ll_status adapter_describe(const struct gguf *gguf, ll_adapter_info *ret, ll_error *error);

#endif
