/* Attention's kernels, as the table names them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CPU_KERNELS_ATTENTION_H
#define CPU_KERNELS_ATTENTION_H

#include "cpu/kernels/kernels.h"
#include "cpu/kernels/simd.h"

void KERNEL(attend)(const struct attention_rows *rows, int64_t first, int64_t last,
                    struct attention_state *state);
void KERNEL(merge)(const struct attention_state *part, int rows, int64_t width,
                   struct attention_state *total);
void KERNEL(finish)(const struct attention_state *state, int row, int64_t width, int head_dim, float *out);
float KERNEL(dot)(const float *a, const float *b, int64_t n);
void KERNEL(load_row)(enum dtype dtype, const void *from, float *to, int64_t n);
float KERNEL(row_norm)(enum dtype dtype, const void *row, int64_t n);

#endif
