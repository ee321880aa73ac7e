/* One unit of sixteen weight rows on its way through a warp's shared memory: how it is loaded and multiplied.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The weights are the first operand of a tensor-core product (sixteen weight rows), activations the second
 * (eight columns). Lane 4·g+t loads and multiplies weight rows g and g+8 and, of a block of 32 columns, the
 * eight that layout_column gives it: a product does not mind in which order its columns come, as long as both
 * operands agree. A lane copies into shared memory what it will read itself; scales are shared by the warp.
 *
 * Quantised weights are multiplied as whole numbers: their codes by the activations' digits (digits.cuh), by
 * m16n8k32 products of bytes, which are exact; then a block's sum is scaled in fp32. Of a single row, the
 * eight columns are four blocks times two digits: each block's digits stand in columns of their own and are
 * zero in the others, so that four blocks are summed apart in one accumulator, and each lane scales a block
 * of its own. Of several rows, a column is a row, and there are two products, one for each digit. Either way
 * the same numbers are added in the same order, so that a row's bytes do not depend on the number of rows. */
#pragma once

#include "cuda/digits.cuh"
#include "cuda/number.cuh"
#include "cuda/weight_layout.h"

// ---- tensor cores ----
template <typename T>
static __device__ __forceinline__ void step(float d[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
    number<T>::multiply(d, a, b0, b1);
}

// d += a · b: rows g and g+8 of columns 2t and 2t+1 in d[0 … 3]. Codes of eight bits are signed, others not.
template <bool SIGNED>
static __device__ __forceinline__ void step_bytes(int d[4], const uint32_t a[4], uint2 b)
{
    if constexpr (SIGNED)
        asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
            "{%0,%1,%2,%3};"
            : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.x), "r"(b.y));
    else
        asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
            "{%0,%1,%2,%3};"
            : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.x), "r"(b.y));
}

// ---- copies into shared memory ----
// Weights are read once, so they stay out of the L1 cache; `bytes` below 16 and the scales, which two units
// may share, go through it.
static __device__ __forceinline__ void slot_copy(uint32_t to, const char *from, bool keep = true)
{
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                 "r"(keep ? 16 : 0)
                 : "memory");
}

template <int BYTES> static __device__ __forceinline__ void slot_copy_small(uint32_t to, const char *from)
{
    asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(BYTES)
                 : "memory");
}

// Where the parts of a quantised row begin (layout_row), in bytes; `columns` that a row holds.
struct slot_parts {
    unsigned high, scales, tail, columns;
};

// Rows of a tile: where it begins, and how far from there the lane's rows are (past the weight's end: its
// last row again). `scaled`: the row whose scales the lane copies.
struct slot_rows {
    const char *tile;
    unsigned row[2], scaled;
};

// Byte i of a word as a float above 2^23, exact.
static __device__ __forceinline__ float raised_byte(uint32_t word, int i)
{
    return __uint_as_float(__byte_perm(word, 0x4b000000u, 0x7440u + static_cast<uint32_t>(i)));
}

static __device__ __forceinline__ float half_of(uint32_t word, int i)
{
    return __half2float(__ushort_as_half(static_cast<unsigned short>(i ? word >> 16 : word & 0xffffu)));
}

static __device__ __forceinline__ uint32_t word_of(const uint4 &x, int i)
{
    return i == 0 ? x.x : i == 1 ? x.y : i == 2 ? x.z : x.w;
}

