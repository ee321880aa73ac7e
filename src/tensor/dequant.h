/* Scalar truth of every number format: bytes to floats.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TENSOR_DEQUANT_H
#define TENSOR_DEQUANT_H

#include <stdint.h>

#include "tensor/dtype.h"

float f16_to_f32(uint16_t half);
uint16_t f32_to_f16(float value); /* round to nearest even; overflow gives infinity */
float bf16_to_f32(uint16_t value);
uint16_t f32_to_bf16(float value); /* round to nearest even; NaN stays NaN */

/* n elements (a multiple of the block) from src to dst. */
void dequantize_row(enum dtype dtype, const void *src, float *dst, int64_t n);

#endif
