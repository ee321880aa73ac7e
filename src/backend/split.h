/* Which layers of a model live where: the first ones with the host's processor, the rest on the device.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The border is crossed once a step, by the residual stream. Keys and values of a layer live with it. */
#ifndef BACKEND_SPLIT_H
#define BACKEND_SPLIT_H

#include "backend/backend.h"

struct backend_split {
    struct backend *device; /* the layers from `first` on, and the output */
    struct backend *host;   /* the embedding and the layers before; NULL: all is on the device */
    int first;              /* of the device's layers; 0: the host only looks embeddings up */
};

static inline struct backend_split split_none(struct backend *backend)
{
    return (struct backend_split){.device = backend};
}

static inline struct backend *split_layer(const struct backend_split *split, int layer)
{
    return split->host && layer < split->first ? split->host : split->device;
}

static inline struct backend *split_front(const struct backend_split *split)
{
    return split->host ? split->host : split->device;
}

#endif
