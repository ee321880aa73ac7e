/* What a block of decode attention has to do: its packed rows, and the keys that they can see.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cuda/launch.h"
#include "cuda/number.cuh"
#include "cuda/reach.cuh"
#include "cuda/tile.cuh"

#include <limits.h>

constexpr int CHUNK = 16;               // keys a warp takes at a time
constexpr int ROW = tile_row<HEAD_DIM>; // of a row of queries in shared memory, in numbers
constexpr int Q_BYTES = static_cast<int>(sizeof(uint16_t)) * DECODE_ROWS * ROW;

// Row r of the block is packed row part.first_packed + r of the sequence: query row packed / group of
// query head kv_head · group + packed % group.
struct work {
    attention_part part;
    int kv_head, group, rows; // rows: of the block
    const int32_t *pages;

    // most: rows that a block of this kind of cache takes.
    __device__ __forceinline__ work(const attention_call &call, int most)
    {
        part = call.parts[blockIdx.x / call.kv_heads];
        kv_head = static_cast<int>(blockIdx.x) % call.kv_heads;
        group = call.heads / call.kv_heads;
        rows = min(part.sequence.rows * group - part.first_packed, most);
        pages = call.pages + part.sequence.first_page;
    }

    __device__ __forceinline__ int packed(int row) const
    {
        return part.first_packed + min(row, rows - 1);
    }

    __device__ __forceinline__ int position(int row) const
    {
        return part.sequence.start + packed(row) / group;
    }

    __device__ __forceinline__ int head(int row) const
    {
        return kv_head * group + packed(row) % group;
    }

    // Of the row in q or out.
    __device__ __forceinline__ int64_t offset(int row, int64_t stride) const
    {
        return (static_cast<int64_t>(part.sequence.first_row) + packed(row) / group) * stride +
               head(row) * HEAD_DIM;
    }

    // The block's first result in the scratch, in slots.
    __device__ __forceinline__ int64_t first_slot(const attention_call &call) const
    {
        return static_cast<int64_t>(part.first_slot) * call.kv_heads + kv_head * part.all_granules;
    }
};

// The keys a block has to look at: 0 … sinks-1, then first … end-1, both whole chunks.
struct range {
    int sinks, first, end;

    __device__ __forceinline__ int count() const
    {
        return sinks + end - first;
    }

    __device__ __forceinline__ int key(int index) const
    {
        return index < sinks ? index : index - sinks + first;
    }
};

// The first key that the reach leaves to any packed row; 0 when nothing may be skipped.
template <typename T>
static __device__ __forceinline__ int first_in_reach(const attention_call &call, const work &work,
                                                     const T *q_tile, int lane)
{
    if (!call.slopes || call.reach <= 0.0f || !call.k_norms || work.part.sequence.holes)
        return 0;
    int row = lane % DECODE_ROWS, position = work.position(row); // two lanes share a row
    reach reach;
    reach.begin(call, work.head(row), position);
    const uint4 *units =
        reinterpret_cast<const uint4 *>(q_tile + row * ROW) + lane / DECODE_ROWS * (HEAD_DIM / 16);
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < HEAD_DIM / 16; i++)
        sum += squares<T>(units[i]);
    sum += __shfl_xor_sync(~0u, sum, DECODE_ROWS);
    float bound = sqrtf(sum) * call.scale * LOG2E * norm_margin;
    int64_t page = work.pages[position / PAGE_KEYS];
    float norm = call.k_norms[page * call.kv_heads + work.kv_head];
    float nearest = reach.on ? static_cast<float>(position) - reach.furthest(bound, norm) : 0.0f;
    int needed = row < work.rows ? static_cast<int>(fmaxf(floorf(nearest), 0.0f)) : INT_MAX;
    return __reduce_min_sync(~0u, needed);
}

template <typename T>
static __device__ __forceinline__ range keys_range(const attention_call &call, const work &work,
                                                   const T *q_tile, int lane)
{
    int reached = first_in_reach(call, work, q_tile, lane);
    int window = call.window > 0 ? max(work.position(0) - call.window + 1, 0) : 0;
    int sinks = call.window > 0 && reached < call.sinks ? (call.sinks + CHUNK - 1) / CHUNK * CHUNK : 0;
    int first = max(window, reached) / CHUNK * CHUNK;
    range range = {sinks, first, work.part.sequence.start + work.part.sequence.rows};
    if (sinks >= first) {
        range.sinks = 0;
        range.first = sinks > 0 ? 0 : first;
    }
    return range;
}
