/* The device's memory: one range of addresses, backed piece by piece as it is used, and counted by kind.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/memory.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

#define PIECE_BYTES ((uint64_t)32 << 20)
#define ALIGNMENT ((uint64_t)256)

struct memory_piece {
    CUmemGenericAllocationHandle handle;
    int users; /* taken spans that touch it; 0: not backed */
};

struct memory_span {
    uint64_t offset, size;
    bool taken;
};

/* ---- the driver's own functions, found at run time ---- */

struct driver {
    CUresult (*reserve)(CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long);
    CUresult (*unreserve)(CUdeviceptr, size_t);
    CUresult (*create)(CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *,
                       unsigned long long);
    CUresult (*release)(CUmemGenericAllocationHandle);
    CUresult (*map)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long);
    CUresult (*unmap)(CUdeviceptr, size_t);
    CUresult (*access)(CUdeviceptr, size_t, const CUmemAccessDesc *, size_t);
};

static bool find(const char *name, void *function)
{
    void *entry = NULL;
    enum cudaDriverEntryPointQueryResult found;
    if (cudaGetDriverEntryPointByVersion(name, &entry, 12000, cudaEnableDefault, &found) != cudaSuccess ||
        found != cudaDriverEntryPointSuccess)
        return false;
    memcpy(function, &entry, sizeof entry);
    return true;
}

static bool driver_find(struct driver *ret)
{
    return find("cuMemAddressReserve", &ret->reserve) && find("cuMemAddressFree", &ret->unreserve) &&
           find("cuMemCreate", &ret->create) && find("cuMemRelease", &ret->release) &&
           find("cuMemMap", &ret->map) && find("cuMemUnmap", &ret->unmap) &&
           find("cuMemSetAccess", &ret->access);
}

/* ---- pieces ---- */

static CUmemAllocationProp properties(const struct memory *memory)
{
    CUmemAllocationProp p;
    memset(&p, 0, sizeof p);
    p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p.location.id = memory->device;
    return p;
}

