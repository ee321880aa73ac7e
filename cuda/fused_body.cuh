/* A product of up to sixteen rows by one block: what the fused kernels are made of.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A block takes tiles of sixteen weight rows one after another. Its sixteen warps share a tile's columns in
 * sixteen runs; the runs' sums are added in order through shared memory, by whichever warp is the last to
 * leave its own, so that no warp waits for another. A warp keeps a few units of weights on their way into
 * shared memory, across tiles and, at the start, before the kernel's predecessor has ended. Two blocks fill
 * an SM: as soon as one ends, the next kernel's first loads begin. */
#pragma once

#include "cuda/chain.cuh"
#include "cuda/fused.h"
#include "cuda/row_norm.cuh"
#include "cuda/slot.cuh"

constexpr int WARPS = FUSED_WARPS, THREADS = 32 * WARPS, ROWS = FUSED_ROWS;

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
    if (call.count == 1)
        return {0, tile * ROWS};
#pragma unroll
    for (int i = 1; i < PRODUCT_MOST; i++)
        weight += i < call.count && tile >= call.weights[i].first_tile;
    return {weight, (tile - call.weights[weight].first_tile) * ROWS};
}

// Where a warp loads: ahead of where it multiplies. Runs go round the warps from step to step, because some
// may be a unit longer than others.
struct walk {
    slot_rows rows;
    int step;
    unsigned unit, last;
    bool whole; // the tile has all of its rows

    // To the first step from `step` on whose run has units.
    template <typename Share>
    __device__ __forceinline__ void enter(const fused_call &call, Share mine, int steps, int warp, int lane)
    {
        for (; step < steps; step++) {
            unsigned run = static_cast<unsigned>(warp + step) % WARPS,
                     units = static_cast<unsigned>(call.units);
            unit = units * run / WARPS, last = units * (run + 1) / WARPS;
            if (unit < last)
                break;
        }
        if (step >= steps)
            return;
        place at = place_of(call, mine, step);
        const fused_weight &weight = call.weights[at.weight];
        rows.tile = weight.data + weight.stride * at.row;
        int most = weight.n - 1 - at.row; // rows past the end are the last one again
        if (whole && most >= ROWS - 1)
            return; // all weights of a launch have the same stride
        whole = most >= ROWS - 1;
        unsigned stride = static_cast<unsigned>(weight.stride);
        rows.row[0] = static_cast<unsigned>(min(lane / 4, most)) * stride;
        rows.row[1] = static_cast<unsigned>(min(lane / 4 + 8, most)) * stride;
        rows.scaled = static_cast<unsigned>(min(lane % 16, most)) * stride;
    }
};

