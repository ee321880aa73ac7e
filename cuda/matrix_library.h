/* NVIDIA's matrix library (cuBLASLt), opened at run time, for products of many rows.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Functions return a cudaError_t as an int. Used by one thread at a time. */
#ifndef CUDA_MATRIX_LIBRARY_H
#define CUDA_MATRIX_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensor/dtype.h"

/* Device memory that the library's kernels may use while they run. */
#define MATRIX_WORKSPACE ((size_t)8 << 20)

struct matrix_library;

/* out = in · weightᵀ, or out += when accumulate. Rows are strides apart (in numbers); addresses are multiples
 * of 16 bytes. */
struct matrix_call {
    enum dtype dtype;     /* of weight and in: BF16 or F16 */
    enum dtype out_dtype; /* dtype or F32 */
    int64_t n, k, rows;
    const void *weight; /* [n][k] */
    int64_t weight_stride;
    const void *in; /* [rows][k] */
    int64_t in_stride;
    void *out; /* [rows][n] */
    int64_t out_stride;
    bool accumulate;
    void *workspace; /* MATRIX_WORKSPACE bytes */
};

/* NULL when out of memory. A library that is not there is no error: its reason says so. */
struct matrix_library *matrix_library_new(void);
void matrix_library_free(struct matrix_library *library);
const char *matrix_library_reason(const struct matrix_library *library); /* NULL: it is open */
int matrix_library_multiply(struct matrix_library *library, const struct matrix_call *call, void *stream);

#endif
