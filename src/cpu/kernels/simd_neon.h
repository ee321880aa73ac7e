/* Vectors of four lanes: Advanced SIMD of 64-bit Arm, byte products and byte matrices where it has them.
 * SPDX-License-Identifier: Apache-2.0
 * Included by simd.h only; each function is described in simd_scalar.h. */
#include <arm_neon.h>

#if defined(__ARM_FEATURE_MATMUL_INT8)
#define DOT_TWO_ROWS 1
#endif

enum {
    LANES = 4,
    TILE_ROWS = 4,
    PANELS = 2,
    GEMM_ROWS = 4,
    GEMM_COLS = 4,
    FLOAT_ROWS = 8,
    FLOAT_PANELS = 2,
    SIGNED_Q8 = 1,
    FUSED = 1,
    DOT_STEPS = 4
};

typedef float vf __attribute__((vector_size(16)));
typedef int32_t vi __attribute__((vector_size(16)));
typedef uint32_t vu __attribute__((vector_size(16)));

INLINE vf vf_set(float x)
{
    return (vf)vdupq_n_f32(x);
}

INLINE vu vu_set(uint32_t x)
{
    return (vu)vdupq_n_u32(x);
}

INLINE vf vf_fma(vf a, vf b, vf c)
{
    return (vf)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}

/* As a > b ? a : b, so that a NaN is treated as the other instruction sets treat it. */
INLINE vf vf_max(vf a, vf b)
{
    return (vf)vbslq_f32(vcgtq_f32((float32x4_t)a, (float32x4_t)b), (float32x4_t)a, (float32x4_t)b);
}

INLINE vf vf_min(vf a, vf b)
{
    return (vf)vbslq_f32(vcltq_f32((float32x4_t)a, (float32x4_t)b), (float32x4_t)a, (float32x4_t)b);
}

INLINE float vf_sum(vf v)
{
    return (v[0] + v[2]) + (v[1] + v[3]);
}

INLINE float vf_max_lane(vf v)
{
    float a = v[0] > v[2] ? v[0] : v[2], b = v[1] > v[3] ? v[1] : v[3];
    return a > b ? a : b;
}

INLINE vf vf_round(vf v)
{
    return (vf)vrndnq_f32((float32x4_t)v);
}

INLINE vi vi_from_vf(vf v)
{
    return (vi)vcvtnq_s32_f32((float32x4_t)v);
}

INLINE vf vf_from_vi(vi v)
{
    return (vf)vcvtq_f32_s32((int32x4_t)v);
}

INLINE int32_t vi_sum(vi v)
{
    return vaddvq_s32((int32x4_t)v);
}

INLINE vf vf_load_f16(const void *p)
{
    return (vf)vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}

INLINE void vf_store_f16(void *p, vf v)
{
    vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32((float32x4_t)v)));
}

INLINE vf vf_load_bf16(const void *p)
{
    return (vf)vshll_n_u16(vld1_u16(p), 16);
}

INLINE vf vf_load_i8(const void *p)
{
    int32_t four;
    memcpy(&four, p, sizeof four);
    int16x8_t words = vmovl_s8(vreinterpret_s8_s32(vdup_n_s32(four)));
    return (vf)vcvtq_f32_s32(vmovl_s16(vget_low_s16(words)));
}

INLINE void vi_store_i8(void *p, vi v)
{
    int16x4_t words = vqmovn_s32((int32x4_t)v);
    int8x8_t bytes = vqmovn_s16(vcombine_s16(words, words));
    int32_t four = vget_lane_s32(vreinterpret_s32_s8(bytes), 0);
    memcpy(p, &four, sizeof four);
}

INLINE void vf_transpose(vf rows[LANES])
{
    float32x4_t even = vtrn1q_f32((float32x4_t)rows[0], (float32x4_t)rows[1]);
    float32x4_t odd = vtrn2q_f32((float32x4_t)rows[0], (float32x4_t)rows[1]);
    float32x4_t EVEN = vtrn1q_f32((float32x4_t)rows[2], (float32x4_t)rows[3]);
    float32x4_t ODD = vtrn2q_f32((float32x4_t)rows[2], (float32x4_t)rows[3]);
    rows[0] = (vf)vtrn1q_f64(vreinterpretq_f64_f32(even), vreinterpretq_f64_f32(EVEN));
    rows[1] = (vf)vtrn1q_f64(vreinterpretq_f64_f32(odd), vreinterpretq_f64_f32(ODD));
    rows[2] = (vf)vtrn2q_f64(vreinterpretq_f64_f32(even), vreinterpretq_f64_f32(EVEN));
    rows[3] = (vf)vtrn2q_f64(vreinterpretq_f64_f32(odd), vreinterpretq_f64_f32(ODD));
}

