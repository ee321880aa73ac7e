/* Operations along rows: norms, activations, sums, limits, gathering, copying out.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tensors are device memory of F32, BF16 or F16 and may differ in type. Functions return a cudaError_t as an
 * int and only queue work on the stream; cudaErrorInvalidValue for a type or shape they do not take. */
#ifndef CUDA_ROWS_H
#define CUDA_ROWS_H

#include <stddef.h>

#include "tensor/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* layer: LayerNorm, else RMS. weight and bias may be NULL. out may be in. add: out += the normalised rows. */
int rows_norm(bool layer, const struct tensor *in, const struct tensor *weight, const struct tensor *bias,
              float eps, int groups, const struct tensor *out, bool add, void *stream);
enum rows_activation { ROWS_SILU, ROWS_GELU_TANH, ROWS_GELU_ERF };
int rows_activate(enum rows_activation kind, const struct tensor *gate, const struct tensor *up,
                  const struct tensor *out, void *stream);
int rows_add(const struct tensor *a, const struct tensor *b, const struct tensor *out, void *stream);
int rows_clamp(const struct tensor *x, float limit, void *stream);
int rows_softcap(const struct tensor *x, float limit, void *stream);
/* ret[r], pinned host memory: the column of row r's greatest number, the first of equal ones; -1: none above
 * minus infinity. scratch: rows_greatest_bytes(), zero before the first call and left zero. */
int rows_greatest(const struct tensor *in, void *scratch, int32_t *ret, void *stream);
size_t rows_greatest_bytes(int64_t rows);
/* out row i = in row rows[i]; rows NULL: row i, that is a copy which may change the type. */
int rows_gather(const struct tensor *in, const int32_t *rows, const struct tensor *out, void *stream);

#ifdef __cplusplus
}
#endif
#endif
