/* Multiplies one row of activations with quantised weights where they lie, without a panel.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A panel pays when several rows share it. For one row, two chunks of a weight row fill a vector of bytes
 * whose products with the activations fall into its quarters, half a chunk each; the quarters of LANES rows
 * are then added up to LANES outputs at once. These sums are exact integers, and the floats that follow are
 * the operations of product.c in their order, so that an output is the same bits either way. The rows are
 * read side by side: as many streams as that keep more memory in flight than one would. */
#include "cpu/kernels/outputs.h"
#include "cpu/kernels/quantized.h"
#include "cpu/kernels/scales.h"

#if defined(HAS_ROW_DOTS)

enum { AHEAD = 512 }; /* bytes of each row that are asked for before they are needed */

bool KERNEL(has_single)(enum dtype dtype, int64_t cols)
{
    return KERNEL(product_form)(dtype) != FORM_FLOAT && cols % (2 * CHUNK) == 0;
}

struct single {
    enum dtype dtype;
    enum product_form form;
    const uint8_t *rows;
    int64_t stride;
    const struct byte_rows *in;
};

/* ---- two chunks of one weight row, as unsigned bytes ---- */

INLINE vu low_nibbles(vu v)
{
    return v & vu_set(0x0F0F0F0F);
}

INLINE uint32_t bits_at(const uint8_t *p)
{
    uint32_t bits;
    memcpy(&bits, p, sizeof bits);
    return bits;
}

/* Blocks p and q of 32. */
INLINE vu pair_of_32(enum dtype dtype, const uint8_t *p, const uint8_t *q)
{
    switch (dtype) {
    case DT_Q4_0:
        return low_nibbles(vu_nibble_quarters(p + 2, q + 2));
    case DT_Q4_1:
        return low_nibbles(vu_nibble_quarters(p + 4, q + 4));
    case DT_Q5_0:
        return low_nibbles(vu_nibble_quarters(p + 6, q + 6)) |
               vu_bytes_of_bits(bits_at(p + 2), bits_at(q + 2), 16);
    case DT_Q5_1:
        return low_nibbles(vu_nibble_quarters(p + 8, q + 8)) |
               vu_bytes_of_bits(bits_at(p + 4), bits_at(q + 4), 16);
    case DT_IQ4_NL:
        return vu_look_up(curve, low_nibbles(vu_nibble_quarters(p + 2, q + 2)));
    case DT_MXFP4:
        return vu_look_up(small_floats, low_nibbles(vu_nibble_quarters(p + 1, q + 1)));
    default: /* Q8_0 */
        return vu_halves(p + 2, q + 2) ^ vu_set(0x80808080);
    }
}

/* Q4_K and Q5_K keep the chunks 4i and 4i+2, 4i+1 and 4i+3 in the same bytes, the others neighbours. */
INLINE int first_of_pair(enum dtype dtype, int pair)
{
    return dtype == DT_Q4_K || dtype == DT_Q5_K ? pair / 2 * 4 + pair % 2 : 2 * pair;
}

INLINE int second_of_pair(enum dtype dtype, int pair)
{
    return first_of_pair(dtype, pair) + (dtype == DT_Q4_K || dtype == DT_Q5_K ? 2 : 1);
}

/* Bits `bit` of the first half and `other` of the second, `wide` of them, moved to bit `to` of their bytes.
 */
INLINE vu move_bits(vu v, int bit, int other, int wide, int to)
{
    uint32_t mask = (uint32_t)((1 << wide) - 1) << to;
    return vu_turn_halves(v, (to - bit) & 63, (to - other) & 63) & vu_set(mask * 0x01010101u);
}

INLINE vu nibbles_of_64(const uint8_t *p, int high)
{
    return low_nibbles(vu_load_bytes(p) >> (high ? 4 : 0));
}

