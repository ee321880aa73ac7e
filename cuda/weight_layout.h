/* How a prepared weight's row is laid out: the codes and scales that a lane of a tensor-core product needs.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The same text runs on the device and in a host test (tests/gpu/test_layout.c).
 *
 * A quantised row is cut into units of 256 numbers (Q8_0: 128), the last one filled up with zeros, and a unit
 * into blocks of 32. Four neighbouring lanes t = 0 … 3 of a warp share a row; of each block, lane t takes
 * eight numbers (layout_column), which are two k-steps of an m16n8k16 product. A row's parts are:
 *
 * - codes: the low four bits (Q8_0: all eight), [unit][run of blocks][lane][block of the run], so that a lane
 *   reads 16 bytes: four blocks of four bytes, or two of eight.
 * - high: the fifth bit (8 bytes a lane and unit) or the top two of six (16 bytes), [unit][lane].
 * - scales, [unit]: for Q4_0, Q5_0 and Q8_0 an f16 a block; for Q4_1 and Q5_1 f16 scale and minimum a block;
 *   for Q4_K and Q5_K the first 16 bytes of the file's block; for Q6_K its 16 bytes of scales.
 * - tail, [unit], Q6_K only: the f16 scale of them all.
 *
 * F32, F16 and BF16 rows are the file's numbers in their order, filled up with zeros to 16 bytes. */
#ifndef CUDA_WEIGHT_LAYOUT_H
#define CUDA_WEIGHT_LAYOUT_H

#include <stdint.h>

#include "tensor/dtype.h"

#ifdef __CUDACC__
#include <cuda_fp16.h>
#define LAYOUT_CODE __host__ __device__ static __forceinline__
#define LAYOUT_CONSTANT LAYOUT_CODE constexpr
#else
#include "tensor/dequant.h"
#define LAYOUT_CODE static inline
#define LAYOUT_CONSTANT LAYOUT_CODE
#endif

/* ---- what a type is made of ---- */
LAYOUT_CONSTANT int layout_bits(enum dtype dtype) /* of a code; 0 when the type has none */
{
    switch (dtype) {
    case DT_Q4_0:
    case DT_Q4_1:
    case DT_Q4_K:
        return 4;
    case DT_Q5_0:
    case DT_Q5_1:
    case DT_Q5_K:
        return 5;
    case DT_Q6_K:
        return 6;
    case DT_Q8_0:
        return 8;
    default:
        return 0;
    }
}

LAYOUT_CONSTANT int layout_unit(enum dtype dtype)
{
    return dtype == DT_Q8_0 ? 128 : 256;
}

LAYOUT_CONSTANT bool layout_is_k(enum dtype dtype)
{
    return dtype == DT_Q4_K || dtype == DT_Q5_K || dtype == DT_Q6_K;
}

LAYOUT_CONSTANT int layout_scale_bytes(enum dtype dtype) /* a unit */
{
    return dtype == DT_Q8_0 ? 8 : dtype == DT_Q4_1 || dtype == DT_Q5_1 ? 32 : 16;
}

LAYOUT_CONSTANT int layout_block_bytes(enum dtype dtype) /* the file's */
{
    switch (dtype) {
    case DT_Q4_0:
        return 18;
    case DT_Q4_1:
        return 20;
    case DT_Q5_0:
        return 22;
    case DT_Q5_1:
        return 24;
    case DT_Q8_0:
        return 34;
    case DT_Q4_K:
        return 144;
    case DT_Q5_K:
        return 176;
    case DT_Q6_K:
        return 210;
    default:
        return dtype == DT_F32 ? 4 : 2;
    }
}

struct layout_row { /* where the parts of a row begin, in bytes */
    int64_t units, high, scales, tail, stride;
};

