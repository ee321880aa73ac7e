/* Products of one row by weights of two types in one launch: the mixes that models are quantised to.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Some blocks multiply the weights of one type, the others those of the other; each block does what it would
 * in a launch of its type alone, so a row's bytes are the same. */
#include "cuda/fused_body.cuh"

struct pair_call {
    fused_call parts[2];
    int blocks[2];
};

template <enum dtype A, enum dtype B>
static __global__ void __launch_bounds__(THREADS, 2) pair_kernel(const __grid_constant__ pair_call call)
{
    extern __shared__ uint4 shared_row[];
    __shared__ block_memory<1, true> memory;
    int block = static_cast<int>(blockIdx.x);
    char *shared = reinterpret_cast<char *>(shared_row);
    if (block < call.blocks[0])
        fused_body<A, __nv_bfloat16, 1>(call.parts[0], grid_part{block, call.blocks[0]}, shared, memory);
    else
        fused_body<B, __nv_bfloat16, 1>(call.parts[1], grid_part{block - call.blocks[0], call.blocks[1]},
                                        shared, memory);
}

// Blocks are shared out by the bytes to read.
static void deal_blocks(pair_call *pair, int most)
{
    double bytes[2];
    for (int i = 0; i < 2; i++)
        bytes[i] =
            static_cast<double>(pair->parts[i].tiles) * static_cast<double>(pair->parts[i].weights[0].stride);
    int first = static_cast<int>(most * bytes[0] / (bytes[0] + bytes[1]) + 0.5);
    first = first < 1 ? 1 : first > most - 1 ? most - 1 : first;
    pair->blocks[0] = some_blocks(pair->parts[0].tiles, first);
    pair->blocks[1] = some_blocks(pair->parts[1].tiles, most - first);
}

template <enum dtype A, enum dtype B>
static int launch(const struct fused_call *a, const struct fused_call *b, int processors, void *stream)
{
    auto kernel = pair_kernel<A, B>;
    pair_call pair = {{*a, *b}, {0, 0}};
    deal_blocks(&pair, 2 * processors);
    int shared_a = shared_bytes_of<A, 1>(*a), shared_b = shared_bytes_of<B, 1>(*b);
    int shared_bytes = shared_a > shared_b ? shared_a : shared_b;
    int status = allow_shared(kernel, shared_bytes);
    if (status != cudaSuccess)
        return status;
    unsigned blocks = static_cast<unsigned>(pair.blocks[0] + pair.blocks[1]);
    return chain_launch(kernel, dim3(blocks), THREADS, static_cast<size_t>(shared_bytes), stream, pair);
}

int fused_pair_Q4_K_Q6_K(const struct fused_call *a, const struct fused_call *b, int processors, void *stream)
{
    return launch<DT_Q4_K, DT_Q6_K>(a, b, processors, stream);
}

int fused_pair_Q5_K_Q6_K(const struct fused_call *a, const struct fused_call *b, int processors, void *stream)
{
    return launch<DT_Q5_K, DT_Q6_K>(a, b, processors, stream);
}