INLINE uint32_t word_at(const uint8_t *p)
{
    uint32_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

INLINE vu vu_load_words(const uint8_t *p, int64_t stride)
{
    return (vu){word_at(p), word_at(p + stride), word_at(p + 2 * stride), word_at(p + 3 * stride)};
}

INLINE void vu_load_quads(const uint8_t *p, int64_t stride, vu out[4])
{
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++)
        out[j] = (vu)vreinterpretq_u32_u8(vld1q_u8(p + j * stride));
    vf square[4] = {(vf)out[0], (vf)out[1], (vf)out[2], (vf)out[3]};
    vf_transpose(square);
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++)
        out[j] = (vu)square[j];
}

INLINE vf vf_from_f16_lanes(vu v)
{
    return (vf)vcvt_f32_f16(vreinterpret_f16_u16(vmovn_u32((uint32x4_t)v)));
}

INLINE vu vu_look_up(const uint8_t table[16], vu v)
{
    return (vu)vreinterpretq_u32_u8(vqtbl1q_u8(vld1q_u8(table), (uint8x16_t)v));
}

INLINE vu vu_spread_bits(vu bits, int nibble)
{
    vu four = (bits >> (4 * nibble)) & 15;
    return (four * 0x00204081) & 0x01010101;
}

INLINE int8x16_t signed_bytes(vu v)
{
    return (int8x16_t)v;
}

/* Weights are signed, or unsigned below 64: the same bytes either way. Without byte products, sums of two
 * are at most 2 · 128 · 127, which 16 bits hold. */
INLINE vi vi_dot(vi acc, const vu *w, const int8_t *a, int steps, int budget)
{
    (void)budget;
    int32x4_t sum = (int32x4_t)acc;
#pragma GCC unroll 8
    for (int j = 0; j < steps; j++) {
        int8x16_t shared = vreinterpretq_s8_u32(vdupq_n_u32(word_at((const uint8_t *)a + 4 * j)));
#if defined(__ARM_FEATURE_DOTPROD)
        sum = vdotq_s32(sum, signed_bytes(w[j]), shared);
#else
        int8x16_t weights = signed_bytes(w[j]);
        int16x8_t low = vmull_s8(vget_low_s8(weights), vget_low_s8(shared));
        int16x8_t high = vmull_high_s8(weights, shared);
        sum = vpadalq_s16(sum, vpaddq_s16(low, high));
#endif
    }
    return (vi)sum;
}

#if defined(DOT_TWO_ROWS)
INLINE int8x16_t row_pair(const int8_t *a, const int8_t *b)
{
    return vcombine_s8(vld1_s8(a), vld1_s8(b));
}

/* What vi_dot gives for the rows a and b of activations, to acc[0] and acc[1]: products of two rows of
 * weights by both, eight bytes deep. steps is even. */
INLINE void vi_dot_two(vi *acc_a, vi *acc_b, const vu *w, const int8_t *a, const int8_t *b, int steps)
{
    int32x4_t low = vdupq_n_s32(0), high = low; /* weight rows 0 and 1; 2 and 3: {0a, 0b, 1a, 1b} */
#pragma GCC unroll 4
    for (int j = 0; j < steps; j += 2) {
        int8x16_t two = row_pair(a + 4 * j, b + 4 * j);
        uint32x4_t even = (uint32x4_t)w[j], odd = (uint32x4_t)w[j + 1];
        low = vmmlaq_s32(low, vreinterpretq_s8_u32(vzip1q_u32(even, odd)), two);
        high = vmmlaq_s32(high, vreinterpretq_s8_u32(vzip2q_u32(even, odd)), two);
    }
    *acc_a += (vi)vuzp1q_s32(low, high);
    *acc_b += (vi)vuzp2q_s32(low, high);
}
#endif
