/* A block's queries in shared memory, and rows that decode itself turns and puts in place.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cuda/decode_work.cuh"
#include "cuda/q8_0.cuh"
#include "cuda/turn.cuh"

template <typename T, int THREADS>
static __device__ __forceinline__ void load_queries(const attention_call &call, const work &work, T *q_tile,
                                                    int thread)
{
    for (int item = thread; item < DECODE_ROWS * HEAD_DIM / 8; item += THREADS) {
        int row = item / (HEAD_DIM / 8), column = item % (HEAD_DIM / 8) * 8;
        const T *from = static_cast<const T *>(call.q) + work.offset(row, call.q_stride) + column;
        *reinterpret_cast<uint4 *>(q_tile + row * ROW + column) =
            row < work.rows ? *reinterpret_cast<const uint4 *>(from) : make_uint4(0, 0, 0, 0);
    }
    __syncthreads();
}

// ---- rows that are not in place yet ----
template <typename T> __device__ __forceinline__ T rounded_to(float x);
template <> __device__ __forceinline__ __half rounded_to<__half>(float x)
{
    return __float2half_rn(x);
}
template <> __device__ __forceinline__ __nv_bfloat16 rounded_to<__nv_bfloat16>(float x)
{
    return __float2bfloat16_rn(x);
}

// By the first `threads` threads.
template <typename T>
static __device__ __forceinline__ void turn_queries(const attention_call &call, const work &work, T *q_tile,
                                                    int thread, int threads)
{
    if (thread >= threads)
        return;
    rows_in in = {call.fresh.q, call.fresh.q_stride, call.fresh.in_type};
    int64_t row = work.part.sequence.first_row;
    turned value(in, row * in.stride + work.head(0) * HEAD_DIM, call.fresh.q_turn, row);
#pragma unroll 4
    for (int item = thread; item < work.rows * HEAD_DIM; item += threads) {
        turned head = value;
        head.begin += item / HEAD_DIM * HEAD_DIM;
        q_tile[item / HEAD_DIM * ROW + item % HEAD_DIM] = rounded_to<T>(head(item % HEAD_DIM));
    }
    for (int item = work.rows * HEAD_DIM + thread; item < DECODE_ROWS * HEAD_DIM; item += threads)
        q_tile[item / HEAD_DIM * ROW + item % HEAD_DIM] = T(0.0f);
}

// Where the sequence's new key and value are, and the head's page that they go to.
struct new_key {
    int key; // in its page
    int64_t head_page;
    int64_t row;
    rows_in k_in, v_in;

    __device__ __forceinline__ new_key(const attention_call &call, const work &work)
        : key(work.part.sequence.start % PAGE_KEYS),
          row(work.part.sequence.first_row), k_in{call.fresh.k, call.fresh.k_stride, call.fresh.in_type},
          v_in{call.fresh.v, call.fresh.v_stride, call.fresh.in_type}
    {
        int page = work.pages[work.part.sequence.start / PAGE_KEYS];
        head_page = page < 0 ? -1 : static_cast<int64_t>(page) * call.kv_heads + work.kv_head;
    }

    __device__ __forceinline__ turned k(const attention_call &call, const work &work) const
    {
        return turned(k_in, row * k_in.stride + work.kv_head * HEAD_DIM, call.fresh.k_turn, row);
    }

    __device__ __forceinline__ turned v(const work &work) const
    {
        return turned(v_in, row * v_in.stride + work.kv_head * HEAD_DIM, place_turn{}, row);
    }
};

// The sequence's new key and value into its last page, by one warp; a page that is begun gets zeros behind
// them.
template <typename T>
static __device__ __forceinline__ void place_plain_key(const attention_call &call, const work &work, int lane)
{
    new_key at(call, work);
    if (at.head_page < 0)
        return;
    turned k_value = at.k(call, work), v_value = at.v(work);
    int64_t first = (at.head_page * PAGE_KEYS + at.key) * HEAD_DIM;
    T *k = static_cast<T *>(const_cast<void *>(call.k)) + first;
    T *v = static_cast<T *>(const_cast<void *>(call.v)) + first;
    constexpr int HELD = (HEAD_DIM + 31) / 32;
    float x[HELD], y[HELD]; // all asked for before the first is used
#pragma unroll
    for (int i = 0; i < HELD; i++) {
        int e = i * 32 + lane;
        x[i] = e < HEAD_DIM ? k_value(e) : 0.0f;
        y[i] = e < HEAD_DIM ? v_value(e) : 0.0f;
    }
#pragma unroll
    for (int i = 0; i < HELD; i++) {
        int e = i * 32 + lane;
        if (e < HEAD_DIM) {
            k[e] = rounded_to<T>(x[i]);
            v[e] = rounded_to<T>(y[i]);
        }
    }
    if (at.key == 0)
        for (int e = HEAD_DIM + 8 * lane; e < PAGE_KEYS * HEAD_DIM; e += 8 * 32)
            *reinterpret_cast<uint4 *>(k + e) = *reinterpret_cast<uint4 *>(v + e) = make_uint4(0, 0, 0, 0);
}

// The same into a Q8_0 page.
static __device__ __forceinline__ void place_packed_key(const attention_call &call, const work &work,
                                                        int lane)
{
    constexpr int BLOCKS = HEAD_DIM / 32, NUMBERS = PAGE_KEYS * HEAD_DIM, PAGE_BYTES = NUMBERS / 32 * 34;
    new_key at(call, work);
    if (at.head_page < 0)
        return;
    turned k_value = at.k(call, work), v_value = at.v(work);
    char *k = static_cast<char *>(const_cast<void *>(call.k)) + at.head_page * PAGE_BYTES;
    char *v = static_cast<char *>(const_cast<void *>(call.v)) + at.head_page * PAGE_BYTES;
    float x[2 * BLOCKS], most[2 * BLOCKS];
#pragma unroll
    for (int block = 0; block < BLOCKS; block++) {
        x[block] = k_value(block * 32 + lane);
        x[BLOCKS + block] = v_value(block * 32 + lane);
    }
    q8_0_most(most, x);
#pragma unroll
    for (int i = 0; i < 2 * BLOCKS; i++) {
        q8_0_number packed(x[i], most[i]);
        char *page = i < BLOCKS ? k : v;
        page[at.key * HEAD_DIM + i % BLOCKS * 32 + lane] = packed.byte;
        if (lane == 0)
            reinterpret_cast<__half *>(page + NUMBERS)[at.key * BLOCKS + i % BLOCKS] = packed.scale;
    }
    if (at.key != 0)
        return;
    for (int i = HEAD_DIM + 16 * lane; i < NUMBERS; i += 16 * 32)
        *reinterpret_cast<uint4 *>(k + i) = *reinterpret_cast<uint4 *>(v + i) = make_uint4(0, 0, 0, 0);
    for (int i = BLOCKS + lane; i < PAGE_KEYS * BLOCKS; i += 32)
        reinterpret_cast<__half *>(k + NUMBERS)[i] = reinterpret_cast<__half *>(v + NUMBERS)[i] =
            __half(0.0f);
}
