/* What both CPU backends share: memory of the host, the step at hand, the first error.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "cpu/host.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/mem.h"
#include "tensor/dequant.h"

/* From this size on memory is mapped, so that a cache, which is one piece for each layer, costs only the
 * pages it has used. */
enum { MAPPED_BYTES = 64 << 10 };

static void *memory_obtain(uint64_t bytes, bool mapped)
{
    if (bytes > SIZE_MAX / 2)
        return NULL;
    if (!mapped)
        return mem_aligned(bytes ? (size_t)bytes : 64, 64);
    void *memory = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void memory_release(const struct host_memory *memory)
{
    if (memory->mapped)
        munmap(memory->address, (size_t)memory->bytes);
    else
        mem_free(memory->address);
}

void host_count(struct host *host, enum backend_memory_kind kind, int64_t bytes)
{
    uint_fast64_t now = atomic_fetch_add_explicit(&host->used[kind], (uint64_t)bytes, memory_order_relaxed) +
                        (uint64_t)bytes;
    uint_fast64_t peak = atomic_load_explicit(&host->peak[kind], memory_order_relaxed);
    while (bytes > 0 && now > peak && !atomic_compare_exchange_weak_explicit(&host->peak[kind], &peak, now,
                                                                             memory_order_relaxed,
                                                                             memory_order_relaxed))
        continue;
}

ll_status host_memory_new(struct backend *backend, enum backend_memory_kind kind, uint64_t bytes, void **ret,
                          ll_error *error)
{
    struct host *host = host_of(backend);
    if (!mem_grow((void **)&host->memory, &host->memory_capacity, host->memory_count + 1,
                  sizeof *host->memory))
        return error_nomem(error, "backend memory", sizeof *host->memory);
    bool mapped = bytes >= MAPPED_BYTES;
    void *memory = memory_obtain(bytes, mapped);
    if (!memory)
        return error_set(error, LL_NOMEM, "backend memory", "the system has no %" PRIu64 " bytes to give; "
                         "a smaller context or model needs less", bytes);
    host->memory[host->memory_count++] = (struct host_memory){memory, bytes, mapped};
    host_count(host, kind, (int64_t)bytes);
    *ret = memory;
    return LL_OK;
}

void host_memory_free(struct backend *backend, enum backend_memory_kind kind, void *memory, uint64_t bytes)
{
    struct host *host = host_of(backend);
    for (size_t i = 0; memory && i < host->memory_count; i++) {
        if (host->memory[i].address != memory)
            continue;
        memory_release(&host->memory[i]);
        host->memory[i] = host->memory[--host->memory_count];
        host_count(host, kind, -(int64_t)bytes);
        return;
    }
}

void host_init(struct host *host)
{
    machine_open(&host->machine, "");
}

void host_fini(struct host *host)
{
    machine_close(&host->machine);
    for (size_t i = 0; i < host->memory_count; i++)
        memory_release(&host->memory[i]);
    mem_free(host->memory);
}

void host_memory_use(const struct backend *backend, struct backend_memory_use *ret)
{
    const struct host *host = (const struct host *)backend;
    struct machine_memory machine;
    machine_memory(&host->machine, &machine);
    ret->total = machine.total;
    ret->free = machine.available;
    ret->limit = machine.limit;
    for (int kind = 0; kind < MEMORY_KINDS; kind++) {
        ret->ours[kind] = atomic_load_explicit(&host->used[kind], memory_order_relaxed);
        ret->peak[kind] = atomic_load_explicit(&host->peak[kind], memory_order_relaxed);
    }
}

ll_status host_prepare_weight(struct backend *backend, struct tensor *weight, ll_error *error)
{
    (void)backend, (void)weight, (void)error; /* weights are used as they lie in the file */
    return LL_OK;
}

bool host_supports_weight(const struct backend *backend, enum dtype dtype)
{
    (void)backend;
    return (unsigned)dtype < DT_COUNT;
}

void host_begin(struct backend *backend, const struct backend_step *step, const ll_cancel *cancel)
{
    struct host *host = host_of(backend);
    host->step = step;
    host->cancel = cancel;
    host->error = (ll_error){.status = LL_OK};
    atomic_store_explicit(&host->cancelled, false, memory_order_relaxed);
}

ll_status host_end(struct backend *backend, ll_error *error)
{
    struct host *host = host_of(backend);
    bool cancelled = atomic_load_explicit(&host->cancelled, memory_order_relaxed);
    host->step = NULL;
    host->cancel = NULL;
    if (host->error.status != LL_OK) {
        if (error)
            *error = host->error;
        return host->error.status;
    }
    if (cancelled)
        return error_set(error, LL_CANCELLED, host->base.table->name, "the step was cancelled");
    return LL_OK;
}

bool host_stopped(struct host *host)
{
    if (host->error.status != LL_OK || atomic_load_explicit(&host->cancelled, memory_order_relaxed))
        return true;
    if (!cancel_requested(host->cancel))
        return false;
    atomic_store_explicit(&host->cancelled, true, memory_order_relaxed);
    return true;
}

void host_fail(struct host *host, ll_status status, const char *operation, const char *format, ...)
{
    if (host->error.status != LL_OK)
        return;
    char text[sizeof host->error.text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    error_set(&host->error, status, operation, "%s", text);
}

bool host_check_rows(struct host *host, const char *operation, const struct tensor *tensor, int64_t rows,
                     int64_t cols)
{
    if (tensor->dtype == DT_F32 && tensor->rows == rows && tensor->cols == cols && tensor->data &&
        (rows < 2 || tensor->stride >= cols * (int64_t)sizeof(float)))
        return true;
    host_fail(host, LL_UNSUPPORTED, operation, "wants F32 [%" PRId64 ", %" PRId64 "], was given %s [%" PRId64
              ", %" PRId64 "]", rows, cols, dtype_info(tensor->dtype)->name, tensor->rows, tensor->cols);
    return false;
}

ll_status host_read(struct backend *backend, const struct tensor *tensor, float *host, ll_error *error)
{
    (void)backend, (void)error;
    for (int64_t row = 0; row < tensor->rows; row++)
        dequantize_row(tensor->dtype, tensor_row(tensor, row), host + row * tensor->cols, tensor->cols);
    return LL_OK;
}

void host_gather_outputs(struct backend *backend, const struct tensor *in, struct tensor *out)
{
    struct host *host = host_of(backend);
    if (host_stopped(host) || !host_check_rows(host, "gather", in, host->step->rows, in->cols) ||
        !host_check_rows(host, "gather", out, host->step->output_count, in->cols))
        return;
    for (int64_t i = 0; i < host->step->output_count; i++)
        memmove(tensor_row(out, i), tensor_row(in, host->step->outputs[i]), (size_t)in->cols * sizeof(float));
}

void host_greatest(struct backend *backend, const struct tensor *in, int32_t *ret)
{
    struct host *host = host_of(backend);
    if (host_stopped(host) || !host_check_rows(host, "greatest", in, in->rows, in->cols))
        return;
    for (int64_t row = 0; row < in->rows; row++) {
        const float *x = tensor_row(in, row);
        float most = -INFINITY;
        ret[row] = -1;
        for (int64_t i = 0; i < in->cols; i++)
            if (x[i] > most) {
                most = x[i];
                ret[row] = (int32_t)i;
            }
    }
}

ll_status host_cache_copy(struct backend *backend, const struct backend_cache *cache, int32_t from,
                          int32_t to, ll_error *error)
{
    (void)backend, (void)error;
    if (from == to)
        return LL_OK;
    memcpy((char *)cache->k + to * cache->k_block_bytes, (const char *)cache->k + from * cache->k_block_bytes,
           (size_t)cache->k_block_bytes);
    memcpy((char *)cache->v + to * cache->v_block_bytes, (const char *)cache->v + from * cache->v_block_bytes,
           (size_t)cache->v_block_bytes);
    if (cache->k_norms)
        memcpy(cache->k_norms + (int64_t)to * cache->kv_heads,
               cache->k_norms + (int64_t)from * cache->kv_heads, (size_t)cache->kv_heads * sizeof(float));
    return LL_OK;
}
