/* A block of 32 numbers as a Q8_0 cache keeps it: one scale, f16, and signed bytes.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <cuda_fp16.h>
#include <stdint.h>

// The largest of a warp's numbers, by size, for several blocks at a time.
template <int BLOCKS>
static __device__ __forceinline__ void q8_0_most(float (&most)[BLOCKS], const float (&x)[BLOCKS])
{
#pragma unroll
    for (int i = 0; i < BLOCKS; i++)
        most[i] = fabsf(x[i]);
#pragma unroll
    for (int other = 16; other > 0; other /= 2)
#pragma unroll
        for (int i = 0; i < BLOCKS; i++)
            most[i] = fmaxf(most[i], __shfl_xor_sync(~0u, most[i], other));
}

// A number of a block whose largest is `most`.
struct q8_0_number {
    __half scale; // of the block
    int8_t byte;

    __device__ __forceinline__ q8_0_number(float x, float most)
    {
        scale = __float2half(fminf(most / 127.0f, 65504.0f));
        float s = __half2float(scale);
        byte = static_cast<int8_t>(s > 0.0f ? fmaxf(-127.0f, fminf(127.0f, rintf(x / s))) : 0.0f);
    }

    __device__ __forceinline__ float value() const
    {
        return static_cast<float>(byte) * __half2float(scale);
    }
};
