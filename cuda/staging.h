/* Uploads: pageable memory to the device through a ring of pinned buffers, filled by several threads.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CUDA_STAGING_H
#define CUDA_STAGING_H

#include <cuda_runtime_api.h>
#include <pthread.h>

#include "longleaf.h"

struct workers;

enum { STAGING_THREADS = 8, STAGING_SLOTS = 3 };

struct staging {
    int device;
    struct workers *workers; /* NULL: not open */
    char *pinned;            /* [threads][slots] chunks */
    cudaStream_t streams[STAGING_THREADS];
    cudaEvent_t done[STAGING_THREADS][STAGING_SLOTS];
    cudaEvent_t order; /* between the device's stream and these */
    int next[STAGING_THREADS];
    bool ahead; /* a thread is opening, or has opened, the ring */
    pthread_t opener;
};

/* Blocks until `host` may change. Work queued on `stream` before is done before the copy, and work queued
 * later sees it. Opens the ring at the first call. */
ll_status staging_upload(struct staging *staging, int device, cudaStream_t stream, void *to, const void *host,
                         uint64_t bytes, ll_error *error);
/* Begins to open the ring: pinning takes as long as a file's metadata. staging must not be moved any more. */
void staging_open_ahead(struct staging *staging, int device);
/* Gives the threads and the pinned memory back; a later upload opens them again. */
void staging_close(struct staging *staging);

#endif
