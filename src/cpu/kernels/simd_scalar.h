/* Vectors of four lanes in plain C: what any processor of the architecture runs.
 * SPDX-License-Identifier: Apache-2.0
 * Included by simd.h only. The other instruction sets have the same functions. */
#include <math.h>

#include "tensor/dequant.h"

/* TILE_ROWS: rows of activations that share one pass over PANELS panels of weights; GEMM_ROWS × GEMM_COLS
 * vectors: what the float micro-kernel keeps in registers; FLOAT_ROWS × FLOAT_PANELS: the same for float
 * weights; SIGNED_Q8: weights whose bytes are signed stay so. */
enum {
    LANES = 4,
    TILE_ROWS = 4,
    PANELS = 1,
    GEMM_ROWS = 4,
    GEMM_COLS = 2,
    FLOAT_ROWS = 4,
    FLOAT_PANELS = 1,
    SIGNED_Q8 = 1,
    FUSED = 0, /* vf_fma rounds twice */
    DOT_STEPS = 4
};

typedef float vf __attribute__((vector_size(16)));
typedef int32_t vi __attribute__((vector_size(16)));
typedef uint32_t vu __attribute__((vector_size(16)));
typedef int16_t vs __attribute__((vector_size(16)));

INLINE vf vf_set(float x)
{
    return (vf){x, x, x, x};
}

INLINE vu vu_set(uint32_t x)
{
    return (vu){x, x, x, x};
}

/* a · b + c, rounded once where the processor can, twice here. */
INLINE vf vf_fma(vf a, vf b, vf c)
{
    return a * b + c;
}

INLINE vf vf_max(vf a, vf b)
{
    vi more = a > b;
    return (vf)((more & (vi)a) | (~more & (vi)b));
}

INLINE vf vf_min(vf a, vf b)
{
    vi less = a < b;
    return (vf)((less & (vi)a) | (~less & (vi)b));
}

INLINE float vf_sum(vf v)
{
    return (v[0] + v[2]) + (v[1] + v[3]);
}

INLINE float vf_max_lane(vf v)
{
    return fmaxf(fmaxf(v[0], v[1]), fmaxf(v[2], v[3]));
}

/* To the nearest whole number, ties to even; |v| < 2^22. */
INLINE vf vf_round(vf v)
{
    const vf magic = vf_set(12582912.0f);
    return (v + magic) - magic;
}

/* Of whole numbers only. */
INLINE vi vi_from_vf(vf v)
{
    return __builtin_convertvector(v, vi);
}

INLINE vf vf_from_vi(vi v)
{
    return __builtin_convertvector(v, vf);
}

INLINE int32_t vi_sum(vi v)
{
    return v[0] + v[1] + v[2] + v[3];
}

INLINE vf vf_load_f16(const void *p)
{
    uint16_t h[LANES];
    memcpy(h, p, sizeof h);
    return (vf){f16_to_f32(h[0]), f16_to_f32(h[1]), f16_to_f32(h[2]), f16_to_f32(h[3])};
}

INLINE void vf_store_f16(void *p, vf v)
{
    uint16_t h[LANES] = {f32_to_f16(v[0]), f32_to_f16(v[1]), f32_to_f16(v[2]), f32_to_f16(v[3])};
    memcpy(p, h, sizeof h);
}

INLINE vf vf_load_bf16(const void *p)
{
    uint16_t h[LANES];
    memcpy(h, p, sizeof h);
    return (vf)((vu){h[0], h[1], h[2], h[3]} << 16);
}

INLINE vf vf_load_i8(const void *p)
{
    int8_t b[LANES];
    memcpy(b, p, sizeof b);
    return (vf){b[0], b[1], b[2], b[3]};
}

INLINE void vi_store_i8(void *p, vi v)
{
    int8_t b[LANES] = {(int8_t)v[0], (int8_t)v[1], (int8_t)v[2], (int8_t)v[3]};
    memcpy(p, b, sizeof b);
}

INLINE void vf_transpose(vf rows[LANES])
{
    for (int i = 0; i < LANES; i++)
        for (int j = i + 1; j < LANES; j++) {
            float swapped = rows[i][j];
            rows[i][j] = rows[j][i];
            rows[j][i] = swapped;
        }
}

INLINE uint32_t word_at(const uint8_t *p)
{
    uint32_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

/* Four bytes from each of LANES rows `stride` apart: lane r is row r's. */
INLINE vu vu_load_words(const uint8_t *p, int64_t stride)
{
    return (vu){word_at(p), word_at(p + stride), word_at(p + 2 * stride), word_at(p + 3 * stride)};
}

/* Sixteen bytes from each row: out[j] lane r holds bytes 4j … 4j+3 of row r. */
INLINE void vu_load_quads(const uint8_t *p, int64_t stride, vu out[4])
{
    for (int j = 0; j < 4; j++)
        out[j] = vu_load_words(p + 4 * j, stride);
}

/* The low 16 bits of each lane as F16. */
INLINE vf vf_from_f16_lanes(vu v)
{
    return (vf){f16_to_f32((uint16_t)v[0]), f16_to_f32((uint16_t)v[1]), f16_to_f32((uint16_t)v[2]),
                f16_to_f32((uint16_t)v[3])};
}

/* table[byte] for each byte (below 16) of v. */
INLINE vu vu_look_up(const uint8_t table[16], vu v)
{
    uint8_t bytes[LANES * 4];
    memcpy(bytes, &v, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = table[bytes[i]];
    memcpy(&v, bytes, sizeof bytes);
    return v;
}

/* Bits 4·nibble … 4·nibble+3 of each lane, one to a byte. */
INLINE vu vu_spread_bits(vu bits, int nibble)
{
    vu four = (bits >> (4 * nibble)) & 15;
    return (four * 0x00204081) & 0x01010101;
}

/* acc + Σ over `steps` groups of four: bytes of w (unsigned; signed when budget is 0) times the signed
 * bytes a, which all lanes share. Products are 16 bits wide, two to a lane: pairs of at most `budget`
 * groups are added before they are widened (unsigned w ≤ 31: four groups, ≤ 63: two). */
INLINE vi vi_dot(vi acc, const vu *w, const int8_t *a, int steps, int budget)
{
    int stride = budget ? budget : 1;
    for (int j = 0; j < steps; j += stride) {
        vs pairs = (vs)vu_set(0);
        for (int i = j; i < j + stride; i++) {
            vu shared = vu_set(word_at((const uint8_t *)a + 4 * i));
            vs even = budget ? (vs)(w[i] & vu_set(0x00FF00FF)) : ((vs)w[i] << 8) >> 8;
            vs odd = budget ? (vs)((w[i] >> 8) & vu_set(0x00FF00FF)) : (vs)w[i] >> 8;
            pairs += even * (((vs)shared << 8) >> 8) + odd * ((vs)shared >> 8);
        }
        acc += (((vi)pairs << 16) >> 16) + ((vi)pairs >> 16);
    }
    return acc;
}
