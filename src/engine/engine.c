/* The engine: the devices and log of one process.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/options.h"

struct ll_engine {
    atomic_int references;
    struct devices devices;
    struct log log;
    pthread_mutex_t step;
    atomic_int_fast64_t mapped; /* bytes of weights in mapped files */
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
    *ret = engine;
    return LL_OK;
}

void ll_engine_close(ll_engine *engine)
{
    if (!engine || atomic_fetch_sub(&engine->references, 1) != 1)
        return;
    devices_close(&engine->devices);
    pthread_mutex_destroy(&engine->step);
    mem_free(engine);
}

void engine_retain(ll_engine *engine)
{
    atomic_fetch_add(&engine->references, 1);
}

void engine_count_mapped(ll_engine *engine, int64_t bytes)
{
    atomic_fetch_add(&engine->mapped, bytes);
}

void ll_engine_set_log(ll_engine *engine, ll_log_fn log, void *user)
{
    engine->log = (struct log){log, user};
}

struct backend *engine_backend(const ll_engine *engine)
{
    return engine->devices.backend;
}

const struct log *engine_log(const ll_engine *engine)
{
    return &engine->log;
}

void engine_lock(ll_engine *engine)
{
    pthread_mutex_lock(&engine->step);
}

void engine_unlock(ll_engine *engine)
{
    pthread_mutex_unlock(&engine->step);
}

size_t ll_engine_device_count(const ll_engine *engine)
{
    (void)engine;
    return 1;
}

ll_status ll_engine_get_device(const ll_engine *engine, size_t device, ll_device_info *ret)
{
    if (device >= ll_engine_device_count(engine))
        return LL_ARGUMENT;
    const struct backend *backend = engine->devices.backend;
    *ret = (ll_device_info){.kind = engine->devices.kind};
    snprintf(ret->name, sizeof ret->name, "%s", backend->device);
    snprintf(ret->backend, sizeof ret->backend, "%s", backend->name);
    return LL_OK;
}

ll_status ll_engine_get_memory(const ll_engine *engine, size_t device, ll_memory *ret)
{
    if (device >= ll_engine_device_count(engine))
        return LL_ARGUMENT;
    struct backend_memory_use use;
    const struct backend *backend = engine->devices.backend;
    backend->table->memory_use(backend, &use);
    *ret = (ll_memory){.total = use.total,
                       .free = use.free,
                       .weights = use.ours[MEMORY_WEIGHTS] + (uint64_t)atomic_load(&engine->mapped),
                       .cache = use.ours[MEMORY_CACHE],
                       .scratch = use.ours[MEMORY_SCRATCH]};
    return LL_OK;
}

size_t ll_engine_note_count(const ll_engine *engine)
{
    return engine->devices.note_count;
}

const char *ll_engine_note(const ll_engine *engine, size_t note)
{
    return note < engine->devices.note_count ? engine->devices.notes[note] : NULL;
}
