/* One block of floats to one block of a quantised type; shared by the quantize_*.c files only.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_QUANTIZE_BLOCKS_H
#define FORMATS_QUANTIZE_BLOCKS_H

#include <math.h>
#include <string.h>

#include "tensor/dequant.h"

/* The nearest whole number in low … high; NaN gives low, so that no input is undefined. */
static inline int nearest_int(float value, int low, int high)
{
    if (!(value > (float)low))
        return low;
    return value >= (float)high ? high : (int)roundf(value);
}

/* Stores value as a half and returns what a reader will see. */
static inline float store_half(unsigned char *at, float value)
{
    uint16_t half = f32_to_f16(value);
    memcpy(at, &half, sizeof half);
    return f16_to_f32(half);
}

void quantize_q4_0(const float *src, unsigned char *block);
void quantize_q4_1(const float *src, unsigned char *block);
void quantize_q5_0(const float *src, unsigned char *block);
void quantize_q5_1(const float *src, unsigned char *block);
void quantize_q8_0(const float *src, unsigned char *block);
void quantize_q4_k(const float *src, unsigned char *block);
void quantize_q5_k(const float *src, unsigned char *block);
void quantize_q6_k(const float *src, unsigned char *block);

#endif
