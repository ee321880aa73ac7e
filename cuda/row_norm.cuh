/* The norm of one row by one block: the same bytes wherever it is done.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Thread i takes columns 4i … 4i+3, then those 4·ROW_NORM_THREADS further on; sums are fp32, first a
 * thread's, then a warp's in a tree, then the warps' in their order. */
#pragma once

#include "cuda/number.cuh"
#include "cuda/product.h"

constexpr int ROW_NORM_THREADS = 256;
constexpr int ROW_NORM_WARPS = ROW_NORM_THREADS / 32;

struct row_norm { // y = (x - mean) · factor · weight + bias
    float mean, factor;
};

// Columns at … at+3 as fp32; 0 past the end.
static __device__ __forceinline__ float4 row_four(const float *row, int at, int k)
{
    if (at + 4 <= k)
        return *reinterpret_cast<const float4 *>(row + at);
    return make_float4(at < k ? row[at] : 0.0f, at + 1 < k ? row[at + 1] : 0.0f,
                       at + 2 < k ? row[at + 2] : 0.0f, 0.0f);
}

template <typename T> static __device__ __forceinline__ float4 row_four(const T *row, int at, int k)
{
    if (at + 4 > k)
        return make_float4(at < k ? static_cast<float>(row[at]) : 0.0f,
                           at + 1 < k ? static_cast<float>(row[at + 1]) : 0.0f,
                           at + 2 < k ? static_cast<float>(row[at + 2]) : 0.0f, 0.0f);
    uint2 packed = *reinterpret_cast<const uint2 *>(row + at);
    float2 low = number<T>::unpack(packed.x), high = number<T>::unpack(packed.y);
    return make_float4(low.x, low.y, high.x, high.y);
}

// The sum over the block; `warps` is shared memory, free when the block enters and when it leaves.
static __device__ __forceinline__ float row_sum(float x, float warps[ROW_NORM_WARPS])
{
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        x += __shfl_xor_sync(~0u, x, step);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = x;
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < ROW_NORM_WARPS; i++)
        sum += warps[i];
    __syncthreads();
    return sum;
}

template <typename In>
static __device__ __forceinline__ row_norm row_measure(const In *row, int k, enum product_norm norm,
                                                       float eps, float warps[ROW_NORM_WARPS])
{
    float mean = 0.0f, sum = 0.0f;
    if (norm == PRODUCT_NORM_LAYER) {
#pragma unroll 1
        for (int at = 4 * static_cast<int>(threadIdx.x); at < k; at += 4 * ROW_NORM_THREADS) {
            float4 x = row_four(row, at, k);
            sum += x.x + x.y + x.z + x.w;
        }
        mean = __fdividef(row_sum(sum, warps), static_cast<float>(k));
        sum = 0.0f;
    }
#pragma unroll 1
    for (int at = 4 * static_cast<int>(threadIdx.x); at < k; at += 4 * ROW_NORM_THREADS) {
        float4 four = row_four(row, at, k);
        float x[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (at + i < k)
                sum = fmaf(x[i] - mean, x[i] - mean, sum);
    }
    sum = row_sum(sum, warps);
    return {mean, rsqrtf(__fdividef(sum, static_cast<float>(k)) + eps)};
}

// The row, normed, to out[0 … end-1] (16-byte aligned); 0 from k on. end is a multiple of 4.
template <typename In, typename T>
static __device__ __forceinline__ void row_write(const In *row, int k, row_norm norm, const float *weight,
                                                 const float *bias, T *out, int end)
{
#pragma unroll 1
    for (int at = 4 * static_cast<int>(threadIdx.x); at < end; at += 4 * ROW_NORM_THREADS) {
        float4 four = row_four(row, at, k);
        float x[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            bool inside = at + i < k;
            float y = (x[i] - norm.mean) * norm.factor * (inside ? weight[at + i] : 0.0f);
            x[i] = inside ? y + (bias ? bias[at + i] : 0.0f) : 0.0f;
        }
        *reinterpret_cast<uint2 *>(out + at) =
            make_uint2(number<T>::pack(x[0], x[1]), number<T>::pack(x[2], x[3]));
    }
}
