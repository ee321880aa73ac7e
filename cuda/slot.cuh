/* One unit of sixteen weight rows in a warp's registers: how it is loaded and how it is multiplied.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The weights are the first operand of mma.m16n8k16 (16 weight rows by 16 columns), the activations the
 * second (16 columns by 8 tokens). Lane 4·g+t holds weight rows g and g+8 and, of a block of 32 columns, the
 * eight that layout_column gives it: a product does not mind in which order its columns come, as long as both
 * operands agree. Codes of quantised weights are small integers, exact in bf16 and f16; a block's product is
 * summed in fp32 and then scaled in fp32, so that a weight is never rounded. Where a type has minima, the
 * block's sum of activations is one more product, with ones. */
#pragma once

#include "cuda/number.cuh"
#include "cuda/weight_layout.h"

// ---- tensor cores ----
template <typename T> struct arithmetic;

template <> struct arithmetic<__nv_bfloat16> {
    static constexpr uint32_t ONES = 0x3f803f80u;
    static constexpr uint32_t BASE = 0x43004300u; // 128: a code below 128 may be put into its low bits
    static constexpr float BASE_VALUE = 128.0f;
    // -(128 + zero) twice
    static __host__ __device__ constexpr uint32_t minus_base(int zero)
    {
        return 0xc300c300u + static_cast<uint32_t>(zero) * 0x10001u;
    }
    static __device__ __forceinline__ uint32_t add(uint32_t a, uint32_t b)
    {
        uint32_t sum;
        asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(ONES), "r"(b));
        return sum;
    }
    // Two signed bytes in the low halves' bytes: 128 + the low seven bits, less 128, or less 256 when
    // negative.
    static __device__ __forceinline__ uint32_t signed_bytes(uint32_t pair)
    {
        return add(layout_merge(pair, 0x007f007fu, BASE), layout_merge(pair, 0x00800080u, 0xc300c300u));
    }
};

template <> struct arithmetic<__half> {
    static constexpr uint32_t ONES = 0x3c003c00u;
    static constexpr uint32_t BASE = 0x64006400u; // 1024
    static constexpr float BASE_VALUE = 1024.0f;
    static __host__ __device__ constexpr uint32_t minus_base(int zero)
    {
        return 0xe400e400u + static_cast<uint32_t>(zero) * 0x10001u;
    }
    static __device__ __forceinline__ uint32_t add(uint32_t a, uint32_t b)
    {
        uint32_t sum;
        asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(ONES), "r"(b));
        return sum;
    }
    static __device__ __forceinline__ uint32_t signed_bytes(uint32_t pair)
    {
        return add(pair ^ 0x64806480u, minus_base(128));
    }
};

// d = a · b + c; rows g and g+8 of tokens 2t and 2t+1 in d[0 … 3].
template <typename T>
static __device__ __forceinline__ void step(float d[4], const uint32_t a[4], uint32_t b0, uint32_t b1,
                                            const float c[4])
{
    if constexpr (number<T>::is_bf16)
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
            "{%10,%11,%12,%13};"
            : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(c[0]), "f"(c[1]), "f"(c[2]),
              "f"(c[3]));
    else
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
            "{%10,%11,%12,%13};"
            : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(c[0]), "f"(c[1]), "f"(c[2]),
              "f"(c[3]));
}

// ---- loads: weights are read once, so they stay out of the L1 cache; scales are shared by lanes ----
static __device__ __forceinline__ uint4 load_once(const char *at)
{
    uint4 x;
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
                 : "l"(at));
    return x;
}

static __device__ __forceinline__ uint2 load_once_8(const char *at)
{
    uint2 x;
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v2.u32 {%0,%1}, [%2];"
                 : "=r"(x.x), "=r"(x.y)
                 : "l"(at));
    return x;
}

static __device__ __forceinline__ uint4 load_shared_by_lanes(const char *at)
{
    uint4 x;
    asm volatile("ld.global.nc.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
                 : "l"(at));
    return x;
}

static __device__ __forceinline__ uint2 load_shared_by_lanes_8(const char *at)
{
    uint2 x;
    asm volatile("ld.global.nc.v2.u32 {%0,%1}, [%2];" : "=r"(x.x), "=r"(x.y) : "l"(at));
    return x;
}

static __device__ __forceinline__ uint32_t load_shared_by_lanes_2(const char *at)
{
    uint16_t x;
    asm volatile("ld.global.nc.u16 %0, [%1];" : "=h"(x) : "l"(at));
    return x;
}

