/* Products of up to sixteen rows, reading each weight once as it is stored: one kernel a weight type.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Compiled once for each type, with -DWEIGHT=DT_Q4_K and so on. */
#include "cuda/fused_body.cuh"

static_assert(slot<WEIGHT>::UNIT > 0, "WEIGHT names a type");

template <typename T, int TOKENS>
static __global__ void __launch_bounds__(THREADS, 2) fused_kernel(const __grid_constant__ fused_call call)
{
    extern __shared__ uint4 shared_row[];
    __shared__ block_memory<TOKENS> memory;
    fused_body<WEIGHT, T, TOKENS>(call, whole_grid(), reinterpret_cast<char *>(shared_row), memory);
}

template <typename T, int TOKENS>
static int launch(const struct fused_call *call, int processors, void *stream)
{
    auto kernel = fused_kernel<T, TOKENS>;
    int shared_bytes = TOKENS == 1 ? staging(*call, slot<WEIGHT>::UNIT).bytes(*call) : 0;
    int status = allow_shared(kernel, shared_bytes);
    if (status != cudaSuccess)
        return status;
    unsigned blocks = static_cast<unsigned>(even_blocks(call->tiles, 2 * processors));
    return chain_launch(kernel, dim3(blocks), THREADS, static_cast<size_t>(shared_bytes), stream, *call);
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
