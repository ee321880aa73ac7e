/* Sixteen-bit floats to and from thirty-two bits, exactly as the hardware rounds.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Done on integers, so that the result is the same on every machine and under every rounding mode.
 * NaNs are made quiet and keep their upper payload bits, as F16C and AVX512-BF16 do. */
#include "tensor/dequant.h"

#include <string.h>

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

float f16_to_f32(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t exponent = (half >> 10) & 0x1F;
    uint32_t mantissa = half & 0x3FF;
    if (exponent == 0x1F)
        return float_of(sign | 0x7F800000 | (mantissa ? 0x400000 | mantissa << 13 : 0));
    if (exponent)
        return float_of(sign | (exponent + 112) << 23 | mantissa << 13);
    if (!mantissa)
        return float_of(sign);
    /* Subnormal: mantissa · 2^-24, normalised by moving its top bit to place 10. */
    uint32_t shift = (uint32_t)__builtin_clz(mantissa) - 21;
    return float_of(sign | (113 - shift) << 23 | ((mantissa << shift) & 0x3FF) << 13);
}

/* value / 2^shift, ties to even; 1 ≤ shift ≤ 31. */
static uint32_t shift_nearest_even(uint32_t value, uint32_t shift)
{
    uint32_t rest = value & ((1u << shift) - 1), half = 1u << (shift - 1);
    uint32_t kept = value >> shift;
    return kept + (rest > half || (rest == half && (kept & 1)));
}

uint16_t f32_to_f16(float value)
{
    uint32_t bits = bits_of(value), magnitude = bits & 0x7FFFFFFF;
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    if (magnitude > 0x7F800000)
        return (uint16_t)(sign | 0x7E00 | (magnitude >> 13 & 0x3FF));
    if (magnitude >= 0x47800000) /* 2^16 and above */
        return sign | 0x7C00;
    if (magnitude >= 0x38800000) /* normal: a carry out of the mantissa rightly bumps the exponent */
        return (uint16_t)(sign | shift_nearest_even(magnitude - (112u << 23), 13));
    if (magnitude < 0x33000000) /* below half the smallest subnormal */
        return sign;
    uint32_t mantissa = (magnitude & 0x7FFFFF) | 0x800000;
    return (uint16_t)(sign | shift_nearest_even(mantissa, 126 - (magnitude >> 23)));
}

float bf16_to_f32(uint16_t value)
{
    return float_of((uint32_t)value << 16);
}

uint16_t f32_to_bf16(float value)
{
    uint32_t bits = bits_of(value);
    if ((bits & 0x7FFFFFFF) > 0x7F800000)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
