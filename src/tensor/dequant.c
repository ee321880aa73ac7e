/* Scalar truth of every number format: bytes to floats.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Layouts are ggml's. Blocks of 32: an f16 scale d, for the _1 kinds an f16 minimum m, for five bits
 * a 32-bit word of top bits, then the low four bits: byte j holds elements j (low) and j+16 (high).
 * Blocks of 256 hold sub-blocks with scales of their own, themselves scaled by d (and dmin). */
#include "tensor/dequant.h"

#include <math.h>
#include <string.h>

static uint16_t load_u16(const unsigned char *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static float load_half(const unsigned char *p)
{
    return f16_to_f32(load_u16(p));
}

static uint32_t load_u32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Element i of 32: nibble, plus the fifth bit where there is one. */
static int nibble32(const unsigned char *low, uint32_t high, int i)
{
    int four = i < 16 ? low[i] & 15 : low[i - 16] >> 4;
    return four | (int)(high >> i & 1) << 4;
}

static void block_q4_0(const unsigned char *block, float *dst)
{
    float d = load_half(block);
    for (int i = 0; i < 32; i++)
        dst[i] = d * (float)(nibble32(block + 2, 0, i) - 8);
}

static void block_q4_1(const unsigned char *block, float *dst)
{
    float d = load_half(block), m = load_half(block + 2);
    for (int i = 0; i < 32; i++)
        dst[i] = d * (float)nibble32(block + 4, 0, i) + m;
}

static void block_q5_0(const unsigned char *block, float *dst)
{
    float d = load_half(block);
    uint32_t high = load_u32(block + 2);
    for (int i = 0; i < 32; i++)
        dst[i] = d * (float)(nibble32(block + 6, high, i) - 16);
}

static void block_q5_1(const unsigned char *block, float *dst)
{
    float d = load_half(block), m = load_half(block + 2);
    uint32_t high = load_u32(block + 4);
    for (int i = 0; i < 32; i++)
        dst[i] = d * (float)nibble32(block + 8, high, i) + m;
}

static void block_q8_0(const unsigned char *block, float *dst)
{
    float d = load_half(block);
    for (int i = 0; i < 32; i++)
        dst[i] = d * (float)(signed char)block[2 + i];
}

/* Eight six-bit scales and eight six-bit minima in twelve bytes: the first four of each lie whole in
 * the low six bits of bytes 0-3 and 4-7; the last four keep their low nibbles in bytes 8-11 and
 * their top two bits above the first four. */
static void unpack_scale_min(const unsigned char packed[12], int i, int *scale, int *min)
{
    if (i < 4) {
        *scale = packed[i] & 63;
        *min = packed[i + 4] & 63;
    } else {
        *scale = (packed[i + 4] & 15) | packed[i - 4] >> 6 << 4;
        *min = packed[i + 4] >> 4 | packed[i] >> 6 << 4;
    }
}

/* Q4_K and Q5_K: sub-blocks of 32. Sub-blocks 2k and 2k+1 share 32 bytes of nibbles (low, high);
 * `high` (NULL for Q4_K) keeps the fifth bit of sub-block s, element i in bit s of byte i. */
static void block_k45(const unsigned char *block, const unsigned char *high, const unsigned char *low,
                      float *dst)
{
    float d = load_half(block), dmin = load_half(block + 2);
    for (int sub = 0; sub < 8; sub++) {
        int scale, min;
        unpack_scale_min(block + 4, sub, &scale, &min);
        float step = d * (float)scale, offset = dmin * (float)min;
        for (int i = 0; i < 32; i++) {
            int byte = low[sub / 2 * 32 + i];
            int q = (sub & 1 ? byte >> 4 : byte & 15) | (high ? (high[i] >> sub & 1) << 4 : 0);
            dst[sub * 32 + i] = step * (float)q - offset;
        }
    }
}

static void block_q4_k(const unsigned char *block, float *dst)
{
    block_k45(block, NULL, block + 16, dst);
}

static void block_q5_k(const unsigned char *block, float *dst)
{
    block_k45(block, block + 16, block + 48, dst);
}

/* Two halves of 128 elements, each four runs of 32: runs 0 and 1 in the low nibbles of bytes 0-31
 * and 32-63, runs 2 and 3 in their high nibbles; run r has its top two bits at bit 2r of 32 bytes. */
static void block_q6_k(const unsigned char *block, float *dst)
{
    const unsigned char *low = block, *high = block + 128, *scales = block + 192;
    float d = load_half(block + 208);
    for (int i = 0; i < 256; i++) {
        int half = i / 128, run = i % 128 / 32, lane = i % 32;
        int byte = low[half * 64 + (run & 1) * 32 + lane];
        int q = (run < 2 ? byte & 15 : byte >> 4) | (high[half * 32 + lane] >> (2 * run) & 3) << 4;
        dst[i] = d * (float)(signed char)scales[i / 16] * (float)(q - 32);
    }
}

/* Q2_K and Q3_K: element i of 256 has its two low bits at bit 2·run of one of 32 bytes of its half. */
static int two_bits(const unsigned char *low, int i)
{
    return low[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
}

static void block_q2_k(const unsigned char *block, float *dst)
{
    float d = load_half(block + 80), dmin = load_half(block + 82);
    for (int i = 0; i < 256; i++) {
        int scales = block[i / 16];
        float step = d * (float)(scales & 15), offset = dmin * (float)(scales >> 4);
        dst[i] = step * (float)two_bits(block + 16, i) - offset;
    }
}

/* Sixteen six-bit scales: low nibbles of 0-7 and 8-15 in bytes 0-7, two top bits each in bytes 8-11. */
static int scale_q3_k(const unsigned char packed[12], int i)
{
    int low = i < 8 ? packed[i] & 15 : packed[i - 8] >> 4;
    return (low | (packed[8 + i % 4] >> (i / 4 * 2) & 3) << 4) - 32;
}

/* A third bit that is clear takes four away. */
static void block_q3_k(const unsigned char *block, float *dst)
{
    float d = load_half(block + 108);
    for (int i = 0; i < 256; i++) {
        int top = block[i % 32] >> (i / 32) & 1;
        float step = d * (float)scale_q3_k(block + 96, i / 16);
        dst[i] = step * (float)(two_bits(block + 32, i) - (top ? 0 : 4));
    }
}

/* The sixteen values of the IQ4 kinds: finer around zero. */
static const signed char curve[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                      1,    13,   25,  38,  53,  69,  89,  113};

static void block_iq4_nl(const unsigned char *block, float *dst)
{
    float d = load_half(block);
    for (int i = 0; i < 32; i++)
        dst[i] = d * (float)curve[nibble32(block + 2, 0, i)];
}

static void block_iq4_xs(const unsigned char *block, float *dst)
{
    float d = load_half(block);
    int high = load_u16(block + 2);
    for (int sub = 0; sub < 8; sub++) {
        int scale = (block[4 + sub / 2] >> (sub % 2 * 4) & 15) | (high >> (2 * sub) & 3) << 4;
        float step = d * (float)(scale - 32);
        for (int i = 0; i < 32; i++)
            dst[sub * 32 + i] = step * (float)curve[nibble32(block + 8 + sub * 16, 0, i)];
    }
}

/* Four-bit floats (E2M1, here doubled) under a power of two: the byte is its exponent, biased by 127. */
static void block_mxfp4(const unsigned char *block, float *dst)
{
    static const signed char doubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
    float half_step = ldexpf(1.0f, block[0] - 128);
    for (int i = 0; i < 32; i++)
        dst[i] = half_step * (float)doubled[nibble32(block + 1, 0, i)];
}

static void rows_16(enum dtype dtype, const unsigned char *src, float *dst, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint16_t bits = load_u16(src + 2 * i);
        dst[i] = dtype == DT_F16 ? f16_to_f32(bits) : bf16_to_f32(bits);
    }
}

void dequantize_row(enum dtype dtype, const void *src, float *dst, int64_t n)
{
    static void (*const blocks[DT_COUNT])(const unsigned char *, float *) = {
        [DT_Q4_0] = block_q4_0,   [DT_Q4_1] = block_q4_1,     [DT_Q5_0] = block_q5_0,
        [DT_Q5_1] = block_q5_1,   [DT_Q8_0] = block_q8_0,     [DT_Q4_K] = block_q4_k,
        [DT_Q5_K] = block_q5_k,   [DT_Q6_K] = block_q6_k,     [DT_Q2_K] = block_q2_k,
        [DT_Q3_K] = block_q3_k,   [DT_IQ4_XS] = block_iq4_xs, [DT_IQ4_NL] = block_iq4_nl,
        [DT_MXFP4] = block_mxfp4,
    };
    const struct dtype_info *info = dtype_info(dtype);
    if (dtype == DT_F32)
        memcpy(dst, src, (size_t)n * sizeof *dst);
    else if (!info->quantized)
        rows_16(dtype, src, dst, n);
    else
        for (int64_t i = 0; i < n / info->block_elements; i++)
            blocks[dtype]((const unsigned char *)src + i * info->block_bytes, dst + i * info->block_elements);
}
