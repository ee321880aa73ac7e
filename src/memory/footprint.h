/* What a run will take from memory, by component, before anything is allocated.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The weights, the KV cache, the activations and the logits are what the engine asks its backend for, byte
 * by byte. The working space of threads and the program itself are upper estimates; tests/memory compares
 * all of them with what is counted and with what the process holds. */
#ifndef MEMORY_FOOTPRINT_H
#define MEMORY_FOOTPRINT_H

#include "memory/inventory.h"

struct footprint_device {
    ll_device_kind kind;
    int threads;      /* of the CPU */
    int block_tokens; /* of the KV cache */
    enum dtype activation, residual;
    int64_t rows; /* of the largest step */
};

struct footprint_request {
    struct footprint_device device;
    ll_precision precision; /* of the matrices */
    enum dtype cache;       /* of keys and values */
    uint64_t context;       /* tokens of each sequence */
    uint64_t sequences;     /* side by side; 1 is a session */
    uint64_t shared;        /* tokens at the beginning that several sequences have in common */
    uint64_t logit_rows;    /* of one step: 1 or less, or the many that scoring and drafts ask for */
    int host_layers;        /* the first ones, which lie with the processor beside a GPU; fewer than all */
    bool host_embedding;    /* so does the embedding */
};

/* The CPU with so many threads (0: one for each core this process may use), or a GPU. */
struct footprint_device footprint_device(ll_device_kind kind, int threads);
/* Fills ret->bytes, ret->host, the parts of the cache (on both), the naive figures and the totals; UINT64_MAX
 * for what is beyond 64 bits. vocabulary: rows of the embedding. */
void footprint_compute(const struct model_hparams *hparams, const struct inventory *inventory,
                       uint64_t vocabulary, const struct footprint_request *request, ll_need *ret);
/* The largest context of this request that `memory` holds; 0: not even one block. */
uint64_t footprint_fit(const struct model_hparams *hparams, const struct inventory *inventory,
                       uint64_t vocabulary, const struct footprint_request *request, uint64_t memory);
/* Layers, the last ones, that `memory` holds on the device of this request; one more than there are: and the
 * embedding. Whatever host_layers and host_embedding are. */
int footprint_layers(const struct model_hparams *hparams, const struct inventory *inventory,
                     uint64_t vocabulary, const struct footprint_request *request, uint64_t memory);
/* Bytes of a part of the weights on a device. */
uint64_t footprint_weights(const struct weight_part *part, ll_precision precision, ll_device_kind kind);

#endif
