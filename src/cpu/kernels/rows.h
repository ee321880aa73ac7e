/* Kernels that go along one row, as the table names them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CPU_KERNELS_ROWS_H
#define CPU_KERNELS_ROWS_H

#include "cpu/kernels/kernels.h"
#include "cpu/kernels/simd.h"

void KERNEL(norm)(enum backend_norm kind, const float *in, const float *weight, const float *bias, float eps,
                  int64_t n, float *out);
void KERNEL(rotate)(const struct backend_rotary *rotary, const float *cosines, const float *sines, float *x);
void KERNEL(activate)(enum backend_activation kind, const float *gate, const float *up, int64_t n,
                      float *out);
void KERNEL(add)(const float *a, const float *b, int64_t n, float *out);
void KERNEL(scale)(float *x, float factor, int64_t n);
void KERNEL(clamp)(float *x, float limit, int64_t n);
void KERNEL(softcap)(float *x, float limit, int64_t n);
void KERNEL(store_row)(enum dtype dtype, const float *from, void *to, int64_t n);

#endif