// A warp's ring of units in shared memory.
template <enum dtype D> struct ring {
    uint32_t address;
    const char *base;
    int warp, lane, stage;
    walk ahead;

    template <typename Share>
    __device__ __forceinline__ ring(const fused_call &call, Share mine, int steps, char *shared, int warp,
                                    int lane)
        : base(shared + warp * (slot<D>::DEPTH * slot<D>::BYTES)), warp(warp), lane(lane), stage(0)
    {
        address = static_cast<uint32_t>(__cvta_generic_to_shared(base));
        ahead.step = 0;
        ahead.whole = false;
        ahead.enter(call, mine, steps, warp, lane);
    }

    // Fills a stage; the next one's time has come when as many have been taken.
    template <typename Share>
    __device__ __forceinline__ void fill(const fused_call &call, Share mine, int steps,
                                         const slot_parts &parts, int at)
    {
        if (ahead.step < steps) {
            slot<D>::load(address + static_cast<uint32_t>(at * slot<D>::BYTES), ahead.rows, parts, ahead.unit,
                          static_cast<unsigned>(lane));
            if (++ahead.unit == ahead.last) {
                ahead.step++;
                ahead.enter(call, mine, steps, warp, lane);
            }
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    }

    // The oldest unit, when it is there for all lanes.
    __device__ __forceinline__ const char *take() const
    {
        asm volatile("cp.async.wait_group %0;" ::"n"(slot<D>::DEPTH - 1) : "memory");
        __syncwarp();
        return base + stage * slot<D>::BYTES;
    }

    template <typename Share>
    __device__ __forceinline__ void next(const fused_call &call, Share mine, int steps,
                                         const slot_parts &parts)
    {
        __syncwarp(); // all lanes have read it
        fill(call, mine, steps, parts, stage);
        stage = stage + 1 == slot<D>::DEPTH ? 0 : stage + 1;
    }
};

// ---- activations ----
// One row of 16-bit numbers, kept in shared memory. All tokens of the tile are this one.
struct staged_input {
    const char *row;
    int t;
    __device__ __forceinline__ uint4 eight(int, unsigned column) const
    {
        return *reinterpret_cast<const uint4 *>(row + 2 * (column + 8 * static_cast<unsigned>(t)));
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
};

// Bytes of shared memory that a single row takes: digits, or 16-bit numbers.
template <enum dtype D> __host__ __device__ static inline int row_bytes(const fused_call &call)
{
    int columns = call.units * slot<D>::UNIT;
    return slot<D>::CODED ? digit_row_bytes<slot<D>::SIX>(columns) : (2 * columns + 15) / 16 * 16;
}

template <enum dtype D>
static __device__ __forceinline__ void put_group(const fused_call &call, const float (&x)[8], int at,
                                                 char *shared)
{
    const int columns = call.units * slot<D>::UNIT;
    if constexpr (slot<D>::CODED) // a multiple of 32 columns: all four threads of a block are in or out
        digits_put<slot<D>::SIX>(shared, columns / 32, at, at < columns, x);
    else if (at < columns)
        *reinterpret_cast<uint4 *>(shared + 2 * at) =
            call.dtype == DT_BF16
                ? make_uint4(number<__nv_bfloat16>::pack(x[0], x[1]), number<__nv_bfloat16>::pack(x[2], x[3]),
                             number<__nv_bfloat16>::pack(x[4], x[5]), number<__nv_bfloat16>::pack(x[6], x[7]))
                : make_uint4(number<__half>::pack(x[0], x[1]), number<__half>::pack(x[2], x[3]),
                             number<__half>::pack(x[4], x[5]), number<__half>::pack(x[6], x[7]));
}

// Waits for the kernel's predecessor, brings the row and norms it.
template <enum dtype D>
static __device__ __forceinline__ void stage_normed_row(const fused_call &call, char *shared,
                                                        float warps[FUSED_WARPS])
{
    const row_expected<slot<D>::SIX> expected(call);
    row_groups groups;
    chain_wait();
    chain_release();
    row_load<slot<D>::SIX>(groups, call.in, call.in_dtype, call.k, 0);
    row_normalise<slot<D>::SIX>(call, groups, expected, warps);
#pragma unroll
    for (int i = 0; i < ROW_HELD; i++)
        put_group<D>(call, groups.x[i], row_column(0, i), shared);
}

// The same for a row that is taken as it is: sixteen-bit numbers.
template <enum dtype D>
static __device__ __forceinline__ void stage_plain_row(const fused_call &call, char *shared)
{
    const int columns = call.units * slot<D>::UNIT;
    chain_wait();
    chain_release();
#pragma unroll 1
    for (int begin = 0; begin < columns; begin += ROW_STEP * ROW_RAW) {
        row_raw raw[ROW_RAW];
#pragma unroll
        for (int i = 0; i < ROW_RAW; i++)
            raw[i].load<slot<D>::SIX>(call.in, row_column(begin, i), call.k);
#pragma unroll
        for (int i = 0; i < ROW_RAW; i++) {
            float x[8];
            if (begin + ROW_STEP * i >= columns) // the same for all threads
                break;
            raw[i].numbers(x, call.dtype == DT_BF16);
            put_group<D>(call, x, row_column(begin, i), shared);
        }
    }
}

template <enum dtype D>
static __device__ __forceinline__ void stage_row(const fused_call &call, char *shared,
                                                 float warps[FUSED_WARPS])
{
    if (call.norm != PRODUCT_NORM_NONE)
        stage_normed_row<D>(call, shared, warps);
    else
        stage_plain_row<D>(call, shared);
    __syncthreads();
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

// The runs' sums of weight row `row` of the tile and of a token, added up; a bias with them.
template <int TOKENS>
static __device__ __forceinline__ float total_of(const fused_weight &weight, int at_row, int row, int token,
                                                 const float *sums)
{
    float x[2] = {0.0f, 0.0f};
#pragma unroll
    for (int half = 0; half < 2; half++)
#pragma unroll
        for (int run = 0; run < WARPS / 2; run++)
            x[half] += sums[((half * WARPS / 2 + run) * TOKENS + token) * ROWS + row];
    x[0] += x[1];
    return weight.bias && at_row + row < weight.n ? x[0] + weight.bias[at_row + row] : x[0];
}

// Sums of a step's tile (and of its gate's, from the step before) to where they belong.
template <int TOKENS, typename Share>
static __device__ __forceinline__ void finish(const fused_call &call, Share mine, int step, int row,
                                              int token, const float *gate_sums, const float *sums)
{
    place at = place_of(call, mine, step);
    const fused_weight &weight = call.weights[at.weight];
    if (token >= call.rows || at.row + row >= weight.n)
        return;
    float x = total_of<TOKENS>(weight, at.row, row, token, sums);
    if (call.gate != PRODUCT_GATE_NONE)
        x *= gate_of(call.gate, total_of<TOKENS>(call.weights[0], at.row, row, token, gate_sums));
    write_number(weight, token * weight.out_stride + at.row + row, x);
}

// The block's shared memory, besides the dynamic part. A turn is a tile, or a gate's and its other half's;
// the warps may be BUFFERS turns apart: the more, the less they wait for each other, as far as two blocks
// have room.
template <int TOKENS, bool CODED> struct block_memory {
    static constexpr int BUFFERS = TOKENS > 1 ? 1 : CODED ? 4 : 8;
    float sums[BUFFERS][2][WARPS * TOKENS * ROWS];
    float norm[FUSED_WARPS];
    int arrived[BUFFERS], done[BUFFERS]; // of all turns that used the buffer

    __device__ __forceinline__ void begin()
    {
        if (threadIdx.x < BUFFERS)
            arrived[threadIdx.x] = done[threadIdx.x] = 0;
    }
};

static __device__ __forceinline__ void fence_block()
{
    asm volatile("fence.acq_rel.cta;" ::: "memory");
}

// One row: whoever is the last warp to leave its sums of a turn finishes it. A buffer is used again once it
// is finished.
template <bool CODED, typename Share>
static __device__ __forceinline__ void leave_one(const fused_call &call, Share mine, int step, int run,
                                                 const float sums[2], block_memory<1, CODED> &memory,
                                                 int lane)
{
    const bool gated = call.gate != PRODUCT_GATE_NONE;
    int turn = gated ? step / 2 : step, half = gated ? step % 2 : 0;
    int buffer = turn % block_memory<1, CODED>::BUFFERS, round = turn / block_memory<1, CODED>::BUFFERS;
    if (half == 0) {
        while (*const_cast<volatile int *>(&memory.done[buffer]) < round)
            ;
        __syncwarp();
    }
    float *to = memory.sums[buffer][half] + run * ROWS;
    if (lane % 4 == 0) {
        to[lane / 4] = sums[0];
        to[lane / 4 + 8] = sums[1];
    }
    if (gated && half == 0)
        return;
    fence_block();
    __syncwarp();
    int before = 0;
    if (lane == 0)
        before = atomicAdd(&memory.arrived[buffer], 1);
    before = __shfl_sync(~0u, before, 0);
    if (before != WARPS * (round + 1) - 1)
        return;
    fence_block();
    if (lane < ROWS)
        finish<1>(call, mine, step, lane, 0, memory.sums[buffer][0], memory.sums[buffer][half]);
    fence_block();
    __syncwarp();
    if (lane == 0)
        *const_cast<volatile int *>(&memory.done[buffer]) = round + 1;
}

template <enum dtype D, typename T, typename Share>
static __device__ __forceinline__ void
multiply_one_row(const fused_call &call, Share mine, int steps, ring<D> &ring, const slot_parts &parts,
                 const char *row, block_memory<1, slot<D>::CODED> &memory, int warp, int lane)
{
    const int blocks = call.units * slot<D>::UNIT / 32;
    for (int step = 0; step < steps; step++) {
        unsigned run = static_cast<unsigned>(warp + step) % WARPS, units = static_cast<unsigned>(call.units);
        float sums[4] = {};
        for (unsigned unit = units * run / WARPS, last = units * (run + 1) / WARPS; unit < last; unit++) {
            const char *at = ring.take();
            if constexpr (slot<D>::CODED)
                slot<D>::multiply_one(sums, at, row, blocks, unit, static_cast<unsigned>(lane));
            else
                slot<D>::template multiply<T, 1>(reinterpret_cast<float(*)[4]>(sums), at,
                                                 staged_input{row, lane % 4}, unit,
                                                 static_cast<unsigned>(lane));
            ring.next(call, mine, steps, parts);
        }
        if constexpr (slot<D>::CODED) {
#pragma unroll
            for (int r = 0; r < 2; r++) {
                sums[r] += __shfl_xor_sync(~0u, sums[r], 1);
                sums[r] += __shfl_xor_sync(~0u, sums[r], 2);
            }
        } else {
            sums[1] = sums[2];
        }
        leave_one(call, mine, step, static_cast<int>(run), sums, memory, lane);
    }
}

// Several rows: sums of a tile's run by all of them.
template <enum dtype D, typename T, int TOKENS> struct many_rows {
    static constexpr int TILES = TOKENS / 8, PARTS = slot<D>::CODED ? 4 : 1;
    const char *digits;
    unsigned rows[TILES], facts[TILES][2]; // from there
    direct_input<TILES> input;             // or 16-bit numbers
    int blocks;

    __device__ __forceinline__ many_rows(const fused_call &call, int lane)
    {
        int g = lane / 4, t = lane % 4;
        blocks = call.units * slot<D>::UNIT / 32;
        const int stride = digit_row_bytes<slot<D>::SIX>(call.units * slot<D>::UNIT);
        digits = call.digits;
        input.in = static_cast<const uint16_t *>(call.in);
        input.k = static_cast<unsigned>(call.k);
        input.t = static_cast<unsigned>(t);
#pragma unroll
        for (int tile = 0; tile < TILES; tile++) { // tokens past the last are the last
            input.first[tile] = static_cast<unsigned>(min(8 * tile + g, call.rows - 1) * call.in_stride);
            rows[tile] = static_cast<unsigned>(min(8 * tile + g, call.rows - 1) * stride);
            facts[tile][0] = static_cast<unsigned>(min(8 * tile + 2 * t, call.rows - 1) * stride);
            facts[tile][1] = static_cast<unsigned>(min(8 * tile + 2 * t + 1, call.rows - 1) * stride);
        }
    }

    __device__ __forceinline__ void multiply(float sums[TILES][PARTS][4], const char *at, unsigned unit,
                                             int lane) const
    {
        if constexpr (slot<D>::CODED)
            slot<D>::template multiply_many<TILES>(sums, at, digits, rows, facts, blocks, unit,
                                                   static_cast<unsigned>(lane));
        else
            slot<D>::template multiply<T, TILES>(reinterpret_cast<float(*)[4]>(sums), at, input, unit,
                                                 static_cast<unsigned>(lane));
    }

    // The parts are added as the lanes of a single row are.
    static __device__ __forceinline__ void leave(const float sums[TILES][PARTS][4], float *to, int lane)
    {
#pragma unroll
        for (int tile = 0; tile < TILES; tile++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                float x = sums[tile][0][i];
                if constexpr (PARTS == 4)
                    x = (x + sums[tile][1][i]) + (sums[tile][2][i] + sums[tile][3][i]);
                to[(8 * tile + 2 * (lane % 4) + i % 2) * ROWS + lane / 4 + i / 2 * 8] = x;
            }
    }
};

template <enum dtype D, typename T, int TOKENS, typename Share>
static __device__ __forceinline__ void
multiply_many_rows(const fused_call &call, Share mine, int steps, ring<D> &ring, const slot_parts &parts,
                   block_memory<TOKENS, slot<D>::CODED> &memory, int warp, int lane)
{
    using many = many_rows<D, T, TOKENS>;
    const many rows(call, lane);
    const bool gated = call.gate != PRODUCT_GATE_NONE;
    for (int step = 0; step < steps; step++) {
        unsigned run = static_cast<unsigned>(warp + step) % WARPS, units = static_cast<unsigned>(call.units);
        float sums[many::TILES][many::PARTS][4] = {};
        for (unsigned unit = units * run / WARPS, last = units * (run + 1) / WARPS; unit < last; unit++) {
            const char *at = ring.take();
            rows.multiply(sums, at, unit, lane);
            ring.next(call, mine, steps, parts);
        }
        int half = gated ? step % 2 : 0;
        many::leave(sums, memory.sums[0][half] + run * (TOKENS * ROWS), lane);
        if (gated && half == 0)
            continue;
        __syncthreads();
        int thread = static_cast<int>(threadIdx.x);
        if (thread < TOKENS * ROWS)
            finish<TOKENS>(call, mine, step, thread % ROWS, thread / ROWS, memory.sums[0][0],
                           memory.sums[0][half]);
        __syncthreads();
    }
}

template <enum dtype D, typename T, int TOKENS, typename Share>
static __device__ __forceinline__ void fused_body(const fused_call &call, Share mine, char *shared,
                                                  block_memory<TOKENS, slot<D>::CODED> &memory)
{
    // Said to be the same in all lanes, so that what follows from it lives in uniform registers.
    const int warp = __shfl_sync(~0u, static_cast<int>(threadIdx.x) / 32, 0);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const slot_parts parts = {call.high, call.scales, call.tail, call.columns};
    const int steps = steps_of(call, mine);
    ring<D> ring(call, mine, steps, shared + (TOKENS == 1 ? row_bytes<D>(call) : 0), warp, lane);
#pragma unroll
    for (int i = 0; i < slot<D>::DEPTH; i++)
        ring.fill(call, mine, steps, parts, i);
    if constexpr (TOKENS == 1) {
        memory.begin();
        stage_row<D>(call, shared, memory.norm);
        multiply_one_row<D, T>(call, mine, steps, ring, parts, shared, memory, warp, lane);
    } else {
        chain_wait();
        chain_release();
        multiply_many_rows<D, T, TOKENS>(call, mine, steps, ring, parts, memory, warp, lane);
    }
}

// Bytes of dynamic shared memory.
template <enum dtype D, int TOKENS> static inline int shared_bytes_of(const fused_call &call)
{
    return (TOKENS == 1 ? row_bytes<D>(call) : 0) + WARPS * slot<D>::DEPTH * slot<D>::BYTES;
}

// ---- launch ----
// As many blocks as run at once. Some may have a tile more than others: two that share an SM even it out.
static inline int some_blocks(int tiles, int most)
{
    return tiles < most ? tiles : most;
}

// Allows a kernel its dynamic shared memory; cudaErrorNotSupported: the card has not so much.
template <typename Kernel> static inline int allow_shared(Kernel *kernel, int bytes)
{
    int device = 0, most = 0;
    cudaFuncAttributes attributes;
    int status = cudaGetDevice(&device);
    if (status == cudaSuccess)
        status = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (status == cudaSuccess)
        status = cudaFuncGetAttributes(&attributes, kernel);
    if (status != cudaSuccess)
        return status;
    if (static_cast<size_t>(bytes) + attributes.sharedSizeBytes > static_cast<size_t>(most))
        return cudaErrorNotSupported;
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}
