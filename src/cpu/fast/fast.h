/* The fast CPU backend: its state, and its operations, one group a file.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Operations run at once. Each is cut into tasks for the pool; small ones stay on the calling thread,
 * because waking the others costs more than the work. */
#ifndef CPU_FAST_FAST_H
#define CPU_FAST_FAST_H

#include <stdatomic.h>

#include "base/workers.h"
#include "cpu/host.h"
#include "cpu/kernels/kernels.h"

struct buffer { /* grows, keeps nothing */
    void *memory;
    size_t bytes;
};

/* Cosines and sines of this step's positions, made once for all layers that share frequencies. */
struct rotary_table {
    const void *frequencies;
    float scale;
    int half;
    struct buffer values; /* [rows][2][half] */
};

enum { ROTARY_TABLES = 4 };

struct fast {
    struct host host; /* first */
    const struct kernels *kernels;
    struct workers *workers;
    int threads;
    struct buffer *scratch; /* one per thread */
    struct buffer rows;     /* activations as bytes */
    struct buffer units, partials; /* of attention */
    struct rotary_table rotary[ROTARY_TABLES];
    int rotary_count;
    atomic_int_fast64_t farthest, looked, queries; /* of the step, for backend_reach */
};

static inline struct fast *fast_of(struct backend *backend)
{
    return (struct fast *)backend;
}

/* At least `bytes`, 64-byte aligned; fails the step when there is no memory. */
bool buffer_need(struct fast *fast, struct buffer *buffer, uint64_t bytes);
/* The same for every thread's scratch. */
bool scratch_need(struct fast *fast, uint64_t bytes);
/* Runs tasks on the pool, or here when the whole work is below what a wake-up costs. work: about how
 * many nanoseconds one thread would take. */
void fast_run(struct fast *fast, size_t tasks, double work, worker_fn fn, void *context);

void fast_embed(struct backend *, const struct tensor *table, float scale, struct tensor *out);
void fast_norm(struct backend *, enum backend_norm kind, const struct tensor *in, const struct tensor *weight,
               const struct tensor *bias, float eps, int groups, struct tensor *out);
void fast_products(struct backend *, const struct tensor *in, const struct backend_product *products,
                   int count);
void fast_rotary(struct backend *, const struct backend_rotary *rotary, struct tensor *x);
void fast_cache_write(struct backend *, const struct backend_cache *cache, const struct tensor *k,
                      const struct tensor *v);
void fast_attention(struct backend *, const struct backend_attention *attention,
                    const struct backend_cache *cache, const struct tensor *q, struct tensor *out);
void fast_activate(struct backend *, enum backend_activation kind, const struct tensor *gate,
                   const struct tensor *up, struct tensor *out);
void fast_add(struct backend *, const struct tensor *a, const struct tensor *b, struct tensor *out);
void fast_clamp(struct backend *, struct tensor *x, float limit);
void fast_softcap(struct backend *, struct tensor *x, float limit);

#endif