// ---- quantised weights ----
template <enum dtype D> struct slot {
    static constexpr bool CODED = true;
    static constexpr int BITS = layout_bits(D), UNIT = D == DT_Q4_K ? 256 : 128, BLOCKS = UNIT / 32;
    static constexpr bool SIX = BITS == 6, SIGNED = BITS == 8;
    static constexpr bool MINIMA = D == DT_Q4_1 || D == DT_Q5_1 || D == DT_Q4_K || D == DT_Q5_K;
    static constexpr bool LISTED = D == DT_Q4_K || D == DT_Q5_K; // scales are six-bit numbers times d
    // Units that a warp keeps on their way. Two blocks should leave some of the SM's memory to the L1 cache,
    // which the small parts go through.
    static constexpr int DEPTH = D == DT_Q4_0 ? 3 : 2;
    // A unit's parts in shared memory.
    static constexpr int CODES = UNIT * (BITS == 8 ? 8 : 4) / 512, HIGH_BYTES = BITS == 5   ? 4
                                                                                : BITS == 6 ? 8
                                                                                            : 0;
    static constexpr int SCALE_BYTES = MINIMA ? 16 : 8;
    static constexpr int HIGH = 2 * CODES * 512, SCALES = HIGH + 2 * 32 * HIGH_BYTES;
    static constexpr int TAIL = SCALES + 16 * SCALE_BYTES, BYTES = TAIL + (SIX ? 64 : 0);

    static __device__ __forceinline__ void load(uint32_t to, const slot_rows &rows, const slot_parts &parts,
                                                unsigned unit, unsigned lane)
    {
        unsigned t = lane % 4;
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const char *row = rows.tile + rows.row[r];
#pragma unroll
            for (int i = 0; i < CODES; i++)
                slot_copy(to + static_cast<unsigned>(r * CODES + i) * 512 + lane * 16,
                          row + (unit * (64 * CODES) + 64 * i + t * 16));
            if constexpr (BITS == 5)
                slot_copy_small<4>(to + HIGH + static_cast<unsigned>(r) * 128 + lane * 4,
                                   row + (parts.high + unit / 2 * 32 + t * 8 + unit % 2 * 4));
            if constexpr (BITS == 6)
                slot_copy_small<8>(to + HIGH + static_cast<unsigned>(r) * 256 + lane * 8,
                                   row + (parts.high + unit / 2 * 64 + t * 16 + unit % 2 * 8));
        }
        const char *row = rows.tile + rows.scaled;
        if (lane < 16)
            slot_copy_small<SCALE_BYTES>(
                to + SCALES + lane * SCALE_BYTES,
                row + (parts.scales + (LISTED ? unit * UNIT / 256 * 16 : unit * SCALE_BYTES)));
        else if (SIX) // the units' scales are two bytes each: two units'
            slot_copy_small<4>(to + TAIL + (lane - 16) * 4, row + (parts.tail + unit / 4 * 4));
    }

    // A lane's codes of row r (g or g+8) and blocks four … four+3: as they came, then as bytes, half of the
    // eight of a block at a time.
    struct raw_codes {
        uint4 x[BITS == 8 ? 2 : 1];
        uint2 high;

        __device__ __forceinline__ raw_codes(const char *at, int r, int four, uint32_t lane)
            : high(make_uint2(0, 0))
        {
            constexpr int LOADS = BITS == 8 ? 2 : 1;
#pragma unroll
            for (int i = 0; i < LOADS; i++)
                x[i] = *reinterpret_cast<const uint4 *>(at + (r * CODES + four / 4 * LOADS + i) * 512 +
                                                        lane * 16);
            if constexpr (BITS == 5)
                high.x = *reinterpret_cast<const uint32_t *>(at + HIGH + r * 128 + lane * 4);
            if constexpr (BITS == 6)
                high = *reinterpret_cast<const uint2 *>(at + HIGH + r * 256 + lane * 8);
        }

        __device__ __forceinline__ uint32_t bytes(int b, int half) const
        {
            if constexpr (BITS == 8)
                return word_of(x[b / 2], b % 2 * 2 + half);
            uint32_t four = layout_low_bytes(word_of(x[0], b), half);
            if constexpr (BITS == 5)
                four = layout_fifth_bytes(high.x, b, half, four);
            if constexpr (BITS == 6)
                four = layout_top_two_bytes(b / 2 ? high.y : high.x, b % 2, half, four);
            return four;
        }
    };

    // Scale and minimum of block four + b (SIX: of half b % 2 of block b / 2) of weight row `row` of the
    // tile.
    static __device__ __forceinline__ float2 scale_of(const char *at, int row, int four, int b, unsigned unit)
    {
        const char *scales = at + SCALES + row * SCALE_BYTES;
        if constexpr (LISTED) {
            uint4 head = *reinterpret_cast<const uint4 *>(scales);
            float d = half_of(head.x, 0), dmin = half_of(head.x, 1);
            int half = UNIT == 256 ? four / 4 : static_cast<int>(unit % 2); // of the 256 that the head is for
            uint32_t scale = layout_k_scales(head.y, head.w, half);
            uint32_t minimum = layout_k_minima(head.z, head.w, half);
            // d · (2^23 + scale) - d · 2^23, rounded once: d · scale, which is exact
            return make_float2(fmaf(d, raised_byte(scale, b), d * -8388608.0f),
                               fmaf(-dmin, raised_byte(minimum, b), dmin * 8388608.0f));
        } else if constexpr (MINIMA) {
            uint32_t both = *reinterpret_cast<const uint32_t *>(scales + 4 * b);
            return make_float2(half_of(both, 0), half_of(both, 1));
        } else if constexpr (SIX) {
            float d = __half2float(
                *reinterpret_cast<const __half *>(at + TAIL + row * 4 + static_cast<int>(unit / 2 % 2) * 2));
            return make_float2(d * static_cast<float>(*reinterpret_cast<const signed char *>(scales + b)),
                               0.0f);
        } else {
            return make_float2(__half2float(*reinterpret_cast<const __half *>(scales + 2 * b)), 0.0f);
        }
    }

    // sum += a block (SIX: half a block), from its products with both digits.
    static __device__ __forceinline__ void settle(float &sum, float2 scale, const digit_facts &facts,
                                                  int half, int high, int low)
    {
        int whole = high * 256 + low;
        if constexpr (!MINIMA && layout_zero(D) != 0)
            whole -= layout_zero(D) * (SIX && half ? facts.second : facts.first);
        if constexpr (MINIMA)
            sum = fmaf(scale.y, facts.scale * static_cast<float>(facts.first), sum);
        sum = fmaf(scale.x * facts.scale, static_cast<float>(whole), sum);
    }

    // Bytes of the half of a block that a scale of Q6_K is for.
    static __device__ __forceinline__ uint32_t half_mask(int half)
    {
        return half ? 0xff00ff00u : 0x00ff00ffu;
    }

    // One row: sums[0] and sums[1] of weight rows g and g+8, in each lane t only blocks (SIX: halves) t, 4+t,
    // ….
    static __device__ __forceinline__ void multiply_one(float sums[2], const char *at, const char *row,
                                                        int blocks, unsigned unit, unsigned lane)
    {
        int t = static_cast<int>(lane % 4), g = static_cast<int>(lane / 4),
            base = static_cast<int>(unit) * BLOCKS;
        constexpr int TOGETHER = SIX ? 2 : 4; // blocks summed apart in one accumulator
        const int mine = SIX ? static_cast<int>(lane / 16) : static_cast<int>(lane / 8);
        const uint32_t mask = SIX ? half_mask(static_cast<int>(lane / 8) % 2) : ~0u;
#pragma unroll
        for (int four = 0; four < BLOCKS; four += 4) {
            const raw_codes codes[2] = {raw_codes(at, 0, four, lane), raw_codes(at, 1, four, lane)};
#pragma unroll
            for (int first = 0; first < 4; first += TOGETHER) {
                int begin = base + four + first;
                const char *digits = SIX ? row + (begin + mine) * DIGIT_BLOCK + lane / 4 % 2 * 32 + t * 8
                                         : row + begin * DIGIT_BLOCK + lane * 8;
                uint2 x = *reinterpret_cast<const uint2 *>(digits);
                if (SIX)
                    x.x &= mask, x.y &= mask;
                int d[4] = {0, 0, 0, 0};
#pragma unroll
                for (int i = 0; i < TOGETHER; i++) {
                    int b = first + i;
                    const uint32_t a[4] = {codes[0].bytes(b, 0), codes[1].bytes(b, 0), codes[0].bytes(b, 1),
                                           codes[1].bytes(b, 1)};
                    step_bytes<SIGNED>(d, a, mine == i ? x : make_uint2(0, 0));
                }
                digit_facts facts = digit_facts_at<SIX>(row, blocks, begin + (SIX ? t / 2 : t));
                int b = SIX ? first * 2 + t : t;
#pragma unroll
                for (int r = 0; r < 2; r++)
                    settle(sums[r], scale_of(at, g + 8 * r, four, b, unit), facts, t % 2, d[2 * r],
                           d[2 * r + 1]);
            }
        }
    }

    // Eight rows a tile of columns: sums[tile][part][i], part as the lane that would hold it for one row.
    // rows: how far from `digits` those of row g of the tile are; facts_rows: of rows 2t and 2t+1.
    template <int TILES>
    static __device__ __forceinline__ void
    multiply_many(float sums[TILES][4][4], const char *at, const char *digits, const unsigned (&rows)[TILES],
                  const unsigned (&facts_rows)[TILES][2], int blocks, unsigned unit, unsigned lane)
    {
        int t = static_cast<int>(lane % 4), g = static_cast<int>(lane / 4),
            base = static_cast<int>(unit) * BLOCKS;
        constexpr int HALVES = SIX ? 2 : 1;
#pragma unroll 1
        for (int four = 0; four < BLOCKS; four += 4) {
            const raw_codes codes[2] = {raw_codes(at, 0, four, lane), raw_codes(at, 1, four, lane)};
#pragma unroll
            for (int b = 0; b < 4; b++) {
                const uint32_t a[4] = {codes[0].bytes(b, 0), codes[1].bytes(b, 0), codes[0].bytes(b, 1),
                                       codes[1].bytes(b, 1)};
                float2 scale[HALVES][2];
#pragma unroll
                for (int half = 0; half < HALVES; half++)
#pragma unroll
                    for (int r = 0; r < 2; r++)
                        scale[half][r] = scale_of(at, g + 8 * r, four, SIX ? 2 * b + half : b, unit);
#pragma unroll
                for (int tile = 0; tile < TILES; tile++) {
                    int block = base + four + b;
                    const char *row = digits + rows[tile] + block * DIGIT_BLOCK + t * 8;
                    uint2 high = *reinterpret_cast<const uint2 *>(row);
                    uint2 low = *reinterpret_cast<const uint2 *>(row + 32);
                    digit_facts facts[2] = {digit_facts_at<SIX>(digits + facts_rows[tile][0], blocks, block),
                                            digit_facts_at<SIX>(digits + facts_rows[tile][1], blocks, block)};
#pragma unroll
                    for (int half = 0; half < HALVES; half++) {
                        uint32_t mask = SIX ? half_mask(half) : ~0u;
                        int d[2][4] = {};
                        step_bytes<SIGNED>(d[0], a, make_uint2(high.x & mask, high.y & mask));
                        step_bytes<SIGNED>(d[1], a, make_uint2(low.x & mask, low.y & mask));
#pragma unroll
                        for (int i = 0; i < 4; i++)
                            settle(sums[tile][SIX ? b % 2 * 2 + half : b][i], scale[half][i / 2],
                                   facts[i % 2], half, d[0][i], d[1][i]);
                    }
                }
            }
        }
    }
};

