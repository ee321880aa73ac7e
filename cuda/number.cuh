/* bf16 and f16 as template parameters: packing, unpacking and the tensor-core instruction.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

template <typename T> struct number;

template <> struct number<__nv_bfloat16> {
    static constexpr bool is_bf16 = true;
    static __device__ __forceinline__ uint32_t pack(float low, float high)
    {
        uint32_t packed;
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
        return packed;
    }
    static __device__ __forceinline__ float2 unpack(uint32_t packed)
    {
        return make_float2(__uint_as_float(packed << 16), __uint_as_float(packed & 0xffff0000u));
    }
    // d (16 rows x 8 columns) += a (16 x 16) · b (16 x 8)
    static __device__ __forceinline__ void multiply(float *d, const uint32_t *a, uint32_t b0, uint32_t b1)
    {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
                     "{%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    }
};

template <> struct number<__half> {
    static constexpr bool is_bf16 = false;
    static __device__ __forceinline__ uint32_t pack(float low, float high)
    {
        uint32_t packed;
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
        return packed;
    }
    static __device__ __forceinline__ float2 unpack(uint32_t packed)
    {
        return __half22float2(*reinterpret_cast<__half2 *>(&packed));
    }
    static __device__ __forceinline__ void multiply(float *d, const uint32_t *a, uint32_t b0, uint32_t b1)
    {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
                     "{%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    }
};

// A pair of T, or of bf16 where outputs are bf16 whatever the products' type.
template <typename T> static __device__ __forceinline__ uint32_t pack_out(bool bf16, float low, float high)
{
    return bf16 ? number<__nv_bfloat16>::pack(low, high) : number<T>::pack(low, high);
}

constexpr float LOG2E = 1.4426950408889634f;

// 2^x on the special-function unit; 0 for -inf.
static __device__ __forceinline__ float power2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// log2 x on the special-function unit; -inf for 0.
static __device__ __forceinline__ float logarithm2(float x)
{
    float y;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// The sum of the squares of eight numbers.
template <typename T> static __device__ __forceinline__ float squares(uint4 unit)
{
    uint32_t word[4] = {unit.x, unit.y, unit.z, unit.w};
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float2 pair = number<T>::unpack(word[i]);
        sum = fmaf(pair.x, pair.x, fmaf(pair.y, pair.y, sum));
    }
    return sum;
}
