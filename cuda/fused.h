/* What the products' host side hands to the fused kernels.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CUDA_FUSED_H
#define CUDA_FUSED_H

#include "cuda/product.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Weight rows of a tile, and warps of a block, each with a run of the columns of its own. A row's columns are
 * always cut into so many runs, and the runs' sums added in the same order: so its bytes never change. */
#define FUSED_ROWS 16
#define FUSED_WARPS 16
/* Most columns that a single row may have to be kept in shared memory, and to be normed there. */
#define FUSED_MOST_COLUMNS 40960
#define FUSED_MOST_NORMED 8192
/* Rows that are multiplied as digits in one pass, and bytes of scratch in which they are kept. */
#define FUSED_DIGIT_ROWS 8
#define FUSED_DIGIT_BYTES ((size_t)4 << 20)

static inline bool fused_is_coded(enum dtype dtype)
{
    return dtype != DT_F32 && dtype != DT_F16 && dtype != DT_BF16;
}

/* Numbers of a unit. */
static inline int fused_unit(enum dtype dtype)
{
    return dtype == DT_Q4_K ? 256 : fused_is_coded(dtype) ? 128 : 32;
}

/* Bytes of a row of digits (digits.cuh). */
static inline int64_t fused_digit_bytes(int64_t k)
{
    return (k + 255) / 256 * 256 / 32 * 80;
}

struct fused_weight {
    const char *data;
    int64_t stride; /* bytes */
    int n;
    int first_tile; /* in the launch; with a gate 0 */
    const float *bias;
    void *out;
    int64_t out_stride;
    enum dtype out_dtype;
    bool accumulate;
};

struct fused_call {
    struct fused_weight weights[PRODUCT_MOST]; /* of one dtype */
    int count, tiles;
    enum product_gate gate;
    int k, unit, units;                   /* unit: a type's step through k (fused_unit) */
    unsigned high, scales, tail, columns; /* slot_parts */
    const void *in;
    enum dtype in_dtype, dtype; /* dtype: of the arithmetic */
    int64_t in_stride;
    char *digits;           /* of several rows, fused_digit_bytes() apart; quantised weights only */
    int rows;               /* 1 … PRODUCT_FUSED_ROWS */
    enum product_norm norm; /* of a single row */
    const float *norm_weight, *norm_bias;
    float norm_eps;
};

/* processors: multiprocessors of the device. */
typedef int fused_launch(const struct fused_call *call, int processors, void *stream);
fused_launch fused_DT_F32, fused_DT_F16, fused_DT_BF16, fused_DT_Q4_0, fused_DT_Q4_1, fused_DT_Q5_0,
    fused_DT_Q5_1, fused_DT_Q8_0, fused_DT_Q4_K, fused_DT_Q5_K, fused_DT_Q6_K;

/* One row, by weights of two types: one launch. cudaErrorNotSupported: the row does not fit. */
typedef int fused_pair_launch(const struct fused_call *a, const struct fused_call *b, int processors,
                              void *stream);
fused_pair_launch fused_pair_Q4_K_Q6_K, fused_pair_Q5_K_Q6_K;

/* The call's rows to call->digits, in the order of Q6_K's columns or of the other types'. */
int fused_digits(const struct fused_call *call, bool six, void *stream);

/* out[row][o] += bias[o] for n columns of `rows` rows. */
int fused_add_bias(void *out, enum dtype dtype, int64_t out_stride, int64_t rows, int64_t n,
                   const float *bias, void *stream);

#ifdef __cplusplus
}
#endif
#endif
