/* The exact ALiBi reach: when all keys further left may be left out. Proof: docs/attention.md.
 * SPDX-License-Identifier: Apache-2.0
 *
 * In base 2 and in the frame of a query tile (reference = one position for the whole tile, which
 * softmax cannot see), row i scores key j as  q_i·k_j·factor + slope·(j - reference).  For keys
 * 0 … last, prefix maximum P of |k|, the lost mass is at most
 *     2^(|q_i|·P·factor + slope·(last - reference)) / (1 - 2^-slope).
 * It may go when that is at most `share` times the mass that the row has gathered. */
#pragma once

#include "cuda/softmax.cuh"

#include "cuda/launch.h"

struct reach {
    bool on;
    float slope;     // log2 units a key
    float reference; // position
    float constant;  // log2 of the geometric tail, less log2 share, plus slack for rounding
    float log_share; // log2 share
    float log_tail;  // -log2(1 - 2^-slope)

    // Rounding: everything here is fp32. The slack covers terms of ordinary size, the slope's and the
    // norms' relative margins cover terms of any size.
    static constexpr float slack = 0.005f;
    static constexpr float slope_margin = 1.0f - 1.0f / 262144.0f;

    __device__ __forceinline__ void begin(const attention_call &call, int head, int position)
    {
        slope = call.slopes ? call.slopes[head] * LOG2E : 0.0f;
        reference = static_cast<float>(position);
        on = call.reach > 0.0f && call.k_norms && slope > 0.0f;
        if (!on)
            return;
        log_share = log2f(call.reach);
        log_tail = -log2f(-expm1f(-slope / LOG2E)) + slack;
        constant = log_tail - log_share + slack;
    }

    // Are keys 0 … last beyond the row's reach? bound = |q|·factor enlarged, norm = P of last's page.
    __device__ __forceinline__ bool beyond(float bound, float norm, int last, float max, float sum) const
    {
        float lost =
            fmaf(bound, norm, slope * slope_margin * (static_cast<float>(last) - reference)) + constant;
        return lost <= max + logarithm2(sum);
    }

    // Before any score is known: the furthest distance that can matter to a row with this bound, when
    // every nearer key is there. The row keeps at least
    // 2^(-bound·norm) (1 - 2^(-slope·d)) / (1 - 2^-slope), so d is far enough when
    // 2·bound·norm - slope·d - log2(1 - 2^(-slope·d)) ≤ log2 share; the last term is at most 1 once
    // slope·d ≥ 1.
    __device__ __forceinline__ float furthest(float bound, float norm) const
    {
        float bits = fmaf(2.0f * bound, norm, 1.0f + slack - log_share);
        return fmaxf(bits, 1.0f) / slope;
    }
};

// |q| and products of norms are sums of rounded numbers: one part in 512 covers them and the
// difference between the tensor cores' q·k and the exact one.
constexpr float norm_margin = 1.0f + 1.0f / 512.0f;
