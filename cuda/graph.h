/* Steps that run as CUDA graphs: one launch for hundreds of kernels, kept as long as nothing changes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CUDA_GRAPH_H
#define CUDA_GRAPH_H

#include <cuda_runtime_api.h>

#include "cuda/op.h"

struct device;

enum { GRAPH_ENTRIES = 24, GRAPH_PLANS = 32 };

struct graph_entry {
    struct op_list ops;
    uint64_t generation; /* of the addresses it knows */
    int parts[GRAPH_PLANS];
    cudaGraphExec_t exec; /* NULL: seen once, and run straight */
    uint64_t used;        /* the cache's clock at its last use */
};

struct graph_cache {
    struct graph_entry entries[GRAPH_ENTRIES];
    int count;
    uint64_t clock;
};

/* Runs the recorded and prepared step, as a graph when one fits: the second step of a kind makes it. */
void graph_run(struct device *device);
void graph_forget(struct graph_cache *cache);

#endif
