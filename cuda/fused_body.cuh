/* A product of up to sixteen rows by one block: what the fused kernels are made of.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A block takes tiles of sixteen weight rows one after another; each of its eight warps multiplies one run of
 * the columns, and the runs' sums are added in order through shared memory. A warp keeps a few units of
 * weights on their way, across tiles and, at the start, before the kernel's predecessor has ended; so loads
 * never stop. */
#pragma once

#include "cuda/chain.cuh"
#include "cuda/fused.h"
#include "cuda/row_norm.cuh"
#include "cuda/slot.cuh"

constexpr int WARPS = FUSED_WARPS, THREADS = 32 * WARPS, ROWS = FUSED_ROWS;
static_assert(THREADS == ROW_NORM_THREADS, "a block norms its row");

// ---- where a block is ----
// The block's step s: its tile s, or with a gate the gate's (even s) and the other's (odd) rows of tile s
// / 2.
struct place {
    int weight, row;
};

// Which of how many blocks: of the grid, or of a part of it.
struct whole_grid {
    __device__ __forceinline__ int block() const
    {
        return static_cast<int>(blockIdx.x);
    }
    __device__ __forceinline__ int blocks() const
    {
        return static_cast<int>(gridDim.x);
    }
};
struct grid_part {
    int mine, all;
    __device__ __forceinline__ int block() const
    {
        return mine;
    }
    __device__ __forceinline__ int blocks() const
    {
        return all;
    }
};

template <typename Share> static __device__ __forceinline__ int steps_of(const fused_call &call, Share mine)
{
    int tiles = (call.tiles - mine.block() + mine.blocks() - 1) / mine.blocks();
    return call.gate != PRODUCT_GATE_NONE ? 2 * tiles : tiles;
}

template <typename Share>
static __device__ __forceinline__ place place_of(const fused_call &call, Share mine, int step)
{
    if (call.gate != PRODUCT_GATE_NONE)
        return {step % 2, (mine.block() + step / 2 * mine.blocks()) * ROWS};
    int tile = mine.block() + step * mine.blocks(), weight = 0;
#pragma unroll
    for (int i = 1; i < PRODUCT_MOST; i++)
        weight += i < call.count && tile >= call.weights[i].first_tile;
    return {weight, (tile - call.weights[weight].first_tile) * ROWS};
}

// Where a warp loads: ahead of where it multiplies. Its run of units is filled up to whole turns of the
// slots.
struct walk {
    const char *row[2]; // weight rows g and g+8 of the tile
    int step, unit;

    template <typename Share>
    __device__ __forceinline__ void enter(const fused_call &call, Share mine, int lane_row)
    {
        place at = place_of(call, mine, step);
        const fused_weight &weight = call.weights[at.weight];
#pragma unroll
        for (int r = 0; r < 2; r++) // rows past the end are the last one again
            row[r] = weight.data + weight.stride * min(at.row + lane_row + 8 * r, weight.n - 1);
    }
};

// ---- activations ----
// One row, kept in shared memory. All tokens of the tile are this one.
struct staged_input {
    const char *row;
    int t;
    __device__ __forceinline__ uint4 eight(int, int column) const
    {
        return *reinterpret_cast<const uint4 *>(row + 2 * (column + 8 * t));
    }
    __device__ __forceinline__ uint2 four(int, int column) const
    {
        return *reinterpret_cast<const uint2 *>(row + 2 * (column + 4 * t));
    }
};

