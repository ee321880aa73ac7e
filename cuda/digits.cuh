/* A row of activations as whole numbers of two signed bytes, a power of two for every 32 of them.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Codes of quantised weights are small whole numbers, so the tensor cores' byte products are exact; what they
 * need are activations in bytes. A number is scale · (256 · high + low), with the scale of its block of 32
 * chosen so that the block's largest lies in 8192 … 16384: a bf16 number is exact when it is at least a 64th
 * of its block's largest (f16: an eighth), any other is off by at most 2^-14 of that.
 *
 * A row is its blocks' digits and then its blocks' facts. Digits of a block: high bytes, then low ones; lane
 * t of four reads 8 bytes, its numbers 0, 4, 1, 5, 2, 6, 3, 7 (weight_layout.h). */
#pragma once

#include "cuda/number.cuh"
#include "cuda/weight_layout.h"

constexpr int DIGIT_BLOCK = 64; // bytes of digits

struct digit_facts {
    float scale;
    int first, second; // sums of the digits, as whole numbers: of columns 0 … 15 and of 16 … 31 for SIX, else
                       // of all in first
};
template <bool SIX> constexpr int DIGIT_FACTS = SIX ? 12 : 8; // bytes of a block's

template <bool SIX> __host__ __device__ static inline int digit_row_bytes(int columns)
{
    return columns / 32 * (DIGIT_BLOCK + DIGIT_FACTS<SIX>);
}

template <bool SIX>
static __device__ __forceinline__ digit_facts digit_facts_at(const char *row, int blocks, int block)
{
    const char *at = row + blocks * DIGIT_BLOCK + block * DIGIT_FACTS<SIX>;
    if constexpr (SIX) {
        const int *words = reinterpret_cast<const int *>(at);
        return {__int_as_float(words[0]), words[1], words[2]};
    }
    int2 word = *reinterpret_cast<const int2 *>(at);
    return {__int_as_float(word.x), word.y, 0};
}

// Four neighbouring lanes bring a block: lane t its eight numbers, which begin at column `at` (of 32: 8·t).
// All lanes of a warp call it, also those with nothing to bring. SIX: as Q6_K orders columns.
template <bool SIX>
static __device__ __forceinline__ void digits_put(char *row, int blocks, int at, bool present,
                                                  const float (&x)[8])
{
    uint32_t most = 0;
#pragma unroll
    for (int i = 0; i < 8; i++)
        most = max(most, __float_as_uint(x[i]) & 0x7fffffffu); // NaN is above all
    most = max(most, __shfl_xor_sync(~0u, most, 1));
    most = max(most, __shfl_xor_sync(~0u, most, 2));
    uint32_t exponent = max(most >> 23, 27u) - 13u;
    float scale = __uint_as_float(exponent << 23), inverse = __uint_as_float((254u - exponent) << 23);
    // Added to 1.5 · 2^23 a number is its own lowest bits: whole, rounded to even. 128 more, and the byte
    // above the lowest is the high digit, the lowest the low digit with its sign turned.
    constexpr uint32_t RAISED = 0x4b400000u + 128u;
    uint32_t raised[8], sums[2] = {0, 0};
#pragma unroll
    for (int i = 0; i < 8; i++) {
        raised[i] = __float_as_uint(fmaf(x[i], inverse, 12583040.0f));
        sums[i / 4] += raised[i];
    }
    uint32_t high[2], low[2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
        uint32_t a = __byte_perm(raised[2 * i], raised[2 * i + 4], 0x5140);
        uint32_t b = __byte_perm(raised[2 * i + 1], raised[2 * i + 5], 0x5140);
        high[i] = __byte_perm(a, b, 0x7632);
        low[i] = __byte_perm(a, b, 0x5410) ^ 0x80808080u;
    }
    int first = static_cast<int>(sums[0] - 4 * RAISED), second = static_cast<int>(sums[1] - 4 * RAISED);
    if (!SIX)
        first += second;
    first += __shfl_xor_sync(~0u, first, 1);
    first += __shfl_xor_sync(~0u, first, 2);
    if (SIX) {
        second += __shfl_xor_sync(~0u, second, 1);
        second += __shfl_xor_sync(~0u, second, 2);
    }
    if (!present)
        return;
    int block = at / 32, t = at / 8 % 4;
    uint2 *digits = reinterpret_cast<uint2 *>(row + block * DIGIT_BLOCK + t * 8);
    digits[0] = make_uint2(high[0], high[1]);
    digits[4] = make_uint2(low[0], low[1]);
    if (t != 0)
        return;
    int bits =
        most >= 0x7f800000u ? 0x7fffffff : __float_as_int(scale); // infinite or NaN: so is every product
    char *facts = row + blocks * DIGIT_BLOCK + block * DIGIT_FACTS<SIX>;
    int *words = reinterpret_cast<int *>(facts);
    words[0] = bits;
    words[1] = first;
    if (SIX)
        words[2] = second;
}
