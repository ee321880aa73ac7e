/* The device's memory: one range of addresses, backed piece by piece as it is used, and counted by kind.
 * SPDX-License-Identifier: Apache-2.0
 *
 * cudaMalloc rounds each of a model's hundreds of weights up to 2 MiB; here they lie side by side. Cards
 * without virtual memory management get cudaMalloc. One thread at a time, but for memory_used. */
#ifndef CUDA_MEMORY_H
#define CUDA_MEMORY_H

#include <stdatomic.h>

#include "backend/backend.h"

struct memory_piece;
struct memory_span;

struct memory {
    int device;
    bool ranged;                 /* false: cudaMalloc */
    unsigned long long base;     /* of the range of addresses */
    uint64_t size;               /* of the range */
    struct memory_piece *pieces; /* [size / piece] */
    struct memory_span *spans;   /* free and taken, by address, without gaps */
    size_t span_count, span_capacity;
    atomic_uint_fast64_t used[MEMORY_KINDS], peak[MEMORY_KINDS];
};

/* For the current device. Never fails: without the means for a range, cudaMalloc serves. */
void memory_open(struct memory *memory, int device, uint64_t total);
/* Frees everything that is still taken; nothing may be running. */
void memory_close(struct memory *memory);
/* At least `bytes`, 256-byte aligned, not zeroed. LL_DEVICE_MEMORY names what is wanted and what is free. */
ll_status memory_take(struct memory *memory, enum backend_memory_kind kind, uint64_t bytes, void **ret,
                      ll_error *error);
/* Nothing queued may use it any more. NULL is fine. */
void memory_give(struct memory *memory, enum backend_memory_kind kind, void *address, uint64_t bytes);
/* Any thread: total and free as the driver says, ours by kind. */
void memory_used(const struct memory *memory, struct backend_memory_use *ret);

#endif
