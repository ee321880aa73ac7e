/* Prepares weights and turns prepared rows into numbers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/chain.cuh"
#include "cuda/number.cuh"
#include "cuda/product.h"
#include "cuda/weight_layout.h"

constexpr int THREADS = 256;
constexpr int MOST_GRID_ROWS = 32768;

int64_t product_stride(enum dtype dtype, int64_t k)
{
    bool known = dtype >= 0 && dtype < DT_COUNT;
    int block = !known ? 0 : layout_is_k(dtype) ? 256 : layout_bits(dtype) ? 32 : 1;
    return known && k > 0 && k < INT32_MAX && k % block == 0 ? layout_of(dtype, k).stride : 0;
}

bool product_must_prepare(enum dtype dtype, int64_t k)
{
    return layout_bits(dtype) || k * layout_block_bytes(dtype) % 16;
}

template <enum dtype D>
static __global__ void prepare_kernel(const unsigned char *raw, int64_t raw_stride, int64_t rows, int64_t k,
                                      unsigned char *prepared)
{
    int64_t stride = layout_of(D, k).stride, word = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
    chain_wait();
    chain_release();
    if (4 * word >= stride)
        return;
    for (int64_t row = blockIdx.y; row < rows; row += gridDim.y)
        *reinterpret_cast<uint32_t *>(prepared + row * stride + 4 * word) =
            layout_make(D, raw + row * raw_stride, k, word);
}

template <enum dtype D>
static int prepare(int64_t rows, int64_t k, const void *raw, int64_t raw_stride, void *prepared, void *stream)
{
    int64_t words = layout_of(D, k).stride / 4;
    dim3 grid(static_cast<unsigned>((words + THREADS - 1) / THREADS),
              static_cast<unsigned>(rows < MOST_GRID_ROWS ? rows : MOST_GRID_ROWS));
    return chain_launch(prepare_kernel<D>, grid, THREADS, 0, stream, static_cast<const unsigned char *>(raw),
                        raw_stride, rows, k, static_cast<unsigned char *>(prepared));
}

int product_prepare(enum dtype dtype, int64_t rows, int64_t k, const void *raw, int64_t raw_stride,
                    void *prepared, void *stream)
{
    if (product_stride(dtype, k) == 0 || rows < 0)
        return cudaErrorInvalidValue;
    if (rows == 0)
        return cudaSuccess;
    switch (dtype) {
    case DT_F32:
        return prepare<DT_F32>(rows, k, raw, raw_stride, prepared, stream);
    case DT_F16:
        return prepare<DT_F16>(rows, k, raw, raw_stride, prepared, stream);
    case DT_BF16:
        return prepare<DT_BF16>(rows, k, raw, raw_stride, prepared, stream);
    case DT_Q4_0:
        return prepare<DT_Q4_0>(rows, k, raw, raw_stride, prepared, stream);
    case DT_Q4_1:
        return prepare<DT_Q4_1>(rows, k, raw, raw_stride, prepared, stream);
    case DT_Q5_0:
        return prepare<DT_Q5_0>(rows, k, raw, raw_stride, prepared, stream);
    case DT_Q5_1:
        return prepare<DT_Q5_1>(rows, k, raw, raw_stride, prepared, stream);
    case DT_Q8_0:
        return prepare<DT_Q8_0>(rows, k, raw, raw_stride, prepared, stream);
    case DT_Q4_K:
        return prepare<DT_Q4_K>(rows, k, raw, raw_stride, prepared, stream);
    case DT_Q5_K:
        return prepare<DT_Q5_K>(rows, k, raw, raw_stride, prepared, stream);
    case DT_Q6_K:
        return prepare<DT_Q6_K>(rows, k, raw, raw_stride, prepared, stream);
    default:
        return cudaErrorInvalidValue;
    }
}

// ---- numbers ----
// Eight numbers are one thread's: lane t of a block of a quantised row, or eight neighbours of a plain one.
template <enum dtype D>
static __device__ void read_eight(const unsigned char *row, const layout_row &parts, int64_t k, int64_t eight,
                                  float out[8])
{
    if constexpr (layout_bits(D) != 0) {
        constexpr int PER_UNIT = layout_unit(D) / 8;
        layout_eight(D, row, &parts, eight / PER_UNIT, static_cast<int>(eight % PER_UNIT) / 4,
                     static_cast<int>(eight % 4), out);
    } else if constexpr (D == DT_F32) {
#pragma unroll
        for (int i = 0; i < 2; i++) {
            float4 four = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            if (8 * eight + 4 * i < k)
                four = *reinterpret_cast<const float4 *>(row + 32 * eight + 16 * i);
            out[4 * i] = four.x, out[4 * i + 1] = four.y, out[4 * i + 2] = four.z, out[4 * i + 3] = four.w;
        }
    } else {
        using number_of = number<typename std::conditional<D == DT_BF16, __nv_bfloat16, __half>::type>;
        uint4 all = *reinterpret_cast<const uint4 *>(row + 16 * eight);
        uint32_t word[4] = {all.x, all.y, all.z, all.w};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float2 two = number_of::unpack(word[i]);
            out[2 * i] = two.x, out[2 * i + 1] = two.y;
        }
    }
}

// x[0 … N-1] to columns at … at+N-1 of a row that ends at column k.
template <int N, typename T> static __device__ void write_some(T *row, int64_t at, int64_t k, const float *x)
{
    T rounded[N];
#pragma unroll
    for (int i = 0; i < N; i++)
        rounded[i] = static_cast<T>(x[i]);
    constexpr int BYTES = N * sizeof(T) < 16 ? N * sizeof(T) : 16, PIECES = N * sizeof(T) / BYTES;
    using piece = typename std::conditional<BYTES == 16, uint4, uint2>::type;
    if (at + N <= k && reinterpret_cast<uintptr_t>(row + at) % BYTES == 0) {
#pragma unroll
        for (int i = 0; i < PIECES; i++) {
            piece packed;
            memcpy(&packed, reinterpret_cast<const char *>(rounded) + i * BYTES, BYTES);
            reinterpret_cast<piece *>(row + at)[i] = packed;
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < N; i++)
        if (at + i < k)
            row[at + i] = rounded[i];
}

template <enum dtype D, typename T>
static __global__ void __launch_bounds__(THREADS)
    unpack_kernel(const unsigned char *data, int64_t k, const int32_t *rows, int64_t first, int64_t count,
                  float scale, T *out, int64_t out_stride)
{
    layout_row parts = layout_of(D, k);
    int64_t eight = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x, last = (k + 7) / 8;
    chain_wait();
    chain_release();
    if (eight >= last)
        return;
    for (int64_t i = blockIdx.y; i < count; i += gridDim.y) {
        int64_t row = rows ? rows[i] : first + i;
        float x[8];
        read_eight<D>(data + row * parts.stride, parts, k, eight, x);
#pragma unroll
        for (int j = 0; j < 8; j++)
            x[j] *= scale;
        int64_t block = eight / 4 * 32;
        int t = static_cast<int>(eight % 4);
        if constexpr (D == DT_Q6_K) {
            write_some<4>(out + i * out_stride, block + layout_column(D, t, 0), k, x);
            write_some<4>(out + i * out_stride, block + layout_column(D, t, 4), k, x + 4);
        } else {
            write_some<8>(out + i * out_stride, block + layout_column(D, t, 0), k, x);
        }
    }
}

template <enum dtype D, typename T>
static int unpack(const struct product_weight *w, const int32_t *rows, int64_t first, int64_t count,
                  float scale, void *out, int64_t out_stride, void *stream)
{
    dim3 grid(static_cast<unsigned>(((w->k + 7) / 8 + THREADS - 1) / THREADS),
              static_cast<unsigned>(count < MOST_GRID_ROWS ? count : MOST_GRID_ROWS));
    return chain_launch(unpack_kernel<D, T>, grid, THREADS, 0, stream,
                        static_cast<const unsigned char *>(w->data), w->k, rows, first, count, scale,
                        static_cast<T *>(out), out_stride);
}

template <enum dtype D>
static int unpack_as(const struct product_weight *w, const int32_t *rows, int64_t first, int64_t count,
                     float scale, void *out, enum dtype out_dtype, int64_t out_stride, void *stream)
{
    switch (out_dtype) {
    case DT_F32:
        return unpack<D, float>(w, rows, first, count, scale, out, out_stride, stream);
    case DT_F16:
        return unpack<D, __half>(w, rows, first, count, scale, out, out_stride, stream);
    case DT_BF16:
        return unpack<D, __nv_bfloat16>(w, rows, first, count, scale, out, out_stride, stream);
    default:
        return cudaErrorInvalidValue;
    }
}

int product_unpack(const struct product_weight *w, const int32_t *rows, int64_t first, int64_t count,
                   float scale, void *out, enum dtype out_dtype, int64_t out_stride, void *stream)
{
    if (product_stride(w->dtype, w->k) != w->stride || w->stride == 0 || count < 0)
        return cudaErrorInvalidValue;
    if (count == 0)
        return cudaSuccess;
    switch (w->dtype) {
    case DT_F32:
        return unpack_as<DT_F32>(w, rows, first, count, scale, out, out_dtype, out_stride, stream);
    case DT_F16:
        return unpack_as<DT_F16>(w, rows, first, count, scale, out, out_dtype, out_stride, stream);
    case DT_BF16:
        return unpack_as<DT_BF16>(w, rows, first, count, scale, out, out_dtype, out_stride, stream);
    case DT_Q4_0:
        return unpack_as<DT_Q4_0>(w, rows, first, count, scale, out, out_dtype, out_stride, stream);
    case DT_Q4_1:
        return unpack_as<DT_Q4_1>(w, rows, first, count, scale, out, out_dtype, out_stride, stream);
    case DT_Q5_0:
        return unpack_as<DT_Q5_0>(w, rows, first, count, scale, out, out_dtype, out_stride, stream);
    case DT_Q5_1:
        return unpack_as<DT_Q5_1>(w, rows, first, count, scale, out, out_dtype, out_stride, stream);
    case DT_Q8_0:
        return unpack_as<DT_Q8_0>(w, rows, first, count, scale, out, out_dtype, out_stride, stream);
    case DT_Q4_K:
        return unpack_as<DT_Q4_K>(w, rows, first, count, scale, out, out_dtype, out_stride, stream);
    case DT_Q5_K:
        return unpack_as<DT_Q5_K>(w, rows, first, count, scale, out, out_dtype, out_stride, stream);
    case DT_Q6_K:
        return unpack_as<DT_Q6_K>(w, rows, first, count, scale, out, out_dtype, out_stride, stream);
    default:
        return cudaErrorInvalidValue;
    }
}