// ---- plain weights ----
// Sixteen-bit numbers; eight of a block of 32 are one load.
template <enum dtype D> struct slot_of_16 {
    static constexpr bool CODED = false, SIX = false;
    static constexpr int UNIT = 32, DEPTH = 4, BYTES = 2 * 512;

    static __device__ __forceinline__ void load(uint32_t to, const slot_rows &rows, const slot_parts &parts,
                                                unsigned unit, unsigned lane)
    {
        unsigned column = unit * UNIT + lane % 4 * 8;
#pragma unroll
        for (int r = 0; r < 2; r++)
            slot_copy(to + static_cast<unsigned>(r) * 512 + lane * 16,
                      rows.tile + rows.row[r] + (column < parts.columns ? 2 * column : 0),
                      column < parts.columns);
    }

    template <typename T, int TILES, typename Input>
    static __device__ __forceinline__ void multiply(float sums[TILES][4], const char *at, const Input &input,
                                                    unsigned unit, unsigned lane)
    {
        uint4 numbers[2] = {*reinterpret_cast<const uint4 *>(at + lane * 16),
                            *reinterpret_cast<const uint4 *>(at + 512 + lane * 16)};
        uint32_t a[2][4], rest[2][4];
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
            for (int r = 0; r < 2; r++)
                operands<T>(word_of(numbers[r], j), a[j / 2][j % 2 * 2 + r], rest[j / 2][j % 2 * 2 + r]);
#pragma unroll
        for (int tile = 0; tile < TILES; tile++) {
            uint4 x = input.eight(tile, unit * UNIT);
            step<T>(sums[tile], a[0], x.x, x.y);
            step<T>(sums[tile], a[1], x.z, x.w);
            if constexpr (D == DT_F16 && number<T>::is_bf16) {
                step<T>(sums[tile], rest[0], x.x, x.y);
                step<T>(sums[tile], rest[1], x.z, x.w);
            }
        }
    }

  private:
    // f16 is the sum of two bf16 numbers; bf16 is rounded to f16 (and is f16, but for very small numbers).
    template <typename T>
    static __device__ __forceinline__ void operands(uint32_t word, uint32_t &first, uint32_t &rest)
    {
        if constexpr ((D == DT_BF16) == number<T>::is_bf16) {
            first = word;
        } else if constexpr (D == DT_BF16) {
            float2 two = number<__nv_bfloat16>::unpack(word);
            first = number<__half>::pack(two.x, two.y);
        } else {
            float2 two = number<__half>::unpack(word);
            first = number<__nv_bfloat16>::pack(two.x, two.y);
            float2 rounded = number<__nv_bfloat16>::unpack(first);
            rest = number<__nv_bfloat16>::pack(two.x - rounded.x, two.y - rounded.y);
        }
    }
};
template <> struct slot<DT_F16> : slot_of_16<DT_F16> {
};
template <> struct slot<DT_BF16> : slot_of_16<DT_BF16> {
};

