/* Vectors of sixteen lanes: AVX-512 F, BW, DQ, VL and VNNI.
 * SPDX-License-Identifier: Apache-2.0
 * Included by simd.h only; each function is described in simd_scalar.h. */
#include <immintrin.h>

enum {
    LANES = 16,
    TILE_ROWS = 6,
    PANELS = 2,
    GEMM_ROWS = 6,
    GEMM_COLS = 4,
    FLOAT_ROWS = 8,
    FLOAT_PANELS = 2,
    SIGNED_Q8 = 0,
    FUSED = 1,
    DOT_STEPS = 1
};

typedef float vf __attribute__((vector_size(64)));
typedef int32_t vi __attribute__((vector_size(64)));
typedef uint32_t vu __attribute__((vector_size(64)));

INLINE vf vf_set(float x)
{
    return (vf)_mm512_set1_ps(x);
}

INLINE vu vu_set(uint32_t x)
{
    return (vu)_mm512_set1_epi32((int)x);
}

INLINE vf vf_fma(vf a, vf b, vf c)
{
    return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}

INLINE vf vf_max(vf a, vf b)
{
    return (vf)_mm512_max_ps((__m512)a, (__m512)b);
}

INLINE vf vf_min(vf a, vf b)
{
    return (vf)_mm512_min_ps((__m512)a, (__m512)b);
}

INLINE float vf_sum(vf v)
{
    return _mm512_reduce_add_ps((__m512)v);
}

INLINE float vf_max_lane(vf v)
{
    return _mm512_reduce_max_ps((__m512)v);
}

INLINE vf vf_round(vf v)
{
    return (vf)_mm512_roundscale_ps((__m512)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

INLINE vi vi_from_vf(vf v)
{
    return (vi)_mm512_cvtps_epi32((__m512)v);
}

INLINE vf vf_from_vi(vi v)
{
    return (vf)_mm512_cvtepi32_ps((__m512i)v);
}

INLINE int32_t vi_sum(vi v)
{
    return _mm512_reduce_add_epi32((__m512i)v);
}

INLINE vf vf_load_f16(const void *p)
{
    return (vf)_mm512_cvtph_ps(_mm256_loadu_si256(p));
}

INLINE void vf_store_f16(void *p, vf v)
{
    _mm256_storeu_si256(p, _mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

INLINE vf vf_load_bf16(const void *p)
{
    return (vf)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(p)), 16);
}

INLINE vf vf_load_i8(const void *p)
{
    return (vf)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(p)));
}

INLINE void vi_store_i8(void *p, vi v)
{
    _mm_storeu_si128(p, _mm512_cvtepi32_epi8((__m512i)v));
}

/* In-lane transposes of 4 × 4, then of the 128-bit quarters. */
INLINE void vf_transpose(vf rows[LANES])
{
    __m512 t[16];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        t[2 * i] = _mm512_unpacklo_ps((__m512)rows[2 * i], (__m512)rows[2 * i + 1]);
        t[2 * i + 1] = _mm512_unpackhi_ps((__m512)rows[2 * i], (__m512)rows[2 * i + 1]);
    }
    __m512 u[16]; /* u[4g + c]: column c (mod 4) of rows 4g … 4g+3 */
#pragma GCC unroll 4
    for (int g = 0; g < 4; g++) {
        __m512d a = _mm512_castps_pd(t[4 * g]), b = _mm512_castps_pd(t[4 * g + 1]);
        __m512d c = _mm512_castps_pd(t[4 * g + 2]), d = _mm512_castps_pd(t[4 * g + 3]);
        u[4 * g] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
        u[4 * g + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
        u[4 * g + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
        u[4 * g + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
    }
#pragma GCC unroll 4
    for (int c = 0; c < 4; c++) {
        __m512 lo01 = _mm512_shuffle_f32x4(u[c], u[4 + c], 0x44),
               hi01 = _mm512_shuffle_f32x4(u[c], u[4 + c], 0xEE);
        __m512 lo23 = _mm512_shuffle_f32x4(u[8 + c], u[12 + c], 0x44);
        __m512 hi23 = _mm512_shuffle_f32x4(u[8 + c], u[12 + c], 0xEE);
        rows[c] = (vf)_mm512_shuffle_f32x4(lo01, lo23, 0x88);
        rows[4 + c] = (vf)_mm512_shuffle_f32x4(lo01, lo23, 0xDD);
        rows[8 + c] = (vf)_mm512_shuffle_f32x4(hi01, hi23, 0x88);
        rows[12 + c] = (vf)_mm512_shuffle_f32x4(hi01, hi23, 0xDD);
    }
}

INLINE __m512i quarter_rows(const uint8_t *p, int64_t stride)
{
    __m512i v = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)p));
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(p + 4 * stride)), 1);
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(p + 8 * stride)), 2);
    return _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(p + 12 * stride)), 3);
}

INLINE void vu_load_quads(const uint8_t *p, int64_t stride, vu out[4])
{
    __m512i a = quarter_rows(p, stride), b = quarter_rows(p + stride, stride);
    __m512i c = quarter_rows(p + 2 * stride, stride), d = quarter_rows(p + 3 * stride, stride);
    __m512i ab = _mm512_unpacklo_epi32(a, b), cd = _mm512_unpacklo_epi32(c, d);
    __m512i AB = _mm512_unpackhi_epi32(a, b), CD = _mm512_unpackhi_epi32(c, d);
    out[0] = (vu)_mm512_unpacklo_epi64(ab, cd);
    out[1] = (vu)_mm512_unpackhi_epi64(ab, cd);
    out[2] = (vu)_mm512_unpacklo_epi64(AB, CD);
    out[3] = (vu)_mm512_unpackhi_epi64(AB, CD);
}

