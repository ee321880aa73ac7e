/* Puts a step's queries, keys and values in place: turned, rounded to their type, keys and values in pages.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/place.h"

#include "cuda/chain.cuh"
#include "cuda/number.cuh"
#include "cuda/q8_0.cuh"
#include "cuda/turn.cuh"

namespace
{

constexpr int WARPS = 8;

// A lane's numbers of a run of 256 columns, all asked for before the first is used: one wait, not eight.
constexpr int RUN = 256, HELD = RUN / 32;
template <typename Value>
__device__ __forceinline__ void gather(float (&x)[HELD], int first, int head_dim, int lane,
                                       const Value &value)
{
#pragma unroll
    for (int i = 0; i < HELD; i++) {
        int e = first + lane + 32 * i;
        x[i] = e < head_dim ? value(e) : 0.0f;
    }
}

__device__ __forceinline__ float warp_sum(float x)
{
    for (int other = 16; other > 0; other /= 2)
        x += __shfl_xor_sync(~0u, x, other);
    return x;
}

__device__ __forceinline__ float rounded(float *to, float x)
{
    return *to = x;
}

__device__ __forceinline__ float rounded(__nv_bfloat16 *to, float x)
{
    return __bfloat162float(*to = __float2bfloat16(x));
}

__device__ __forceinline__ float rounded(__half *to, float x)
{
    return __half2float(*to = __float2half(x));
}

// One head's keys (or values) of one page.
template <typename T> struct head_page {
    T *base;
    int head_dim;

    __device__ __forceinline__ head_page(void *pages, int64_t head_page, int head_dim)
        : base(static_cast<T *>(pages) + head_page * PAGE_KEYS * head_dim), head_dim(head_dim)
    {
    }

    // A run of a row from a warp; returns this lane's share of the sum of squares of what was stored.
    __device__ __forceinline__ float store(int key, int first, int lane, const float (&x)[HELD]) const
    {
        float sum = 0.0f;
#pragma unroll
        for (int i = 0; i < HELD; i++) {
            int e = first + lane + 32 * i;
            if (e < head_dim) {
                float stored = rounded(base + key * head_dim + e, x[i]);
                sum = fmaf(stored, stored, sum);
            }
        }
        return sum;
    }

    __device__ __forceinline__ void clear(int first, int thread, int threads) const
    {
        for (int i = first * head_dim + thread; i < PAGE_KEYS * head_dim; i += threads)
            base[i] = T(0.0f);
    }
};

struct q8_0 {
};

template <> struct head_page<q8_0> {
    int8_t *base;
    __half *scales;
    int head_dim;

    __device__ __forceinline__ head_page(void *pages, int64_t head_page, int head_dim)
        : base(static_cast<int8_t *>(pages) + head_page * (PAGE_KEYS * (head_dim / 32 * 34))),
          scales(reinterpret_cast<__half *>(base + PAGE_KEYS * head_dim)), head_dim(head_dim)
    {
    }

    __device__ __forceinline__ float store(int key, int first, int lane, const float (&numbers)[HELD]) const
    {
        float sum = 0.0f, most[HELD];
        q8_0_most(most, numbers);
#pragma unroll
        for (int i = 0; i < HELD; i++) {
            int e = first + lane + 32 * i;
            if (e >= head_dim) // whole blocks: so the whole warp
                break;
            q8_0_number packed(numbers[i], most[i]);
            base[key * head_dim + e] = packed.byte;
            if (lane == 0)
                scales[(key * head_dim + e) / 32] = packed.scale;
            sum = fmaf(packed.value(), packed.value(), sum);
        }
        return sum;
    }

    __device__ __forceinline__ void clear(int first, int thread, int threads) const
    {
        for (int i = first * head_dim + thread; i < PAGE_KEYS * head_dim; i += threads)
            base[i] = 0;
        for (int i = first * head_dim / 32 + thread; i < PAGE_KEYS * head_dim / 32; i += threads)
            scales[i] = __half(0.0f);
    }
};

// The page of a sequence that block x of a grid looks at, counted from the first page it writes to.
struct page_rows {
    int index, page; // in the sequence, in the pool; -1: nothing to do, or dropped
    int first, last; // keys written: first … last-1

    __device__ __forceinline__ page_rows(const place_call &call, const attention_sequence &sequence, int nth)
    {
        index = sequence.start / PAGE_KEYS + nth;
        first = max(sequence.start, index * PAGE_KEYS);
        last = min(sequence.start + sequence.rows, (index + 1) * PAGE_KEYS);
        page = first < last ? call.pages[sequence.first_page + index] : -1;
    }
};

// The prefix maximum of the last page before `index` that was not dropped.
__device__ __forceinline__ float norm_before(const place_call &call, const attention_sequence &sequence,
                                             int index, int head)
{
    const int32_t *pages = call.pages + sequence.first_page;
    for (int i = index - 1; i >= 0; i--)
        if (pages[i] >= 0)
            return call.k_norms[static_cast<int64_t>(pages[i]) * call.kv_heads + head];
    return 0.0f;
}

__device__ __forceinline__ void place_queries(const place_call &call, const attention_sequence &sequence,
                                              const page_rows &rows, int head, int warp, int lane)
{
    rows_in in = {call.q, call.q_stride, call.in_type}, out = {call.q_out, call.q_out_stride, call.q_type};
    for (int key = rows.first + warp; key < rows.last; key += WARPS) {
        int64_t row = sequence.first_row + static_cast<int64_t>(key - sequence.start);
        turned value(in, row * call.q_stride + head * call.head_dim, call.q_turn, row);
        int64_t to = row * call.q_out_stride + head * call.head_dim;
        for (int first = 0; first < call.head_dim; first += RUN) {
            float x[HELD];
            gather(x, first, call.head_dim, lane, value);
#pragma unroll
            for (int i = 0; i < HELD; i++)
                if (first + lane + 32 * i < call.head_dim)
                    out.put(to + first + lane + 32 * i, x[i]);
        }
    }
}

template <typename T>
__device__ __forceinline__ void place_keys(const place_call &call, const attention_sequence &sequence,
                                           const page_rows &rows, int head, int warp, int lane)
{
    int64_t number = static_cast<int64_t>(rows.page) * call.kv_heads + head;
    head_page<T> k(call.k_pages, number, call.head_dim), v(call.v_pages, number, call.head_dim);
    rows_in k_in = {call.k, call.k_stride, call.in_type}, v_in = {call.v, call.v_stride, call.in_type};
    float most = 0.0f;
    for (int key = rows.first + warp; key < rows.last; key += WARPS) {
        int64_t row = sequence.first_row + static_cast<int64_t>(key - sequence.start);
        turned key_value(k_in, row * call.k_stride + head * call.head_dim, call.k_turn, row);
        turned value(v_in, row * call.v_stride + head * call.head_dim, place_turn{}, row);
        float sum = 0.0f;
        for (int first = 0; first < call.head_dim; first += RUN) {
            float x[HELD], y[HELD];
            gather(x, first, call.head_dim, lane, key_value);
            gather(y, first, call.head_dim, lane, value);
            sum += k.store(key % PAGE_KEYS, first, lane, x);
            v.store(key % PAGE_KEYS, first, lane, y);
        }
        sum = warp_sum(sum);
        most = sum > most || isnan(sum) ? sum : most;
    }
    if (rows.first % PAGE_KEYS == 0) {
        int behind = rows.last - rows.index * PAGE_KEYS;
        k.clear(behind, static_cast<int>(threadIdx.x), WARPS * 32);
        v.clear(behind, static_cast<int>(threadIdx.x), WARPS * 32);
    }
    if (!call.k_norms)
        return;
    __shared__ float warps[WARPS];
    if (lane == 0)
        warps[warp] = most;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 0; i < WARPS; i++)
            most = warps[i] > most || isnan(warps[i]) ? warps[i] : most;
        float norm = sqrtf(most) * (1.0f + 1.0f / (1 << 20)); // never too small
        float *kept = call.k_norms + number;
        if (rows.first % PAGE_KEYS != 0)
            norm = fmaxf(norm, *kept);
        // The pages of later blocks are joined by scan_norms; the first page joins what was there before.
        if (blockIdx.x == 0)
            norm = fmaxf(norm, norm_before(call, sequence, rows.index, head));
        *kept = norm;
    }
}

// Grid: pages, heads (queries', then keys'), sequences.
template <typename T>
__global__ __launch_bounds__(WARPS * 32) void place_rows(const __grid_constant__ place_call call)
{
    attention_sequence sequence =
        call.sequences[blockIdx.z]; // the step's tables stand before its first kernel
    page_rows rows(call, sequence, static_cast<int>(blockIdx.x));
    chain_wait();
    chain_release();
    int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    int head = static_cast<int>(blockIdx.y);
    if (head < call.heads)
        place_queries(call, sequence, rows, head, warp, lane);
    else if (rows.page >= 0)
        place_keys<T>(call, sequence, rows, head - call.heads, warp, lane);
}

// One warp a (KV head, sequence): turns the pages' maxima into prefix maxima, 32 pages at a time.
__global__ __launch_bounds__(32) void scan_norms(const __grid_constant__ place_call call)
{
    chain_wait();
    attention_sequence sequence = call.sequences[blockIdx.y];
    int head = static_cast<int>(blockIdx.x), lane = static_cast<int>(threadIdx.x);
    int first = sequence.start / PAGE_KEYS,
        end = (sequence.start + sequence.rows + PAGE_KEYS - 1) / PAGE_KEYS;
    const int32_t *pages = call.pages + sequence.first_page;
    float before = norm_before(call, sequence, first, head);
    for (int base = first; base < end; base += 32) {
        int page = base + lane < end ? pages[base + lane] : -1;
        float *kept = call.k_norms + static_cast<int64_t>(page) * call.kv_heads + head;
        float norm = page < 0 ? 0.0f : *kept;
        for (int other = 1; other < 32; other *= 2) {
            float left = __shfl_up_sync(~0u, norm, other);
            norm = lane >= other ? fmaxf(norm, left) : norm;
        }
        norm = fmaxf(norm, before);
        if (page >= 0)
            *kept = norm;
        before = __shfl_sync(~0u, norm, 31);
    }
}

// Double precision: at position 100,000 an fp32 product would be off by 0.005 radians.
__global__ __launch_bounds__(256) void make_turns(const float *frequencies, int pairs, float scale,
                                                  const int32_t *positions, int64_t count, float2 *turns)
{
    chain_wait();
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    double sine, cosine;
    sincos(static_cast<double>(positions[i / pairs]) * frequencies[i % pairs], &sine, &cosine);
    turns[i] = make_float2(static_cast<float>(cosine * scale), static_cast<float>(sine * scale));
}

// One warp a (row, head): pairs are read and written by one lane, so in place is safe.
__global__ __launch_bounds__(256) void turn_rows(const rows_in x, int64_t rows, int heads, int head_dim,
                                                 const place_turn turn)
{
    chain_wait();
    int64_t unit = static_cast<int64_t>(blockIdx.x) * 8 + threadIdx.x / 32;
    if (unit >= rows * heads)
        return;
    int64_t row = unit / heads, begin = row * x.stride + unit % heads * head_dim;
    int half = turn.rotary_dim / 2;
    const float2 *turns = reinterpret_cast<const float2 *>(turn.turns) + row * half;
    for (int i = static_cast<int>(threadIdx.x) % 32; i < half; i += 32) {
        int64_t first = begin + (turn.adjacent ? 2 * i : i),
                second = turn.adjacent ? first + 1 : first + half;
        float a = x.get(first), b = x.get(second);
        float2 angle = turns[i];
        x.put(first, fmaf(-b, angle.y, a * angle.x));
        x.put(second, fmaf(b, angle.x, a * angle.y));
    }
}

// Grid: pages, heads, K and V.
__global__ __launch_bounds__(256) void unpack_pages(const __grid_constant__ place_unpack_call call)
{
    chain_wait();
    int index = static_cast<int>(blockIdx.x), head = static_cast<int>(blockIdx.y), page = call.pages[index];
    if (threadIdx.x == 0 && blockIdx.z == 0) {
        if (head == 0)
            call.pages_out[index] = page < 0 ? -1 : index;
        if (call.k_norms && page >= 0)
            call.norms_out[static_cast<int64_t>(index) * call.kv_heads + head] =
                call.k_norms[static_cast<int64_t>(page) * call.all_heads + call.first + head];
    }
    if (page < 0)
        return;
    int count = PAGE_KEYS * call.head_dim;
    const int8_t *from =
        static_cast<const int8_t *>(blockIdx.z ? call.v : call.k) +
        (static_cast<int64_t>(page) * call.all_heads + call.first + head) * (count / 32 * 34);
    const __half *scales = reinterpret_cast<const __half *>(from + count);
    __half *to = static_cast<__half *>(blockIdx.z ? call.v_out : call.k_out) +
                 (static_cast<int64_t>(index) * call.kv_heads + head) * count;
    for (int i = static_cast<int>(threadIdx.x) * 8; i < count; i += 256 * 8) {
        uint2 bytes = *reinterpret_cast<const uint2 *>(from + i);
        float scale = __half2float(scales[i / 32]);
        uint32_t words[2] = {bytes.x, bytes.y}, halves[4];
#pragma unroll
        for (int p = 0; p < 4; p++) {
            int two = static_cast<int>(words[p / 2] >> (16 * (p % 2)));
            halves[p] = number<__half>::pack(static_cast<float>(static_cast<int8_t>(two)) * scale,
                                             static_cast<float>(static_cast<int8_t>(two >> 8)) * scale);
        }
        *reinterpret_cast<uint4 *>(to + i) = make_uint4(halves[0], halves[1], halves[2], halves[3]);
    }
}

bool is_plain(dtype dtype)
{
    return dtype == DT_F32 || dtype == DT_BF16 || dtype == DT_F16;
}

bool is_sound(const place_call *call)
{
    return is_plain(call->in_type) && (call->heads == 0 || is_plain(call->q_type)) && call->head_dim > 0 &&
           call->head_dim <= 1024 &&
           (is_plain(call->cache_type) || (call->cache_type == DT_Q8_0 && call->head_dim % 32 == 0));
}

} // namespace

extern "C" int place(const place_call *call, void *stream)
{
    if (!is_sound(call))
        return cudaErrorInvalidValue;
    if (call->sequence_count == 0 || call->max_rows == 0 || call->heads + call->kv_heads == 0)
        return cudaSuccess;
    dim3 grid(static_cast<unsigned>((call->max_rows + PAGE_KEYS - 2) / PAGE_KEYS + 1),
              static_cast<unsigned>(call->heads + call->kv_heads),
              static_cast<unsigned>(call->sequence_count));
    constexpr unsigned threads = WARPS * 32;
    int error;
    switch (call->cache_type) {
    case DT_F32:
        error = chain_launch(place_rows<float>, grid, threads, 0, stream, *call);
        break;
    case DT_BF16:
        error = chain_launch(place_rows<__nv_bfloat16>, grid, threads, 0, stream, *call);
        break;
    case DT_F16:
        error = chain_launch(place_rows<__half>, grid, threads, 0, stream, *call);
        break;
    default:
        error = chain_launch(place_rows<q8_0>, grid, threads, 0, stream, *call);
    }
    if (error == cudaSuccess && call->k_norms && call->kv_heads > 0 && call->max_rows > 1)
        error = chain_launch(
            scan_norms,
            dim3(static_cast<unsigned>(call->kv_heads), static_cast<unsigned>(call->sequence_count)), 32, 0,
            stream, *call);
    return error;
}

extern "C" int place_unpack(const place_unpack_call *call, void *stream)
{
    if (call->head_dim % 32 || call->kv_heads < 1 || call->first + call->kv_heads > call->all_heads)
        return cudaErrorInvalidValue;
    if (call->page_count == 0)
        return cudaSuccess;
    return chain_launch(
        unpack_pages, dim3(static_cast<unsigned>(call->page_count), static_cast<unsigned>(call->kv_heads), 2),
        256, 0, stream, *call);
}

extern "C" int place_turns(const float *frequencies, int pairs, float scale, const int32_t *positions,
                           int64_t rows, float *turns, void *stream)
{
    int64_t count = rows * pairs;
    if (count == 0)
        return cudaSuccess;
    return chain_launch(make_turns, dim3(static_cast<unsigned>((count + 255) / 256)), 256, 0, stream,
                        frequencies, pairs, scale, positions, count, reinterpret_cast<float2 *>(turns));
}

extern "C" int place_turn_rows(const place_turn *turn, dtype dtype, void *x, int64_t rows, int64_t stride,
                               int heads, int head_dim, void *stream)
{
    if (!is_plain(dtype) || turn->rotary_dim > head_dim)
        return cudaErrorInvalidValue;
    if (rows * heads == 0)
        return cudaSuccess;
    return chain_launch(turn_rows, dim3(static_cast<unsigned>((rows * heads + 7) / 8)), 256, 0, stream,
                        rows_in{x, stride, dtype}, rows, heads, head_dim, *turn);
}
