/* Floats to every number format (round to nearest, no importance weights).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_QUANTIZE_H
#define FORMATS_QUANTIZE_H

#include <stdint.h>

#include "tensor/dtype.h"

/* false for the formats that are read but not written: Q2_K, Q3_K, IQ4_NL, IQ4_XS, MXFP4. */
bool quantize_supported(enum dtype dtype);
/* n elements, a multiple of the block. dst holds dtype_row_bytes(dtype, n) bytes. */
void quantize_row(enum dtype dtype, const float *src, void *dst, int64_t n);

#endif
