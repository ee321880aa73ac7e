/* Unpacks LANES rows of any quantised format to panel chunks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Block layouts are described in tensor/dequant.c. */
#include "cpu/kernels/quantized.h"
#include "cpu/kernels/scales.h"

enum { STREAMS = 4 };

/* Asks for memory of the next panel while this one is unpacked, `bytes` (a row's block) for each of its
 * rows, as a few streams: one alone is read slower. It may lie past the end of the file, which a hint may
 * and a pointer may not. */
INLINE void prefetch(const uint8_t *rows, int64_t stride, int64_t block, int64_t bytes)
{
    const int64_t share = LANES / STREAMS;
    uintptr_t next = (uintptr_t)rows + (uintptr_t)(LANES * stride + block * share * bytes);
#pragma GCC unroll 4
    for (int s = 0; s < STREAMS; s++, next += (uintptr_t)(share * stride))
        for (int64_t i = 0; i < share * bytes; i += 64)
            __builtin_prefetch((const void *)(next + (uintptr_t)i), 0, 2);
}

INLINE void put_chunk(struct panel_chunk *to, const vu q[8], const struct chunk_scales *scales)
{
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++)
        to->q[j] = q[j];
    to->d = scales->d;
    to->m = scales->m;
}

/* Sixteen bytes of nibbles a row: the low ones are columns 0-15, the high ones 16-31. */
INLINE void nibbles(const uint8_t *p, int64_t stride, vu q[8])
{
    vu packed[4];
    vu_load_quads(p, stride, packed);
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
        q[j] = packed[j] & vu_set(0x0F0F0F0F);
        q[4 + j] = (packed[j] >> 4) & vu_set(0x0F0F0F0F);
    }
}

INLINE void fifth_bits(vu bits, vu q[8])
{
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++)
        q[j] |= vu_spread_bits(bits, j) << 4;
}

INLINE void look_up(const uint8_t table[16], vu q[8])
{
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++)
        q[j] = vu_look_up(table, q[j]);
}

INLINE void unpack_32(enum dtype dtype, const uint8_t *p, int64_t stride, struct panel_chunk *to)
{
    vu q[8];
    struct chunk_scales scales;
    scales_32(dtype, p, stride, &scales);
    switch (dtype) {
    case DT_Q4_0:
        nibbles(p + 2, stride, q);
        break;
    case DT_Q4_1:
        nibbles(p + 4, stride, q);
        break;
    case DT_Q5_0:
        nibbles(p + 6, stride, q);
        fifth_bits(vu_load_words(p + 2, stride), q);
        break;
    case DT_Q5_1:
        nibbles(p + 8, stride, q);
        fifth_bits(vu_load_words(p + 4, stride), q);
        break;
    case DT_IQ4_NL:
        nibbles(p + 2, stride, q);
        look_up(curve, q);
        break;
    case DT_MXFP4:
        nibbles(p + 1, stride, q);
        look_up(small_floats, q);
        break;
    default: /* Q8_0 */
        vu_load_quads(p + 2, stride, q);
        vu_load_quads(p + 18, stride, q + 4);
#pragma GCC unroll 8
        for (int j = 0; j < 8 && !SIGNED_Q8; j++)
            q[j] ^= vu_set(0x80808080);
    }
    put_chunk(to, q, &scales);
}

/* Some chunks of LANES rows. */
struct stretch {
    const uint8_t *rows;
    int64_t stride, first, chunks;
};

INLINE void unpack_blocks_32(enum dtype dtype, int bytes, const struct stretch *s, struct panel_chunk *to)
{
    const uint8_t *p = s->rows + s->first * bytes;
    for (int64_t c = 0; c < s->chunks; c++, p += bytes) {
        prefetch(s->rows, s->stride, s->first + c, bytes);
        unpack_32(dtype, p, s->stride, &to[c]);
    }
}

