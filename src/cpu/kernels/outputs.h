/* What every way of multiplying quantised weights shares: zero points, and how outputs are put down.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CPU_KERNELS_OUTPUTS_H
#define CPU_KERNELS_OUTPUTS_H

#include "cpu/kernels/kernels.h"
#include "cpu/kernels/simd.h"

/* What the unsigned numbers of a format stand above its own by. */
INLINE int zero_point(enum dtype dtype)
{
    switch (dtype) {
    case DT_Q3_K:
        return 4;
    case DT_Q4_0:
        return 8;
    case DT_MXFP4:
        return 12;
    case DT_Q5_0:
        return 16;
    case DT_Q6_K:
        return 32;
    case DT_Q8_0:
    case DT_IQ4_NL:
    case DT_IQ4_XS:
        return SIGNED_Q8 ? 0 : 128;
    default:
        return 0;
    }
}

/* Bias and what out held are added last, in this order. */
INLINE void put_outputs(const struct product_range *range, int64_t row, int panel, vf value)
{
    const struct backend_product *product = range->product;
    int64_t first = range->first_output + (int64_t)panel * LANES, lanes = product->weight->rows - first;
    float *out = (float *)tensor_row(product->out, row) + first;
    if (product->bias)
        value += vf_load_part((const float *)product->bias->data + first, lanes);
    if (product->accumulate)
        value += vf_load_part(out, lanes);
    vf_store_part(out, value, lanes);
}

#endif
