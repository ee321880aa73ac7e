/* The shape of an unpacked panel of quantised weights.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CPU_KERNELS_QUANTIZED_H
#define CPU_KERNELS_QUANTIZED_H

#include "cpu/kernels/kernels.h"
#include "cpu/kernels/simd.h"

struct panel_chunk { /* 32 columns of LANES weight rows */
    vu q[8];
    vf d;  /* of the chunk, or of its first half */
    vf m;  /* minimum, or d of the second half */
};

enum product_form KERNEL(product_form)(enum dtype dtype);
void KERNEL(quantize_row)(const float *x, const struct byte_rows *to, int64_t row);
int64_t KERNEL(panel_bytes)(enum dtype dtype, int64_t cols);
void KERNEL(unpack)(enum dtype dtype, const void *weights, int64_t stride, int64_t first, int64_t cols,
                    void *panel);
void KERNEL(multiply)(enum dtype dtype, const void *panels, int count, const struct byte_rows *in,
                      const struct product_range *range);
bool KERNEL(has_single)(enum dtype dtype, int64_t cols);
void KERNEL(multiply_single)(enum dtype dtype, const void *weights, int64_t stride,
                             const struct byte_rows *in, const struct product_range *range);
void KERNEL(multiply_float)(const float *panels, int count, const struct tensor *in,
                            const struct product_range *range);

/* Rows of the next tile when `left` rows remain: the same answer for the layout and for its reader. */
INLINE int tile_rows(int64_t left)
{
    if (left >= TILE_ROWS)
        return TILE_ROWS;
    return left >= 4 ? 4 : (int)left;
}

/* The tile that holds a row: its first row, and how many rows it has. */
INLINE int64_t tile_of(int64_t row, int64_t rows, int *count)
{
    int64_t first = row / TILE_ROWS * TILE_ROWS;
    for (;; first += *count) {
        *count = tile_rows(rows - first);
        if (row < first + *count)
            return first;
    }
}

#endif