// Several rows, read where they are: a warp reads its own columns only. Tokens past the last are the last.
template <int TILES> struct direct_input {
    const uint16_t *in;
    unsigned first[TILES]; // number of the row's first number in `in`
    unsigned t, k;
    template <int N>
    __device__ __forceinline__ void gather(uint32_t words[N], int tile, unsigned column) const
    {
        const uint16_t *row = in + first[tile];
#pragma unroll
        for (int i = 0; i < N; i++) {
            uint32_t low = column + 2 * i < k ? row[column + 2 * i] : 0;
            uint32_t high = column + 2 * i + 1 < k ? row[column + 2 * i + 1] : 0;
            words[i] = low | high << 16;
        }
    }
    __device__ __forceinline__ uint4 eight(int tile, unsigned column) const
    {
        if (column + 8 * t + 8 <= k)
            return *reinterpret_cast<const uint4 *>(in + first[tile] + column + 8 * t);
        uint32_t words[4];
        gather<4>(words, tile, column + 8 * t);
        return make_uint4(words[0], words[1], words[2], words[3]);
    }
    __device__ __forceinline__ uint2 four(int tile, unsigned column) const
    {
        if (column + 4 * t + 4 <= k)
            return *reinterpret_cast<const uint2 *>(in + first[tile] + column + 4 * t);
        uint32_t words[2];
        gather<2>(words, tile, column + 4 * t);
        return make_uint2(words[0], words[1]);
    }
};

// What a block keeps of a single row in its dynamic shared memory: the row as it is multiplied, and for a
// norm the row as it came and the norm's vectors.
struct staging {
    int columns, row_room, vector_room; // bytes of the last two, multiples of 16

    __host__ __device__ staging(const fused_call &call, int unit)
    {
        columns = call.units * unit;
        row_room = (call.k * (call.in_dtype == DT_F32 ? 4 : 2) + 15) / 16 * 16;
        vector_room = (call.k * 4 + 15) / 16 * 16;
    }
    __host__ __device__ int bytes(const fused_call &call) const
    {
        return 2 * columns +
               (call.norm == PRODUCT_NORM_NONE ? 0 : row_room + vector_room * (call.norm_bias ? 2 : 1));
    }
};

// Before the row is there: the norm's vectors, which nobody writes.
static __device__ __forceinline__ void stage_vectors(const fused_call &call, const staging &rooms,
                                                     char *shared)
{
    if (call.norm == PRODUCT_NORM_NONE)
        return;
    char *weight = shared + 2 * rooms.columns + rooms.row_room;
    row_fetch(weight, call.norm_weight, 4 * call.k, rooms.vector_room);
    if (call.norm_bias)
        row_fetch(weight + rooms.vector_room, call.norm_bias, 4 * call.k, rooms.vector_room);
}

template <typename In, typename T>
static __device__ __forceinline__ void norm_staged(const fused_call &call, const staging &rooms, char *shared,
                                                   float warps[ROW_NORM_WARPS])
{
    const In *row = reinterpret_cast<const In *>(shared + 2 * rooms.columns);
    const float *weight = reinterpret_cast<const float *>(shared + 2 * rooms.columns + rooms.row_room);
    const float *bias = call.norm_bias ? weight + rooms.vector_room / 4 : nullptr;
    row_norm norm = row_measure(row, call.k, call.norm, call.norm_eps, warps);
    row_write(row, call.k, norm, weight, bias, reinterpret_cast<T *>(shared), rooms.columns);
    __syncthreads();
}

template <typename T>
static __device__ __forceinline__ void stage_row(const fused_call &call, const staging &rooms, char *shared,
                                                 float warps[ROW_NORM_WARPS])
{
    if (call.norm == PRODUCT_NORM_NONE) {
        row_fetch(shared, call.in, 2 * call.k, 2 * rooms.columns);
        row_arrived();
        return;
    }
    row_fetch(shared + 2 * rooms.columns, call.in, call.k * (call.in_dtype == DT_F32 ? 4 : 2),
              rooms.row_room);
    row_arrived();
    if (call.in_dtype == DT_F32)
        norm_staged<float, T>(call, rooms, shared, warps);
    else
        norm_staged<T, T>(call, rooms, shared, warps);
}