INLINE vu pair_of_256(enum dtype dtype, const uint8_t *block, int pair)
{
    int c = first_of_pair(dtype, pair), d = second_of_pair(dtype, pair);
    const uint8_t *shared;
    switch (dtype) {
    case DT_Q4_K:
        return nibbles_of_64(block + 16 + pair / 2 * 64, pair % 2);
    case DT_Q5_K:
        return nibbles_of_64(block + 48 + pair / 2 * 64, pair % 2) |
               move_bits(vu_halves(block + 16, block + 16), c, d, 1, 4);
    case DT_Q6_K:
        shared = block + 128 + pair / 2 * 32;
        return nibbles_of_64(block + pair / 2 * 64, pair % 2) |
               move_bits(vu_halves(shared, shared), 2 * (c % 4), 2 * (d % 4), 2, 4);
    case DT_Q2_K:
        shared = block + 16 + c / 4 * 32;
        return move_bits(vu_halves(shared, shared), 2 * (c % 4), 2 * (d % 4), 2, 0);
    case DT_Q3_K:
        shared = block + 32 + c / 4 * 32;
        return move_bits(vu_halves(shared, shared), 2 * (c % 4), 2 * (d % 4), 2, 0) |
               move_bits(vu_halves(block, block), c, d, 1, 2);
    default: /* IQ4_XS */
        return vu_look_up(curve, low_nibbles(vu_nibble_quarters(block + 8 + c * 16, block + 8 + d * 16)));
    }
}

/* ---- one group after the other, in order ---- */

/* sums: of the chunk's halves. */
INLINE vf add_chunk(const struct single *s, int64_t c, const vi sums[2], const struct chunk_scales *scales,
                    const vf mins[2], vf acc)
{
    const int zero = -zero_point(s->dtype);
    const int32_t *counts = s->in->counts + 2 * c;
    float scale = s->in->scales[c];
    if (s->form == FORM_MIN || s->form == FORM_ZERO || s->form == FORM_POWERS) {
        vi dots = sums[0] + sums[1] + (vi)vu_set((uint32_t)(zero * (counts[0] + counts[1])));
        acc = vf_fma(vf_from_vi(dots) * scales->d, vf_set(scale), acc);
        return s->form == FORM_MIN ? vf_fma(scales->m, vf_set(s->in->sums[c]), acc) : acc;
    }
#pragma GCC unroll 2
    for (int half = 0; half < 2; half++) {
        vi dots = sums[half] + (vi)vu_set((uint32_t)(zero * counts[half]));
        acc = vf_fma(vf_from_vi(dots) * (half ? scales->m : scales->d), vf_set(scale), acc);
        if (s->form == FORM_HALVES_MIN)
            acc = vf_fma(mins[half], vf_set(scale * (float)counts[half]), acc);
    }
    return acc;
}

/* Where the memory `AHEAD` of column offset `at` of the rows is: behind a row's end, in the next LANES rows.
 */
INLINE int64_t ahead_of(const struct single *s, int64_t at)
{
    return at + AHEAD < s->stride ? AHEAD : AHEAD + (LANES - 1) * s->stride;
}

/* It may lie past the end of the file, which a hint may and a pointer may not. */
INLINE void ask_for(const uint8_t *p, int64_t offset)
{
    __builtin_prefetch((const void *)((uintptr_t)p + (uintptr_t)offset), 0, 3);
}

INLINE vf single_of_32(const struct single *s, int bytes)
{
    vf acc = vf_set(0);
    for (int64_t c = 0; c < s->in->chunks; c += 2) {
        const uint8_t *p = s->rows + c * bytes;
        int64_t ahead = ahead_of(s, c * bytes);
        vu x = vu_load(s->in->q + c * CHUNK);
        vi dots[LANES], sums[4];
        struct chunk_scales scales[2];
#pragma GCC unroll 16
        for (int r = 0; r < LANES; r++) {
            dots[r] = vi_dot_bytes(pair_of_32(s->dtype, p + r * s->stride, p + r * s->stride + bytes), x);
            ask_for(p + r * s->stride, ahead);
        }
        vi_sum_quarters(dots, sums);
        scales_32(s->dtype, p, s->stride, &scales[0]);
        scales_32(s->dtype, p + bytes, s->stride, &scales[1]);
        acc = add_chunk(s, c, sums, &scales[0], NULL, acc);
        acc = add_chunk(s, c + 1, sums + 2, &scales[1], NULL, acc);
    }
    return acc;
}

