/* Writes a step's keys and values to their cache pages and keeps the prefix maxima of the key norms.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/launch.h"
#include "cuda/number.cuh"

namespace
{

constexpr int WARPS = 8;

// The page of a sequence that block x of a grid looks at, counted from the first page it writes to.
struct page_rows {
    int index, page; // in the sequence, in the pool
    int first, last; // keys written: first … last-1

    __device__ __forceinline__ page_rows(const cache_call &call, const attention_sequence &sequence, int nth)
    {
        index = sequence.start / PAGE_KEYS + nth;
        first = max(sequence.start, index * PAGE_KEYS);
        last = min(sequence.start + sequence.rows, (index + 1) * PAGE_KEYS);
        page = first < last ? call.pages[sequence.first_page + index] : -1;
    }
};

// Copies one row with a warp; returns the sum of its squares in every lane.
template <typename T> __device__ __forceinline__ float copy_row(T *to, const T *from, int head_dim, int lane)
{
    float sum = 0.0f;
    for (int i = lane; i < head_dim / 2; i += 32) {
        uint32_t word = reinterpret_cast<const uint32_t *>(from)[i];
        reinterpret_cast<uint32_t *>(to)[i] = word;
        float2 pair = number<T>::unpack(word);
        sum = fmaf(pair.x, pair.x, fmaf(pair.y, pair.y, sum));
    }
    for (int other = 16; other > 0; other /= 2)
        sum += __shfl_xor_sync(~0u, sum, other);
    return sum;
}

// Grid: pages, KV heads, sequences. A page that is begun gets zeros behind its last key, so that a
// kernel may multiply what it finds there by a weight of zero.
template <typename T> __global__ __launch_bounds__(WARPS * 32) void write_pages(const cache_call call)
{
    attention_sequence sequence = call.sequences[blockIdx.z];
    page_rows rows(call, sequence, static_cast<int>(blockIdx.x));
    if (rows.page < 0)
        return;
    int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    int head = static_cast<int>(blockIdx.y);
    int64_t head_page = static_cast<int64_t>(rows.page) * call.kv_heads + head;
    T *k = static_cast<T *>(call.k) + head_page * PAGE_KEYS * call.head_dim;
    T *v = static_cast<T *>(call.v) + head_page * PAGE_KEYS * call.head_dim;
    float most = 0.0f;
    for (int key = rows.first + warp; key < rows.last; key += WARPS) {
        int64_t row = sequence.first_row + static_cast<int64_t>(key - sequence.start);
        int to = key % PAGE_KEYS * call.head_dim, from = head * call.head_dim;
        most = fmaxf(most, copy_row(k + to, static_cast<const T *>(call.k_rows) + row * call.k_stride + from,
                                    call.head_dim, lane));
        copy_row(v + to, static_cast<const T *>(call.v_rows) + row * call.v_stride + from, call.head_dim,
                 lane);
    }
    if (rows.first % PAGE_KEYS == 0)
        for (int i = (rows.last - rows.index * PAGE_KEYS) * call.head_dim + static_cast<int>(threadIdx.x);
             i < PAGE_KEYS * call.head_dim; i += WARPS * 32)
            k[i] = v[i] = T(0.0f);
    if (!call.k_norms)
        return;
    __shared__ float warps[WARPS];
    if (lane == 0)
        warps[warp] = most;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 0; i < WARPS; i++)
            most = fmaxf(most, warps[i]);
        float norm = sqrtf(most) * (1.0f + 1.0f / (1 << 20)); // never too small
        float *place = call.k_norms + head_page;
        *place = rows.first % PAGE_KEYS == 0 ? norm : fmaxf(norm, *place);
    }
}

// One warp a (KV head, sequence): turns the pages' maxima into prefix maxima, 32 pages at a time.
__global__ __launch_bounds__(32) void scan_norms(const cache_call call)
{
    attention_sequence sequence = call.sequences[blockIdx.y];
    int head = static_cast<int>(blockIdx.x), lane = static_cast<int>(threadIdx.x);
    int first = sequence.start / PAGE_KEYS,
        end = (sequence.start + sequence.rows + PAGE_KEYS - 1) / PAGE_KEYS;
    const int32_t *pages = call.pages + sequence.first_page;
    float before = 0.0f; // of the last page to the left that was not dropped
    for (int i = first - 1; i >= 0; i--)
        if (pages[i] >= 0) {
            before = call.k_norms[static_cast<int64_t>(pages[i]) * call.kv_heads + head];
            break;
        }
    for (int base = first; base < end; base += 32) {
        int page = base + lane < end ? pages[base + lane] : -1;
        float *place = call.k_norms + static_cast<int64_t>(page) * call.kv_heads + head;
        float norm = page < 0 ? 0.0f : *place;
        for (int other = 1; other < 32; other *= 2) {
            float left = __shfl_up_sync(~0u, norm, other);
            norm = lane >= other ? fmaxf(norm, left) : norm;
        }
        norm = fmaxf(norm, before);
        if (page >= 0)
            *place = norm;
        before = __shfl_sync(~0u, norm, 31);
    }
}

} // namespace

extern "C" int cache_write(const cache_call *call, void *stream)
{
    if (call->sequence_count == 0 || call->max_rows == 0)
        return cudaSuccess;
    dim3 grid(static_cast<unsigned>((call->max_rows + PAGE_KEYS - 2) / PAGE_KEYS + 1),
              static_cast<unsigned>(call->kv_heads), static_cast<unsigned>(call->sequence_count));
    cudaStream_t queue = static_cast<cudaStream_t>(stream);
    if (call->dtype == DT_BF16)
        write_pages<__nv_bfloat16><<<grid, WARPS * 32, 0, queue>>>(*call);
    else
        write_pages<__half><<<grid, WARPS * 32, 0, queue>>>(*call);
    if (call->k_norms)
        scan_norms<<<dim3(grid.y, grid.z), 32, 0, queue>>>(*call);
    return cudaGetLastError();
}
