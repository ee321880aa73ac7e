/* The online softmax of one score tile, in the register layout that mma and wgmma share.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread holds, for two rows (r = 0, 1), columns 8i + 2·(lane % 4) + {0, 1}: score[4i + 2r + {0, 1}].
 * The four lanes of a quad hold a row together. All exponents are base 2. */
#pragma once

#include "cuda/number.cuh"

static __device__ __forceinline__ float quad_max(float x)
{
    x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
    return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}

static __device__ __forceinline__ float quad_sum(float x)
{
    x += __shfl_xor_sync(~0u, x, 1);
    return x + __shfl_xor_sync(~0u, x, 2);
}

// The running state of a thread's two rows. sum covers this thread's columns only until the end.
struct softmax {
    float max[2], sum[2];

    __device__ __forceinline__ void begin()
    {
        max[0] = max[1] = -INFINITY;
        sum[0] = sum[1] = 0.0f;
    }

    // Turns scores into weights 2^(score·factor + shift - max) in place, taking the tile into the
    // running maximum and sum. factor must be positive. rescale: what earlier sums and outputs must
    // be multiplied by.
    template <int BLOCKS>
    __device__ __forceinline__ void tile(float (&score)[BLOCKS * 4], float factor, float shift,
                                         float (&rescale)[2])
    {
#pragma unroll
        for (int r = 0; r < 2; r++) {
            // Four independent chains: with one warp a scheduler, latency is what there is to hide.
            float most4[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
#pragma unroll
            for (int i = 0; i < BLOCKS * 2; i++)
                most4[i % 4] = fmaxf(most4[i % 4], score[4 * (i / 2) + 2 * r + i % 2]);
            float most = fmaxf(fmaxf(most4[0], most4[1]), fmaxf(most4[2], most4[3]));
            most = quad_max(most);
            float before = max[r];
            max[r] = fmaxf(before, fmaf(most, factor, shift));
            // A row that has seen no key yet: any finite base makes every weight 0, not NaN.
            float base = max[r] == -INFINITY ? 0.0f : max[r];
            rescale[r] = power2(before - base);
            float offset = shift - base, sum4[4] = {sum[r] * rescale[r], 0.0f, 0.0f, 0.0f};
#pragma unroll
            for (int i = 0; i < BLOCKS * 2; i++) {
                float &cell = score[4 * (i / 2) + 2 * r + i % 2];
                cell = power2(fmaf(cell, factor, offset));
                sum4[i % 4] += cell;
            }
            sum[r] = (sum4[0] + sum4[1]) + (sum4[2] + sum4[3]);
        }
    }
};

// Whether any row of the warp has to rescale what it gathered so far.
static __device__ __forceinline__ bool any_rescale(const float (&rescale)[2])
{
    return __any_sync(~0u, rescale[0] != 1.0f || rescale[1] != 1.0f);
}