INLINE void scales_256(enum dtype dtype, const uint8_t *block, int64_t stride, struct chunk_scales to[8],
                       vf mins[16])
{
    if (dtype == DT_Q6_K)
        scales_q6_k(block, stride, to);
    else if (dtype == DT_Q2_K)
        scales_q2_k(block, stride, to, mins);
    else if (dtype == DT_Q3_K)
        scales_q3_k(block, stride, to);
    else if (dtype == DT_IQ4_XS)
        scales_iq4_xs(block, stride, to);
    else
        scales_k45(block, stride, to);
}

INLINE vf single_of_256(const struct single *s, int bytes)
{
    vf acc = vf_set(0), mins[16];
    for (int64_t first = 0; first < s->in->chunks; first += 8) {
        int64_t at = first / 8 * bytes, ahead = ahead_of(s, at);
        const uint8_t *block = s->rows + at;
        const int8_t *q = s->in->q + first * CHUNK;
        vi sums[8][2];
        struct chunk_scales scales[8];
#pragma GCC unroll 4
        for (int pair = 0; pair < 4; pair++) {
            int c = first_of_pair(s->dtype, pair), d = second_of_pair(s->dtype, pair);
            vu x = vu_halves((const uint8_t *)q + c * CHUNK, (const uint8_t *)q + d * CHUNK);
            vi dots[LANES], quarters[4];
#pragma GCC unroll 16
            for (int r = 0; r < LANES; r++) {
                dots[r] = vi_dot_bytes(pair_of_256(s->dtype, block + r * s->stride, pair), x);
                if (pair < (bytes + 63) / 64)
                    ask_for(block + r * s->stride + pair * 64, ahead);
            }
            vi_sum_quarters(dots, quarters);
            sums[c][0] = quarters[0];
            sums[c][1] = quarters[1];
            sums[d][0] = quarters[2];
            sums[d][1] = quarters[3];
        }
        scales_256(s->dtype, block, s->stride, scales, mins);
#pragma GCC unroll 8
        for (int c = 0; c < 8; c++)
            acc = add_chunk(s, first + c, sums[c], &scales[c], &mins[2 * c], acc);
    }
    return acc;
}

void KERNEL(multiply_single)(enum dtype dtype, const void *weights, int64_t stride,
                             const struct byte_rows *in, const struct product_range *range)
{
#define SINGLE(kind, form, bytes, of)                                                                        \
    case kind:                                                                                               \
        acc = of(&(struct single){kind, form, weights, stride, in}, bytes);                                  \
        break
    vf acc = vf_set(0);
    switch (dtype) {
        SINGLE(DT_Q4_0, FORM_ZERO, 18, single_of_32);
        SINGLE(DT_Q4_1, FORM_MIN, 20, single_of_32);
        SINGLE(DT_Q5_0, FORM_ZERO, 22, single_of_32);
        SINGLE(DT_Q5_1, FORM_MIN, 24, single_of_32);
        SINGLE(DT_Q8_0, FORM_ZERO, 34, single_of_32);
        SINGLE(DT_IQ4_NL, FORM_ZERO, 18, single_of_32);
        SINGLE(DT_MXFP4, FORM_POWERS, 17, single_of_32);
        SINGLE(DT_Q4_K, FORM_MIN, 144, single_of_256);
        SINGLE(DT_Q5_K, FORM_MIN, 176, single_of_256);
        SINGLE(DT_Q6_K, FORM_HALVES, 210, single_of_256);
        SINGLE(DT_Q2_K, FORM_HALVES_MIN, 84, single_of_256);
        SINGLE(DT_Q3_K, FORM_HALVES, 110, single_of_256);
        SINGLE(DT_IQ4_XS, FORM_ZERO, 136, single_of_256);
    default:
        return;
    }
#undef SINGLE
    put_outputs(range, 0, 0, acc);
}

#else

bool KERNEL(has_single)(enum dtype dtype, int64_t cols)
{
    (void)dtype;
    (void)cols;
    return false;
}

void KERNEL(multiply_single)(enum dtype dtype, const void *weights, int64_t stride,
                             const struct byte_rows *in, const struct product_range *range)
{
    (void)dtype;
    (void)weights;
    (void)stride;
    (void)in;
    (void)range;
}

#endif
