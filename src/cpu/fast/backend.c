/* Opens the fast backend and lists its operations.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "cpu/cpu.h"
#include "cpu/experts.h"
#include "cpu/fast/fast.h"
#include "cpu/fast/isa.h"

/* Work shorter than this stays on the calling thread: sharing it out costs about as much as it saves.
 * bench_cpu_ops prints what an empty job costs. */
enum { INLINE_NANOSECONDS = 3000 };

bool buffer_need(struct fast *fast, struct buffer *buffer, uint64_t bytes)
{
    if (bytes <= buffer->bytes)
        return true;
    size_t wanted = (size_t)(bytes + bytes / 4);
    void *memory = mem_aligned(wanted, 64);
    if (!memory) {
        host_fail(&fast->host, LL_NOMEM, "cpu", "no memory for %zu bytes of working space", wanted);
        return false;
    }
    host_count(&fast->host, MEMORY_SCRATCH, (int64_t)(wanted - buffer->bytes));
    mem_free(buffer->memory);
    *buffer = (struct buffer){memory, wanted};
    return true;
}

bool scratch_need(struct fast *fast, uint64_t bytes)
{
    for (int i = 0; i < fast->threads; i++)
        if (!buffer_need(fast, &fast->scratch[i], bytes))
            return false;
    return true;
}

void fast_run(struct fast *fast, size_t tasks, double work, worker_fn fn, void *context)
{
    if (work >= INLINE_NANOSECONDS) {
        workers_run(fast->workers, tasks, fn, context);
        return;
    }
    for (size_t task = 0; task < tasks; task++)
        fn(context, task, 0);
}

static int fast_probe(const char **reason)
{
    (void)reason;
    return 1;
}

static void fast_close(struct backend *backend)
{
    if (!backend)
        return;
    struct fast *fast = fast_of(backend);
    workers_close(fast->workers);
    for (int i = 0; fast->scratch && i < fast->threads; i++)
        mem_free(fast->scratch[i].memory);
    mem_free(fast->scratch);
    mem_free(fast->rows.memory);
    mem_free(fast->units.memory);
    mem_free(fast->partials.memory);
    for (int i = 0; i < ROTARY_TABLES; i++)
        mem_free(fast->rotary[i].values.memory);
    host_fini(&fast->host);
    mem_free(fast);
}

static void describe(struct fast *fast)
{
    struct backend *base = &fast->host.base;
    *base = (struct backend){.table = &cpu_backend,
                             .activation = DT_F32,
                             .residual = DT_F32,
                             .block_tokens = 64,
                             .host_memory = true};
    snprintf(base->name, sizeof base->name, "cpu %s", fast->kernels->name);
    isa_device_name(base->device, sizeof base->device);
}

static ll_status fast_open(const struct backend_options *options, struct backend **ret, ll_error *error)
{
    const char *limit = getenv("LONGLEAF_ISA");
    const struct kernels *kernels = isa_pick(limit && *limit ? limit : NULL);
    if (!kernels)
        return error_set(error, LL_ARGUMENT, "LONGLEAF_ISA",
                         "\"%.40s\" is no instruction set of this processor's kind: " ISA_WORDS, limit);
    struct fast *fast = mem_new(1, sizeof *fast);
    if (!fast)
        return error_nomem(error, "cpu backend", sizeof *fast);
    host_init(&fast->host);
    fast->kernels = kernels;
    describe(fast);
    ll_status status;
    LL_TRY_GOTO(workers_open(options ? options->threads : 0, &fast->workers, error), failed);
    fast->threads = workers_count(fast->workers);
    fast->scratch = mem_new((size_t)fast->threads, sizeof *fast->scratch);
    if (!fast->scratch) {
        status = error_nomem(error, "cpu backend", sizeof *fast->scratch);
        goto failed;
    }
    *ret = &fast->host.base;
    return LL_OK;
failed:
    fast_close(&fast->host.base);
    return status;
}

static void fast_begin(struct backend *backend, const struct backend_step *step, const ll_cancel *cancel)
{
    struct fast *fast = fast_of(backend);
    fast->rotary_count = 0;
    atomic_store_explicit(&fast->farthest, 0, memory_order_relaxed);
    atomic_store_explicit(&fast->looked, 0, memory_order_relaxed);
    atomic_store_explicit(&fast->queries, 0, memory_order_relaxed);
    host_begin(backend, step, cancel);
}

static ll_status fast_end(struct backend *backend, ll_error *error)
{
    struct fast *fast = fast_of(backend);
    backend->reach = (struct backend_reach){atomic_load_explicit(&fast->farthest, memory_order_relaxed),
                                            atomic_load_explicit(&fast->looked, memory_order_relaxed),
                                            atomic_load_explicit(&fast->queries, memory_order_relaxed)};
    return host_end(backend, error);
}

const struct backend_table cpu_backend = {
    .version = BACKEND_VERSION,
    .size = sizeof(struct backend_table),
    .name = "cpu",
    .probe = fast_probe,
    .open = fast_open,
    .close = fast_close,
    .memory_new = host_memory_new,
    .memory_free = host_memory_free,
    .memory_use = host_memory_use,
    .upload = NULL,
    .prepare_weight = host_prepare_weight,
    .supports_weight = host_supports_weight,
    .begin = fast_begin,
    .end = fast_end,
    .read = host_read,
    .embed = fast_embed,
    .norm = fast_norm,
    .products = fast_products,
    .rotary = fast_rotary,
    .cache_write = fast_cache_write,
    .attention = fast_attention,
    .activate = fast_activate,
    .experts = host_experts,
    .add = fast_add,
    .clamp = fast_clamp,
    .softcap = fast_softcap,
    .gather_outputs = host_gather_outputs,
    .greatest = host_greatest,
    .cache_copy = host_cache_copy,
};
