/* One row brought into shared memory by one block, normed if asked, as 16-bit numbers or as digits.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread takes eight columns, those of lane i % 4 of block i / 4 of 32 (weight_layout.h), then those
 * 8·ROW_THREADS further on; sums are fp32, first a thread's, then a warp's in a tree, then the warps' in
 * their order. What a thread takes is loaded all at once, and held in registers where the row is normed. */
#pragma once

#include "cuda/digits.cuh"
#include "cuda/fused.h"
#include "cuda/number.cuh"

constexpr int ROW_THREADS = 32 * FUSED_WARPS;
constexpr int ROW_HELD = 2, ROW_STEP = 8 * ROW_THREADS; // groups of eight held; columns from one to the next
constexpr int ROW_RAW = 4;                              // groups held as they came
static_assert(ROW_HELD * ROW_STEP >= FUSED_MOST_NORMED, "a normed row is held whole");

struct row_groups {
    float x[ROW_HELD][8];
};

template <typename In> static __device__ __forceinline__ float row_one(const void *from, int at, int k)
{
    return at < k ? static_cast<float>(static_cast<const In *>(from)[at]) : 0.0f;
}

// N columns from `at` on, zeros behind the row's end.
template <int N, typename In>
static __device__ __forceinline__ void row_some(float *x, const void *from, int at, int k)
{
    if (at + N > k) {
#pragma unroll
        for (int i = 0; i < N; i++)
            x[i] = row_one<In>(from, at + i, k);
        return;
    }
    if constexpr (sizeof(In) == 4) {
#pragma unroll
        for (int i = 0; i < N; i += 4) {
            float4 four = *reinterpret_cast<const float4 *>(static_cast<const float *>(from) + at + i);
            x[i] = four.x, x[i + 1] = four.y, x[i + 2] = four.z, x[i + 3] = four.w;
        }
    } else {
        uint32_t words[N / 2];
        if constexpr (N == 8) {
            uint4 all = *reinterpret_cast<const uint4 *>(static_cast<const In *>(from) + at);
            words[0] = all.x, words[1] = all.y, words[2] = all.z, words[3] = all.w;
        } else {
            uint2 all = *reinterpret_cast<const uint2 *>(static_cast<const In *>(from) + at);
            words[0] = all.x, words[1] = all.y;
        }
#pragma unroll
        for (int i = 0; i < N / 2; i++) {
            float2 two = number<In>::unpack(words[i]);
            x[2 * i] = two.x, x[2 * i + 1] = two.y;
        }
    }
}

// Sixteen-bit numbers at … at+N-1 as they are, zeros behind the row's end.
template <int N>
static __device__ __forceinline__ void row_raw_some(uint32_t *words, const uint16_t *from, int at, int k)
{
    if (at + N > k) {
#pragma unroll
        for (int i = 0; i < N; i += 2)
            words[i / 2] = (at + i < k ? from[at + i] : 0u) | (at + i + 1 < k ? from[at + i + 1] : 0u) << 16;
    } else if constexpr (N == 8) {
        uint4 all = *reinterpret_cast<const uint4 *>(from + at);
        words[0] = all.x, words[1] = all.y, words[2] = all.z, words[3] = all.w;
    } else {
        uint2 all = *reinterpret_cast<const uint2 *>(from + at);
        words[0] = all.x, words[1] = all.y;
    }
}

// A group's eight columns, as row_eight takes them.
struct row_raw {
    uint32_t words[4];

    template <bool SIX> __device__ __forceinline__ void load(const void *from, int at, int k)
    {
        const uint16_t *numbers = static_cast<const uint16_t *>(from);
        if constexpr (SIX) {
            int first = at / 32 * 32 + at % 32 / 2;
            row_raw_some<4>(words, numbers, first, k);
            row_raw_some<4>(words + 2, numbers, first + 16, k);
        } else {
            row_raw_some<8>(words, numbers, at, k);
        }
    }

    __device__ __forceinline__ void numbers(float (&x)[8], bool bf16) const
    {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float2 two = bf16 ? number<__nv_bfloat16>::unpack(words[i]) : number<__half>::unpack(words[i]);
            x[2 * i] = two.x, x[2 * i + 1] = two.y;
        }
    }
};

// The eight columns of a group: at … at+7, or for SIX the same lane's in the order of Q6_K.
template <bool SIX, typename In>
static __device__ __forceinline__ void row_eight(float (&x)[8], const void *from, int at, int k)
{
    if constexpr (SIX) {
        int first = at / 32 * 32 + at % 32 / 2;
        row_some<4, In>(x, from, first, k);
        row_some<4, In>(x + 4, from, first + 16, k);
    } else {
        row_some<8, In>(x, from, at, k);
    }
}

