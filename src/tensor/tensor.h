/* A matrix that owns nothing: rows × cols elements at an address of some backend.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Everything the engine multiplies is a matrix. Activations are [rows = tokens, cols = features];
 * weights are [rows = outputs, cols = inputs], so y[t, o] = Σ_i x[t, i] · w[o, i]. Heads lie side
 * by side inside cols: column h·head_dim + d. `data` is valid in the address space of the backend
 * that allocated it; only the CPU backends may follow it on the host. */
#ifndef TENSOR_TENSOR_H
#define TENSOR_TENSOR_H

#include "tensor/dtype.h"

struct tensor {
    enum dtype dtype;
    int64_t rows, cols;
    int64_t stride; /* bytes from one row to the next */
    void *data;     /* NULL: absent (an optional bias, say) */
};

static inline void *tensor_row(const struct tensor *tensor, int64_t row)
{
    return (char *)tensor->data + row * tensor->stride;
}

/* The same rows, columns first … first+cols-1; quantised types need block borders. */
struct tensor tensor_columns(const struct tensor *tensor, int64_t first, int64_t cols);
/* Rows first … first+rows-1. */
struct tensor tensor_rows(const struct tensor *tensor, int64_t first, int64_t rows);

#endif
