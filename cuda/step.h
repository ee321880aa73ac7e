/* The tables that a step's kernels read: its tokens, sequences and pages, and how attention is shared out.
 * SPDX-License-Identifier: Apache-2.0
 *
 * All lie in one buffer, filled in pinned memory and sent in one copy. Where a part lies depends on what
 * graph_key covers and on nothing else, so a graph that was made for one step serves the next. */
#ifndef CUDA_STEP_H
#define CUDA_STEP_H

#include "cuda/attention_plan.h"
#include "cuda/op.h"

struct device;

enum { STEP_PLANS = 32, STEP_TURNS = 4 };

struct step_plan { /* attention of one shape of heads */
    struct attention_shape shape;
    struct attention_counts counts;
    int parts;                          /* with those that fill the grid of a graph */
    const struct attention_tile *tiles; /* device */
    const struct attention_part *dealt; /* device */
};

struct step_turns { /* cosines and sines of the step's positions */
    float *values;
    uint64_t bytes;
    const void *frequencies; /* what they were made from in this step; NULL: not made yet */
    float scale;
};

struct step_buffer {
    void *memory;
    uint64_t bytes;
};

struct step_tables {
    char *host, *device;
    uint64_t capacity;
    uint64_t generation; /* changes when an address changes that a graph may know */

    /* ---- of the step at hand; device addresses ---- */
    const int32_t *tokens, *positions, *outputs, *pages;
    const struct attention_sequence *sequences;
    int sequence_count, max_rows;
    int64_t max_keys;
    int page_count; /* of all sequences */
    struct step_plan plans[STEP_PLANS];
    int plan_count;
    bool tiles; /* some plan has tiles: no graph */

    /* ---- scratch that grows ---- */
    struct step_buffer partial, tickets, queries, product, inputs, picks, unpacked;
    struct step_turns turns[STEP_TURNS];
};

/* The kernel's type for a cache, DT_F32 when only attention_any takes it. */
enum dtype step_attention_type(const struct op *op);

/* Where a packed cache's pages are unpacked for prefill, some heads at a time. */
struct step_unpacked {
    int kv_heads; /* at a time; divides the cache's */
    void *k, *v;
    float *norms;
    int32_t *pages;
    uint64_t bytes;
};
struct step_unpacked step_unpacked_of(const struct device *device, const struct op *op);
/* Fills and sends the tables, and reserves what the operations will need. False: the step has failed. */
bool step_prepare(struct device *device);
/* The plan of an attention operation. */
const struct step_plan *step_plan_of(const struct device *device, const struct op *op);
void step_fini(struct device *device);

#endif
