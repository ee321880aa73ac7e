/* What both CPU backends share: memory of the host, the step at hand, the first error.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CPU_HOST_H
#define CPU_HOST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "backend/backend.h"
#include "base/machine.h"

struct host_memory {
    void *address;
    uint64_t bytes;
    bool mapped; /* from mmap: pages cost nothing until touched */
};

struct host { /* first member of both backends */
    struct backend base;
    const struct backend_step *step; /* between begin and end */
    const ll_cancel *cancel;
    atomic_bool cancelled;           /* something of this step was left out; raised by any worker */
    ll_error error;                  /* first failure of the step; status LL_OK when none */
    atomic_uint_fast64_t used[MEMORY_KINDS], peak[MEMORY_KINDS];
    struct machine machine;
    struct host_memory *memory;
    size_t memory_count, memory_capacity;
};

/* ---- table slots ---- */
ll_status host_memory_new(struct backend *backend, enum backend_memory_kind kind, uint64_t bytes, void **ret,
                          ll_error *error);
void host_memory_free(struct backend *backend, enum backend_memory_kind kind, void *memory, uint64_t bytes);
void host_memory_use(const struct backend *backend, struct backend_memory_use *ret);
ll_status host_prepare_weight(struct backend *backend, struct tensor *weight, ll_error *error);
bool host_supports_weight(const struct backend *backend, enum dtype dtype);
void host_begin(struct backend *backend, const struct backend_step *step, const ll_cancel *cancel);
ll_status host_end(struct backend *backend, ll_error *error);
ll_status host_read(struct backend *backend, const struct tensor *tensor, float *host, ll_error *error);
void host_gather_outputs(struct backend *backend, const struct tensor *in, struct tensor *out);
void host_greatest(struct backend *backend, const struct tensor *in, int32_t *ret);
ll_status host_cache_copy(struct backend *backend, const struct backend_cache *cache, int32_t from,
                          int32_t to, ll_error *error);

/* ---- for the operations ---- */
static inline struct host *host_of(struct backend *backend)
{
    return (struct host *)backend;
}

/* Adds to what is counted as ours; bytes may be negative. Any thread. */
void host_count(struct host *host, enum backend_memory_kind kind, int64_t bytes);
/* Before anything else; the struct is zeroed. */
void host_init(struct host *host);
/* Frees all memory handed out. */
void host_fini(struct host *host);
/* True when the operation must do nothing; remembers that the step is not whole. */
bool host_stopped(struct host *host);
/* Keeps the first error of a step. */
void host_fail(struct host *host, ll_status status, const char *operation, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Activations of the CPU are F32 with rows that do not overlap; fails the step otherwise. */
bool host_check_rows(struct host *host, const char *operation, const struct tensor *tensor, int64_t rows,
                     int64_t cols);

#endif
