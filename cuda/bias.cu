/* Adds a bias to what the matrix library has written.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/chain.cuh"
#include "cuda/fused.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int THREADS = 256;

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    bias_kernel(T *out, int64_t out_stride, int64_t rows, int64_t n, const float *bias)
{
    int64_t column = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
    chain_wait();
    chain_release();
    if (column >= n)
        return;
    float x = bias[column];
    for (int64_t row = blockIdx.y; row < rows; row += gridDim.y)
        out[row * out_stride + column] =
            static_cast<T>(static_cast<float>(out[row * out_stride + column]) + x);
}

template <typename T>
static int add(void *out, int64_t out_stride, int64_t rows, int64_t n, const float *bias, void *stream)
{
    dim3 grid(static_cast<unsigned>((n + THREADS - 1) / THREADS),
              static_cast<unsigned>(rows < 1024 ? rows : 1024));
    return chain_launch(bias_kernel<T>, grid, THREADS, 0, stream, static_cast<T *>(out), out_stride, rows, n,
                        bias);
}

int fused_add_bias(void *out, enum dtype dtype, int64_t out_stride, int64_t rows, int64_t n,
                   const float *bias, void *stream)
{
    return dtype == DT_F32    ? add<float>(out, out_stride, rows, n, bias, stream)
           : dtype == DT_BF16 ? add<__nv_bfloat16>(out, out_stride, rows, n, bias, stream)
                              : add<__half>(out, out_stride, rows, n, bias, stream);
}
