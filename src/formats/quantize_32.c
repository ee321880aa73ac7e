/* Blocks of 32 floats to Q4_0, Q4_1, Q5_0, Q5_1 and Q8_0, giving the bytes ggml's reference gives.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The _0 kinds scale so that the value of largest magnitude falls on the end of the range that has
 * one level more (-8 of -8 … 7); the _1 kinds spread their levels from the smallest to the largest. */
#include "formats/quantize_blocks.h"

enum { BLOCK = 32 };

/* 1/scale; 0 when the stored half would be 0, so that no infinity arises. */
static float inverse_of(float scale)
{
    return (f32_to_f16(scale) & 0x7FFF) ? 1.0f / scale : 0.0f;
}

static float largest_magnitude(const float *src)
{
    float largest = 0.0f;
    for (int i = 0; i < BLOCK; i++)
        if (fabsf(src[i]) > fabsf(largest))
            largest = src[i];
    return largest;
}

/* floor(value + 0.5), as the reference rounds levels counted from zero. */
static int level(float value, int most)
{
    float up = value + 0.5f;
    return !(up > 0.0f) ? 0 : up >= (float)most ? most : (int)up;
}

/* Levels of 4 or 5 bits to nibbles, and to a word of fifth bits when high is not NULL. */
static void pack(const int levels[BLOCK], unsigned char *high, unsigned char *low)
{
    uint32_t fifth = 0;
    for (int i = 0; i < BLOCK / 2; i++)
        low[i] = (unsigned char)((levels[i] & 15) | (levels[i + BLOCK / 2] & 15) << 4);
    for (int i = 0; i < BLOCK; i++)
        fifth |= (uint32_t)(levels[i] >> 4) << i;
    if (high)
        memcpy(high, &fifth, sizeof fifth);
}

static void symmetric(const float *src, int bits, unsigned char *block, unsigned char *high,
                      unsigned char *low)
{
    int middle = 1 << (bits - 1), levels[BLOCK];
    float scale = largest_magnitude(src) / (float)-middle, inverse = inverse_of(scale);
    store_half(block, scale);
    for (int i = 0; i < BLOCK; i++)
        levels[i] = level(src[i] * inverse + (float)middle, 2 * middle - 1);
    pack(levels, high, low);
}

static void offset(const float *src, int bits, unsigned char *block, unsigned char *high, unsigned char *low)
{
    int most = (1 << bits) - 1, levels[BLOCK];
    float least = src[0], largest = src[0];
    for (int i = 1; i < BLOCK; i++) {
        least = src[i] < least ? src[i] : least;
        largest = src[i] > largest ? src[i] : largest;
    }
    float scale = (largest - least) / (float)most, inverse = inverse_of(scale);
    store_half(block, scale);
    store_half(block + 2, least);
    for (int i = 0; i < BLOCK; i++)
        levels[i] = level((src[i] - least) * inverse, most);
    pack(levels, high, low);
}

void quantize_q4_0(const float *src, unsigned char *block)
{
    symmetric(src, 4, block, NULL, block + 2);
}

void quantize_q4_1(const float *src, unsigned char *block)
{
    offset(src, 4, block, NULL, block + 4);
}

void quantize_q5_0(const float *src, unsigned char *block)
{
    symmetric(src, 5, block, block + 2, block + 6);
}

void quantize_q5_1(const float *src, unsigned char *block)
{
    offset(src, 5, block, block + 4, block + 8);
}

void quantize_q8_0(const float *src, unsigned char *block)
{
    float scale = fabsf(largest_magnitude(src)) / 127.0f, inverse = inverse_of(scale);
    store_half(block, scale);
    for (int i = 0; i < BLOCK; i++)
        block[2 + i] = (unsigned char)nearest_int(src[i] * inverse, -127, 127);
}
