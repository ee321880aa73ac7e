/* Asks racecheck whether it sees that an mbarrier orders a write and the reads behind it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: race_probe barrier|mbarrier|none     under compute-sanitizer --tool racecheck
 * One thread writes a word of shared memory and all others read it: behind __syncthreads, behind an mbarrier
 * (release by the arrival, acquire by the wait: ordered by PTX's memory model), or behind nothing. A tool
 * that reports `mbarrier` reports what is no race; `none` must be reported, or it sees nothing at all. */
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <cuda_runtime.h>

enum order { BARRIER, MBARRIER, NONE };

template <order ORDER> __global__ void probe(int *out)
{
    __shared__ int word;
    __shared__ uint64_t barrier;
    uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(&barrier));
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address) : "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        *const_cast<volatile int *>(&word) = 42 + static_cast<int>(blockIdx.x);
        if (ORDER == MBARRIER)
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address) : "memory");
    }
    if (ORDER == BARRIER)
        __syncthreads();
    if (ORDER == MBARRIER)
        asm volatile("{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n"
                     "@done bra ready;\nbra again;\nready:\n}" ::"r"(address)
                     : "memory");
    out[blockIdx.x * blockDim.x + threadIdx.x] = *const_cast<volatile int *>(&word);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int *out = nullptr;
    if (cudaMalloc(&out, 4 * 256 * sizeof *out) != cudaSuccess)
        return 2;
    if (strcmp(what, "barrier") == 0)
        probe<BARRIER><<<4, 256>>>(out);
    else if (strcmp(what, "mbarrier") == 0)
        probe<MBARRIER><<<4, 256>>>(out);
    else
        probe<NONE><<<4, 256>>>(out);
    int status = cudaDeviceSynchronize();
    printf("%s: status %d\n", what, status);
    cudaFree(out);
    return status != cudaSuccess;
}
