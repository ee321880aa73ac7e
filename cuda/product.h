/* Matrix products of the CUDA plug-in: what its host side calls.
 * SPDX-License-Identifier: Apache-2.0
 *
 * out[t][o] = Σ_i in[t][i] · weight[o][i] (+ bias[o]) (+ what out held). A weight is first prepared: its rows
 * are laid out anew (product_prepare), each within a row of its own, so that rows first … of a prepared
 * weight are a prepared weight too. Every pointer is device memory unless marked host. Functions return a
 * cudaError_t as an int (0 is success), only queue work on the stream, allocate nothing and may be captured
 * in a graph; product_open and product_close are the exceptions. A context is used by one thread at a time.
 *
 * What a row's bytes depend on. Up to PRODUCT_FUSED_ROWS rows (and at any number of rows when cuBLASLt is
 * missing): on that row, the weight and the call's dtypes, on nothing else: not on the other rows of the
 * call, nor on their number, nor on the other weights. With more rows cuBLASLt multiplies: the same call
 * gives the same bytes, but it chooses its kernel by the number of rows, so a row's last bits may change with
 * it. */
#ifndef CUDA_PRODUCT_H
#define CUDA_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensor/dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Most rows that the fused kernels take in one pass, and most weights of one call. */
#define PRODUCT_FUSED_ROWS 16
#define PRODUCT_MOST 4
/* Every address that a call names is a multiple of this, but for biases. */
#define PRODUCT_ALIGN 16

/* ---- weights ---- */
struct product_weight {
    enum dtype dtype;
    int64_t n, k;     /* rows = outputs, columns = inputs */
    int64_t stride;   /* product_stride(dtype, k) */
    const void *data; /* prepared */
};
/* Bytes of a prepared row: those of the file's row where k is a multiple of 256 (Q6_K: of 2048), else a
 * little more. 0 when the type is unknown or k is not a multiple of its block. */
int64_t product_stride(enum dtype dtype, int64_t k);
/* False when prepared rows are the file's rows, byte for byte, so that nothing is to be done. */
bool product_must_prepare(enum dtype dtype, int64_t k);
/* Lays `rows` rows of the file's bytes (raw, raw_stride apart, 2-byte aligned) out at `prepared`, which must
 * not overlap them. A large weight may be prepared in runs of rows, to spare scratch. */
int product_prepare(enum dtype dtype, int64_t rows, int64_t k, const void *raw, int64_t raw_stride,
                    void *prepared, void *stream);
/* Numbers of `count` rows of a prepared weight: those that `rows` lists (an embedding's tokens), or rows
 * first … when it is NULL. Times scale, rounded to out_dtype (F32, F16, BF16). */
int product_unpack(const struct product_weight *weight, const int32_t *rows, int64_t first, int64_t count,
                   float scale, void *out, enum dtype out_dtype, int64_t out_stride, void *stream);

/* ---- products ---- */
struct product_output {
    struct product_weight weight;
    const float *bias; /* [n] or NULL */
    void *out;         /* [rows][n], out_stride numbers apart */
    enum dtype dtype;  /* of out: F32 or the call's */
    int64_t out_stride;
    bool accumulate;
};

enum product_norm { PRODUCT_NORM_NONE, PRODUCT_NORM_RMS, PRODUCT_NORM_LAYER };
enum product_gate { PRODUCT_GATE_NONE, PRODUCT_GATE_SILU, PRODUCT_GATE_GELU_TANH, PRODUCT_GATE_GELU_ERF };

struct product_call {
    enum dtype dtype;    /* of the arithmetic: BF16 or F16 */
    const void *in;      /* [rows][k], in_stride numbers apart (a multiple of 8) */
    enum dtype in_dtype; /* dtype; with a norm also F32 */
    int64_t rows, in_stride;
    int count; /* of outputs; all weights have the same k, their types may differ */
    struct product_output outputs[PRODUCT_MOST];
    /* Fused into the products when product_fuses() says so; else they must be NONE. The norm is that of
     * backend.h, over the whole row, rounded to dtype; the gate makes count 2 outputs (gate, up) one:
     * f(gate) · up is written to outputs[1].out, outputs[0].out is not used, and accumulate is false. */
    enum product_norm norm;
    const float *norm_weight, *norm_bias; /* [k]; bias may be NULL */
    float norm_eps;
    enum product_gate gate;

    void *scratch; /* at least product_scratch_bytes(), shared by all calls */
    size_t scratch_bytes;
};

struct product_context; /* host; one per device */
/* Makes it for the current device. Opens cuBLASLt when it is there; a missing one is no error. */
int product_open(struct product_context **ret);
void product_close(struct product_context *context);
/* NULL when cuBLASLt multiplies the large calls; else why not (text of the context's). Without it everything
 * works, and prompts are read at a fraction of the speed. */
const char *product_library_reason(const struct product_context *context);
/* Scratch that calls of up to `rows` rows need, whatever the weight. */
size_t product_scratch_bytes(const struct product_context *context, int64_t rows);
/* Whether the call, its norm and gate included, is left to the fused kernels: one launch for each type among
 * the weights. A norm takes one row, a gate two weights of one type. */
bool product_fuses(const struct product_context *context, const struct product_call *call);
/* cudaErrorInvalidValue when the call breaks a rule above. Fused launches overlap their predecessor
 * (cuda/chain.cuh): weights, biases and norm vectors must not be written by work that is still queued. */
int product_run(struct product_context *context, const struct product_call *call, void *stream);

#ifdef __cplusplus
}
#endif
#endif
