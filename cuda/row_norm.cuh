/* One row brought into shared memory by one block, and normed there: the same bytes wherever it is done.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Thread i takes columns 4i … 4i+3, then those 4·ROW_NORM_THREADS further on; sums are fp32, first a
 * thread's, then a warp's in a tree, then the warps' in their order. Rows in shared memory begin on 16-byte
 * borders and are filled up with zeros to whole 16 bytes. */
#pragma once

#include "cuda/number.cuh"
#include "cuda/product.h"

constexpr int ROW_NORM_THREADS = 256;
constexpr int ROW_NORM_WARPS = ROW_NORM_THREADS / 32;

// Begins to copy `bytes` to shared memory, and zeros from there to `room` (a multiple of 16). No register
// waits for them; row_arrived() does.
static __device__ __forceinline__ void row_fetch(void *to, const void *from, int bytes, int room)
{
#pragma unroll 1
    for (int at = 16 * static_cast<int>(threadIdx.x); at < room; at += 16 * ROW_NORM_THREADS) {
        int left = max(0, min(16, bytes - at));
        unsigned shared = static_cast<unsigned>(__cvta_generic_to_shared(static_cast<char *>(to) + at));
        const char *source = static_cast<const char *>(from) + (left ? at : 0);
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(source), "r"(left)
                     : "memory");
    }
}

static __device__ __forceinline__ void row_arrived()
{
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
}

static __device__ __forceinline__ float4 row_four(const float *row, int at)
{
    return *reinterpret_cast<const float4 *>(row + at);
}

template <typename T> static __device__ __forceinline__ float4 row_four(const T *row, int at)
{
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

struct row_norm { // y = (x - mean) · factor · weight + bias
    float mean, factor;
};

template <typename In>
static __device__ __forceinline__ row_norm row_measure(const In *row, int k, enum product_norm norm,
                                                       float eps, float warps[ROW_NORM_WARPS])
{
    float mean = 0.0f, sum = 0.0f;
    if (norm == PRODUCT_NORM_LAYER) {
#pragma unroll 1
        for (int at = 4 * static_cast<int>(threadIdx.x); at < k; at += 4 * ROW_NORM_THREADS) {
            float4 x = row_four(row, at);
            sum += x.x + x.y + x.z + x.w;
        }
        mean = __fdividef(row_sum(sum, warps), static_cast<float>(k));
        sum = 0.0f;
    }
#pragma unroll 1
    for (int at = 4 * static_cast<int>(threadIdx.x); at < k; at += 4 * ROW_NORM_THREADS) {
        float4 four = row_four(row, at);
        float x[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (at + i < k)
                sum = fmaf(x[i] - mean, x[i] - mean, sum);
    }
    sum = row_sum(sum, warps);
    return {mean, rsqrtf(__fdividef(sum, static_cast<float>(k)) + eps)};
}

// The row, normed, to out[0 … end-1]; 0 from k on. end is a multiple of 4; all of it is in shared memory.
template <typename In, typename T>
static __device__ __forceinline__ void row_write(const In *row, int k, row_norm norm, const float *weight,
                                                 const float *bias, T *out, int end)
{
#pragma unroll 1
    for (int at = 4 * static_cast<int>(threadIdx.x); at < end; at += 4 * ROW_NORM_THREADS) {
        float x[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        if (at < k) {
            float4 four = row_four(row, at), gain = row_four(weight, at);
            float4 shift = bias ? row_four(bias, at) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            x[0] = fmaf((four.x - norm.mean) * norm.factor, gain.x, shift.x);
            x[1] = fmaf((four.y - norm.mean) * norm.factor, gain.y, shift.y);
            x[2] = fmaf((four.z - norm.mean) * norm.factor, gain.z, shift.z);
            x[3] = fmaf((four.w - norm.mean) * norm.factor, gain.w, shift.w);
#pragma unroll
            for (int i = 1; i < 4; i++)
                x[i] = at + i < k ? x[i] : 0.0f;
        }
        *reinterpret_cast<uint2 *>(out + at) =
            make_uint2(number<T>::pack(x[0], x[1]), number<T>::pack(x[2], x[3]));
    }
}
