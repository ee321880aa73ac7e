/* Products of up to sixteen rows, reading each weight once as it is stored: one kernel a weight type.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Compiled once for each type, with -DWEIGHT=DT_Q4_K and so on. */
#include "cuda/fused_body.cuh"

static_assert(slot<WEIGHT>::UNIT > 0, "WEIGHT names a type");

template <typename T, int TOKENS>
static __global__ void __launch_bounds__(THREADS, TOKENS == 1 ? 2 : 1)
    fused_kernel(const __grid_constant__ fused_call call)
{
    extern __shared__ uint4 shared_row[];
    __shared__ block_memory<TOKENS, slot<WEIGHT>::CODED> memory;
    fused_body<WEIGHT, T, TOKENS>(call, whole_grid(), reinterpret_cast<char *>(shared_row), memory);
}

template <typename T, int TOKENS>
static int launch(const struct fused_call *call, int processors, void *stream)
{
    auto kernel = fused_kernel<T, TOKENS>;
    int shared_bytes = shared_bytes_of<WEIGHT, TOKENS>(*call);
    int status = allow_shared(kernel, shared_bytes);
    if (status != cudaSuccess)
        return status;
    unsigned blocks = static_cast<unsigned>(some_blocks(call->tiles, (TOKENS == 1 ? 2 : 1) * processors));
    return chain_launch(kernel, dim3(blocks), THREADS, static_cast<size_t>(shared_bytes), stream, *call);
}

template <typename T> static int launch_tokens(const struct fused_call *call, int processors, void *stream)
{
    int status = cudaErrorNotSupported;
    if (call->rows == 1 && call->k <= FUSED_MOST_COLUMNS)
        status = launch<T, 1>(call, processors, stream);
    if (status != cudaErrorNotSupported)
        return status;
    if (call->norm != PRODUCT_NORM_NONE) // a card with so little shared memory cannot
        return cudaErrorInvalidValue;
    status = slot<WEIGHT>::CODED ? fused_digits(call, slot<WEIGHT>::SIX, stream) : cudaSuccess;
    if (status != cudaSuccess)
        return status;
    if constexpr (!slot<WEIGHT>::CODED)
        if (call->rows > 8)
            return launch<T, 16>(call, processors, stream);
    return call->rows <= 8 ? launch<T, 8>(call, processors, stream) : cudaErrorInvalidValue;
}

#define FUSED_NAME(weight) fused_##weight
#define FUSED_NAME_OF(weight) FUSED_NAME(weight)
int FUSED_NAME_OF(WEIGHT)(const struct fused_call *call, int processors, void *stream)
{
    // Digits are the same whatever the arithmetic's type.
    if (slot<WEIGHT>::CODED || call->dtype == DT_BF16)
        return launch_tokens<__nv_bfloat16>(call, processors, stream);
    return launch_tokens<typename std::conditional<slot<WEIGHT>::CODED, __nv_bfloat16, __half>::type>(
        call, processors, stream);
}