// Where the parts of a quantised row begin (layout_row), in bytes; `columns` that a row holds.
struct slot_parts {
    unsigned high, scales, tail, columns;
};

// Byte i of a word as a float above 2^23, exact.
static __device__ __forceinline__ float raised_byte(uint32_t word, int i)
{
    return __uint_as_float(__byte_perm(word, 0x4b000000u, 0x7440u + static_cast<uint32_t>(i)));
}

static __device__ __forceinline__ float half_of(uint32_t word, int i)
{
    __half2 both = *reinterpret_cast<__half2 *>(&word);
    return i ? __high2float(both) : __low2float(both);
}

// The words of a register array by a constant number.
static __device__ __forceinline__ uint32_t word_of(const uint4 &x, int i)
{
    return i == 0 ? x.x : i == 1 ? x.y : i == 2 ? x.z : x.w;
}

// ---- quantised weights ----
template <enum dtype D> struct slot {
    static constexpr int BITS = layout_bits(D), UNIT = layout_unit(D), BLOCKS = UNIT / 32;
    static constexpr bool MINIMA = D == DT_Q4_1 || D == DT_Q5_1 || D == DT_Q4_K || D == DT_Q5_K;
    static constexpr bool LISTED = D == DT_Q4_K || D == DT_Q5_K; // scales are six-bit numbers times d
    static constexpr int DEPTH = 2;                              // units that a warp keeps on their way
    static constexpr int CODES = 2, SCALES = D == DT_Q4_1 || D == DT_Q5_1 ? 2 : 1;
    // Blocks between two looks at the row's end. They also keep the assembler from mixing all blocks of a
    // unit into more registers than there are.
    template <int TILES> static constexpr int BREATH = TILES > 1 ? 1 : 2;
    uint4 codes[2][CODES];
    uint4 top[2];            // Q6_K; five bits use x and y
    uint4 scales[2][SCALES]; // Q8_0 uses x and y
    uint32_t tail[2];

    __device__ __forceinline__ void load(const char *const row[2], const slot_parts &parts, unsigned unit,
                                         unsigned t)
    {
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const char *at = row[r] + (unit * (64 * CODES) + t * 16);
#pragma unroll
            for (int i = 0; i < CODES; i++)
                codes[r][i] = load_once(at + 64 * i);
            if constexpr (BITS == 5) {
                uint2 two = load_once_8(row[r] + (parts.high + unit * 32 + t * 8));
                top[r].x = two.x, top[r].y = two.y;
            }
            if constexpr (BITS == 6) {
                top[r] = load_once(row[r] + (parts.high + unit * 64 + t * 16));
                tail[r] = load_shared_by_lanes_2(row[r] + (parts.tail + unit * 2));
            }
            const char *scale = row[r] + (parts.scales + unit * layout_scale_bytes(D));
            if constexpr (BITS == 8) {
                uint2 two = load_shared_by_lanes_8(scale);
                scales[r][0].x = two.x, scales[r][0].y = two.y;
            } else {
#pragma unroll
                for (int i = 0; i < SCALES; i++)
                    scales[r][i] = load_shared_by_lanes(scale + 16 * i);
            }
        }
    }

    // The pair j of codes of block b, as an operand. Types with minima keep BASE on it.
    template <typename T> __device__ __forceinline__ uint32_t operand(int r, int b, int j) const
    {
        using A = arithmetic<T>;
        if constexpr (BITS == 8)
            return A::signed_bytes(layout_bytes(word_of(codes[r][b / 2], b % 2 * 2 + j / 2), j));
        uint32_t pair = layout_low(word_of(codes[r][b / 4], b % 4), j, A::BASE);
        if constexpr (BITS == 5)
            pair = layout_fifth(word_of(top[r], b / 4), b % 4, j, pair);
        if constexpr (BITS == 6)
            pair = layout_top_two(word_of(top[r], b / 2), b % 2, j, pair);
        return MINIMA ? pair : A::add(pair, A::minus_base(layout_zero(D)));
    }

    // The scale and minimum of block b: a number is scale · code + minimum.
    __device__ __forceinline__ float2 block_scale(int r, int b) const
    {
        if constexpr (LISTED) {
            uint4 head = scales[r][0];
            float d = half_of(head.x, 0), dmin = half_of(head.x, 1);
            uint32_t scale = layout_k_scales(head.y, head.w, b / 4);
            uint32_t minimum = layout_k_minima(head.z, head.w, b / 4);
            // d · (2^23 + scale) - d · 2^23, rounded once: d · scale, which is exact
            return make_float2(fmaf(d, raised_byte(scale, b % 4), d * -8388608.0f),
                               fmaf(-dmin, raised_byte(minimum, b % 4), dmin * 8388608.0f));
        } else if constexpr (MINIMA) {
            uint32_t both = word_of(scales[r][b / 4], b % 4);
            return make_float2(half_of(both, 0), half_of(both, 1));
        } else {
            return make_float2(half_of(word_of(scales[r][0], b / 2), b % 2), 0.0f);
        }
    }

    // Q6_K: the scale of k-step m of block b, without the unit's d.
    __device__ __forceinline__ float step_scale(int r, int b, int m) const
    {
        uint32_t word = word_of(scales[r][0], b / 2) ^ 0x80808080u;
        return raised_byte(word, b % 2 * 2 + m) - 8388736.0f;
    }

    // sums[tile][0 … 3] += the unit times its activations; with ONE, only the first token's (0 and 2).
    template <typename T, int TILES, bool ONE, typename Input>
    __device__ __forceinline__ void multiply(float sums[TILES][4], const Input &input, int unit,
                                             int columns) const
    {
        if constexpr (D == DT_Q6_K)
            multiply_steps<T, TILES, ONE>(sums, input, unit, columns);
        else
            multiply_blocks<T, TILES, ONE>(sums, input, unit, columns);
    }

  private:
    template <typename T, int TILES, bool ONE, typename Input>
    __device__ __forceinline__ void multiply_blocks(float sums[TILES][4], const Input &input, int unit,
                                                    int columns) const
    {
        const float none[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        const uint32_t ones[4] = {arithmetic<T>::ONES, arithmetic<T>::ONES, arithmetic<T>::ONES,
                                  arithmetic<T>::ONES};
#pragma unroll
        for (int b = 0; b < BLOCKS; b++) {
            if (b > 0 && b % BREATH<TILES> == 0 && unit * UNIT + b * 32 >= columns)
                return;
            uint32_t a[2][4];
#pragma unroll
            for (int j = 0; j < 4; j++)
#pragma unroll
                for (int r = 0; r < 2; r++)
                    a[j / 2][j % 2 * 2 + r] = operand<T>(r, b, j);
            float2 scale[2] = {block_scale(0, b), block_scale(1, b)};
#pragma unroll
            for (int tile = 0; tile < TILES; tile++) {
                uint4 x = input.eight(tile, unit * UNIT + b * 32);
                float part[4], total[4];
                step<T>(part, a[0], x.x, x.y, none);
                step<T>(part, a[1], x.z, x.w, part);
                if constexpr (MINIMA) {
                    step<T>(total, ones, x.x, x.y, none);
                    step<T>(total, ones, x.z, x.w, total);
                }
#pragma unroll
                for (int i = 0; i < 4; i += ONE ? 2 : 1) {
                    if constexpr (MINIMA) {
                        part[i] = fmaf(total[i], -arithmetic<T>::BASE_VALUE, part[i]);
                        sums[tile][i] = fmaf(total[i], scale[i / 2].y, sums[tile][i]);
                    }
                    sums[tile][i] = fmaf(part[i], scale[i / 2].x, sums[tile][i]);
                }
            }
        }
    }

    template <typename T, int TILES, bool ONE, typename Input>
    __device__ __forceinline__ void multiply_steps(float sums[TILES][4], const Input &input, int unit,
                                                   int columns) const
    {
        const float none[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        float inner[TILES][4] = {};
#pragma unroll
        for (int b = 0; b < BLOCKS; b++) {
            if (b > 0 && b % BREATH<TILES> == 0 && unit * UNIT + b * 32 >= columns)
                break;
#pragma unroll
            for (int m = 0; m < 2; m++) {
                uint32_t a[4];
#pragma unroll
                for (int i = 0; i < 4; i++)
                    a[i] = operand<T>(i % 2, b, 2 * m + i / 2);
                float scale[2] = {step_scale(0, b, m), step_scale(1, b, m)};
#pragma unroll
                for (int tile = 0; tile < TILES; tile++) {
                    uint2 x = input.four(tile, unit * UNIT + b * 32 + m * 16);
                    float part[4];
                    step<T>(part, a, x.x, x.y, none);
#pragma unroll
                    for (int i = 0; i < 4; i += ONE ? 2 : 1)
                        inner[tile][i] = fmaf(part[i], scale[i / 2], inner[tile][i]);
                }
            }
        }
        float d[2] = {half_of(tail[0], 0), half_of(tail[1], 0)};
#pragma unroll
        for (int tile = 0; tile < TILES; tile++)
#pragma unroll
            for (int i = 0; i < 4; i += ONE ? 2 : 1)
                sums[tile][i] = fmaf(inner[tile][i], d[i / 2], sums[tile][i]);
    }
};

// ---- plain weights ----
// Sixteen-bit numbers; eight of a block of 32 are one load.
template <enum dtype D> struct slot_of_16 {
    static constexpr int UNIT = 64, DEPTH = 4;
    uint4 numbers[2][2]; // row, block

    __device__ __forceinline__ void load(const char *const row[2], const slot_parts &parts, unsigned unit,
                                         unsigned t)
    {
#pragma unroll
        for (int b = 0; b < 2; b++) {
            unsigned column = unit * UNIT + b * 32 + t * 8;
#pragma unroll
            for (int r = 0; r < 2; r++)
                numbers[r][b] =
                    column < parts.columns ? load_once(row[r] + 2 * column) : make_uint4(0, 0, 0, 0);
        }
    }

    template <typename T, int TILES, bool ONE, typename Input>
    __device__ __forceinline__ void multiply(float sums[TILES][4], const Input &input, int unit,
                                             int columns) const
    {
#pragma unroll
        for (int b = 0; b < 2; b++) {
            uint32_t a[2][4], rest[2][4];
#pragma unroll
            for (int j = 0; j < 4; j++)
#pragma unroll
                for (int r = 0; r < 2; r++)
                    operands<T>(word_of(numbers[r][b], j), a[j / 2][j % 2 * 2 + r],
                                rest[j / 2][j % 2 * 2 + r]);
#pragma unroll
            for (int tile = 0; tile < TILES; tile++) {
                uint4 x = input.eight(tile, unit * UNIT + b * 32);
                step<T>(sums[tile], a[0], x.x, x.y, sums[tile]);
                step<T>(sums[tile], a[1], x.z, x.w, sums[tile]);
                if constexpr (D == DT_F16 && number<T>::is_bf16) {
                    step<T>(sums[tile], rest[0], x.x, x.y, sums[tile]);
                    step<T>(sums[tile], rest[1], x.z, x.w, sums[tile]);
                }
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
    static constexpr int UNIT = 32, DEPTH = 3;
    uint4 numbers[2][2]; // row, half of the eight

    __device__ __forceinline__ void load(const char *const row[2], const slot_parts &parts, unsigned unit,
                                         unsigned t)
    {
#pragma unroll
        for (int h = 0; h < 2; h++) {
            unsigned column = unit * UNIT + t * 8 + h * 4;
#pragma unroll
            for (int r = 0; r < 2; r++)
                numbers[r][h] =
                    column < parts.columns ? load_once(row[r] + 4 * column) : make_uint4(0, 0, 0, 0);
        }
    }

    template <typename T, int TILES, bool ONE, typename Input>
    __device__ __forceinline__ void multiply(float sums[TILES][4], const Input &input, int unit,
                                             int columns) const
    {
        uint32_t a[2][4], rest[2][4]; // k-step, operand
#pragma unroll
        for (int m = 0; m < 2; m++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                float low = __uint_as_float(word_of(numbers[i % 2][m], i / 2 * 2));
                float high = __uint_as_float(word_of(numbers[i % 2][m], i / 2 * 2 + 1));
                a[m][i] = number<T>::pack(low, high);
                float2 rounded = number<T>::unpack(a[m][i]);
                rest[m][i] = number<T>::pack(low - rounded.x, high - rounded.y);
            }
#pragma unroll
        for (int tile = 0; tile < TILES; tile++) {
            uint4 x = input.eight(tile, unit * UNIT);
            step<T>(sums[tile], a[0], x.x, x.y, sums[tile]);
            step<T>(sums[tile], a[1], x.z, x.w, sums[tile]);
            step<T>(sums[tile], rest[0], x.x, x.y, sums[tile]);
            step<T>(sums[tile], rest[1], x.z, x.w, sums[tile]);
        }
    }
};
