/* Uploads: pageable memory to the device through a ring of pinned buffers, filled by several threads.
 * SPDX-License-Identifier: Apache-2.0
 *
 * One thread copies from mapped files at 7 GB/s, the bus takes 55: so several copy, each in its own small
 * ring (small chunks stay in the processor's cache until the copy engine has read them). */
#include "cuda/staging.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/workers.h"

#define CHUNK_BYTES ((uint64_t)2 << 20)

static ll_status failed(int status, ll_error *error)
{
    return error_set(error, LL_DEVICE, "cuda upload", "copying to the GPU failed: %s",
                     cudaGetErrorString((cudaError_t)status));
}

static cudaError_t open_streams(struct staging *s)
{
    cudaError_t status = cudaHostAlloc((void **)&s->pinned, CHUNK_BYTES * STAGING_THREADS * STAGING_SLOTS,
                                       cudaHostAllocDefault);
    if (status == cudaSuccess)
        status = cudaEventCreateWithFlags(&s->order, cudaEventDisableTiming);
    for (int i = 0; i < STAGING_THREADS && status == cudaSuccess; i++) {
        status = cudaStreamCreateWithFlags(&s->streams[i], cudaStreamNonBlocking);
        for (int slot = 0; slot < STAGING_SLOTS && status == cudaSuccess; slot++)
            status = cudaEventCreateWithFlags(&s->done[i][slot], cudaEventDisableTiming);
    }
    return status;
}

static void close_parts(struct staging *s);

static ll_status staging_open(struct staging *s, int device, ll_error *error)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    s->device = device;
    LL_TRY(workers_open(cores > 0 && cores < STAGING_THREADS ? (int)cores : STAGING_THREADS, &s->workers,
                        error));
    cudaError_t status = open_streams(s);
    if (status == cudaSuccess)
        return LL_OK;
    close_parts(s);
    return failed(status, error);
}

static void *open_ahead(void *context)
{
    struct staging *s = context;
    cudaSetDevice(s->device);
    staging_open(s, s->device, NULL); /* if it fails, the first upload tries again and says why */
    return NULL;
}

void staging_open_ahead(struct staging *s, int device)
{
    s->device = device;
    s->ahead = pthread_create(&s->opener, NULL, open_ahead, s) == 0;
}

/* Whoever opens ahead has finished. */
static void join(struct staging *s)
{
    if (!s->ahead)
        return;
    pthread_join(s->opener, NULL);
    s->ahead = false;
}

void staging_close(struct staging *s)
{
    join(s);
    close_parts(s);
}

static void close_parts(struct staging *s)
{
    for (int i = 0; i < STAGING_THREADS; i++) {
        if (s->streams[i]) {
            cudaStreamSynchronize(s->streams[i]);
            cudaStreamDestroy(s->streams[i]);
        }
        for (int slot = 0; slot < STAGING_SLOTS; slot++)
            if (s->done[i][slot])
                cudaEventDestroy(s->done[i][slot]);
    }
    if (s->order)
        cudaEventDestroy(s->order);
    if (s->pinned)
        cudaFreeHost(s->pinned);
    workers_close(s->workers);
    s->workers = NULL;
    s->order = NULL;
    s->pinned = NULL;
    for (int i = 0; i < STAGING_THREADS; i++) {
        s->streams[i] = NULL;
        s->next[i] = 0;
        for (int slot = 0; slot < STAGING_SLOTS; slot++)
            s->done[i][slot] = NULL;
    }
}

struct upload {
    struct staging *staging;
    char *to;
    const char *host;
    uint64_t bytes;
    atomic_int status; /* the first failure, a cudaError_t */
};

static cudaError_t copy_chunk(struct upload *upload, uint64_t at, int thread)
{
    struct staging *s = upload->staging;
    int slot = s->next[thread];
    uint64_t count = upload->bytes - at < CHUNK_BYTES ? upload->bytes - at : CHUNK_BYTES;
    char *pinned = s->pinned + (uint64_t)(thread * STAGING_SLOTS + slot) * CHUNK_BYTES;
    cudaError_t status = cudaEventSynchronize(s->done[thread][slot]);
    if (status != cudaSuccess)
        return status;
    memcpy(pinned, upload->host + at, count);
    status = cudaMemcpyAsync(upload->to + at, pinned, count, cudaMemcpyHostToDevice, s->streams[thread]);
    s->next[thread] = (slot + 1) % STAGING_SLOTS;
    return status == cudaSuccess ? cudaEventRecord(s->done[thread][slot], s->streams[thread]) : status;
}

static void upload_chunk(void *context, size_t task, int thread)
{
    struct upload *upload = context;
    cudaError_t status = cudaSetDevice(upload->staging->device);
    if (status == cudaSuccess)
        status = copy_chunk(upload, (uint64_t)task * CHUNK_BYTES, thread);
    int none = cudaSuccess;
    if (status != cudaSuccess)
        atomic_compare_exchange_strong(&upload->status, &none, status);
}

/* The copies wait for what the stream has queued, the stream's later work for the copies. */
static cudaError_t copies_after(struct staging *s, cudaStream_t stream)
{
    cudaError_t status = cudaEventRecord(s->order, stream);
    for (int i = 0; i < workers_count(s->workers) && status == cudaSuccess; i++)
        status = cudaStreamWaitEvent(s->streams[i], s->order, 0);
    return status;
}

static cudaError_t copies_before(struct staging *s, cudaStream_t stream)
{
    cudaError_t status = cudaSuccess;
    for (int i = 0; i < workers_count(s->workers) && status == cudaSuccess; i++)
        status = cudaStreamWaitEvent(stream, s->done[i][(s->next[i] + STAGING_SLOTS - 1) % STAGING_SLOTS], 0);
    return status;
}

ll_status staging_upload(struct staging *s, int device, cudaStream_t stream, void *to, const void *host,
                         uint64_t bytes, ll_error *error)
{
    join(s);
    if (!s->workers)
        LL_TRY(staging_open(s, device, error));
    struct upload upload = {.staging = s, .to = to, .host = host, .bytes = bytes};
    atomic_init(&upload.status, cudaSuccess);
    cudaError_t status = copies_after(s, stream);
    if (status == cudaSuccess) {
        workers_run(s->workers, (size_t)((bytes + CHUNK_BYTES - 1) / CHUNK_BYTES), upload_chunk, &upload);
        status = (cudaError_t)atomic_load(&upload.status);
    }
    if (status == cudaSuccess)
        status = copies_before(s, stream);
    return status == cudaSuccess ? LL_OK : failed(status, error);
}
