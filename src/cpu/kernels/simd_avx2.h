/* Vectors of eight lanes: AVX2, FMA and F16C.
 * SPDX-License-Identifier: Apache-2.0
 * Included by simd.h only; each function is described in simd_scalar.h. */
#include <immintrin.h>

enum {
    LANES = 8,
    TILE_ROWS = 4,
    PANELS = 1,
    GEMM_ROWS = 4,
    GEMM_COLS = 2,
    FLOAT_ROWS = 4,
    FLOAT_PANELS = 2,
    SIGNED_Q8 = 1,
    FUSED = 1,
    DOT_STEPS = 4
};

typedef float vf __attribute__((vector_size(32)));
typedef int32_t vi __attribute__((vector_size(32)));
typedef uint32_t vu __attribute__((vector_size(32)));

INLINE vf vf_set(float x)
{
    return (vf)_mm256_set1_ps(x);
}

INLINE vu vu_set(uint32_t x)
{
    return (vu)_mm256_set1_epi32((int)x);
}

INLINE vf vf_fma(vf a, vf b, vf c)
{
    return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}

INLINE vf vf_max(vf a, vf b)
{
    return (vf)_mm256_max_ps((__m256)a, (__m256)b);
}

INLINE vf vf_min(vf a, vf b)
{
    return (vf)_mm256_min_ps((__m256)a, (__m256)b);
}

INLINE float vf_sum(vf v)
{
    __m128 four = _mm_add_ps(_mm256_castps256_ps128((__m256)v), _mm256_extractf128_ps((__m256)v, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

INLINE float vf_max_lane(vf v)
{
    __m128 four = _mm_max_ps(_mm256_castps256_ps128((__m256)v), _mm256_extractf128_ps((__m256)v, 1));
    __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

INLINE vf vf_round(vf v)
{
    return (vf)_mm256_round_ps((__m256)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

INLINE vi vi_from_vf(vf v)
{
    return (vi)_mm256_cvtps_epi32((__m256)v);
}

INLINE vf vf_from_vi(vi v)
{
    return (vf)_mm256_cvtepi32_ps((__m256i)v);
}

INLINE int32_t vi_sum(vi v)
{
    __m128i four = _mm_add_epi32(_mm256_castsi256_si128((__m256i)v), _mm256_extracti128_si256((__m256i)v, 1));
    __m128i two = _mm_add_epi32(four, _mm_unpackhi_epi64(four, four));
    return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 1)));
}

INLINE vf vf_load_f16(const void *p)
{
    return (vf)_mm256_cvtph_ps(_mm_loadu_si128(p));
}

INLINE void vf_store_f16(void *p, vf v)
{
    _mm_storeu_si128(p, _mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

INLINE vf vf_load_bf16(const void *p)
{
    return (vf)_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(p)), 16);
}

INLINE vf vf_load_i8(const void *p)
{
    return (vf)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(p)));
}

INLINE void vi_store_i8(void *p, vi v)
{
    __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128((__m256i)v), _mm256_extracti128_si256((__m256i)v, 1));
    _mm_storel_epi64(p, _mm_packs_epi16(words, words));
}

INLINE void vf_transpose(vf rows[LANES])
{
    __m256 t[8], u[8];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        t[2 * i] = _mm256_unpacklo_ps((__m256)rows[2 * i], (__m256)rows[2 * i + 1]);
        t[2 * i + 1] = _mm256_unpackhi_ps((__m256)rows[2 * i], (__m256)rows[2 * i + 1]);
    }
#pragma GCC unroll 2
    for (int g = 0; g < 2; g++) {
        u[4 * g] = _mm256_shuffle_ps(t[4 * g], t[4 * g + 2], 0x44);
        u[4 * g + 1] = _mm256_shuffle_ps(t[4 * g], t[4 * g + 2], 0xEE);
        u[4 * g + 2] = _mm256_shuffle_ps(t[4 * g + 1], t[4 * g + 3], 0x44);
        u[4 * g + 3] = _mm256_shuffle_ps(t[4 * g + 1], t[4 * g + 3], 0xEE);
    }
