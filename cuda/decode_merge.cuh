/* Results of parts of a sequence's keys, merged in a fixed order: a block's warps, then all granules.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cuda/decode_work.cuh"

// A partial result in scratch: outputs, then maxima, then sums of the packed rows.
constexpr int SLOT = attention_slot_floats(HEAD_DIM), HEADER = DECODE_ROWS * HEAD_DIM;

// Merges `count` results of the packed rows; outputs and headers (maxima, sums) lie that many floats
// apart. Hands store(row, column, four outputs, maximum, sum) the merged ones, in a fixed order of sums.
template <int THREADS, bool SHARED, int ROWS, typename Store>
static __device__ __forceinline__ void merge(const float *outputs, int64_t outputs_apart,
                                             const float *headers, int headers_apart, int count, int rows,
                                             int thread, Store store)
{
    for (int item = thread; item < rows * (HEAD_DIM / 4); item += THREADS) {
        int row = item / (HEAD_DIM / 4), column = item % (HEAD_DIM / 4) * 4;
        float most = -INFINITY;
        for (int i = 0; i < count; i++)
            most = fmaxf(most, headers[i * headers_apart + row]);
        float base = most == -INFINITY ? 0.0f : most, sum = 0.0f;
        float4 total = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        const float *from = outputs + row * HEAD_DIM + column;
        // Sixteen loads in flight at a time, whatever the count.
        for (int begin = 0; begin < count; begin += 16) {
            float4 part[16];
#pragma unroll
            for (int i = 0; i < 16; i++) {
                const float4 *at = reinterpret_cast<const float4 *>(from + (begin + i) * outputs_apart);
                if (begin + i < count)
                    part[i] = SHARED ? *at : __ldcg(at); // other blocks' results are in the L2
            }
#pragma unroll
            for (int i = 0; i < 16; i++) {
                if (begin + i >= count)
                    break;
                const float *header = headers + (begin + i) * headers_apart + row;
                float share = power2(header[0] - base);
                sum = fmaf(share, header[ROWS], sum);
                total.x = fmaf(share, part[i].x, total.x);
                total.y = fmaf(share, part[i].y, total.y);
                total.z = fmaf(share, part[i].z, total.z);
                total.w = fmaf(share, part[i].w, total.w);
            }
        }
        store(row, column, total, most, sum);
    }
}

// Counts a block in; true in every thread of the last one, which then sees what the others wrote: the
// block's barrier orders its writes before the count, and the count releases and acquires them.
static __device__ __forceinline__ bool last_to_arrive(int32_t *ticket, int count, int thread)
{
    __shared__ bool last;
    __syncthreads();
    if (thread == 0) {
        int before;
        asm volatile("atom.add.acq_rel.gpu.global.s32 %0, [%1], 1;" : "=r"(before) : "l"(ticket) : "memory");
        last = before == count - 1;
        if (last)
            *ticket = 0;
    }
    __syncthreads();
    return last;
}
// Stores merged outputs as the block's rows of the result.
template <typename T> struct store_rows {
    const attention_call &call;
    const work &work;

    __device__ __forceinline__ void operator()(int row, int column, float4 total, float, float sum) const
    {
        float inverse = sum > 0.0f ? 1.0f / sum : 0.0f;
        T *to = static_cast<T *>(call.out) + work.offset(row, call.out_stride) + column;
        bool bf16 = call.out_type == DT_BF16;
        *reinterpret_cast<uint2 *>(to) = make_uint2(pack_out<T>(bf16, total.x * inverse, total.y * inverse),
                                                    pack_out<T>(bf16, total.z * inverse, total.w * inverse));
    }
};

// Stores merged outputs as a partial result.
struct store_slot {
    float *slot;

    __device__ __forceinline__ void operator()(int row, int column, float4 total, float most, float sum) const
    {
        *reinterpret_cast<float4 *>(slot + row * HEAD_DIM + column) = total;
        if (column == 0) {
            slot[HEADER + row] = most;
            slot[HEADER + DECODE_ROWS + row] = sum;
        }
    }
};

template <typename T, int THREADS>
static __device__ __forceinline__ void merge_granules(const attention_call &call, const work &work,
                                                      int granules, float *headers, int thread)
{
    const float *slots = call.partial + work.first_slot(call) * SLOT;
    for (int i = thread; i < granules * 2 * DECODE_ROWS; i += THREADS)
        headers[i] = __ldcg(slots + i / (2 * DECODE_ROWS) * SLOT + HEADER + i % (2 * DECODE_ROWS));
    __syncthreads();
    merge<THREADS, false, DECODE_ROWS>(slots, SLOT, headers, 2 * DECODE_ROWS, granules, work.rows, thread,
                                       store_rows<T>{call, work});
}
