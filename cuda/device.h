/* An open CUDA device: its stream, memory, the step at hand, the first error.
 * SPDX-License-Identifier: Apache-2.0
 *
 * One thread at a time, as backend.h says; only memory_use may come from any thread. A step is recorded
 * as a list of operations (op.h) and run when it ends: straight, or as a graph (graph.h). */
#ifndef CUDA_DEVICE_H
#define CUDA_DEVICE_H

#include <cuda_runtime_api.h>

#include "backend/backend.h"
#include "cuda/graph.h"
#include "cuda/memory.h"
#include "cuda/op.h"
#include "cuda/product.h"
#include "cuda/staging.h"
#include "cuda/step.h"

/* Rows of a step that may run as a graph: beyond these the launches hide behind the work. */
#define GRAPH_ROWS 64
/* Most rows of any step. */
#define DEVICE_ROWS 2048

struct device {
    struct backend base;
    int index;
    int major, minor, processors;
    cudaStream_t stream;
    struct memory memory;
    struct staging staging;
    struct product_context *products;
    bool graphs; /* off: every step runs straight (LONGLEAF_CUDA_GRAPHS=0, for comparison) */

    const struct backend_step *step; /* between begin and end */
    const ll_cancel *cancel;
    bool cancelled;
    ll_error error; /* first failure of the step; status LL_OK when none */
    struct op_list ops;
    struct step_tables tables;
    struct graph_cache cache;
    cudaEvent_t paces[2]; /* how far a step has come */
    void *aside;          /* while loading: rows of a weight before they are laid out anew */
    uint64_t aside_bytes;
    int32_t *picked;    /* pinned, [DEVICE_ROWS]: what greatest found, written by the GPU */
    int32_t *picked_to; /* whose it is after the step */
    int64_t picked_rows;
    char *readback; /* pinned, for results on their way out */
    uint64_t readback_bytes;
};

static inline struct device *device_of(struct backend *backend)
{
    return (struct device *)backend;
}

/* Keeps the first failure of a step. */
void device_fail(struct device *device, ll_status status, const char *operation, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Takes a cudaError_t: true when it is success, else the step fails with CUDA's own words. */
bool device_check(struct device *device, int status, const char *operation);
/* True when an operation must do nothing; remembers that the step is not whole. */
bool device_stopped(struct device *device);
/* The same for calls outside a step. */
ll_status device_status(int status, const char *operation, ll_error *error);
/* Within a step, by way of the buffer that results are read through. */
ll_status device_upload_rows(struct device *device, void *to, const void *host, uint64_t bytes,
                             ll_error *error);

#endif
