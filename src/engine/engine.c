/* The engine: the devices and log of one process.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/options.h"
#include "base/published.h"
#include "memory/nvml.h"

struct counter { /* bytes now, and the most that they were */
    atomic_int_fast64_t now, peak;
};

struct ll_engine {
    atomic_int references;
    struct devices devices;
    _Atomic(struct backend *) host; /* NULL: not needed yet */
    int threads;
    struct log log;
    pthread_mutex_t step;
    struct counter mapped, made, logits; /* weights in mapped files, and made from them; logits for callers */
    atomic_uint_fast64_t cache_used, cache_resident, host_cache_used;
    atomic_int_fast64_t idle_scratch, host_idle_scratch;
    struct published activity; /* ll_activity; written under the lock */
    struct machine machine;
    uint64_t resident_file; /* pages of files that were in memory before any model: the program's own */
    uint64_t limit;         /* of ours; 0: none */
    bool warned;            /* that memory runs short; under the lock */
    struct backend_memory_use running_short; /* what is to be said of it once unlocked; total 0: nothing */
    struct nvml *nvml;                       /* NULL: the CPU, or no such library */
    const char *no_sensors;                  /* why; NULL: there are, or none are wanted */
};

void ll_engine_options_init(ll_engine_options *options)
{
    *options = (ll_engine_options){.size = sizeof *options};
}

ll_status ll_engine_open(const ll_engine_options *given, ll_engine **ret, ll_error *error)
{
    ll_engine_options options;
    OPTIONS_READ(options, given, ll_engine_options_init, error);
    ll_engine *engine = mem_new(1, sizeof *engine);
    if (!engine)
        return error_nomem(error, "engine", sizeof *engine);
    struct backend_options backend = {.threads = options.threads, .log = &engine->log};
    ll_status status = devices_open(options.device, options.backend_path, &backend, &engine->devices, error);
    if (status != LL_OK) {
        mem_free(engine);
        return status;
    }
    atomic_init(&engine->references, 1);
    pthread_mutex_init(&engine->step, NULL);
    machine_open(&engine->machine, "");
    struct machine_process process;
    machine_process(&engine->machine, &process);
    engine->resident_file = process.resident_file;
    engine->limit = options.memory;
    engine->threads = options.threads;
    if (engine->devices.kind == LL_CUDA)
        engine->nvml = nvml_open("libnvidia-ml.so.1", engine->devices.index, &engine->no_sensors);
    *ret = engine;
    return LL_OK;
}

void ll_engine_close(ll_engine *engine)
{
    if (!engine || atomic_fetch_sub(&engine->references, 1) != 1)
        return;
    machine_close(&engine->machine);
    nvml_close(engine->nvml);
    struct backend *host = atomic_load(&engine->host);
    if (host)
        host->table->close(host);
    devices_close(&engine->devices);
    pthread_mutex_destroy(&engine->step);
    mem_free(engine);
}

void engine_retain(ll_engine *engine)
{
    atomic_fetch_add(&engine->references, 1);
}

static void count(struct counter *counter, int64_t bytes)
{
    int_fast64_t now = atomic_fetch_add(&counter->now, bytes) + bytes, peak = atomic_load(&counter->peak);
    while (now > peak && !atomic_compare_exchange_weak(&counter->peak, &peak, now))
        continue;
}

void engine_count_host_weights(ll_engine *engine, int64_t mapped, int64_t made)
{
    count(&engine->mapped, mapped);
    count(&engine->made, made);
}

void engine_count_idle_scratch(ll_engine *engine, bool host, int64_t bytes)
{
    atomic_fetch_add(host ? &engine->host_idle_scratch : &engine->idle_scratch, bytes);
}

void engine_count_logits(ll_engine *engine, int64_t bytes)
{
    count(&engine->logits, bytes);
}

atomic_uint_fast64_t *engine_cache_used(ll_engine *engine, bool host)
{
    return host ? &engine->host_cache_used : &engine->cache_used;
}

atomic_uint_fast64_t *engine_cache_resident(ll_engine *engine)
{
    return &engine->cache_resident;
}

void engine_show_activity(ll_engine *engine, const ll_activity *activity)
{
    static_assert(sizeof *activity <= 8 * PUBLISHED_WORDS, "an activity is published whole");
    size_t used = offsetof(ll_activity, now) + activity->running * sizeof *activity->now;
    published_write(&engine->activity, activity, used);
}

ll_status ll_engine_get_activity(const ll_engine *engine, ll_activity *ret)
{
    published_read(&engine->activity, ret, sizeof *ret);
    return LL_OK;
}

void ll_engine_set_log(ll_engine *engine, ll_log_fn log, void *user)
{
    engine->log = (struct log){log, user};
}

struct backend *engine_backend(const ll_engine *engine)
{
    return engine->devices.backend;
}