static bool piece_back(struct memory *memory, const struct driver *driver, uint64_t index)
{
    CUmemAllocationProp p = properties(memory);
    CUmemAccessDesc access = {.location = p.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdeviceptr address = memory->base + index * PIECE_BYTES;
    CUmemGenericAllocationHandle handle;
    if (driver->create(&handle, PIECE_BYTES, &p, 0) != CUDA_SUCCESS)
        return false;
    if (driver->map(address, PIECE_BYTES, 0, handle, 0) == CUDA_SUCCESS) {
        if (driver->access(address, PIECE_BYTES, &access, 1) == CUDA_SUCCESS) {
            memory->pieces[index].handle = handle;
            return true;
        }
        driver->unmap(address, PIECE_BYTES);
    }
    driver->release(handle);
    return false;
}

static void pieces_leave(struct memory *memory, const struct driver *driver, uint64_t first, uint64_t end)
{
    for (uint64_t i = first; i < end; i++)
        if (--memory->pieces[i].users == 0) {
            driver->unmap(memory->base + i * PIECE_BYTES, PIECE_BYTES);
            driver->release(memory->pieces[i].handle);
        }
}

static bool pieces_enter(struct memory *memory, const struct driver *driver, uint64_t first, uint64_t end)
{
    for (uint64_t i = first; i < end; i++) {
        if (memory->pieces[i].users == 0 && !piece_back(memory, driver, i)) {
            pieces_leave(memory, driver, first, i);
            return false;
        }
        memory->pieces[i].users++;
    }
    return true;
}

/* ---- spans ---- */

static uint64_t rounded(uint64_t bytes)
{
    return bytes < ALIGNMENT ? ALIGNMENT : (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* The first free span that holds `bytes`, cut to size; -1: none, or no memory for the list. */
static int64_t span_take(struct memory *memory, uint64_t bytes)
{
    for (size_t i = 0; i < memory->span_count; i++) {
        struct memory_span *span = &memory->spans[i];
        if (span->taken || span->size < bytes)
            continue;
        if (span->size > bytes) {
            if (!mem_grow((void **)&memory->spans, &memory->span_capacity, memory->span_count + 1,
                          sizeof *span))
                return -1;
            span = &memory->spans[i];
            memmove(span + 1, span, (memory->span_count - i) * sizeof *span);
            memory->span_count++;
            span[1].offset += bytes;
            span[1].size -= bytes;
            span->size = bytes;
        }
        span->taken = true;
        return (int64_t)i;
    }
    return -1;
}

static void span_remove(struct memory *memory, size_t index)
{
    memory->span_count--;
    memmove(&memory->spans[index], &memory->spans[index + 1],
            (memory->span_count - index) * sizeof *memory->spans);
}

static void span_give(struct memory *memory, size_t index)
{
    struct memory_span *spans = memory->spans;
    spans[index].taken = false;
    if (index + 1 < memory->span_count && !spans[index + 1].taken) {
        spans[index].size += spans[index + 1].size;
        span_remove(memory, index + 1);
    }
    if (index > 0 && !spans[index - 1].taken) {
        spans[index - 1].size += spans[index].size;
        span_remove(memory, index);
    }
}

static void span_pieces(const struct memory_span *span, uint64_t *first, uint64_t *end)
{
    *first = span->offset / PIECE_BYTES;
    *end = (span->offset + span->size + PIECE_BYTES - 1) / PIECE_BYTES;
}

/* ---- the range as a whole ---- */

static bool range_open(struct memory *memory, uint64_t total)
{
    struct driver driver;
    int supported = 0;
    CUdeviceptr base = 0;
    uint64_t size = (2 * total + PIECE_BYTES - 1) / PIECE_BYTES * PIECE_BYTES; /* twice: room for holes */
    if (cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, memory->device) != cudaSuccess ||
        !supported || !driver_find(&driver) || driver.reserve(&base, size, 0, 0, 0) != CUDA_SUCCESS)
        return false;
    memory->pieces = mem_new(size / PIECE_BYTES, sizeof *memory->pieces);
    if (!memory->pieces ||
        !mem_grow((void **)&memory->spans, &memory->span_capacity, 64, sizeof *memory->spans)) {
        mem_free(memory->pieces);
        driver.unreserve(base, size);
        return false;
    }
    memory->spans[0] = (struct memory_span){0, size, false};
    memory->span_count = 1;
    memory->base = base;
    memory->size = size;
    return true;
}

void memory_open(struct memory *memory, int device, uint64_t total)
{
    *memory = (struct memory){.device = device};
    memory->ranged = range_open(memory, total);
}

void memory_close(struct memory *memory)
{
    struct driver driver;
    if (memory->ranged && driver_find(&driver)) {
        for (uint64_t i = 0; i < memory->size / PIECE_BYTES; i++)
            if (memory->pieces[i].users > 0) {
                memory->pieces[i].users = 1;
                pieces_leave(memory, &driver, i, i + 1);
            }
        driver.unreserve(memory->base, memory->size);
    }
    for (size_t i = 0; !memory->ranged && i < memory->span_count; i++)
        cudaFree((void *)(uintptr_t)memory->spans[i].offset);
    mem_free(memory->pieces);
    mem_free(memory->spans);
    memory->pieces = NULL;
    memory->spans = NULL;
    memory->span_count = 0;
}

static void *range_take(struct memory *memory, uint64_t bytes)
{
    struct driver driver;
    uint64_t first, end;
    int64_t index = driver_find(&driver) ? span_take(memory, bytes) : -1;
    if (index < 0)
        return NULL;
    uint64_t offset = memory->spans[index].offset;
    span_pieces(&memory->spans[index], &first, &end);
    if (!pieces_enter(memory, &driver, first, end)) {
        span_give(memory, (size_t)index);
        return NULL;
    }
    return (void *)(uintptr_t)(memory->base + offset);
}

/* Without a range the list holds the addresses that are taken. */
static void *plain_take(struct memory *memory, uint64_t bytes)
{
    void *address = NULL;
    if (!mem_grow((void **)&memory->spans, &memory->span_capacity, memory->span_count + 1,
                  sizeof *memory->spans))
        return NULL;
    if (cudaMalloc(&address, bytes) != cudaSuccess) {
        cudaGetLastError(); /* not the next call's business */
        return NULL;
    }
    memory->spans[memory->span_count++] = (struct memory_span){(uintptr_t)address, bytes, true};
    return address;
}

/* Only the thread that takes raises the peak. */
static void count(struct memory *memory, enum backend_memory_kind kind, uint64_t bytes)
{
    uint64_t now = atomic_fetch_add_explicit(&memory->used[kind], bytes, memory_order_relaxed) + bytes;
    if (now > atomic_load_explicit(&memory->peak[kind], memory_order_relaxed))
        atomic_store_explicit(&memory->peak[kind], now, memory_order_relaxed);
}

ll_status memory_take(struct memory *memory, enum backend_memory_kind kind, uint64_t bytes, void **ret,
                      ll_error *error)
{
    void *address = NULL;
    if (bytes <= UINT64_MAX / 4)
        address = memory->ranged ? range_take(memory, rounded(bytes)) : plain_take(memory, rounded(bytes));
    if (!address) {
        size_t free = 0, total = 0;
        cudaMemGetInfo(&free, &total);
        return error_set(
            error, LL_DEVICE_MEMORY, "cuda memory",
            "the GPU cannot give %.1f MiB: %.1f of its %.1f MiB are free; use a smaller context, a "
            "smaller model, or --device cpu",
            (double)bytes / 1048576, (double)free / 1048576, (double)total / 1048576);
    }
    count(memory, kind, rounded(bytes));
    *ret = address;
    return LL_OK;
}

static bool range_give(struct memory *memory, uint64_t offset)
{
    struct driver driver;
    for (size_t i = 0; i < memory->span_count; i++) {
        struct memory_span *span = &memory->spans[i];
        if (span->offset != offset || !span->taken || !driver_find(&driver))
            continue;
        uint64_t first, end;
        span_pieces(span, &first, &end);
        pieces_leave(memory, &driver, first, end);
        span_give(memory, i);
        return true;
    }
    return false;
}

static bool plain_give(struct memory *memory, uint64_t address)
{
    for (size_t i = 0; i < memory->span_count; i++)
        if (memory->spans[i].offset == address) {
            cudaFree((void *)(uintptr_t)address);
            span_remove(memory, i);
            return true;
        }
    return false;
}

void memory_give(struct memory *memory, enum backend_memory_kind kind, void *address, uint64_t bytes)
{
    if (!address)
        return;
    uint64_t at = (uintptr_t)address;
    if (memory->ranged ? range_give(memory, at - memory->base) : plain_give(memory, at))
        atomic_fetch_sub_explicit(&memory->used[kind], rounded(bytes), memory_order_relaxed);
}

void memory_used(const struct memory *memory, struct backend_memory_use *ret)
{
    size_t free = 0, total = 0;
    cudaSetDevice(memory->device);
    cudaMemGetInfo(&free, &total);
    *ret = (struct backend_memory_use){.total = total, .free = free};
    for (int kind = 0; kind < MEMORY_KINDS; kind++) {
        ret->ours[kind] = atomic_load_explicit(&memory->used[kind], memory_order_relaxed);
        ret->peak[kind] = atomic_load_explicit(&memory->peak[kind], memory_order_relaxed);
    }
}
