/* Attention for what the tensor-core kernels do not take: any head size, fp32 caches. Slow, and right.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A block takes one query row of one head. Each warp walks its own runs of 32 keys: a lane scores one key,
 * then all lanes add up the run's values, each for its own columns; the warps' results are merged. */
#include "cuda/attention_any.h"

#include "cuda/chain.cuh"
#include "cuda/mask.cuh"
#include "cuda/number.cuh"

namespace
{

constexpr int WARPS = 4;

struct q8_0 {
};

template <typename T> struct cached { // one head's numbers of one page
    static __device__ __forceinline__ float get(const void *pool, int64_t head_page, int key, int e,
                                                int head_dim)
    {
        const T *base = static_cast<const T *>(pool) + (head_page * PAGE_KEYS + key) * head_dim;
        return static_cast<float>(base[e]);
    }
};

template <> struct cached<q8_0> {
    static __device__ __forceinline__ float get(const void *pool, int64_t head_page, int key, int e,
                                                int head_dim)
    {
        const int8_t *base =
            static_cast<const int8_t *>(pool) + head_page * (PAGE_KEYS * (head_dim / 32 * 34));
        const __half *scales = reinterpret_cast<const __half *>(base + PAGE_KEYS * head_dim);
        int at = key * head_dim + e;
        return static_cast<float>(base[at]) * __half2float(scales[at / 32]);
    }
};

__device__ __forceinline__ float number_at(const void *data, int dtype, int64_t at)
{
    if (dtype == DT_BF16)
        return __bfloat162float(static_cast<const __nv_bfloat16 *>(data)[at]);
    if (dtype == DT_F16)
        return __half2float(static_cast<const __half *>(data)[at]);
    return static_cast<const float *>(data)[at];
}

__device__ __forceinline__ void put_number(void *data, int dtype, int64_t at, float x)
{
    if (dtype == DT_BF16)
        static_cast<__nv_bfloat16 *>(data)[at] = __float2bfloat16(x);
    else if (dtype == DT_F16)
        static_cast<__half *>(data)[at] = __float2half(x);
    else
        static_cast<float *>(data)[at] = x;
}

__device__ __forceinline__ attention_sequence sequence_of(const attention_call &call, int count, int row)
{
    int i = 0;
    while (i < count - 1 && row >= call.sequences[i].first_row + call.sequences[i].rows)
        i++;
    return call.sequences[i];
}

__device__ __forceinline__ float lanes_max(float x)
{
    for (int other = 16; other > 0; other /= 2)
        x = fmaxf(x, __shfl_xor_sync(~0u, x, other));
    return x;
}

__device__ __forceinline__ float lanes_sum(float x)
{
    for (int other = 16; other > 0; other /= 2)
        x += __shfl_xor_sync(~0u, x, other);
    return x;
}

// COLUMNS: columns a lane sums, so that head_dim ≤ 32 · COLUMNS. Grid: rows, heads.
template <typename T, int COLUMNS>
__global__ __launch_bounds__(WARPS * 32) void attend(const __grid_constant__ attention_call call,
                                                     int sequence_count)
{
    extern __shared__ float shared[]; // the query; then the warps' outputs, maxima and sums
    chain_wait();
    int row = static_cast<int>(blockIdx.x), head = static_cast<int>(blockIdx.y), dim = call.head_dim;
    int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
    int kv_head = head / (call.heads / call.kv_heads);
    attention_sequence sequence = sequence_of(call, sequence_count, row);
    const int32_t *pages = call.pages + sequence.first_page;
    int position = sequence.start + row - sequence.first_row;
    float slope = call.slopes ? call.slopes[head] : 0.0f;
    mask mask(call);
    for (int e = thread; e < dim; e += WARPS * 32)
        shared[e] = number_at(call.q, call.dtype, static_cast<int64_t>(row) * call.q_stride + head * dim + e);
    __syncthreads();
    float most = -INFINITY, total = 0.0f, out[COLUMNS];
#pragma unroll
    for (int i = 0; i < COLUMNS; i++)
        out[i] = 0.0f;
    int window = call.window > 0 ? max(position - call.window + 1, 0) / 32 * 32 : 0;
    for (int base = warp * 32; base <= position; base += WARPS * 32) {
        if (base + 31 < window && base >= call.sinks)
            continue;
        int key = base + lane, page = key <= position ? pages[key / PAGE_KEYS] : -1;
        int64_t head_page = static_cast<int64_t>(max(page, 0)) * call.kv_heads + kv_head;
        float score = -INFINITY;
        if (page >= 0 && mask.sees(position, key)) {
            score = 0.0f;
            for (int e = 0; e < dim; e++)
                score = fmaf(shared[e], cached<T>::get(call.k, head_page, key % PAGE_KEYS, e, dim), score);
            score *= call.scale;
            if (call.softcap > 0.0f)
                score = call.softcap * tanhf(score / call.softcap);
            score -= slope * static_cast<float>(position - key);
        }
        float after = fmaxf(most, lanes_max(score));
        if (after == -INFINITY)
            continue;
        float weight = expf(score - after), rescale = expf(most - after);
        total = total * rescale + lanes_sum(weight);
        most = after;
#pragma unroll
        for (int i = 0; i < COLUMNS; i++)
            out[i] *= rescale;
        for (int other = 0; other < 32; other++) {
            float share = __shfl_sync(~0u, weight, other);
            int64_t from = __shfl_sync(~0u, head_page, other);
            if (share == 0.0f)
                continue;
#pragma unroll
            for (int i = 0; i < COLUMNS; i++)
                if (lane + 32 * i < dim)
                    out[i] = fmaf(
                        share, cached<T>::get(call.v, from, (base + other) % PAGE_KEYS, lane + 32 * i, dim),
                        out[i]);
        }
    }
    __syncthreads(); // the query is used up
    float *outputs = shared, *states = shared + WARPS * dim;
#pragma unroll
    for (int i = 0; i < COLUMNS; i++)
        if (lane + 32 * i < dim)
            outputs[warp * dim + lane + 32 * i] = out[i];
    if (lane == 0) {
        states[warp] = most;
        states[WARPS + warp] = total;
    }
    __syncthreads();
    float highest = fmaxf(fmaxf(states[0], states[1]), fmaxf(states[2], states[3])), sum = 0.0f, share[WARPS];
    for (int i = 0; i < WARPS; i++) {
        share[i] = states[i] == -INFINITY ? 0.0f : expf(states[i] - highest);
        sum = fmaf(share[i], states[WARPS + i], sum);
    }
    for (int e = thread; e < dim; e += WARPS * 32) {
        float x = 0.0f;
        for (int i = 0; i < WARPS; i++)
            x = fmaf(share[i], outputs[i * dim + e], x);
        put_number(call.out, call.out_type, static_cast<int64_t>(row) * call.out_stride + head * dim + e,
                   sum > 0.0f ? x / sum : 0.0f);
    }
}

template <typename T> int launch(const attention_call &call, int sequence_count, void *stream)
{
    dim3 grid(static_cast<unsigned>(call.rows), static_cast<unsigned>(call.heads));
    size_t bytes = sizeof(float) * (WARPS * static_cast<size_t>(call.head_dim) + 2 * WARPS);
    if (call.head_dim <= 128)
        return chain_launch(attend<T, 4>, grid, WARPS * 32, bytes, stream, call, sequence_count);
    return chain_launch(attend<T, 32>, grid, WARPS * 32, bytes, stream, call, sequence_count);
}

} // namespace

extern "C" int attention_any(const attention_call *call, int sequence_count, void *stream)
{
    if (call->head_dim > 1024 || (call->cache_type == DT_Q8_0 && call->head_dim % 32))
        return cudaErrorInvalidValue;
    if (call->rows == 0 || sequence_count == 0)
        return cudaSuccess;
    switch (call->cache_type) {
    case DT_F32:
        return launch<float>(*call, sequence_count, stream);
    case DT_F16:
        return launch<__half>(*call, sequence_count, stream);
    case DT_BF16:
        return launch<__nv_bfloat16>(*call, sequence_count, stream);
    case DT_Q8_0:
        return launch<q8_0>(*call, sequence_count, stream);
    default:
        return cudaErrorInvalidValue;
    }
}