// Each number as the sum of two of T's: right to 2^-16 (bf16) or 2^-22 (f16).
template <> struct slot<DT_F32> {
    static constexpr bool CODED = false, SIX = false;
    static constexpr int UNIT = 32, DEPTH = 2, BYTES = 4 * 512;

    static __device__ __forceinline__ void load(uint32_t to, const slot_rows &rows, const slot_parts &parts,
                                                unsigned unit, unsigned lane)
    {
#pragma unroll
        for (int h = 0; h < 2; h++) {
            unsigned column = unit * UNIT + lane % 4 * 8 + static_cast<unsigned>(h) * 4;
#pragma unroll
            for (int r = 0; r < 2; r++)
                slot_copy(to + static_cast<unsigned>(2 * r + h) * 512 + lane * 16,
                          rows.tile + rows.row[r] + (column < parts.columns ? 4 * column : 0),
                          column < parts.columns);
        }
    }

    template <typename T, int TILES, typename Input>
    static __device__ __forceinline__ void multiply(float sums[TILES][4], const char *at, const Input &input,
                                                    unsigned unit, unsigned lane)
    {
        uint32_t a[2][4], rest[2][4]; // k-step, operand
#pragma unroll
        for (int r = 0; r < 2; r++)
#pragma unroll
            for (int m = 0; m < 2; m++) {
                uint4 numbers = *reinterpret_cast<const uint4 *>(at + (2 * r + m) * 512 + lane * 16);
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    float low = __uint_as_float(word_of(numbers, 2 * h));
                    float high = __uint_as_float(word_of(numbers, 2 * h + 1));
                    uint32_t first = number<T>::pack(low, high);
                    float2 rounded = number<T>::unpack(first);
                    a[m][2 * h + r] = first;
                    rest[m][2 * h + r] = number<T>::pack(low - rounded.x, high - rounded.y);
                }
            }
#pragma unroll
        for (int tile = 0; tile < TILES; tile++) {
            uint4 x = input.eight(tile, unit * UNIT);
            step<T>(sums[tile], a[0], x.x, x.y);
            step<T>(sums[tile], a[1], x.z, x.w);
            step<T>(sums[tile], rest[0], x.x, x.y);
            step<T>(sums[tile], rest[1], x.z, x.w);
        }
    }
};