LAYOUT_CODE struct layout_row layout_of(enum dtype dtype, int64_t k)
{
    struct layout_row row = {0, 0, 0, 0, 0};
    int bits = layout_bits(dtype), unit = layout_unit(dtype);
    if (bits == 0) {
        row.stride = (k * layout_block_bytes(dtype) + 15) / 16 * 16;
        return row;
    }
    row.units = (k + unit - 1) / unit;
    row.high = row.units * unit * (bits == 8 ? 8 : 4) / 8;
    row.scales = row.high + (bits == 8 ? 0 : row.units * unit * (bits - 4) / 8);
    row.tail = row.scales + row.units * layout_scale_bytes(dtype);
    row.stride = (row.tail + (dtype == DT_Q6_K ? 2 * row.units : 0) + 15) / 16 * 16;
    return row;
}

/* Place in its block of 32 of lane t's number j (0 … 7). Q6_K has a scale for every 16 numbers, which is one
 * k-step; elsewhere a lane's numbers are neighbours. */
LAYOUT_CONSTANT int layout_column(enum dtype dtype, int t, int j)
{
    return dtype == DT_Q6_K ? j / 4 * 16 + t * 4 + j % 4 : t * 8 + j;
}

/* ---- from a lane's words to pairs of codes: number 2j in the low half, 2j+1 in the high one ---- */
/* The bits of word that the mask names, put into `under`, which has none there. */
LAYOUT_CODE uint32_t layout_merge(uint32_t word, uint32_t mask, uint32_t under)
{
#ifdef __CUDA_ARCH__ /* one instruction, which the compiler does not find when both are constants */
    uint32_t merged;
    asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(merged) : "r"(word), "r"(mask), "r"(under));
    return merged;
#else
    return (word & mask) | under;
#endif
}

LAYOUT_CODE uint32_t layout_low(uint32_t word, int j, uint32_t under)
{
    return layout_merge(word >> 4 * j, 0x000f000fu, under);
}

/* Bit 4 of the codes, from the high word of four blocks; block is 0 … 3 in it. */
LAYOUT_CODE uint32_t layout_fifth(uint32_t high, int block, int j, uint32_t under)
{
    int bit = 4 * j + block;
    return layout_merge(bit >= 4 ? high >> (bit - 4) : high << (4 - bit), 0x00100010u, under);
}

/* Bits 4 and 5, from the high word of two blocks; block is 0 or 1 in it. */
LAYOUT_CODE uint32_t layout_top_two(uint32_t high, int block, int j, uint32_t under)
{
    int bit = 4 * j + 2 * block;
    return layout_merge(bit >= 4 ? high >> (bit - 4) : high << (4 - bit), 0x00300030u, under);
}

/* Q8_0: a block is two words; pair j lies in word j % 2. The codes are the bytes as they are, signed. */
LAYOUT_CODE uint32_t layout_bytes(uint32_t word, int j)
{
    return word >> 8 * (j / 2) & 0x00ff00ffu;
}

/* ---- from a lane's words to four codes, one a byte: numbers 0, 4, 1, 5 (half 0) or 2, 6, 3, 7 (half 1) ----
 */
LAYOUT_CODE uint32_t layout_low_bytes(uint32_t word, int half)
{
    return word >> 4 * half & 0x0f0f0f0fu;
}

LAYOUT_CODE uint32_t layout_fifth_bytes(uint32_t high, int block, int half, uint32_t under)
{
    return layout_merge(half ? high >> block : high << (4 - block), 0x10101010u, under);
}

LAYOUT_CODE uint32_t layout_top_two_bytes(uint32_t high, int block, int half, uint32_t under)
{
    return layout_merge(half ? high >> 2 * block : high << (4 - 2 * block), 0x30303030u, under);
}

/* Q4_K, Q5_K: four scales and four minima of half a unit (half 0 or 1), a byte each, from the last three
 * words of the block's head. */
LAYOUT_CODE uint32_t layout_k_scales(uint32_t first, uint32_t third, int half)
{
    return half == 0 ? first & 0x3f3f3f3fu : (third & 0x0f0f0f0fu) | (first >> 2 & 0x30303030u);
}

