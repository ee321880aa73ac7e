/* The Hopper kernel's producer: one warp that drives the copy engine.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cuda/hopper_block.cuh"
#include "cuda/mask.cuh"

namespace
{

// Pages and norms of 32 tiles at a time, one a lane.
struct page_window {
    int highest = -1, page = -1;
    float norm = 0.0f;

    __device__ __forceinline__ void cover(const attention_call &call, const item &item, int tile, int lane)
    {
        if (tile <= highest && tile > highest - 32)
            return;
        highest = tile;
        page = tile - lane >= 0 ? item.pages[tile - lane] : -1;
        norm = call.k_norms && page >= 0
                   ? call.k_norms[static_cast<int64_t>(page) * call.kv_heads + item.kv_head]
                   : 0.0f;
    }
};

__device__ __forceinline__ void load_tile(uint32_t to, const CUtensorMap *map, int row, uint32_t barrier)
{
    barrier_expect(barrier, KEY_BYTES);
#pragma unroll
    for (int block = 0; block < BLOCKS; block++)
        copy_box(to + block * KEY_BLOCK, map, block * 64, row, barrier);
}

__device__ __forceinline__ void load_queries(const shared &shared, const CUtensorMap *map, const item &item)
{
    uint32_t barrier = shared_address(&shared.control->q_full);
    barrier_expect(barrier, QUERY_BYTES);
#pragma unroll
    for (int block = 0; block < BLOCKS; block++)
        copy_box(shared.q + block * QUERY_BLOCK, map, item.head * HEAD_DIM + block * 64,
                 item.sequence.first_row + item.first, barrier);
}

__device__ __forceinline__ int lowest_needed(const control &control, int lane)
{
    int needed =
        lane < CONSUMERS * 4 ? *reinterpret_cast<const volatile int *>(&control.needed[lane]) : INT_MAX;
    return __reduce_min_sync(~0u, needed);
}

__device__ __forceinline__ void produce_tiles(const attention_call &call, const shared &shared,
                                              const CUtensorMap *k_map, const CUtensorMap *v_map,
                                              const item &item, place<STAGES> &at, place<STAGES> &v_at,
                                              int lane)
{
    control &control = *shared.control;
    walk<KEYS> walk(mask(call), item.lowest);
    page_window window;
    for (int tile = item.highest / KEYS; tile >= 0; tile = walk.next(tile)) {
        window.cover(call, item, tile, lane);
        int page = __shfl_sync(~0u, window.page, window.highest - tile);
        float norm = __shfl_sync(~0u, window.norm, window.highest - tile);
        if (page < 0)
            continue;
        barrier_wait(shared_address(&control.k_empty[at.stage]), at.phase ^ 1);
        if (tile < lowest_needed(control, lane))
            break;
        int row = (page * call.kv_heads + item.kv_head) * KEYS;
        if (lane == 0) {
            control.tile[at.stage] = tile;
            control.norm[at.stage] = norm;
            load_tile(shared.k + at.stage * KEY_BYTES, k_map, row, shared_address(&control.k_full[at.stage]));
        }
        barrier_wait(shared_address(&control.v_empty[v_at.stage]), v_at.phase ^ 1);
        if (lane == 0)
            load_tile(shared.v + v_at.stage * KEY_BYTES, v_map, row,
                      shared_address(&control.v_full[v_at.stage]));
        __syncwarp();
        at.advance();
        v_at.advance();
    }
    barrier_wait(shared_address(&control.k_empty[at.stage]), at.phase ^ 1);
    if (lane == 0) {
        control.tile[at.stage] = -1;
        barrier_arrive(shared_address(&control.k_full[at.stage]));
    }
    at.advance();
}

__device__ __forceinline__ void produce(const attention_call &call, const shared &shared,
                                        const CUtensorMap *q_map, const CUtensorMap *k_map,
                                        const CUtensorMap *v_map, int lane)
{
    control &control = *shared.control;
    int items = call.tile_count * call.heads;
    place<STAGES> at, v_at;
    uint32_t phase = 1;
    for (bool more = true; more; phase ^= 1) {
        int number = 0;
        if (lane == 0)
            number = atomicAdd(&call.tickets[0], 1);
        number = __shfl_sync(~0u, number, 0);
        more = number < items;
        barrier_wait(shared_address(&control.q_empty), phase);
        if (lane < CONSUMERS * 4)
            atomicExch(&control.needed[lane], -1);
        if (lane == 0)
            control.item = more ? number : -1;
        __syncwarp();
        if (!more) {
            if (lane == 0)
                barrier_arrive(shared_address(&control.q_full));
            break;
        }
        item item(call, number);
        if (lane == 0)
            load_queries(shared, q_map, item);
        __syncwarp();
        produce_tiles(call, shared, k_map, v_map, item, at, v_at, lane);
    }
    // Every block has drawn its last ticket once the last one is here.
    if (lane == 0 && atomicAdd(&call.tickets[1], 1) == static_cast<int>(gridDim.x) - 1)
        call.tickets[0] = call.tickets[1] = 0;
}

} // namespace
