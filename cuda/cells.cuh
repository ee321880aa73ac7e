/* Reads and writes rows of F32, bf16 or f16 four numbers at a time, the type known only at run time.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

#include "cuda/number.cuh"
#include "tensor/tensor.h"

struct cells {
    char *data;
    int64_t stride; // bytes
    int cols;
    int dtype;
    bool wide; // every group of four is whole and aligned

    cells() = default;
    __host__ explicit cells(const tensor *tensor, int parts = 1)
        : data(static_cast<char *>(tensor ? tensor->data : nullptr)), stride(tensor ? tensor->stride : 0),
          cols(tensor ? static_cast<int>(tensor->cols) : 0), dtype(tensor ? tensor->dtype : DT_F32)
    {
        int64_t unit = dtype == DT_F32 ? 16 : 8;
        wide = cols % (4 * parts) == 0 && stride % unit == 0 && reinterpret_cast<intptr_t>(data) % unit == 0;
    }

    static constexpr bool known(enum dtype dtype)
    {
        return dtype == DT_F32 || dtype == DT_BF16 || dtype == DT_F16;
    }

    __device__ __forceinline__ bool present() const
    {
        return data != nullptr;
    }

    __device__ __forceinline__ float one(int64_t row, int col) const
    {
        const char *at = data + row * stride;
        if (dtype == DT_F32)
            return reinterpret_cast<const float *>(at)[col];
        if (dtype == DT_BF16)
            return __bfloat162float(reinterpret_cast<const __nv_bfloat16 *>(at)[col]);
        return __half2float(reinterpret_cast<const __half *>(at)[col]);
    }

    __device__ __forceinline__ void put(int64_t row, int col, float x) const
    {
        char *at = data + row * stride;
        if (dtype == DT_F32)
            reinterpret_cast<float *>(at)[col] = x;
        else if (dtype == DT_BF16)
            reinterpret_cast<__nv_bfloat16 *>(at)[col] = __float2bfloat16(x);
        else
            reinterpret_cast<__half *>(at)[col] = __float2half(x);
    }

    // Columns col … col+3 below `end`; zeros behind it.
    __device__ __forceinline__ float4 get4(int64_t row, int col, int end) const
    {
        const char *at = data + row * stride;
        if (wide) {
            if (dtype == DT_F32)
                return *reinterpret_cast<const float4 *>(at + static_cast<int64_t>(col) * 4);
            uint2 words = *reinterpret_cast<const uint2 *>(at + static_cast<int64_t>(col) * 2);
            bool bf16 = dtype == DT_BF16;
            float2 low = bf16 ? number<__nv_bfloat16>::unpack(words.x) : number<__half>::unpack(words.x);
            float2 high = bf16 ? number<__nv_bfloat16>::unpack(words.y) : number<__half>::unpack(words.y);
            return make_float4(low.x, low.y, high.x, high.y);
        }
        return make_float4(col < end ? one(row, col) : 0.0f, col + 1 < end ? one(row, col + 1) : 0.0f,
                           col + 2 < end ? one(row, col + 2) : 0.0f,
                           col + 3 < end ? one(row, col + 3) : 0.0f);
    }

    __device__ __forceinline__ void put4(int64_t row, int col, int end, float4 x) const
    {
        char *at = data + row * stride;
        if (wide) {
            if (dtype == DT_F32)
                *reinterpret_cast<float4 *>(at + static_cast<int64_t>(col) * 4) = x;
            else if (dtype == DT_BF16)
                *reinterpret_cast<uint2 *>(at + static_cast<int64_t>(col) * 2) =
                    make_uint2(number<__nv_bfloat16>::pack(x.x, x.y), number<__nv_bfloat16>::pack(x.z, x.w));
            else
                *reinterpret_cast<uint2 *>(at + static_cast<int64_t>(col) * 2) =
                    make_uint2(number<__half>::pack(x.x, x.y), number<__half>::pack(x.z, x.w));
            return;
        }
        if (col < end)
            put(row, col, x.x);
        if (col + 1 < end)
            put(row, col + 1, x.y);
        if (col + 2 < end)
            put(row, col + 2, x.z);
        if (col + 3 < end)
            put(row, col + 3, x.w);
    }
};
