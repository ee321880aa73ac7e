/* A request channel as its thread sees it: receive, reply, publish, and busy and idle around each request.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef JUPYTER_KERNEL_CHANNEL_H
#define JUPYTER_KERNEL_CHANNEL_H

#include "jupyter_kernel/iopub.h"
#include "jupyter_kernel/sockets.h"

struct channel {
    void *socket;
    struct wire wire;
    struct publisher publisher;
};

/* Serves one request between busy and idle. */
typedef void (*channel_handler)(void *user, struct channel *channel, const struct message *request);

bool channel_open(struct channel *channel, void *socket, struct wire_shared *shared, struct iopub *iopub);
void channel_close(struct channel *channel); /* the socket stays */
/* Takes the next genuine message, dropping what is none; false: nothing is there. */
bool channel_receive(struct channel *channel, struct message *ret);
/* Status busy, the handler, status idle. */
void channel_serve(struct channel *channel, const struct message *request, channel_handler handler,
                   void *user);
/* content is taken, and so is metadata, where NULL is none */
void channel_reply(struct channel *channel, const struct message *request, const char *type, json_t *content);
void channel_reply_with(struct channel *channel, const struct message *request, const char *type,
                        json_t *metadata, json_t *content);
void channel_publish(struct channel *channel, const struct message *request, const char *type,
                     json_t *content);

#endif