#pragma GCC unroll 4
    for (int c = 0; c < 4; c++) {
        rows[c] = (vf)_mm256_permute2f128_ps(u[c], u[4 + c], 0x20);
        rows[4 + c] = (vf)_mm256_permute2f128_ps(u[c], u[4 + c], 0x31);
    }
}

INLINE __m256i half_rows(const uint8_t *p, int64_t stride)
{
    __m256i v = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)p));
    return _mm256_inserti128_si256(v, _mm_loadu_si128((const __m128i *)(p + 4 * stride)), 1);
}

INLINE void vu_load_quads(const uint8_t *p, int64_t stride, vu out[4])
{
    __m256i a = half_rows(p, stride), b = half_rows(p + stride, stride);
    __m256i c = half_rows(p + 2 * stride, stride), d = half_rows(p + 3 * stride, stride);
    __m256i ab = _mm256_unpacklo_epi32(a, b), cd = _mm256_unpacklo_epi32(c, d);
    __m256i AB = _mm256_unpackhi_epi32(a, b), CD = _mm256_unpackhi_epi32(c, d);
    out[0] = (vu)_mm256_unpacklo_epi64(ab, cd);
    out[1] = (vu)_mm256_unpackhi_epi64(ab, cd);
    out[2] = (vu)_mm256_unpacklo_epi64(AB, CD);
    out[3] = (vu)_mm256_unpackhi_epi64(AB, CD);
}

INLINE int word_at(const uint8_t *p)
{
    int32_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

INLINE vu vu_load_words(const uint8_t *p, int64_t stride)
{
    return (vu)_mm256_set_epi32(word_at(p + 7 * stride), word_at(p + 6 * stride), word_at(p + 5 * stride),
                                word_at(p + 4 * stride), word_at(p + 3 * stride), word_at(p + 2 * stride),
                                word_at(p + stride), word_at(p));
}

INLINE vf vf_from_f16_lanes(vu v)
{
    __m256i low = _mm256_and_si256((__m256i)v, _mm256_set1_epi32(0xFFFF));
    __m128i halves = _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
    return (vf)_mm256_cvtph_ps(halves);
}

INLINE vu vu_look_up(const uint8_t table[16], vu v)
{
    __m256i both = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)table));
    return (vu)_mm256_shuffle_epi8(both, (__m256i)v);
}

INLINE vu vu_spread_bits(vu bits, int nibble)
{
    const __m256i byte =
        _mm256_set_epi32(0x0C0C0C0C, 0x08080808, 0x04040404, 0, 0x0C0C0C0C, 0x08080808, 0x04040404, 0);
    __m256i copies =
        _mm256_shuffle_epi8((__m256i)bits, _mm256_add_epi8(byte, _mm256_set1_epi8((char)(nibble / 2))));
    __m256i mask = _mm256_set1_epi32(nibble & 1 ? (int)0x80402010 : 0x08040201);
    __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(copies, mask), mask);
    return (vu)_mm256_and_si256(set, _mm256_set1_epi8(1));
}

INLINE __m256i broadcast4(const int8_t *a)
{
    return _mm256_set1_epi32(word_at((const uint8_t *)a));
}

/* Sums of pairs are 16 bits wide: at most `budget` of them are added before they are widened. Signed
 * weights (budget 0) multiply by their absolute value, the sign going over to the activations. */
INLINE vi vi_dot(vi acc, const vu *w, const int8_t *a, int steps, int budget)
{
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i sum = (__m256i)acc;
    int stride = budget ? budget : 1;
#pragma GCC unroll 8
    for (int j = 0; j < steps; j += stride) {
        __m256i pairs = _mm256_setzero_si256();
#pragma GCC unroll 4
        for (int i = 0; i < stride; i++) {
            __m256i weights = (__m256i)w[j + i], values = broadcast4(a + 4 * (j + i));
            __m256i product =
                budget ? _mm256_maddubs_epi16(weights, values)
                       : _mm256_maddubs_epi16(_mm256_abs_epi8(weights), _mm256_sign_epi8(values, weights));
            pairs = i ? _mm256_add_epi16(pairs, product) : product;
        }
        sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, ones));
    }
    return (vi)sum;
}