ll_status engine_host(ll_engine *engine, struct backend **ret, ll_error *error)
{
    struct backend *host = atomic_load(&engine->host);
    if (!host) {
        struct backend_options options = {.threads = engine->threads, .log = &engine->log};
        LL_TRY(devices_open_host(&engine->devices, &options, &host, error));
        atomic_store(&engine->host, host);
    }
    *ret = host;
    return LL_OK;
}

struct backend *engine_second(const ll_engine *engine)
{
    return atomic_load(&engine->host);
}

/* The device-th of the backends that are open. */
static const struct backend *backend_at(const ll_engine *engine, size_t device)
{
    return device == 0 ? engine->devices.backend : atomic_load(&engine->host);
}

static ll_device_kind kind_at(const ll_engine *engine, size_t device)
{
    return device == 0 ? engine->devices.kind : LL_CPU;
}

ll_device_kind engine_kind(const ll_engine *engine)
{
    return engine->devices.kind;
}

const struct log *engine_log(const ll_engine *engine)
{
    return &engine->log;
}

void engine_lock(ll_engine *engine)
{
    pthread_mutex_lock(&engine->step);
}

static void tell_memory(const ll_engine *engine, const struct backend_memory_use *use)
{
    log_printf(&engine->log, LOG_WARNING, "memory",
               "%.0f %% of the memory is taken and %.0f MiB are free; a smaller context, q8_0 keys and "
               "values or fewer windows at once need less",
               (double)(use->total - use->free) / (double)use->total * 100.0, (double)use->free / 1048576.0);
}

void engine_unlock(ll_engine *engine)
{
    struct backend_memory_use use = engine->running_short;
    engine->running_short.total = 0;
    pthread_mutex_unlock(&engine->step);
    if (use.total)
        tell_memory(engine, &use);
}

size_t ll_engine_device_count(const ll_engine *engine)
{
    return atomic_load(&engine->host) ? 2 : 1;
}

ll_status ll_engine_get_device(const ll_engine *engine, size_t device, ll_device_info *ret)
{
    if (device >= ll_engine_device_count(engine))
        return LL_NOT_FOUND;
    const struct backend *backend = backend_at(engine, device);
    *ret = (ll_device_info){.kind = kind_at(engine, device)};
    snprintf(ret->name, sizeof ret->name, "%s", backend->device);
    snprintf(ret->backend, sizeof ret->backend, "%s", backend->name);
    return LL_OK;
}

/* ---- room ---- */

static uint64_t minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

uint64_t engine_room(ll_engine *engine, const struct backend *backend)
{
    struct backend_memory_use use = {0};
    uint64_t mapped = backend->host_memory ? (uint64_t)atomic_load(&engine->mapped.now) : 0, room;
    uint64_t ours = mapped + (backend->host_memory ? (uint64_t)atomic_load(&engine->made.now) : 0);
    backend->table->memory_use(backend, &use);
    for (int kind = 0; kind < MEMORY_KINDS; kind++)
        ours += use.ours[kind];
    room = minus(use.free, mapped); /* the system counts pages of mapped files as free */
    if (backend == engine->devices.backend && engine->limit > 0 && minus(engine->limit, ours) < room)
        room = minus(engine->limit, ours);
    return room;
}

static void warn_when_short(ll_engine *engine, const struct backend_memory_use *use)
{
    if (engine->warned || use->total == 0 || minus(use->total, use->free) < use->total / 10 * 9)
        return;
    engine->warned = true;
    engine->running_short = *use;
}

ll_status engine_check_growth(ll_engine *engine, uint64_t bytes, ll_error *error)
{
    enum { SPARE = 32 << 20 };
    const struct backend *host = engine_second(engine), *backend = host ? host : engine->devices.backend;
    struct backend_memory_use use = {0};
    if (!backend->host_memory || bytes == 0) /* a device gives what it promises */
        return LL_OK;
    /* The pool was counted against the engine's own limit when it was made; here it is the system's turn. */
    backend->table->memory_use(backend, &use);
    uint64_t room = minus(use.free, (uint64_t)atomic_load(&engine->mapped.now));
    if (bytes + SPARE > room)
        return error_set(error, LL_NOMEM, "memory",
                         "the next tokens need %.1f MiB for keys and values and %.1f MiB are free: other "
                         "programs have taken the rest; close some, or use a smaller context",
                         (double)bytes / 1048576.0, (double)room / 1048576.0);
    warn_when_short(engine, &use);
    return LL_OK;
}

/* ---- the gauge ---- */

const char *ll_component_name(ll_component component)
{
    static const char *const names[LL_COMPONENTS] = {"weights", "cache", "scratch", "logits", "program"};
    return (unsigned)component < LL_COMPONENTS ? names[component] : "unknown";
}

