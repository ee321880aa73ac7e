/* A request channel as its thread sees it: receive, reply, publish, and busy and idle around each request.
 * SPDX-License-Identifier: Apache-2.0 */
#include "jupyter_kernel/channel.h"

bool channel_open(struct channel *channel, void *socket, struct wire_shared *shared, struct iopub *iopub)
{
    *channel = (struct channel){.socket = socket};
    if (!wire_init(&channel->wire, shared))
        return false;
    if (publisher_open(&channel->publisher, iopub, &channel->wire))
        return true;
    wire_fini(&channel->wire);
    return false;
}

void channel_close(struct channel *channel)
{
    publisher_close(&channel->publisher);
    wire_fini(&channel->wire);
}

bool channel_receive(struct channel *channel, struct message *ret)
{
    struct frames frames;
    while (socket_receive(channel->socket, &frames, ZMQ_DONTWAIT)) {
        const char *refused = wire_read(&channel->wire, frames.views, frames.count, ret);
        frames_fini(&frames);
        if (!refused)
            return true;
    }
    return false;
}

void channel_serve(struct channel *channel, const struct message *request, channel_handler handler,
                   void *user)
{
    publisher_state(&channel->publisher, &request->header, "busy");
    handler(user, channel, request);
    publisher_state(&channel->publisher, &request->header, "idle");
}

void channel_reply(struct channel *channel, const struct message *request, const char *type, json_t *content)
{
    channel_reply_with(channel, request, type, NULL, content);
}

void channel_reply_with(struct channel *channel, const struct message *request, const char *type,
                        json_t *metadata, json_t *content)
{
    struct outgoing outgoing;
    if (wire_write(&channel->wire, type, &request->header, metadata, content, &outgoing)) {
        socket_send_outgoing(channel->socket, request->identities, request->identity_count, &outgoing);
        outgoing_fini(&outgoing);
    }
    json_decref(metadata);
    json_decref(content);
}

void channel_publish(struct channel *channel, const struct message *request, const char *type,
                     json_t *content)
{
    publisher_send(&channel->publisher, type, &request->header, NULL, content);
}
