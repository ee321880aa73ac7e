/* Unpacks LANES rows of any quantised format to panel chunks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Block layouts are described in tensor/dequant.c. */
#include "cpu/kernels/quantized.h"
#include "tensor/dequant.h"

/* Asks for memory of the next panel while this one is unpacked; it may lie past the end of the file,
 * which a hint may and a pointer may not. */
INLINE void prefetch(const uint8_t *p, int64_t offset, int64_t bytes)
{
    for (int64_t i = 0; i < bytes; i += 64)
        __builtin_prefetch((const void *)((uintptr_t)p + (uintptr_t)(offset + i)), 0, 2);
}

INLINE void put_chunk(struct panel_chunk *to, const vu q[8], vf d, vf m)
{
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++)
        to->q[j] = q[j];
    to->d = d;
    to->m = m;
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

INLINE void unpack_32(enum dtype dtype, const uint8_t *p, int64_t stride, struct panel_chunk *to)
{
    vu q[8], pair = vu_load_words(p, stride);
    vf d = vf_from_f16_lanes(pair), m = vf_set(0);
    if (dtype == DT_Q4_1 || dtype == DT_Q5_1)
        m = vf_from_f16_lanes(pair >> 16);
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
    default: /* Q8_0 */
        vu_load_quads(p + 2, stride, q);
        vu_load_quads(p + 18, stride, q + 4);
        for (int j = 0; j < 8 && !SIGNED_Q8; j++)
            q[j] ^= vu_set(0x80808080);
    }
    put_chunk(to, q, d, m);
}

INLINE void unpack_blocks_32(enum dtype dtype, int bytes, const uint8_t *p, int64_t stride, int64_t chunks,
                             struct panel_chunk *to)
{
    for (int64_t c = 0; c < chunks; c++, p += bytes) {
        prefetch(p, LANES * stride + c * (LANES - 1) * bytes, LANES * bytes);
        unpack_32(dtype, p, stride, &to[c]);
    }
}

/* Scale and minimum of sub-block `sub` from the twelve packed bytes. */
INLINE void scale_min(const vu packed[3], int sub, vf *scale, vf *min)
{
    vu s, m;
    if (sub < 4) {
        s = (packed[0] >> (8 * sub)) & 63;
        m = (packed[1] >> (8 * sub)) & 63;
    } else {
        int shift = 8 * (sub - 4);
        s = ((packed[2] >> shift) & 15) | (((packed[0] >> (shift + 6)) & 3) << 4);
        m = ((packed[2] >> (shift + 4)) & 15) | (((packed[1] >> (shift + 6)) & 3) << 4);
    }
    *scale = vf_from_vi((vi)s);
    *min = vf_from_vi((vi)m);
}

/* Q4_K, or Q5_K when `high` (32 bytes of fifth bits, bit `sub` of each) is there. */
INLINE void unpack_k45(const uint8_t *block, int64_t stride, int with_high, struct panel_chunk *to)
{
    vu header[4], high[8];
    vu_load_quads(block, stride, header);
    vf d = vf_from_f16_lanes(header[0]), dmin = vf_from_f16_lanes(header[0] >> 16);
    if (with_high) {
        vu_load_quads(block + 16, stride, high);
        vu_load_quads(block + 32, stride, high + 4);
    }
    const uint8_t *low = block + (with_high ? 48 : 16);
    for (int pair = 0; pair < 4; pair++) {
        vu bytes[8];
        vu_load_quads(low + 32 * pair, stride, bytes);
        vu_load_quads(low + 32 * pair + 16, stride, bytes + 4);
        for (int odd = 0; odd < 2; odd++) {
            int sub = 2 * pair + odd;
            vf scale, min;
            vu q[8];
            scale_min(header + 1, sub, &scale, &min);
            for (int j = 0; j < 8; j++) {
                q[j] = (bytes[j] >> (4 * odd)) & vu_set(0x0F0F0F0F);
                if (with_high)
                    q[j] |= ((high[j] >> sub) & vu_set(0x01010101)) << 4;
            }
            put_chunk(&to[sub], q, d * scale, vf_set(0) - dmin * min);
        }
    }
}

/* Signed byte `index` of sixteen held as four words. */
INLINE vf signed_byte(const vu words[4], int index)
{
    return vf_from_vi((vi)(words[index / 4] << (24 - index % 4 * 8)) >> 24);
}