// ---- results ----
static __device__ __forceinline__ float gate_of(enum product_gate gate, float x)
{
    if (gate == PRODUCT_GATE_SILU)
        return __fdividef(x, 1.0f + __expf(-x));
    if (gate == PRODUCT_GATE_GELU_TANH)
        return 0.5f * x * (1.0f + tanhf(0.7978845608028654f * (x + 0.044715f * x * x * x)));
    return 0.5f * x * (1.0f + erff(x * 0.7071067811865476f));
}

static __device__ __forceinline__ void write_number(const fused_weight &weight, int64_t at, float x)
{
    if (weight.out_dtype == DT_F32) {
        float *out = static_cast<float *>(weight.out) + at;
        *out = weight.accumulate ? *out + x : x;
    } else if (weight.out_dtype == DT_BF16) {
        __nv_bfloat16 *out = static_cast<__nv_bfloat16 *>(weight.out) + at;
        *out = __float2bfloat16_rn(weight.accumulate ? __bfloat162float(*out) + x : x);
    } else {
        __half *out = static_cast<__half *>(weight.out) + at;
        *out = __float2half_rn(weight.accumulate ? __half2float(*out) + x : x);
    }
}

// Adds the runs' sums of weight row `row` of the tile and of a token. A gate's value is held for the next
// step.
template <int TOKENS>
static __device__ __forceinline__ void finish(const fused_call &call, place at, int row, int token,
                                              const float *sums, float &held)
{
    const fused_weight &weight = call.weights[at.weight];
    if (token >= call.rows || token >= TOKENS || at.row + row >= weight.n)
        return;
    float x = 0.0f;
#pragma unroll
    for (int warp = 0; warp < WARPS; warp++)
        x += sums[(warp * TOKENS + token) * ROWS + row];
    if (weight.bias)
        x += weight.bias[at.row + row];
    if (call.gate != PRODUCT_GATE_NONE) {
        if (at.weight == 0) {
            held = gate_of(call.gate, x);
            return;
        }
        x *= held;
    }
    write_number(weight, token * weight.out_stride + at.row + row, x);
}

