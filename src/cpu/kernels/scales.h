/* The scales of LANES rows' blocks, in every quantised format, and the tables some numbers are taken from.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Block layouts are described in tensor/dequant.c. `p` and `block` point at the first row's block; the other
 * rows' are `stride` apart. */
#ifndef CPU_KERNELS_SCALES_H
#define CPU_KERNELS_SCALES_H

#include "cpu/kernels/quantized.h"

struct chunk_scales {
    vf d; /* of the chunk, or of its first half */
    vf m; /* minimum, or d of the second half */
};

/* What the nibbles of the IQ4 kinds stand for; beside unsigned bytes, all 128 higher. */
enum { RAISED = SIGNED_Q8 ? 0 : 128 };
static const uint8_t curve[16] = {(uint8_t)(RAISED - 127),
                                  (uint8_t)(RAISED - 104),
                                  (uint8_t)(RAISED - 83),
                                  (uint8_t)(RAISED - 65),
                                  (uint8_t)(RAISED - 49),
                                  (uint8_t)(RAISED - 35),
                                  (uint8_t)(RAISED - 22),
                                  (uint8_t)(RAISED - 10),
                                  RAISED + 1,
                                  RAISED + 13,
                                  RAISED + 25,
                                  RAISED + 38,
                                  RAISED + 53,
                                  RAISED + 69,
                                  RAISED + 89,
                                  RAISED + 113};

/* The sixteen floats of MXFP4, doubled, 12 higher. */
static const uint8_t small_floats[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};

/* 2^(e - 128), the two smallest being subnormal. */
INLINE vf half_power(vu e)
{
    vu small = (vu)((vi)e < (vi)vu_set(2));
    return (vf)((small & (vu_set(0x00200000) << (e & 1))) | (~small & ((e - 1) << 23)));
}

INLINE void scales_32(enum dtype dtype, const uint8_t *p, int64_t stride, struct chunk_scales *to)
{
    vu pair = vu_load_words(p, stride);
    to->d = dtype == DT_MXFP4 ? half_power(pair & 0xFF) : vf_from_f16_lanes(pair);
    to->m = dtype == DT_Q4_1 || dtype == DT_Q5_1 ? vf_from_f16_lanes(pair >> 16) : vf_set(0);
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

/* Q4_K, Q5_K. */
INLINE void scales_k45(const uint8_t *block, int64_t stride, struct chunk_scales to[8])
{
    vu header[4];
    vu_load_quads(block, stride, header);
    vf d = vf_from_f16_lanes(header[0]), dmin = vf_from_f16_lanes(header[0] >> 16);
#pragma GCC unroll 8
    for (int sub = 0; sub < 8; sub++) {
        vf scale, min;
        scale_min(header + 1, sub, &scale, &min);
        to[sub].d = d * scale;
        to[sub].m = vf_set(0) - dmin * min;
    }
}

/* Signed byte `index` of sixteen held as four words. */
INLINE vf signed_byte(const vu words[4], int index)
{
    return vf_from_vi((vi)(words[index / 4] << (24 - index % 4 * 8)) >> 24);
}

INLINE void scales_q6_k(const uint8_t *block, int64_t stride, struct chunk_scales to[8])
{
    vu scales[4];
    vu_load_quads(block + 192, stride, scales);
    vf d = vf_from_f16_lanes(vu_load_words(block + 206, stride) >> 16);
#pragma GCC unroll 8
    for (int c = 0; c < 8; c++) {
        to[c].d = d * signed_byte(scales, 2 * c);
        to[c].m = d * signed_byte(scales, 2 * c + 1);
    }
}

/* Each of sixteen scale bytes has its group's scale below and its minimum above. */
INLINE void scales_q2_k(const uint8_t *block, int64_t stride, struct chunk_scales to[8], vf mins[16])
{
    vu scales[4], pair = vu_load_words(block + 80, stride);
    vu_load_quads(block, stride, scales);
    vf d = vf_from_f16_lanes(pair), dmin = vf_from_f16_lanes(pair >> 16);
#pragma GCC unroll 8
    for (int c = 0; c < 8; c++) {
        vu bytes = scales[c / 2] >> (c % 2 * 16);
        vf step[2];
        for (int half = 0; half < 2; half++) {
            step[half] = d * vf_from_vi((vi)((bytes >> (8 * half)) & 15));
            mins[2 * c + half] = vf_set(0) - dmin * vf_from_vi((vi)((bytes >> (8 * half + 4)) & 15));
        }
        to[c] = (struct chunk_scales){step[0], step[1]};
    }
}

/* Scale i of sixteen, six bits: low nibbles of 0-7 and 8-15 in bytes 0-7, two top bits each in bytes 8-11. */
INLINE vf scale_q3_k(const vu packed[3], int i)
{
    vu low = (packed[i % 8 / 4] >> (i % 4 * 8 + (i < 8 ? 0 : 4))) & 15;
    vu high = (packed[2] >> (i % 4 * 8 + i / 4 * 2)) & 3;
    return vf_from_vi((vi)(low | high << 4) - 32);
}

INLINE void scales_q3_k(const uint8_t *block, int64_t stride, struct chunk_scales to[8])
{
    vu packed[4], tail = vu_load_words(block + 106, stride);
    vu_load_quads(block + 94, stride, packed); /* two bytes early, to stay inside the block */
    vu scales[3] = {packed[0] >> 16 | packed[1] << 16, packed[1] >> 16 | packed[2] << 16,
                    packed[2] >> 16 | packed[3] << 16};
    vf d = vf_from_f16_lanes(tail >> 16);
#pragma GCC unroll 8
    for (int c = 0; c < 8; c++) {
        to[c].d = d * scale_q3_k(scales, 2 * c);
        to[c].m = d * scale_q3_k(scales, 2 * c + 1);
    }
}

INLINE void scales_iq4_xs(const uint8_t *block, int64_t stride, struct chunk_scales to[8])
{
    vu head = vu_load_words(block, stride), low = vu_load_words(block + 4, stride);
    vf d = vf_from_f16_lanes(head);
#pragma GCC unroll 8
    for (int c = 0; c < 8; c++) {
        vu scale = ((low >> (4 * c)) & 15) | ((head >> (16 + 2 * c)) & 3) << 4;
        to[c].d = d * vf_from_vi((vi)scale - 32);
        to[c].m = vf_set(0);
    }
}

#endif
