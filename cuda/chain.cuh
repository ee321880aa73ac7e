/* Kernels of one stream that overlap: the next is made ready while the one before it drains.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Programmatic dependent launch (Hopper and later). A kernel launched by chain_launch may begin before its
 * predecessor has ended; everything before chain_wait() must therefore touch nothing that an earlier kernel
 * of the stream writes (weights, launch arguments and the step's tables are fine). After chain_release() the
 * successor's blocks may begin; a kernel calls it only after its own chain_wait(). On older cards all
 * three are plain. */
#pragma once

#include <cuda_runtime.h>

static __device__ __forceinline__ void chain_wait()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

static __device__ __forceinline__ void chain_release()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

static inline bool chain_overlaps()
{
    int device = 0, major = 0;
    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
           major >= 9;
}

// A cudaError_t as an int. Every kernel launched so must call chain_wait() in all its threads.
template <typename... Parameters, typename... Arguments>
static inline int chain_launch(void (*kernel)(Parameters...), dim3 grid, unsigned threads,
                               size_t shared_bytes, void *stream, const Arguments &...arguments)
{
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared_bytes;
    config.stream = static_cast<cudaStream_t>(stream);
    config.attrs = &attribute;
    config.numAttrs = chain_overlaps() ? 1 : 0;
    return cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
}