template <int TOKENS, int TILES>
static __device__ __forceinline__ void leave_sums(const float sums[TILES][4], float *to, int g, int t)
{
    if constexpr (TOKENS == 1) {
        if (t == 0) {
            to[g] = sums[0][0];
            to[g + 8] = sums[0][2];
        }
    } else {
#pragma unroll
        for (int tile = 0; tile < TILES; tile++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                to[(8 * tile + 2 * t + i % 2) * ROWS + g + i / 2 * 8] = sums[tile][i];
    }
}

// The block's shared memory, besides the dynamic part of a single row (staging).
template <int TOKENS> struct block_memory {
    static constexpr int BUFFERS = TOKENS == 1 ? 2 * WARPS : 2;
    float sums[BUFFERS][WARPS * TOKENS * ROWS];
    float norm[ROW_NORM_WARPS];
};

// One row: the warps take turns in finishing a tile (a gate and its other half are one turn), and only the
// warp whose turn it is waits for the others. Each waits once in every WARPS turns, until all have come to
// its turn; so none is ever so far ahead of another that it would write to a buffer that is still read, or
// come twice to a barrier that another has not come to once.
template <typename Share>
static __device__ __forceinline__ void take_turn(const fused_call &call, Share mine, int step, int warp,
                                                 const block_memory<1> &memory)
{
    constexpr int BUFFERS = block_memory<1>::BUFFERS;
    bool gated = call.gate != PRODUCT_GATE_NONE;
    if (gated && step % 2 == 0)
        return;
    int turn = (gated ? step / 2 : step) % WARPS, lane = static_cast<int>(threadIdx.x) % 32;
    if (warp != turn) {
        asm volatile("bar.arrive %0, %1;" ::"r"(turn + 1), "n"(THREADS) : "memory");
        return;
    }
    asm volatile("bar.sync %0, %1;" ::"r"(turn + 1), "n"(THREADS) : "memory");
    float held = 0.0f;
    int row = lane % ROWS, token = lane / ROWS;
    if (gated)
        finish<1>(call, place_of(call, mine, step - 1), row, token, memory.sums[(step - 1) % BUFFERS], held);
    finish<1>(call, place_of(call, mine, step), row, token, memory.sums[step % BUFFERS], held);
}

template <enum dtype D, typename T, int TOKENS, typename Share>
static __device__ __forceinline__ void fused_body(const fused_call &call, Share mine, char *shared,
                                                  block_memory<TOKENS> &memory)
{
    constexpr int TILES = TOKENS > 8 ? TOKENS / 8 : 1, DEPTH = slot<D>::DEPTH;
    constexpr bool ONE = TOKENS == 1;
    // Said to be the same in all lanes, so that what follows from it lives in uniform registers.
    const int warp = __shfl_sync(~0u, static_cast<int>(threadIdx.x) / 32, 0);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    int g = lane / 4, t = lane % 4;
    const slot_parts parts = {call.high, call.scales, call.tail, call.columns};
    const int columns = static_cast<int>(call.columns);
    const int first = call.units * warp / WARPS, last = call.units * (warp + 1) / WARPS;
    const int end = first + (last - first + DEPTH - 1) / DEPTH * DEPTH;

    const int steps = first < last ? steps_of(call, mine) : 0;
    slot<D> slots[DEPTH];
    walk ahead = {{nullptr, nullptr}, 0, first};
    if (steps > 0)
        ahead.enter(call, mine, g);
    auto refill = [&](slot<D> &into) {
        if (ahead.step >= steps)
            return;
        if (ahead.unit < last)
            into.load(ahead.row, parts, ahead.unit, t);
        if (++ahead.unit == end) {
            ahead.unit = first;
            if (++ahead.step < steps)
                ahead.enter(call, mine, g);
        }
    };
#pragma unroll
    for (int i = 0; i < DEPTH; i++)
        refill(slots[i]);

    const staging rooms(call, slot<D>::UNIT);
    if constexpr (ONE)
        stage_vectors(call, rooms, shared);
    chain_wait();
    chain_release();
    typename std::conditional<ONE, staged_input, direct_input<TILES>>::type input;
    input.t = t;
    if constexpr (ONE) {
        stage_row<T>(call, rooms, shared, memory.norm);
        input.row = shared;
    } else {
        input.in = static_cast<const uint16_t *>(call.in);
        input.k = static_cast<unsigned>(call.k);
#pragma unroll
        for (int tile = 0; tile < TILES; tile++)
            input.first[tile] = static_cast<unsigned>(min(8 * tile + g, call.rows - 1) * call.in_stride);
    }

    float held = 0.0f;
    for (int step = 0, all = steps_of(call, mine); step < all; step++) {
        float sums[TILES][4] = {};
        for (int unit = first; unit < last; unit += DEPTH)
#pragma unroll
            for (int i = 0; i < DEPTH; i++) {
                if (unit + i < last)
                    slots[i].template multiply<T, TILES, ONE>(sums, input, unit + i, columns);
                refill(slots[i]);
            }
        float *buffer = memory.sums[step % block_memory<TOKENS>::BUFFERS];
        leave_sums<TOKENS, TILES>(sums, buffer + warp * TOKENS * ROWS, g, t);
        if constexpr (ONE) {
            take_turn(call, mine, step, warp, memory);
        } else { // two buffers: whoever still adds the last step's sums is not disturbed
            __syncthreads();
            int thread = static_cast<int>(threadIdx.x);
            finish<TOKENS>(call, place_of(call, mine, step), thread % ROWS, thread / ROWS, buffer, held);
        }
    }
}

// ---- launch ----
// As many blocks as run at once, each with as many tiles as any other.
static inline int even_blocks(int tiles, int most)
{
    int turns = (tiles + most - 1) / most;
    return (tiles + turns - 1) / turns;
}

template <typename Kernel> static inline int allow_shared(Kernel *kernel, int bytes)
{
    return bytes <= 32 << 10
               ? cudaSuccess
               : cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}
