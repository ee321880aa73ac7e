/* What a block of the Hopper kernel shares: its shape, its shared memory, the item it works on.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cuda/hopper.cuh"
#include "cuda/launch.h"
#include "cuda/tile.cuh"

namespace
{

using namespace hopper;

constexpr int KEYS = PAGE_KEYS; // a key tile is a page
constexpr int CONSUMERS = HEAD_DIM == 64 ? 3 : 2;
constexpr int THREADS = (CONSUMERS + 1) * 128;
constexpr int ROWS = CONSUMERS * 64;
constexpr int STAGES = HEAD_DIM == 64 ? 4 : 2;
constexpr int BLOCKS = HEAD_DIM / 64; // column blocks of a tile
constexpr int SCORES = KEYS / 8, OUTPUTS = HEAD_DIM / 8;
constexpr uint32_t KEY_BYTES = KEYS * HEAD_DIM * 2, QUERY_BYTES = ROWS * HEAD_DIM * 2;
constexpr uint32_t KEY_BLOCK = KEYS * 128, QUERY_BLOCK = ROWS * 128; // bytes of a column block
constexpr uint32_t COUNTERS_BYTES = KEYS * 16 * 2;
enum name { RING = 1, VOTE = RING + CONSUMERS }; // named barriers: one a consumer each

struct control {
    uint64_t q_full, q_empty, k_full[STAGES], k_empty[STAGES], v_full[STAGES], v_empty[STAGES];
    int item;
    int tile[STAGES];          // what K stage holds; -1: no more tiles for this item
    float norm[STAGES];        // its prefix maximum
    int needed[CONSUMERS * 4]; // lowest tile that a consumer warp may still need
};

constexpr size_t SHARED_BYTES =
    QUERY_BYTES + 2 * STAGES * KEY_BYTES + COUNTERS_BYTES + sizeof(control) + 1024;

struct shared {
    uint32_t q, k, v, counters; // addresses
    control *control;

    __device__ __forceinline__ shared(unsigned char *memory)
    {
        uint32_t begin = shared_address(memory), aligned = (begin + 1023) & ~1023u;
        q = aligned;
        k = q + QUERY_BYTES;
        v = k + STAGES * KEY_BYTES;
        counters = v + STAGES * KEY_BYTES;
        control = reinterpret_cast<struct control *>(memory + (counters + COUNTERS_BYTES - begin));
    }
};

struct item {
    int head, kv_head;
    attention_sequence sequence;
    int first, rows, lowest, highest;
    const int32_t *pages;

    __device__ __forceinline__ item(const attention_call &call, int number)
    {
        int set_blocks = call.tile_count * call.heads_together, in_set = number % set_blocks;
        head = call.heads - 1 - (number / set_blocks * call.heads_together + in_set % call.heads_together);
        kv_head = head / (call.heads / call.kv_heads);
        attention_tile tile = call.tiles[in_set / call.heads_together];
        sequence = call.sequences[tile.sequence];
        first = tile.first;
        rows = min(sequence.rows - first, ROWS);
        lowest = sequence.start + first;
        highest = lowest + rows - 1;
        pages = call.pages + sequence.first_page;
    }
};

} // namespace