/* Q4_K, or Q5_K when `high` (32 bytes of fifth bits, bit `sub` of each) is there. */
INLINE void unpack_k45(const uint8_t *block, int64_t stride, int with_high, struct panel_chunk *to)
{
    vu high[8];
    struct chunk_scales scales[8];
    scales_k45(block, stride, scales);
    if (with_high) {
        vu_load_quads(block + 16, stride, high);
        vu_load_quads(block + 32, stride, high + 4);
    }
    const uint8_t *low = block + (with_high ? 48 : 16);
#pragma GCC unroll 4
    for (int pair = 0; pair < 4; pair++) {
        vu bytes[8];
        vu_load_quads(low + 32 * pair, stride, bytes);
        vu_load_quads(low + 32 * pair + 16, stride, bytes + 4);
#pragma GCC unroll 2
        for (int odd = 0; odd < 2; odd++) {
            int sub = 2 * pair + odd;
            vu q[8];
#pragma GCC unroll 8
            for (int j = 0; j < 8; j++) {
                q[j] = (bytes[j] >> (4 * odd)) & vu_set(0x0F0F0F0F);
                if (with_high)
                    q[j] |= ((high[j] >> sub) & vu_set(0x01010101)) << 4;
            }
            put_chunk(&to[sub], q, &scales[sub]);
        }
    }
}

INLINE void unpack_q6_k(const uint8_t *block, int64_t stride, struct panel_chunk *to)
{
    struct chunk_scales scales[8];
    scales_q6_k(block, stride, scales);
#pragma GCC unroll 8
    for (int c = 0; c < 8; c++) {
        int half = c / 4, run = c % 4;
        vu low[8], high[8], q[8];
        vu_load_quads(block + half * 64 + (run & 1) * 32, stride, low);
        vu_load_quads(block + half * 64 + (run & 1) * 32 + 16, stride, low + 4);
        vu_load_quads(block + 128 + half * 32, stride, high);
        vu_load_quads(block + 128 + half * 32 + 16, stride, high + 4);
#pragma GCC unroll 8
        for (int j = 0; j < 8; j++)
            q[j] = ((low[j] >> (run < 2 ? 0 : 4)) & vu_set(0x0F0F0F0F)) |
                   (((high[j] >> (2 * run)) & vu_set(0x03030303)) << 4);
        put_chunk(&to[c], q, &scales[c]);
    }
}

/* The two-bit numbers of chunk c: bits 2·(c mod 4) of 32 bytes of its half. */
INLINE void two_bits(const uint8_t *low, int64_t stride, int c, vu q[8])
{
    vu bytes[8];
    vu_load_quads(low + c / 4 * 32, stride, bytes);
    vu_load_quads(low + c / 4 * 32 + 16, stride, bytes + 4);
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++)
        q[j] = (bytes[j] >> (2 * (c % 4))) & vu_set(0x03030303);
}

INLINE void unpack_q2_k(const uint8_t *block, int64_t stride, struct panel_chunk *to, vf *mins)
{
    struct chunk_scales scales[8];
    scales_q2_k(block, stride, scales, mins);
#pragma GCC unroll 8
    for (int c = 0; c < 8; c++) {
        vu q[8];
        two_bits(block + 16, stride, c, q);
        put_chunk(&to[c], q, &scales[c]);
    }
}

INLINE void unpack_q3_k(const uint8_t *block, int64_t stride, struct panel_chunk *to)
{
    vu top[8];
    struct chunk_scales scales[8];
    scales_q3_k(block, stride, scales);
    vu_load_quads(block, stride, top);
    vu_load_quads(block + 16, stride, top + 4);
#pragma GCC unroll 8
    for (int c = 0; c < 8; c++) {
        vu q[8];
        two_bits(block + 32, stride, c, q);
#pragma GCC unroll 8
        for (int j = 0; j < 8; j++)
            q[j] |= ((top[j] >> c) & vu_set(0x01010101)) << 2;
        put_chunk(&to[c], q, &scales[c]);
    }
}

INLINE void unpack_iq4_xs(const uint8_t *block, int64_t stride, struct panel_chunk *to)
{
    struct chunk_scales scales[8];
    scales_iq4_xs(block, stride, scales);
#pragma GCC unroll 8
    for (int c = 0; c < 8; c++) {
        vu q[8];
        nibbles(block + 8 + c * 16, stride, q);
        look_up(curve, q);
        put_chunk(&to[c], q, &scales[c]);
    }
}

INLINE void unpack_blocks_256(enum dtype dtype, int bytes, const struct stretch *s, struct panel_chunk *to)
{
    const uint8_t *p = s->rows + s->first / 8 * bytes;
    vf *mins = (vf *)(to + s->chunks);
    for (int64_t c = 0; c < s->chunks; c += 8, p += bytes) {
        prefetch(s->rows, s->stride, (s->first + c) / 8, bytes);
        if (dtype == DT_Q6_K)
            unpack_q6_k(p, s->stride, &to[c]);
        else if (dtype == DT_Q2_K)
            unpack_q2_k(p, s->stride, &to[c], &mins[2 * c]);
        else if (dtype == DT_Q3_K)
            unpack_q3_k(p, s->stride, &to[c]);
        else if (dtype == DT_IQ4_XS)
            unpack_iq4_xs(p, s->stride, &to[c]);
        else
            unpack_k45(p, s->stride, dtype == DT_Q5_K, &to[c]);
    }
}