LAYOUT_CODE uint32_t layout_k_minima(uint32_t second, uint32_t third, int half)
{
    return half == 0 ? second & 0x3f3f3f3fu : (third >> 4 & 0x0f0f0f0fu) | (second >> 2 & 0x30303030u);
}

/* ---- from the file's bytes to a prepared row ---- */
LAYOUT_CODE uint32_t layout_word(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* The code of number i of a row in the file; 0 past its end. */
LAYOUT_CODE uint32_t layout_code(enum dtype dtype, const unsigned char *raw, int64_t k, int64_t i)
{
    if (i >= k)
        return 0;
    int per_block = layout_is_k(dtype) ? 256 : 32, in = (int)(i % per_block);
    const unsigned char *block = raw + i / per_block * layout_block_bytes(dtype);
    int sub = in / 32, lane = in % 32;
    uint32_t nibble;
    switch (dtype) {
    case DT_Q4_0:
    case DT_Q4_1:
    case DT_Q5_0:
    case DT_Q5_1: {
        int head = dtype == DT_Q4_0 || dtype == DT_Q5_0 ? 2 : 4;
        bool five = dtype == DT_Q5_0 || dtype == DT_Q5_1;
        const unsigned char *low = block + head + (five ? 4 : 0);
        nibble = (uint32_t)(in < 16 ? low[in] & 15 : low[in - 16] >> 4);
        return nibble | (five ? (layout_word(block + head) >> in & 1) << 4 : 0);
    }
    case DT_Q8_0:
        return block[2 + in];
    case DT_Q4_K:
    case DT_Q5_K: {
        int byte = block[(dtype == DT_Q4_K ? 16 : 48) + sub / 2 * 32 + lane];
        nibble = (uint32_t)(sub & 1 ? byte >> 4 : byte & 15);
        return nibble | (dtype == DT_Q5_K ? (uint32_t)(block[16 + lane] >> sub & 1) << 4 : 0);
    }
    default: { /* Q6_K */
        int half = in / 128, run = in % 128 / 32;
        int byte = block[half * 64 + (run & 1) * 32 + lane];
        nibble = (uint32_t)(run < 2 ? byte & 15 : byte >> 4);
        return nibble | (uint32_t)(block[128 + half * 32 + lane] >> 2 * run & 3) << 4;
    }
    }
}

/* Number j of lane t in block `block` of unit `unit`. */
LAYOUT_CODE uint32_t layout_code_at(enum dtype dtype, const unsigned char *raw, int64_t k, int64_t unit,
                                    int block, int t, int j)
{
    return layout_code(dtype, raw, k, unit * layout_unit(dtype) + block * 32 + layout_column(dtype, t, j));
}

LAYOUT_CODE uint32_t layout_make_codes(enum dtype dtype, const unsigned char *raw, int64_t k, int64_t word)
{
    uint32_t made = 0;
    if (dtype == DT_Q8_0) { /* 32 words a unit: 16 a run of two blocks, 4 a lane, 2 a block */
        int in = (int)(word % 32), block = in / 16 * 2 + in % 4 / 2, t = in % 16 / 4, first = in % 2 * 2;
        for (int byte = 0; byte < 4; byte++)
            made |= layout_code_at(dtype, raw, k, word / 32, block, t, first + byte % 2 * 4 + byte / 2)
                    << 8 * byte;
        return made;
    }
    int in = (int)(word % 32), block = in / 16 * 4 + in % 4, t = in % 16 / 4;
    for (int j = 0; j < 8; j++)
        made |= (layout_code_at(dtype, raw, k, word / 32, block, t, j) & 15) << (j / 2 * 4 + j % 2 * 16);
    return made;
}

LAYOUT_CODE uint32_t layout_make_high(enum dtype dtype, const unsigned char *raw, int64_t k, int64_t word)
{
    uint32_t made = 0;
    bool six = dtype == DT_Q6_K; /* 4 words a lane of two blocks each; else 2 words of four blocks */
    int words = six ? 4 : 2, blocks = six ? 2 : 4, bits = six ? 2 : 1;
    int t = (int)(word % (4 * words)) / words, first = (int)(word % words) * blocks;
    for (int b = 0; b < blocks; b++)
        for (int j = 0; j < 8; j++) {
            uint32_t code = layout_code_at(dtype, raw, k, word / (4 * words), first + b, t, j) >> 4;
            made |= code << (4 * (j / 2) + bits * b + j % 2 * 16);
        }
    return made;
}

LAYOUT_CODE uint32_t layout_make_scales(enum dtype dtype, const unsigned char *raw, int64_t k, int64_t word)
{
    int block_bytes = layout_block_bytes(dtype);
    int64_t block, blocks = k / 32;
    switch (dtype) {
    case DT_Q4_K:
    case DT_Q5_K:
    case DT_Q6_K:
        return layout_word(raw + word / 4 * block_bytes + (dtype == DT_Q6_K ? 192 : 0) + word % 4 * 4);
    case DT_Q4_1:
    case DT_Q5_1:
        return word < blocks ? layout_word(raw + word * block_bytes) : 0;
    default:
        block = 2 * word;
        return (block < blocks ? raw[block * block_bytes] | (uint32_t)raw[block * block_bytes + 1] << 8 : 0) |
               (block + 1 < blocks ? (uint32_t)raw[(block + 1) * block_bytes] << 16 |
                                         (uint32_t)raw[(block + 1) * block_bytes + 1] << 24
                                   : 0);
    }
}

LAYOUT_CODE uint32_t layout_make_tail(const unsigned char *raw, int64_t units, int64_t word)
{
    const unsigned char *d = raw + 2 * word * 210 + 208;
    uint32_t made = 2 * word < units ? d[0] | (uint32_t)d[1] << 8 : 0;
    if (2 * word + 1 < units)
        made |= (uint32_t)d[210] << 16 | (uint32_t)d[211] << 24;
    return made;
}

/* Word `word` (four bytes) of the prepared row, from the file's bytes of that row. */
LAYOUT_CODE uint32_t layout_make(enum dtype dtype, const unsigned char *raw, int64_t k, int64_t word)
{
    struct layout_row row = layout_of(dtype, k);
    int64_t byte = 4 * word;
    if (row.units == 0) {
        uint32_t made = 0;
        for (int i = 0; i < 4; i++)
            if (byte + i < k * layout_block_bytes(dtype))
                made |= (uint32_t)raw[byte + i] << 8 * i;
        return made;
    }
    if (byte < row.high)
        return layout_make_codes(dtype, raw, k, word);
    if (byte < row.scales)
        return layout_make_high(dtype, raw, k, (byte - row.high) / 4);
    if (byte < row.tail)
        return layout_make_scales(dtype, raw, k, (byte - row.scales) / 4);
    return dtype == DT_Q6_K ? layout_make_tail(raw, row.units, (byte - row.tail) / 4) : 0;
}

/* ---- from a prepared row to numbers ---- */
LAYOUT_CODE float layout_half(uint32_t bits)
{
#ifdef __CUDACC__
    return __half2float(__ushort_as_half((unsigned short)bits));
#else
    return f16_to_f32((uint16_t)bits);
#endif
}

LAYOUT_CODE uint32_t layout_load(const unsigned char *row, int64_t byte) /* a multiple of 4 */
{
    return *(const uint32_t *)(const void *)(row + byte);
}

/* The pair j of codes of lane t in a block: as layout_low and its kin give it, from the whole row. */
LAYOUT_CODE uint32_t layout_pair(enum dtype dtype, const unsigned char *row, const struct layout_row *parts,
                                 int64_t unit, int block, int t, int j)
{
    if (dtype == DT_Q8_0) {
        int64_t byte = unit * 128 + block / 2 * 64 + t * 16 + block % 2 * 8 + j % 2 * 4;
        return layout_bytes(layout_load(row, byte), j);
    }
    uint32_t pair = layout_low(layout_load(row, unit * 128 + block / 4 * 64 + t * 16 + block % 4 * 4), j, 0);
    if (dtype == DT_Q6_K)
        return layout_top_two(layout_load(row, parts->high + unit * 64 + t * 16 + block / 2 * 4), block % 2,
                              j, pair);
    if (layout_bits(dtype) == 5)
        return layout_fifth(layout_load(row, parts->high + unit * 32 + t * 8 + block / 4 * 4), block % 4, j,
                            pair);
    return pair;
}

/* A number is scale · (code - zero) - minimum; the lane's numbers 0 … 3 and 4 … 7 may differ in scale. */
struct layout_scale {
    float scale[2], minimum;
};

LAYOUT_CODE struct layout_scale layout_scales(enum dtype dtype, const unsigned char *row,
                                              const struct layout_row *parts, int64_t unit, int block)
{
    struct layout_scale s = {{0.0f, 0.0f}, 0.0f};
    const unsigned char *at = row + parts->scales + unit * layout_scale_bytes(dtype);
    if (dtype == DT_Q4_K || dtype == DT_Q5_K) {
        uint32_t head = layout_load(at, 0), third = layout_load(at, 12);
        int half = block / 4, shift = block % 4 * 8;
        uint32_t scale = layout_k_scales(layout_load(at, 4), third, half) >> shift & 63;
        uint32_t minimum = layout_k_minima(layout_load(at, 8), third, half) >> shift & 63;
        s.scale[0] = s.scale[1] = layout_half(head & 0xffff) * (float)scale;
        s.minimum = layout_half(head >> 16) * (float)minimum;
    } else if (dtype == DT_Q6_K) {
        uint32_t word = layout_load(at, block / 2 * 4) >> block % 2 * 16;
        float d = layout_half(*(const uint16_t *)(const void *)(row + parts->tail + 2 * unit));
        s.scale[0] = d * (float)(signed char)(word & 255);
        s.scale[1] = d * (float)(signed char)(word >> 8 & 255);
    } else if (dtype == DT_Q4_1 || dtype == DT_Q5_1) {
        uint32_t word = layout_load(at, block * 4);
        s.scale[0] = s.scale[1] = layout_half(word & 0xffff);
        s.minimum = -layout_half(word >> 16);
    } else
        s.scale[0] = s.scale[1] = layout_half(layout_load(at, block / 2 * 4) >> block % 2 * 16 & 0xffff);
    return s;
}

LAYOUT_CONSTANT int layout_zero(enum dtype dtype) /* the code that means 0 */
{
    return dtype == DT_Q4_0 ? 8 : dtype == DT_Q5_0 ? 16 : dtype == DT_Q6_K ? 32 : 0;
}

/* The eight numbers of lane t in a block of a quantised row. */
LAYOUT_CODE void layout_eight(enum dtype dtype, const unsigned char *row, const struct layout_row *parts,
                              int64_t unit, int block, int t, float out[8])
{
    struct layout_scale s = layout_scales(dtype, row, parts, unit, block);
    int zero = layout_zero(dtype);
    for (int j = 0; j < 4; j++) {
        uint32_t pair = layout_pair(dtype, row, parts, unit, block, t, j);
        int low = (int)(pair & 0xffff), high = (int)(pair >> 16);
        if (dtype == DT_Q8_0) {
            low = (signed char)low;
            high = (signed char)high;
        }
        out[2 * j] = s.scale[j / 2] * (float)(low - zero) - s.minimum;
        out[2 * j + 1] = s.scale[j / 2] * (float)(high - zero) - s.minimum;
    }
}

#endif
