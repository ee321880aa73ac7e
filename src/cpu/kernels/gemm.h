/* The float micro-kernel of attention: C = A · B or C += A · B, k in order.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A [rows, k] and B [k, cols] row-major, cols a multiple of LANES. Each element of C is one chain of
 * fused multiply-adds over k, whatever block it falls into. */
#ifndef CPU_KERNELS_GEMM_H
#define CPU_KERNELS_GEMM_H

#include "cpu/kernels/simd.h"

struct gemm {
    const float *a, *b;
    float *c;
    int64_t lda, ldb, ldc; /* in floats */
    int k;
};

INLINE void gemm_block(const struct gemm *g, const int R, const int C, int64_t row, int64_t col,
                       const int add)
{
    vf acc[GEMM_ROWS][GEMM_COLS];
    const float *a = g->a + row * g->lda, *b = g->b + col;
    float *c = g->c + row * g->ldc + col;
#pragma GCC unroll 6
    for (int r = 0; r < R; r++)
#pragma GCC unroll 4
        for (int j = 0; j < C; j++)
            acc[r][j] = add ? vf_load(c + r * g->ldc + j * LANES) : vf_set(0);
    for (int i = 0; i < g->k; i++) {
        vf lane[GEMM_COLS];
#pragma GCC unroll 4
        for (int j = 0; j < C; j++)
            lane[j] = vf_load(b + i * g->ldb + j * LANES);
#pragma GCC unroll 6
        for (int r = 0; r < R; r++) {
            vf x = vf_set(a[r * g->lda + i]);
#pragma GCC unroll 4
            for (int j = 0; j < C; j++)
                acc[r][j] = vf_fma(x, lane[j], acc[r][j]);
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < R; r++)
#pragma GCC unroll 4
        for (int j = 0; j < C; j++)
            vf_store(c + r * g->ldc + j * LANES, acc[r][j]);
}

INLINE void gemm_columns(const struct gemm *g, const int R, int64_t row, int64_t cols, const int add)
{
    int64_t col = 0;
    for (; col + GEMM_COLS * LANES <= cols; col += GEMM_COLS * LANES)
        gemm_block(g, R, GEMM_COLS, row, col, add);
    for (; col < cols; col += LANES)
        gemm_block(g, R, 1, row, col, add);
}

INLINE void gemm(const struct gemm *g, int64_t rows, int64_t cols, const int add)
{
    int64_t row = 0;
    for (; row + GEMM_ROWS <= rows; row += GEMM_ROWS)
        gemm_columns(g, GEMM_ROWS, row, cols, add);
    switch (rows - row) {
    case 1:
        gemm_columns(g, 1, row, cols, add);
        break;
    case 2:
        gemm_columns(g, 2, row, cols, add);
        break;
    case 3:
        gemm_columns(g, 3, row, cols, add);
        break;
#if defined(KERNEL_AVX512)
    case 4:
        gemm_columns(g, 4, row, cols, add);
        break;
    case 5:
        gemm_columns(g, 5, row, cols, add);
        break;
#endif
    default:
        break;
    }
}

#endif
