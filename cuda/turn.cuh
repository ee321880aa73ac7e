/* Rows of a head's numbers typed at run time, and their rotation.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cuda/number.cuh"
#include "cuda/place.h"

struct rows_in { // typed at run time; read once, so that a branch costs nothing
    const void *data;
    int64_t stride;
    int dtype;

    __device__ __forceinline__ float get(int64_t at) const
    {
        if (dtype == DT_BF16)
            return __bfloat162float(static_cast<const __nv_bfloat16 *>(data)[at]);
        if (dtype == DT_F16)
            return __half2float(static_cast<const __half *>(data)[at]);
        return static_cast<const float *>(data)[at];
    }

    __device__ __forceinline__ void put(int64_t at, float x) const
    {
        void *to = const_cast<void *>(data);
        if (dtype == DT_BF16)
            static_cast<__nv_bfloat16 *>(to)[at] = __float2bfloat16(x);
        else if (dtype == DT_F16)
            static_cast<__half *>(to)[at] = __float2half(x);
        else
            static_cast<float *>(to)[at] = x;
    }
};

struct turned { // element e of a head after the rotation; begin: of the head in its rows
    const rows_in &in;
    int64_t begin;
    const place_turn &turn;
    const float2 *turns; // of the row

    __device__ __forceinline__ turned(const rows_in &in, int64_t begin, const place_turn &turn, int64_t row)
        : in(in), begin(begin), turn(turn),
          turns(reinterpret_cast<const float2 *>(turn.turns) + row * (turn.rotary_dim / 2))
    {
    }

    __device__ __forceinline__ float operator()(int e) const
    {
        float x = in.get(begin + e);
        if (!turn.turns || e >= turn.rotary_dim)
            return x;
        int half = turn.rotary_dim / 2;
        bool second = turn.adjacent ? e & 1 : e >= half;
        int pair = turn.adjacent ? e / 2 : second ? e - half : e;
        int other = turn.adjacent ? e ^ 1 : second ? e - half : e + half;
        float y = in.get(begin + other);
        float2 angle = turns[pair];
        return second ? fmaf(y, angle.y, x * angle.x) : fmaf(-y, angle.y, x * angle.x);
    }
};