/* Float weights: LANES × LANES squares turned over, to [k][LANES]. */
INLINE void unpack_float(enum dtype dtype, const uint8_t *p, int64_t stride, int64_t k, float *to)
{
    int bytes = dtype == DT_F32 ? 4 : 2;
    for (int64_t i = 0; i < k; i += LANES) {
        vf square[LANES];
        _Alignas(64) uint8_t tail[LANES * 4] = {0};
#pragma GCC unroll 16
        for (int r = 0; r < LANES; r++) {
            const uint8_t *from = p + r * stride + i * bytes;
            if (i + LANES > k) {
                memcpy(tail, from, (size_t)((k - i) * bytes));
                from = tail;
            }
            square[r] = dtype == DT_F32   ? vf_load((const float *)(const void *)from)
                        : dtype == DT_F16 ? vf_load_f16(from)
                                          : vf_load_bf16(from);
        }
        vf_transpose(square);
        for (int j = 0; j < LANES && i + j < k; j++)
            vf_store(to + (i + j) * LANES, square[j]);
    }
}

int64_t KERNEL(panel_bytes)(enum dtype dtype, int64_t cols)
{
    enum product_form form = KERNEL(product_form)(dtype);
    if (form == FORM_FLOAT)
        return cols * LANES * (int64_t)sizeof(float);
    int64_t mins = form == FORM_HALVES_MIN ? 2 * (int64_t)sizeof(vf) : 0;
    return cols / CHUNK * ((int64_t)sizeof(struct panel_chunk) + mins);
}

INLINE void unpack_floats(enum dtype dtype, const uint8_t *weights, int64_t stride, int64_t first,
                          int64_t cols, float *panel)
{
    unpack_float(dtype, weights + first * (dtype == DT_F32 ? 4 : 2), stride, cols, panel);
}

void KERNEL(unpack)(enum dtype dtype, const void *weights, int64_t stride, int64_t first, int64_t cols,
                    void *panel)
{
    struct stretch s = {weights, stride, first / CHUNK, cols / CHUNK};
    switch (dtype) {
    case DT_F32:
        unpack_floats(DT_F32, weights, stride, first, cols, panel);
        break;
    case DT_F16:
        unpack_floats(DT_F16, weights, stride, first, cols, panel);
        break;
    case DT_BF16:
        unpack_floats(DT_BF16, weights, stride, first, cols, panel);
        break;
    case DT_Q4_0:
        unpack_blocks_32(DT_Q4_0, 18, &s, panel);
        break;
    case DT_Q4_1:
        unpack_blocks_32(DT_Q4_1, 20, &s, panel);
        break;
    case DT_Q5_0:
        unpack_blocks_32(DT_Q5_0, 22, &s, panel);
        break;
    case DT_Q5_1:
        unpack_blocks_32(DT_Q5_1, 24, &s, panel);
        break;
    case DT_Q8_0:
        unpack_blocks_32(DT_Q8_0, 34, &s, panel);
        break;
    case DT_IQ4_NL:
        unpack_blocks_32(DT_IQ4_NL, 18, &s, panel);
        break;
    case DT_MXFP4:
        unpack_blocks_32(DT_MXFP4, 17, &s, panel);
        break;
    case DT_Q4_K:
        unpack_blocks_256(DT_Q4_K, 144, &s, panel);
        break;
    case DT_Q5_K:
        unpack_blocks_256(DT_Q5_K, 176, &s, panel);
        break;
    case DT_Q6_K:
        unpack_blocks_256(DT_Q6_K, 210, &s, panel);
        break;
    case DT_Q2_K:
        unpack_blocks_256(DT_Q2_K, 84, &s, panel);
        break;
    case DT_Q3_K:
        unpack_blocks_256(DT_Q3_K, 110, &s, panel);
        break;
    case DT_IQ4_XS:
        unpack_blocks_256(DT_IQ4_XS, 136, &s, panel);
        break;
    case DT_COUNT:
        break;
    }
}
