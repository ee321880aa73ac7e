/* The broadcast channel: one thread owns the socket, others hand it messages and text.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Streamed text is put together for 40 ms and sent as one message; the first after a pause goes at once,
 * and whatever else is published goes after the text that came before it. Each subscription is welcomed. */
#ifndef JUPYTER_KERNEL_IOPUB_H
#define JUPYTER_KERNEL_IOPUB_H

#include <pthread.h>

#include "jupyter_kernel/sockets.h"
#include "jupyter_kernel/wire.h"

struct iopub {
    pthread_t thread;
    void *context;
    void *socket, *inbox; /* of the thread */
    struct wire wire;     /* of the thread */
};

struct publisher { /* one way to the channel: what goes in first comes out first */
    void *outbox;
    struct wire *wire;     /* of the publishing thread */
    pthread_mutex_t *lock; /* of the outbox */
    pthread_mutex_t own;
    bool borrowed;
};

/* The thread owns the bound socket until iopub_stop. */
bool iopub_start(struct iopub *iopub, struct sockets *sockets, struct wire_shared *shared);
/* Waits until all that was published is on its way. The publishers are closed before. */
void iopub_stop(struct iopub *iopub);

bool publisher_open(struct publisher *publisher, struct iopub *iopub, struct wire *wire);
void publisher_close(struct publisher *publisher);
/* Another thread's use of the same way, with a wire of its own; closed before the first is. */
struct publisher publisher_share(struct publisher *publisher, struct wire *wire);
/* Publishes a message; content is taken. parent NULL: none. */
void publisher_send(struct publisher *publisher, const char *type, const struct text *parent,
                    const json_t *metadata, json_t *content);
/* Adds to the stream of that name ("stdout", "stderr"). Bytes are valid UTF-8. */
void publisher_stream(struct publisher *publisher, const char *name, const struct text *parent,
                      const char *bytes, size_t length);
void publisher_state(struct publisher *publisher, const struct text *parent, const char *state);

#endif
