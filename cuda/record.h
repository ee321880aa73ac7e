/* The table's operations: each checks its tensors and is written down for the end of the step.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CUDA_RECORD_H
#define CUDA_RECORD_H

#include "backend/backend.h"

void record_embed(struct backend *, const struct tensor *table, float scale, struct tensor *out);
void record_norm(struct backend *, enum backend_norm kind, const struct tensor *in,
                 const struct tensor *weight, const struct tensor *bias, float eps, int groups,
                 struct tensor *out);
void record_products(struct backend *, const struct tensor *in, const struct backend_product *products,
                     int count);
void record_rotary(struct backend *, const struct backend_rotary *rotary, struct tensor *x);
void record_cache_write(struct backend *, const struct backend_cache *cache, const struct tensor *k,
                        const struct tensor *v);
void record_attention(struct backend *, const struct backend_attention *attention,
                      const struct backend_cache *cache, const struct tensor *q, struct tensor *out);
void record_activate(struct backend *, enum backend_activation kind, const struct tensor *gate,
                     const struct tensor *up, struct tensor *out);
void record_add(struct backend *, const struct tensor *a, const struct tensor *b, struct tensor *out);
void record_clamp(struct backend *, struct tensor *x, float limit);
void record_softcap(struct backend *, struct tensor *x, float limit);
void record_greatest(struct backend *, const struct tensor *in, int32_t *ret);
void record_gather(struct backend *, const struct tensor *in, struct tensor *out);

#endif