// Number j of the group at `at`.
template <bool SIX> static __device__ __forceinline__ int row_place(int at, int j)
{
    return SIX ? at / 32 * 32 + at % 32 / 2 + j % 4 + j / 4 * 16 : at + j;
}

static __device__ __forceinline__ int row_column(int begin, int group)
{
    return begin + ROW_STEP * group + 8 * static_cast<int>(threadIdx.x);
}

// The thread's groups from column `begin` on. Rows begin on 16-byte borders.
template <bool SIX, typename In>
static __device__ __forceinline__ void row_load_as(row_groups &groups, const void *from, int k, int begin)
{
#pragma unroll
    for (int i = 0; i < ROW_HELD; i++)
        row_eight<SIX, In>(groups.x[i], from, row_column(begin, i), k);
}

template <bool SIX>
static __device__ __forceinline__ void row_load(row_groups &groups, const void *from, enum dtype dtype, int k,
                                                int begin)
{
    if (dtype == DT_F32)
        row_load_as<SIX, float>(groups, from, k, begin);
    else if (dtype == DT_BF16)
        row_load_as<SIX, __nv_bfloat16>(groups, from, k, begin);
    else
        row_load_as<SIX, __half>(groups, from, k, begin);
}

// The sum over the block; `warps` is shared memory, free when the block enters and when it leaves.
static __device__ __forceinline__ float row_sum(float x, float warps[FUSED_WARPS])
{
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        x += __shfl_xor_sync(~0u, x, step);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = x;
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < FUSED_WARPS; i++)
        sum += warps[i];
    __syncthreads();
    return sum;
}

// The norm's weights of the thread's first group, and word to the L2 of the rest: nobody writes them, so they
// may be asked for before the row is there.
template <bool SIX> struct row_expected {
    float weight[8];

    __device__ __forceinline__ explicit row_expected(const fused_call &call)
    {
        for (int at = ROW_STEP + 32 * static_cast<int>(threadIdx.x); at < call.k; at += 32 * ROW_THREADS)
            asm volatile("prefetch.global.L2 [%0];" ::"l"(call.norm_weight + at));
        for (int at = 32 * static_cast<int>(threadIdx.x); call.norm_bias && at < call.k;
             at += 32 * ROW_THREADS)
            asm volatile("prefetch.global.L2 [%0];" ::"l"(call.norm_bias + at));
        if (row_column(0, 0) < call.k)
            row_eight<SIX, float>(weight, call.norm_weight, row_column(0, 0), call.k);
    }
};

// The whole row, which the groups hold, normed and rounded to the arithmetic's type.
template <bool SIX>
static __device__ __forceinline__ void row_normalise(const fused_call &call, row_groups &groups,
                                                     const row_expected<SIX> &expected,
                                                     float warps[FUSED_WARPS])
{
    float mean = 0.0f, sum = 0.0f;
    if (call.norm == PRODUCT_NORM_LAYER) {
#pragma unroll
        for (int i = 0; i < ROW_HELD; i++)
#pragma unroll
            for (int j = 0; j < 8; j++)
                sum += groups.x[i][j];
        mean = __fdividef(row_sum(sum, warps), static_cast<float>(call.k));
        sum = 0.0f;
    }
#pragma unroll
    for (int i = 0; i < ROW_HELD; i++)
#pragma unroll
        for (int j = 0; j < 8; j++) {
            float &x = groups.x[i][j];
            x = row_place<SIX>(row_column(0, i), j) < call.k ? x - mean : 0.0f;
            sum = fmaf(x, x, sum);
        }
    float factor = rsqrtf(__fdividef(row_sum(sum, warps), static_cast<float>(call.k)) + call.norm_eps);
#pragma unroll
    for (int i = 0; i < ROW_HELD; i++) {
        int at = row_column(0, i);
        if (at >= call.k)
            break;
        float vector[8];
        if (i > 0)
            row_eight<SIX, float>(vector, call.norm_weight, at, call.k);
#pragma unroll
        for (int j = 0; j < 8; j++)
            groups.x[i][j] *= factor * (i > 0 ? vector[j] : expected.weight[j]);
        if (call.norm_bias) {
            row_eight<SIX, float>(vector, call.norm_bias, at, call.k);
#pragma unroll
            for (int j = 0; j < 8; j++)
                groups.x[i][j] += vector[j];
        }
#pragma unroll
        for (int j = 0; j < 8; j++)
            groups.x[i][j] = call.dtype == DT_BF16 ? __bfloat162float(__float2bfloat16_rn(groups.x[i][j]))
                                                   : __half2float(__float2half_rn(groups.x[i][j]));
    }
}
