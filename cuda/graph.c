/* Steps that run as CUDA graphs: one launch for hundreds of kernels, kept as long as nothing changes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/graph.h"

#include "cuda/device.h"
#include "cuda/run.h"

static void entry_fini(struct graph_entry *entry)
{
    if (entry->exec)
        cudaGraphExecDestroy(entry->exec);
    op_list_fini(&entry->ops);
    *entry = (struct graph_entry){0};
}

void graph_forget(struct graph_cache *cache)
{
    for (int i = 0; i < cache->count; i++)
        entry_fini(&cache->entries[i]);
    cache->count = 0;
}

static bool entry_fits(const struct graph_entry *entry, const struct device *d)
{
    if (entry->generation != d->tables.generation)
        return false;
    for (int i = 0; i < GRAPH_PLANS; i++)
        if (entry->parts[i] != (i < d->tables.plan_count ? d->tables.plans[i].parts : 0))
            return false;
    return op_list_same(&entry->ops, &d->ops);
}

static struct graph_entry *find(struct device *d)
{
    for (int i = 0; i < d->cache.count; i++)
        if (entry_fits(&d->cache.entries[i], d))
            return &d->cache.entries[i];
    return NULL;
}

/* A free place, or that of the one not used for longest. */
static struct graph_entry *place_for_one(struct graph_cache *cache)
{
    if (cache->count < GRAPH_ENTRIES)
        return &cache->entries[cache->count++];
    struct graph_entry *oldest = &cache->entries[0];
    for (int i = 1; i < cache->count; i++)
        if (cache->entries[i].used < oldest->used)
            oldest = &cache->entries[i];
    entry_fini(oldest);
    return oldest;
}

static void remember(struct device *d)
{
    struct graph_entry *entry = place_for_one(&d->cache);
    entry->generation = d->tables.generation;
    entry->used = ++d->cache.clock;
    for (int i = 0; i < d->tables.plan_count; i++)
        entry->parts[i] = d->tables.plans[i].parts;
    if (!op_list_copy(&entry->ops, &d->ops))
        entry->generation = UINT64_MAX; /* never fits */
}

/* False: no graph could be made, and nothing was run. */
static bool capture(struct device *d, cudaGraphExec_t *ret)
{
    cudaGraph_t graph = NULL;
    if (cudaStreamBeginCapture(d->stream, cudaStreamCaptureModeRelaxed) != cudaSuccess)
        return false;
    run_operations(d);
    cudaError_t status = cudaStreamEndCapture(d->stream, &graph);
    if (status == cudaSuccess && d->error.status == LL_OK)
        status = cudaGraphInstantiate(ret, graph, 0);
    if (graph)
        cudaGraphDestroy(graph);
    if (status == cudaSuccess)
        return d->error.status == LL_OK;
    cudaGetLastError(); /* the step runs straight instead */
    return false;
}

void graph_run(struct device *d)
{
    struct graph_entry *entry = find(d);
    if (!entry) {
        remember(d);
        run_operations(d);
        return;
    }
    entry->used = ++d->cache.clock;
    if (!entry->exec && !capture(d, &entry->exec)) {
        if (d->error.status == LL_OK)
            run_operations(d);
        return;
    }
    device_check(d, cudaGraphLaunch(entry->exec, d->stream), "step");
}
