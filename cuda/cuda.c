/* The plug-in's table: what the engine finds when it opens longleaf_cuda.so.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The attention and cache kernels of this folder are built and tested (tests/gpu); the other
 * operations of the table are not written yet. So the probe offers no device, and says why: an engine
 * is never given half a backend. */
#include <dlfcn.h>
#include <stdio.h>

#include "backend/backend.h"
#include "backend/plugin.h"

/* The CUDA runtime in this file would look for the driver itself, but says little when it is missing. */
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
    if (!driver_is_here())
        *reason = "the NVIDIA driver is not installed (its library libcuda.so.1 was not found)";
    else
        *reason =
            "this build's CUDA backend is not complete (it has its attention kernels, but no products yet)";
    return 0;
}

static ll_status open_device(const struct backend_options *options, struct backend **ret, ll_error *error)
{
    (void)options;
    (void)ret;
    if (error) {
        const char *reason = NULL;
        probe(&reason);
        *error = (ll_error){.status = LL_UNSUPPORTED, .offset = -1, .where = "cuda"};
        snprintf(error->text, sizeof error->text, "no CUDA device can be opened: %s", reason);
    }
    return LL_UNSUPPORTED;
}

static void close_device(struct backend *backend)
{
    (void)backend;
}

__attribute__((visibility("default"))) const struct backend_table longleaf_backend_1 = {
    .version = BACKEND_VERSION,
    .size = sizeof longleaf_backend_1,
    .name = "cuda",
    .probe = probe,
    .open = open_device,
    .close = close_device,
};
