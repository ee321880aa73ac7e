/* Products of up to sixteen rows, reading each weight once as it is stored: one kernel a weight type.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Compiled once for each type, with -DWEIGHT=DT_Q4_K and so on. A block takes tiles of sixteen weight rows
 * one after another; each of its eight warps multiplies one run of the columns, and the runs' sums are added
 * in order through shared memory. A warp keeps a few units of weights on their way, across tiles and, at the
 * start, before the kernel's predecessor has ended; so loads never stop. */
#include "cuda/chain.cuh"
#include "cuda/fused.h"
#include "cuda/row_norm.cuh"
#include "cuda/slot.cuh"

constexpr int WARPS = FUSED_WARPS, THREADS = 32 * WARPS, ROWS = FUSED_ROWS;
static_assert(THREADS == ROW_NORM_THREADS, "a block norms its row");
static_assert(slot<WEIGHT>::UNIT > 0, "WEIGHT names a type");

// ---- where a block is ----
// The block's step s: its tile s, or with a gate the gate's (even s) and the other's (odd) rows of tile s
// / 2.
struct place {
    int weight, row;
};

static __device__ __forceinline__ int steps_of(const fused_call &call)
{
    int tiles = (call.tiles - static_cast<int>(blockIdx.x) + static_cast<int>(gridDim.x) - 1) /
                static_cast<int>(gridDim.x);
    return call.gate != PRODUCT_GATE_NONE ? 2 * tiles : tiles;
}