INLINE void unpack_q6_k(const uint8_t *block, int64_t stride, struct panel_chunk *to)
{
    vu scales[4];
    vu_load_quads(block + 192, stride, scales);
    vf d = vf_from_f16_lanes(vu_load_words(block + 206, stride) >> 16);
    for (int c = 0; c < 8; c++) {
        int half = c / 4, run = c % 4;
        vu low[8], high[8], q[8];
        vu_load_quads(block + half * 64 + (run & 1) * 32, stride, low);
        vu_load_quads(block + half * 64 + (run & 1) * 32 + 16, stride, low + 4);
        vu_load_quads(block + 128 + half * 32, stride, high);
        vu_load_quads(block + 128 + half * 32 + 16, stride, high + 4);
        for (int j = 0; j < 8; j++)
            q[j] = ((low[j] >> (run < 2 ? 0 : 4)) & vu_set(0x0F0F0F0F)) |
                   (((high[j] >> (2 * run)) & vu_set(0x03030303)) << 4);
        put_chunk(&to[c], q, d * signed_byte(scales, 2 * c), d * signed_byte(scales, 2 * c + 1));
    }
}

INLINE void unpack_blocks_256(enum dtype dtype, int bytes, const uint8_t *p, int64_t stride, int64_t chunks,
                              struct panel_chunk *to)
{
    for (int64_t c = 0; c < chunks; c += 8, p += bytes) {
        prefetch(p, LANES * stride + c / 8 * (LANES - 1) * bytes, LANES * bytes);
        if (dtype == DT_Q6_K)
            unpack_q6_k(p, stride, &to[c]);
        else
            unpack_k45(p, stride, dtype == DT_Q5_K, &to[c]);
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

/* Formats without a layout of their own here: to floats by the scalar truth, row by row. */
static void unpack_any(enum dtype dtype, const void *weights, int64_t stride, int64_t k, float *to)
{
    int64_t block = dtype_info(dtype)->block_elements, bytes = dtype_info(dtype)->block_bytes;
    for (int r = 0; r < LANES; r++)
        for (int64_t i = 0; i < k; i += block) {
            float values[256];
            dequantize_row(dtype, (const char *)weights + r * stride + i / block * bytes, values, block);
            for (int64_t j = 0; j < block; j++)
                to[(i + j) * LANES + r] = values[j];
        }
}

int64_t KERNEL(panel_bytes)(enum dtype dtype, int64_t k)
{
    if (KERNEL(product_form)(dtype) == FORM_FLOAT)
        return k * LANES * (int64_t)sizeof(float);
    return k / CHUNK * (int64_t)sizeof(struct panel_chunk);
}

void KERNEL(unpack)(enum dtype dtype, const void *weights, int64_t stride, int64_t k, void *panel)
{
    int64_t chunks = k / CHUNK;
    switch (dtype) {
    case DT_F32:
        unpack_float(DT_F32, weights, stride, k, panel);
        break;
    case DT_F16:
        unpack_float(DT_F16, weights, stride, k, panel);
        break;
    case DT_BF16:
        unpack_float(DT_BF16, weights, stride, k, panel);
        break;
    case DT_Q4_0:
        unpack_blocks_32(DT_Q4_0, 18, weights, stride, chunks, panel);
        break;
    case DT_Q4_1:
        unpack_blocks_32(DT_Q4_1, 20, weights, stride, chunks, panel);
        break;
    case DT_Q5_0:
        unpack_blocks_32(DT_Q5_0, 22, weights, stride, chunks, panel);
        break;
    case DT_Q5_1:
        unpack_blocks_32(DT_Q5_1, 24, weights, stride, chunks, panel);
        break;
    case DT_Q8_0:
        unpack_blocks_32(DT_Q8_0, 34, weights, stride, chunks, panel);
        break;
    case DT_Q4_K:
        unpack_blocks_256(DT_Q4_K, 144, weights, stride, chunks, panel);
        break;
    case DT_Q5_K:
        unpack_blocks_256(DT_Q5_K, 176, weights, stride, chunks, panel);
        break;
    case DT_Q6_K:
        unpack_blocks_256(DT_Q6_K, 210, weights, stride, chunks, panel);
        break;
    case DT_Q2_K:
    case DT_Q3_K:
    case DT_IQ4_XS:
    case DT_IQ4_NL:
    case DT_MXFP4:
        unpack_any(dtype, weights, stride, k, panel);
        break;
    case DT_COUNT:
        break;
    }
}
