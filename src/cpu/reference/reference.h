/* The plain backend's operations, one group a file.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Loops as the formulas are written, double accumulators, one thread. Slow on purpose: it is what
 * every other backend is compared with. Contracts are those of backend.h. */
#ifndef CPU_REFERENCE_REFERENCE_H
#define CPU_REFERENCE_REFERENCE_H

#include "cpu/host.h"

void reference_embed(struct backend *, const struct tensor *table, float scale, struct tensor *out);
void reference_norm(struct backend *, enum backend_norm kind, const struct tensor *in,
                    const struct tensor *weight, const struct tensor *bias, float eps, int groups,
                    struct tensor *out);
void reference_products(struct backend *, const struct tensor *in, const struct backend_product *products,
                        int count);
void reference_rotary(struct backend *, const struct backend_rotary *rotary, struct tensor *x);
void reference_cache_write(struct backend *, const struct backend_cache *cache, const struct tensor *k,
                           const struct tensor *v);
void reference_attention(struct backend *, const struct backend_attention *attention,
                         const struct backend_cache *cache, const struct tensor *q, struct tensor *out);
void reference_activate(struct backend *, enum backend_activation kind, const struct tensor *gate,
                        const struct tensor *up, struct tensor *out);
void reference_add(struct backend *, const struct tensor *a, const struct tensor *b, struct tensor *out);
void reference_clamp(struct backend *, struct tensor *x, float limit);
void reference_softcap(struct backend *, struct tensor *x, float limit);

#endif
