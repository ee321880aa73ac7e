/* Which keys a query may see, and which key tiles a query tile has to walk through.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cuda/launch.h"

#include <limits.h>

// A query at position p sees key j when j ≤ p and (p - j < window or j < sinks).
struct mask {
    int window; // INT_MAX: no limit
    int sinks;

    __device__ __forceinline__ explicit mask(const attention_call &call)
        : window(call.window > 0 ? call.window : INT_MAX), sinks(call.sinks)
    {
    }

    __device__ __forceinline__ bool sees(int position, int key) const
    {
        return (key <= position) & ((position - key < window) | (key < sinks)); // no branches
    }

    // Is every key of first … last seen by every query of low … high?
    __device__ __forceinline__ bool whole(int low, int high, int first, int last) const
    {
        return last <= low && (high - first < window || last < sinks);
    }
};

// The key tiles of a query tile, walked from the diagonal to the left; behind a window's left edge
// the walk jumps to the tiles of the sinks.
template <int KEYS> struct walk {
    int edge;      // first tile of the window
    int last_sink; // last tile that holds a sink, -1: none

    __device__ __forceinline__ walk(const mask &mask, int lowest_position)
    {
        edge = max(lowest_position - mask.window + 1, 0) / KEYS;
        last_sink = mask.sinks > 0 ? (mask.sinks - 1) / KEYS : -1;
    }

    // The tile after `tile`, -1 at the end.
    __device__ __forceinline__ int next(int tile) const
    {
        int left = tile - 1;
        return left >= edge ? left : min(left, last_sink);
    }
};
