/* An open CUDA device: opening, memory, weights, steps and their failures.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/device.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/mem.h"
#include "cuda/run.h"
#include "cuda/table.h"

/* ---- failures ---- */

ll_status device_status(int status, const char *operation, ll_error *error)
{
    ll_status kind = status == cudaErrorMemoryAllocation ? LL_DEVICE_MEMORY : LL_DEVICE;
    return error_set(error, kind, operation, "the GPU failed in %s: %s", operation,
                     cudaGetErrorString((cudaError_t)status));
}

void device_fail(struct device *d, ll_status status, const char *operation, const char *format, ...)
{
    if (d->error.status != LL_OK)
        return;
    char text[sizeof d->error.text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    error_set(&d->error, status, operation, "%s", text);
}

bool device_check(struct device *d, int status, const char *operation)
{
    if (status == cudaSuccess)
        return true;
    cudaGetLastError(); /* kept here; the next call starts clean */
    if (d->error.status == LL_OK)
        device_status(status, operation, &d->error);
    return false;
}

bool device_stopped(struct device *d)
{
    if (d->error.status != LL_OK || d->cancelled)
        return true;
    d->cancelled = cancel_requested(d->cancel);
    return d->cancelled;
}

/* ---- opening ---- */

static ll_status check_card(struct device *d, const struct cudaDeviceProp *card, ll_error *error)
{
    d->major = card->major;
    d->minor = card->minor;
    d->processors = card->multiProcessorCount;
    if (d->major < 8)
        return error_set(error, LL_UNSUPPORTED, "cuda",
                         "%s is of compute capability %d.%d; longleaf needs 8.0 (Ampere) or later",
                         card->name, d->major, d->minor);
    if (device_has_code() != cudaSuccess) {
        cudaGetLastError();
        return error_set(error, LL_UNSUPPORTED, "cuda",
                         "this build holds no code for %s (sm_%d%d); build it with --with-cuda-arch=sm_%d%d",
                         card->name, d->major, d->minor, d->major, d->minor);
    }
    snprintf(d->base.name, sizeof d->base.name, "cuda sm_%d%d", d->major, d->minor);
    snprintf(d->base.device, sizeof d->base.device, "%.100s", card->name);
    return LL_OK;
}

static ll_status open_parts(struct device *d, ll_error *error)
{
    struct cudaDeviceProp card;
    const char *graphs = getenv("LONGLEAF_CUDA_GRAPHS");
    d->graphs = !graphs || strcmp(graphs, "0") != 0;
    cudaError_t status = cudaSetDevice(d->index);
    if (status == cudaSuccess)
        status = cudaGetDeviceProperties(&card, d->index);
    if (status != cudaSuccess)
        return device_status(status, "opening", error);
    LL_TRY(check_card(d, &card, error));
    status = cudaStreamCreateWithFlags(&d->stream, cudaStreamNonBlocking);
    for (int i = 0; i < 2 && status == cudaSuccess; i++)
        status = cudaEventCreateWithFlags(&d->paces[i], cudaEventDisableTiming);
    if (status == cudaSuccess)
        status = cudaHostAlloc((void **)&d->picked, DEVICE_ROWS * sizeof *d->picked, cudaHostAllocMapped);
    if (status == cudaSuccess)
        status = (cudaError_t)product_open(&d->products);
    if (status != cudaSuccess)
        return device_status(status, "opening", error);
    memory_open(&d->memory, d->index, card.totalGlobalMem);
    staging_open_ahead(&d->staging, d->index);
    return LL_OK;
}

static void close_parts(struct device *d)
{
    cudaSetDevice(d->index);
    if (d->stream)
        cudaStreamSynchronize(d->stream);
    staging_close(&d->staging);
    graph_forget(&d->cache);
    op_list_fini(&d->ops);
    step_fini(d);
    memory_close(&d->memory);
    if (d->products)
        product_close(d->products);
    for (int i = 0; i < 2; i++)
        if (d->paces[i])
            cudaEventDestroy(d->paces[i]);
    if (d->readback)
        cudaFreeHost(d->readback);
    if (d->picked)
        cudaFreeHost(d->picked);
    if (d->stream)
        cudaStreamDestroy(d->stream);
}

ll_status device_open(const struct backend_options *options, struct backend **ret, ll_error *error)
{
    struct device *d = mem_new(1, sizeof *d);
    if (!d)
        return error_nomem(error, "cuda", sizeof *d);
    d->base = (struct backend){.table = &longleaf_backend_1,
                               .activation = DT_BF16,
                               .residual = DT_F32,
                               .block_tokens = PAGE_KEYS,
                               .step_rows = DEVICE_ROWS};
    d->index = options ? options->index : 0;
    ll_status status = open_parts(d, error);
    if (status != LL_OK) {
        close_parts(d);
        mem_free(d);
        return status;
    }
    *ret = &d->base;
    return LL_OK;
}

void device_close(struct backend *backend)
{
    if (!backend)
        return;
    close_parts(device_of(backend));
    mem_free(device_of(backend));
}

/* ---- memory ---- */

ll_status device_memory_new(struct backend *backend, enum backend_memory_kind kind, uint64_t bytes,
                            void **ret, ll_error *error)
{
    struct device *d = device_of(backend);
    void *memory;
    cudaSetDevice(d->index);
    LL_TRY(memory_take(&d->memory, kind, bytes, &memory, error));
    cudaError_t status = cudaMemsetAsync(memory, 0, bytes, d->stream);
    if (status != cudaSuccess) {
        memory_give(&d->memory, kind, memory, bytes);
        return device_status(status, "clearing memory", error);
    }
    *ret = memory;
    return LL_OK;
}

void device_memory_free(struct backend *backend, enum backend_memory_kind kind, void *memory, uint64_t bytes)
{
    struct device *d = device_of(backend);
    if (!memory)
        return;
    cudaSetDevice(d->index);
    cudaStreamSynchronize(d->stream);
    graph_forget(&d->cache); /* graphs may know the address, which may be another's tomorrow */
    memory_give(&d->memory, kind, memory, bytes);
}

void device_memory_use(const struct backend *backend, struct backend_memory_use *ret)
{
    memory_used(&((const struct device *)backend)->memory, ret);
}

ll_status device_upload(struct backend *backend, void *to, const void *host, uint64_t bytes, ll_error *error)
{
    struct device *d = device_of(backend);
    cudaSetDevice(d->index);
    if (d->step) /* the ring for weights has gone; this is the stream of a model on two backends */
        return device_upload_rows(d, to, host, bytes, error);
    return bytes == 0 ? LL_OK : staging_upload(&d->staging, d->index, d->stream, to, host, bytes, error);
}

/* ---- weights ---- */

bool device_supports_weight(const struct backend *backend, enum dtype dtype)
{
    (void)backend;
    switch (dtype) { /* those that weight_layout.h lays out; a model with others is refused by name */
    case DT_F32: case DT_F16: case DT_BF16: case DT_Q4_0: case DT_Q4_1: case DT_Q5_0: case DT_Q5_1:
    case DT_Q8_0: case DT_Q4_K: case DT_Q5_K: case DT_Q6_K:
        return true;
    default:
        return false;
    }
}

/* Rows of a weight that are laid out anew at a time, within this much scratch. */
#define PREPARE_BYTES ((int64_t)32 << 20)

/* Room for a run of rows, kept until the first step: the stream's order is all that its users need. */
static ll_status reserve_aside(struct device *d, uint64_t bytes, ll_error *error)
{
    if (bytes <= d->aside_bytes)
        return LL_OK;
    cudaStreamSynchronize(d->stream);
    memory_give(&d->memory, MEMORY_SCRATCH, d->aside, d->aside_bytes);
    d->aside = NULL;
    d->aside_bytes = 0;
    LL_TRY(memory_take(&d->memory, MEMORY_SCRATCH, bytes, &d->aside, error));
    d->aside_bytes = bytes;
    return LL_OK;
}

/* Rows keep their length: each run is copied aside and laid out where it was. */
static ll_status prepare_in_place(struct device *d, const struct tensor *weight, ll_error *error)
{
    int64_t run = PREPARE_BYTES / weight->stride > 0 ? PREPARE_BYTES / weight->stride : 1;
    run = run < weight->rows ? run : weight->rows;
    LL_TRY(reserve_aside(d, (uint64_t)(run * weight->stride), error));
    int status = cudaSuccess;
    for (int64_t row = 0; row < weight->rows && status == cudaSuccess; row += run) {
        int64_t rows = weight->rows - row < run ? weight->rows - row : run;
        status = cudaMemcpyAsync(d->aside, tensor_row(weight, row), (size_t)(rows * weight->stride),
                                 cudaMemcpyDeviceToDevice, d->stream);
        if (status == cudaSuccess)
            status = product_prepare(weight->dtype, rows, weight->cols, d->aside, weight->stride,
                                     tensor_row(weight, row), d->stream);
    }
    return status == cudaSuccess ? LL_OK : device_status(status, "preparing weights", error);
}

static ll_status prepare_elsewhere(struct device *d, struct tensor *weight, int64_t stride, ll_error *error)
{
    void *prepared;
    uint64_t bytes = (uint64_t)(weight->rows * stride);
    LL_TRY(memory_take(&d->memory, MEMORY_WEIGHTS, bytes, &prepared, error));
    int status = product_prepare(weight->dtype, weight->rows, weight->cols, weight->data, weight->stride,
                                 prepared, d->stream);
    if (status == cudaSuccess)
        status = cudaStreamSynchronize(d->stream);
    if (status != cudaSuccess) {
        memory_give(&d->memory, MEMORY_WEIGHTS, prepared, bytes);
        return device_status(status, "preparing weights", error);
    }
    memory_give(&d->memory, MEMORY_WEIGHTS, weight->data, (uint64_t)(weight->rows * weight->stride));
    weight->data = prepared;
    weight->stride = stride;
    return LL_OK;
}

ll_status device_prepare_weight(struct backend *backend, struct tensor *weight, ll_error *error)
{
    struct device *d = device_of(backend);
    int64_t stride = product_stride(weight->dtype, weight->cols);
    cudaSetDevice(d->index);
    if (stride == 0)
        return error_set(error, LL_UNSUPPORTED, "cuda",
                         "%s weights of %lld columns cannot be multiplied here",
                         dtype_info(weight->dtype)->name, (long long)weight->cols);
    if (stride == weight->stride && !product_must_prepare(weight->dtype, weight->cols))
        return LL_OK;
    return stride == weight->stride ? prepare_in_place(d, weight, error)
                                    : prepare_elsewhere(d, weight, stride, error);
}

/* ---- steps ---- */

/* Whoever computes has loaded: what only loading needs goes back. */
static void end_loading(struct device *d)
{
    if (d->staging.workers || d->staging.ahead)
        staging_close(&d->staging);
    if (!d->aside)
        return;
    cudaStreamSynchronize(d->stream);
    memory_give(&d->memory, MEMORY_SCRATCH, d->aside, d->aside_bytes);
    d->aside = NULL;
    d->aside_bytes = 0;
}

void device_begin(struct backend *backend, const struct backend_step *step, const ll_cancel *cancel)
{
    struct device *d = device_of(backend);
    cudaSetDevice(d->index);
    end_loading(d);
    d->step = step;
    d->cancel = cancel;
    d->cancelled = false;
    d->error = (ll_error){.status = LL_OK};
    d->ops.count = 0;
    d->picked_rows = 0;
    if (step->rows > DEVICE_ROWS)
        device_fail(d, LL_INTERNAL, "step", "a step of %lld rows", (long long)step->rows);
}

static void run_step(struct device *d)
{
    if (d->ops.count == 0 || device_stopped(d) || !step_prepare(d))
        return;
    if (d->graphs && d->step->rows <= GRAPH_ROWS && !d->tables.tiles)
        graph_run(d);
    else
        run_operations(d);
}

ll_status device_end(struct backend *backend, ll_error *error)
{
    struct device *d = device_of(backend);
    cudaSetDevice(d->index);
    run_step(d);
    device_check(d, cudaStreamSynchronize(d->stream), "step");
    d->step = NULL;
    d->cancel = NULL;
    if (d->error.status != LL_OK) {
        if (error)
            *error = d->error;
        return d->error.status;
    }
    if (!d->cancelled && d->picked_rows > 0)
        memcpy(d->picked_to, d->picked, (size_t)d->picked_rows * sizeof *d->picked);
    return d->cancelled ? error_set(error, LL_CANCELLED, "cuda", "the step was cancelled") : LL_OK;
}