INLINE int word_at(const uint8_t *p)
{
    int32_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

INLINE vu vu_load_words(const uint8_t *p, int64_t stride)
{
    return (vu)_mm512_set_epi32(word_at(p + 15 * stride), word_at(p + 14 * stride), word_at(p + 13 * stride),
                                word_at(p + 12 * stride), word_at(p + 11 * stride), word_at(p + 10 * stride),
                                word_at(p + 9 * stride), word_at(p + 8 * stride), word_at(p + 7 * stride),
                                word_at(p + 6 * stride), word_at(p + 5 * stride), word_at(p + 4 * stride),
                                word_at(p + 3 * stride), word_at(p + 2 * stride), word_at(p + stride),
                                word_at(p));
}

INLINE vf vf_from_f16_lanes(vu v)
{
    return (vf)_mm512_cvtph_ps(_mm512_cvtepi32_epi16((__m512i)v));
}

INLINE vu vu_look_up(const uint8_t table[16], vu v)
{
    __m512i four = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)table));
    return (vu)_mm512_shuffle_epi8(four, (__m512i)v);
}

INLINE vu vu_spread_bits(vu bits, int nibble)
{
    const __m512i byte = _mm512_set4_epi32(0x0C0C0C0C, 0x08080808, 0x04040404, 0);
    __m512i copies =
        _mm512_shuffle_epi8((__m512i)bits, _mm512_add_epi8(byte, _mm512_set1_epi8((char)(nibble / 2))));
    __mmask64 set =
        _mm512_test_epi8_mask(copies, _mm512_set1_epi32(nibble & 1 ? (int)0x80402010 : 0x08040201));
    return (vu)_mm512_maskz_set1_epi8(set, 1);
}

/* acc + weights · activations over `steps` groups of four. */
INLINE vi vi_dot(vi acc, const vu *w, const int8_t *a, int steps, int budget)
{
    (void)budget;
#pragma GCC unroll 8
    for (int j = 0; j < steps; j++)
        acc = (vi)_mm512_dpbusd_epi32((__m512i)acc, (__m512i)w[j],
                                      _mm512_set1_epi32(word_at((const uint8_t *)a + 4 * j)));
    return acc;
}

/* ---- products along a row: see single.c ---- */
#define HAS_ROW_DOTS 1

/* 64 bytes, wherever they begin. */
INLINE vu vu_load_bytes(const uint8_t *p)
{
    return (vu)_mm512_loadu_si512(p);
}

/* 32 bytes at p, then 32 at q. */
INLINE vu vu_halves(const uint8_t *p, const uint8_t *q)
{
    __m512i v = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)p));
    return (vu)_mm512_inserti64x4(v, _mm256_loadu_si256((const __m256i *)q), 1);
}

/* Sixteen bytes at p, the same shifted down by four bits, the like of q; all of eight bits still. */
INLINE vu vu_nibble_quarters(const uint8_t *p, const uint8_t *q)
{
    __m512i v = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)p));
    v = _mm512_mask_broadcast_i32x4(v, 0xFF00, _mm_loadu_si128((const __m128i *)q));
    return (vu)_mm512_srlv_epi64(v, _mm512_set_epi64(4, 4, 0, 0, 4, 4, 0, 0));
}

/* The 64-bit words of each half turned left by its number of bits. */
INLINE vu vu_turn_halves(vu v, int first, int second)
{
    return (vu)_mm512_rolv_epi64(
        (__m512i)v, _mm512_set_epi64(second, second, second, second, first, first, first, first));
}

/* Byte i is `value` where bit i is set. */
INLINE vu vu_bytes_of_bits(uint32_t first, uint32_t second, char value)
{
    return (vu)_mm512_maskz_set1_epi8((__mmask64)((uint64_t)second << 32 | first), value);
}

/* Products of unsigned and signed bytes, four to a lane. */
INLINE vi vi_dot_bytes(vu w, vu x)
{
    return (vi)_mm512_dpbusd_epi32(_mm512_setzero_si512(), (__m512i)w, (__m512i)x);
}

/* out[i][r]: the sum of quarter i of v[r]. */
INLINE void vi_sum_quarters(const vi v[LANES], vi out[4])
{
    __m512i s[8], t[4];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        __m512i a = (__m512i)v[2 * i], b = (__m512i)v[2 * i + 1];
        s[i] = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        t[i] = _mm512_add_epi32(_mm512_unpacklo_epi64(s[2 * i], s[2 * i + 1]),
                                _mm512_unpackhi_epi64(s[2 * i], s[2 * i + 1]));
    __m512i a = _mm512_shuffle_i32x4(t[0], t[1], 0x44), b = _mm512_shuffle_i32x4(t[2], t[3], 0x44);
    __m512i c = _mm512_shuffle_i32x4(t[0], t[1], 0xEE), d = _mm512_shuffle_i32x4(t[2], t[3], 0xEE);
    out[0] = (vi)_mm512_shuffle_i32x4(a, b, 0x88);
    out[1] = (vi)_mm512_shuffle_i32x4(a, b, 0xDD);
    out[2] = (vi)_mm512_shuffle_i32x4(c, d, 0x88);
    out[3] = (vi)_mm512_shuffle_i32x4(c, d, 0xDD);
}
