/* The plug-in's table: what the engine finds when it opens longleaf_cuda.so.
 * SPDX-License-Identifier: Apache-2.0 */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>

#include "backend/plugin.h"
#include "cuda/record.h"
#include "cuda/table.h"

/* The CUDA runtime would look for the driver itself, but says little when it is missing. */
static bool driver_is_here(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!driver)
        return false;
    bool usable = dlsym(driver, "cuInit") != NULL;
    dlclose(driver);
    return usable;
}

static int probe(const char **reason)
{
    int count = 0;
    if (!driver_is_here()) {
        *reason = "the NVIDIA driver is not installed (its library libcuda.so.1 was not found)";
        return 0;
    }
    cudaError_t status = cudaGetDeviceCount(&count);
    if (status == cudaSuccess && count > 0)
        return count;
    cudaGetLastError();
    if (status == cudaErrorInsufficientDriver)
        *reason = "the NVIDIA driver is too old for this build; install a newer driver";
    else if (status == cudaErrorNoDevice || status == cudaSuccess)
        *reason = "the NVIDIA driver is installed but sees no GPU";
    else
        *reason = cudaGetErrorString(status);
    return 0;
}

__attribute__((visibility("default"))) const struct backend_table longleaf_backend_1 = {
    .version = BACKEND_VERSION,
    .size = sizeof longleaf_backend_1,
    .name = "cuda",
    .probe = probe,
    .open = device_open,
    .close = device_close,
    .memory_new = device_memory_new,
    .memory_free = device_memory_free,
    .memory_use = device_memory_use,
    .upload = device_upload,
    .download = NULL, /* a Q8_0 block's rows lie otherwise here than in a snapshot */
    .prepare_weight = device_prepare_weight,
    .supports_weight = device_supports_weight,
    .begin = device_begin,
    .end = device_end,
    .read = device_read,
    .embed = record_embed,
    .norm = record_norm,
    .products = record_products,
    .rotary = record_rotary,
    .cache_write = record_cache_write,
    .attention = record_attention,
    .activate = record_activate,
    .add = record_add,
    .clamp = record_clamp,
    .softcap = record_softcap,
    .gather_outputs = record_gather,
    .greatest = record_greatest,
    .cache_copy = device_cache_copy,
};
