/* Several rows of activations as digits, for the products of quantised weights.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/chain.cuh"
#include "cuda/digits.cuh"
#include "cuda/fused.h"
#include "cuda/row_norm.cuh"

constexpr int THREADS = 256;

template <typename T, bool SIX>
static __global__ void __launch_bounds__(THREADS) digits_kernel(const __grid_constant__ fused_call call)
{
    const int columns = call.units * call.unit;
    int at = 8 * static_cast<int>(blockIdx.x * THREADS + threadIdx.x);
    chain_wait();
    chain_release();
    const T *row = static_cast<const T *>(call.in) + static_cast<int64_t>(blockIdx.y) * call.in_stride;
    char *to = call.digits + static_cast<int64_t>(blockIdx.y) * digit_row_bytes<SIX>(columns);
    float x[8];
    row_eight<SIX, T>(x, row, at, call.k);
    digits_put<SIX>(to, columns / 32, at, at < columns, x);
}

int fused_digits(const struct fused_call *call, bool six, void *stream)
{
    dim3 grid(static_cast<unsigned>((call->units * call->unit + 8 * THREADS - 1) / (8 * THREADS)),
              static_cast<unsigned>(call->rows));
    bool bf16 = call->dtype == DT_BF16;
    auto kernel = bf16  ? six ? digits_kernel<__nv_bfloat16, true> : digits_kernel<__nv_bfloat16, false>
                   : six ? digits_kernel<__half, true>
                        : digits_kernel<__half, false>;
    return chain_launch(kernel, grid, THREADS, 0, stream, *call);
}