static void read_components(const ll_engine *engine, size_t device, const struct backend_memory_use *use,
                            ll_memory *ret)
{
    bool host = backend_at(engine, device)->host_memory, first = device == 0;
    static const enum backend_memory_kind kinds[LL_COMPONENTS] = {[LL_WEIGHTS] = MEMORY_WEIGHTS,
                                                                  [LL_CACHE] = MEMORY_CACHE,
                                                                  [LL_SCRATCH] = MEMORY_SCRATCH,
                                                                  [LL_LOGITS] = MEMORY_LOGITS};
    for (int i = LL_WEIGHTS; i < LL_PROGRAM; i++) {
        ret->reserved[i] = use->ours[kinds[i]];
        ret->peak[i] = use->peak[kinds[i]];
    }
    const struct counter *mapped = &engine->mapped, *made = &engine->made;
    if (host && (first || !engine->devices.backend->host_memory)) {
        ret->reserved[LL_WEIGHTS] += (uint64_t)(atomic_load(&mapped->now) + atomic_load(&made->now));
        ret->peak[LL_WEIGHTS] += (uint64_t)(atomic_load(&mapped->peak) + atomic_load(&made->peak));
    }
    if (first) {
        ret->reserved[LL_LOGITS] += (uint64_t)atomic_load(&engine->logits.now);
        ret->peak[LL_LOGITS] += (uint64_t)atomic_load(&engine->logits.peak);
    }
    for (int i = LL_WEIGHTS; i < LL_PROGRAM; i++) {
        ret->used[i] = ret->reserved[i];
        ret->peak[i] = ret->peak[i] > ret->reserved[i] ? ret->peak[i] : ret->reserved[i];
    }
    ret->used[LL_CACHE] = atomic_load(first ? &engine->cache_used : &engine->host_cache_used);
    ret->used[LL_SCRATCH] = minus(
        ret->used[LL_SCRATCH],
        (uint64_t)atomic_load(first ? &engine->idle_scratch : &engine->host_idle_scratch));
}

/* On the CPU: what is resident and none of the components above. Mapped weights are resident as far as
 * they have been read. */
static void read_process(const ll_engine *engine, size_t device, ll_memory *ret)
{
    struct machine_process process;
    machine_process(&engine->machine, &process);
    uint64_t mapped = (uint64_t)atomic_load(&engine->mapped.now), counted;
    uint64_t resident_file = minus(process.resident_file, engine->resident_file);
    mapped = mapped < resident_file ? mapped : resident_file;
    ret->resident = process.resident;
    ret->resident_peak = machine_resident_peak();
    if (ret->resident_peak < ret->resident)
        ret->resident_peak = ret->resident;
    if (device != (engine->devices.kind == LL_CPU ? 0 : 1)) /* where the processor is */
        return;
    ret->used[LL_WEIGHTS] -= (uint64_t)atomic_load(&engine->mapped.now) - mapped;
    counted = ret->used[LL_WEIGHTS] + ret->used[LL_SCRATCH] + ret->used[LL_LOGITS] +
              atomic_load(device ? &engine->host_cache_used : &engine->cache_resident); /* and free ones */
    ret->used[LL_PROGRAM] = minus(process.resident, counted);
    ret->reserved[LL_PROGRAM] = ret->peak[LL_PROGRAM] = ret->used[LL_PROGRAM];
}

/* On a GPU: what is neither free nor ours may be another program's, so nothing is said of it. */
ll_status ll_engine_get_memory(const ll_engine *engine, size_t device, ll_memory *ret)
{
    if (device >= ll_engine_device_count(engine))
        return LL_NOT_FOUND;
    struct backend_memory_use use = {0};
    struct nvml_reading sensors;
    const struct backend *backend = backend_at(engine, device);
    backend->table->memory_use(backend, &use);
    *ret = (ll_memory){.total = use.total, .free = use.free};
    read_components(engine, device, &use, ret);
    read_process(engine, device, ret);
    ret->limit = use.limit;
    nvml_read(device == 0 ? engine->nvml : NULL, &sensors);
    ret->busy = sensors.busy;
    ret->celsius = sensors.celsius;
    ret->watts = sensors.watts;
    ret->joules = sensors.joules;
    ret->weights = ret->reserved[LL_WEIGHTS];
    ret->cache = ret->reserved[LL_CACHE];
    ret->scratch = ret->reserved[LL_SCRATCH] + ret->reserved[LL_LOGITS];
    return LL_OK;
}

void ll_heap_get(ll_heap *ret)
{
    struct machine_heap heap;
    machine_heap(&heap);
    *ret = (ll_heap){heap.used, heap.reserved};
}

size_t ll_engine_note_count(const ll_engine *engine)
{
    return engine->devices.note_count + (engine->no_sensors != NULL);
}

const char *ll_engine_note(const ll_engine *engine, size_t note)
{
    if (note == engine->devices.note_count)
        return engine->no_sensors;
    return note < engine->devices.note_count ? engine->devices.notes[note] : NULL;
}