static __device__ __forceinline__ place place_of(const fused_call &call, int step)
{
    if (call.gate != PRODUCT_GATE_NONE)
        return {step % 2, static_cast<int>(blockIdx.x + step / 2 * gridDim.x) * ROWS};
    int tile = static_cast<int>(blockIdx.x + step * gridDim.x), weight = 0;
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

    __device__ __forceinline__ void enter(const fused_call &call, int lane_row)
    {
        place at = place_of(call, step);
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

template <typename In, typename T>
static __device__ __forceinline__ void stage_normed(const fused_call &call, T *staged, int columns,
                                                    float warps[ROW_NORM_WARPS])
{
    const In *in = static_cast<const In *>(call.in);
    row_norm norm = row_measure(in, call.k, call.norm, call.norm_eps, warps);
    row_write(in, call.k, norm, call.norm_weight, call.norm_bias, staged, columns);
}

template <typename T>
static __device__ __forceinline__ void stage(const fused_call &call, T *staged, int columns,
                                             float warps[ROW_NORM_WARPS])
{
    if (call.norm == PRODUCT_NORM_NONE) {
        direct_input<1> in = {static_cast<const uint16_t *>(call.in), {0}, 0, static_cast<unsigned>(call.k)};
#pragma unroll 1
        for (int at = 8 * static_cast<int>(threadIdx.x); at < columns; at += 8 * THREADS)
            *reinterpret_cast<uint4 *>(staged + at) = in.eight(0, at);
    } else if (call.in_dtype == DT_F32) {
        stage_normed<float>(call, staged, columns, warps);
    } else {
        stage_normed<T>(call, staged, columns, warps);
    }
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

// Thread i adds the runs' sums of weight row i % 16 and token i / 16. A gate's value is held for the next
// step.
template <int TOKENS>
static __device__ __forceinline__ void finish(const fused_call &call, place at, const float *sums,
                                              float &held)
{
    int row = static_cast<int>(threadIdx.x) % ROWS, token = static_cast<int>(threadIdx.x) / ROWS;
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

template <enum dtype D, typename T, int TOKENS>
static __global__ void __launch_bounds__(THREADS, 2) fused_kernel(const __grid_constant__ fused_call call)
{
    constexpr int TILES = TOKENS > 8 ? TOKENS / 8 : 1, DEPTH = slot<D>::DEPTH;
    constexpr bool ONE = TOKENS == 1;
    extern __shared__ uint4 shared_row[];
    __shared__ float shared_sums[2][WARPS * TOKENS * ROWS];
    __shared__ float norm_sums[ROW_NORM_WARPS];
    // Said to be the same in all lanes, so that what follows from it lives in uniform registers.
    const int warp = __shfl_sync(~0u, static_cast<int>(threadIdx.x) / 32, 0);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    int g = lane / 4, t = lane % 4;
    const slot_parts parts = {call.high, call.scales, call.tail, call.columns};
    const int columns = static_cast<int>(call.columns);
    const int first = call.units * warp / WARPS, last = call.units * (warp + 1) / WARPS;
    const int end = first + (last - first + DEPTH - 1) / DEPTH * DEPTH;

    const int steps = first < last ? steps_of(call) : 0;
    slot<D> slots[DEPTH];
    walk ahead = {{nullptr, nullptr}, 0, first};
    if (steps > 0)
        ahead.enter(call, g);
    auto refill = [&](slot<D> &into) {
        if (ahead.step >= steps)
            return;
        if (ahead.unit < last)
            into.load(ahead.row, parts, ahead.unit, t);
        if (++ahead.unit == end) {
            ahead.unit = first;
            if (++ahead.step < steps)
                ahead.enter(call, g);
        }
    };
#pragma unroll
    for (int i = 0; i < DEPTH; i++)
        refill(slots[i]);

    chain_wait();
    chain_release();
    typename std::conditional<ONE, staged_input, direct_input<TILES>>::type input;
    input.t = t;
    if constexpr (ONE) {
        stage(call, reinterpret_cast<T *>(shared_row), call.units * slot<D>::UNIT, norm_sums);
        input.row = reinterpret_cast<const char *>(shared_row);
    } else {
        input.in = static_cast<const uint16_t *>(call.in);
        input.k = static_cast<unsigned>(call.k);
#pragma unroll
        for (int tile = 0; tile < TILES; tile++)
            input.first[tile] = static_cast<unsigned>(min(8 * tile + g, call.rows - 1) * call.in_stride);
    }

    float held = 0.0f;
    for (int step = 0, all = steps_of(call); step < all; step++) {
        float sums[TILES][4] = {};
        for (int unit = first; unit < last; unit += DEPTH)
#pragma unroll
            for (int i = 0; i < DEPTH; i++) {
                if (unit + i < last)
                    slots[i].template multiply<T, TILES, ONE>(sums, input, unit + i, columns);
                refill(slots[i]);
            }
        // Two buffers in turn: whoever still adds the last step's sums is not disturbed.
        float *buffer = shared_sums[step % 2];
        leave_sums<TOKENS, TILES>(sums, buffer + warp * TOKENS * ROWS, g, t);
        __syncthreads();
        finish<TOKENS>(call, place_of(call, step), buffer, held);
    }
}

// ---- launch ----
template <typename T, int TOKENS>
static int launch(const struct fused_call *call, int processors, void *stream)
{
    auto kernel = fused_kernel<WEIGHT, T, TOKENS>;
    size_t shared_bytes = TOKENS == 1 ? static_cast<size_t>(call->units) * slot<WEIGHT>::UNIT * sizeof(T) : 0;
    if (shared_bytes > (32 << 10)) {
        int status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          static_cast<int>(shared_bytes));
        if (status != cudaSuccess)
            return status;
    }
    // As many blocks as run at once, each with as many tiles as any other.
    int most = 2 * processors, turns = (call->tiles + most - 1) / most;
    int blocks = (call->tiles + turns - 1) / turns;
    return chain_launch(kernel, dim3(static_cast<unsigned>(blocks)), THREADS, shared_bytes, stream, *call);
}

template <typename T> static int launch_tokens(const struct fused_call *call, int processors, void *stream)
{
    if (call->rows == 1 && call->units * slot<WEIGHT>::UNIT <= FUSED_MOST_COLUMNS)
        return launch<T, 1>(call, processors, stream);
    return call->rows <= 8 ? launch<T, 8>(call, processors, stream) : launch<T, 16>(call, processors, stream);
}

#define FUSED_NAME(weight) fused_##weight
#define FUSED_NAME_OF(weight) FUSED_NAME(weight)
int FUSED_NAME_OF(WEIGHT)(const struct fused_call *call, enum dtype dtype, int processors, void *stream)
{
    return dtype == DT_BF16 ? launch_tokens<__nv_bfloat16>(call, processors, stream)
                            : launch_tokens<__half>(call, processors, stream);
}
