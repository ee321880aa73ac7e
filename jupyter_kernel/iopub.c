/* The broadcast channel: one thread owns the socket, others hand it messages and text.
 * SPDX-License-Identifier: Apache-2.0 */
#include "jupyter_kernel/iopub.h"

#include <string.h>

#include "console/human.h"

enum { GATHER_MS = 40, ROUND = 64, MOST_TEXT = 1 << 16, LARGE_TEXT = 1 << 20 };
static const char inbox_name[] = "inproc://iopub";

struct stream { /* text that waits to be sent */
    struct text name, parent, bytes;
    double sent; /* when the last text went out */
};

/* ---- the thread ---- */

static void send_outgoing(struct iopub *iopub, const char *type, const struct outgoing *outgoing)
{
    struct frame topic = {type, strlen(type)};
    socket_send_outgoing(iopub->socket, &topic, 1, outgoing);
}

static void send_content(struct iopub *iopub, const char *type, const char *topic, const struct text *parent,
                         json_t *content)
{
    struct outgoing outgoing;
    if (wire_write(&iopub->wire, type, parent, NULL, content, &outgoing)) {
        send_outgoing(iopub, topic, &outgoing);
        outgoing_fini(&outgoing);
    }
    json_decref(content);
}

static void stream_flush(struct iopub *iopub, struct stream *stream)
{
    if (!stream->bytes.length)
        return;
    json_t *content = json_object();
    json_put_text(content, "name", &stream->name);
    json_put_text(content, "text", &stream->bytes);
    send_content(iopub, "stream", "stream", &stream->parent, content);
    if (stream->bytes.capacity > LARGE_TEXT)
        text_fini(&stream->bytes);
    else
        text_clear(&stream->bytes);
    stream->sent = human_clock();
}

static bool same(const struct text *text, const struct frame *frame)
{
    return text->length == frame->length && memcmp(text_string(text), frame->bytes, frame->length) == 0;
}

/* Frames: "S", name, parent header, text. */
static void stream_add(struct iopub *iopub, struct stream *stream, const struct frame *views)
{
    if (!same(&stream->name, &views[1]) || !same(&stream->parent, &views[2]))
        stream_flush(iopub, stream);
    if (!stream->bytes.length) {
        text_clear(&stream->name);
        text_clear(&stream->parent);
        text_append(&stream->name, views[1].bytes, views[1].length);
        text_append(&stream->parent, views[2].bytes, views[2].length);
    }
    text_append(&stream->bytes, views[3].bytes, views[3].length);
    if (stream->bytes.length >= MOST_TEXT || human_clock() - stream->sent >= GATHER_MS * 1e-3)
        stream_flush(iopub, stream);
}

/* Frames: "M", topic, delimiter, signature, four parts. */
static void forward(struct iopub *iopub, const struct frames *frames)
{
    for (size_t i = 1; i < frames->count; i++)
        socket_send(iopub->socket, frames->views[i].bytes, frames->views[i].length,
                    i + 1 < frames->count ? ZMQ_SNDMORE : 0);
}

/* Takes so many messages at most. False: the end was asked for. */
static bool take_inbox(struct iopub *iopub, struct stream *stream, size_t most)
{
    struct frames frames;
    bool going = true;
    while (most-- && socket_receive(iopub->inbox, &frames, ZMQ_DONTWAIT)) {
        char kind = frames.views[0].bytes[0];
        if (kind == 'S') {
            stream_add(iopub, stream, frames.views);
        } else {
            stream_flush(iopub, stream);
            if (kind == 'M')
                forward(iopub, &frames);
        }
        frames_fini(&frames);
        going = going && kind != 'Q';
    }
    return going;
}

/* A subscription is the byte 1 and its topic; an end of one begins with 0. */
static void take_subscriptions(struct iopub *iopub)
{
    struct frames frames;
    while (socket_receive(iopub->socket, &frames, ZMQ_DONTWAIT)) {
        const struct frame *first = &frames.views[0];
        if (frames.count == 1 && first->length >= 1 && first->bytes[0] == 1 && first->length < 256) {
            char topic[256] = "";
            memcpy(topic, first->bytes + 1, first->length - 1);
            json_t *content = json_object();
            json_put_bytes(content, "subscription", topic, first->length - 1);
            send_content(iopub, "iopub_welcome", topic, NULL, content);
        }
        frames_fini(&frames);
    }
}

static long patience(const struct stream *stream)
{
    if (!stream->bytes.length)
        return -1;
    double left = GATHER_MS - (human_clock() - stream->sent) * 1e3;
    return left > 1 ? (long)left : 1;
}

static void *publish(void *user)
{
    struct iopub *iopub = user;
    struct stream stream = {0};
    bool going = true;
    while (going) {
        zmq_pollitem_t items[] = {{.socket = iopub->socket, .events = ZMQ_POLLIN},
                                  {.socket = iopub->inbox, .events = ZMQ_POLLIN}};
        if (sockets_poll(items, 2, patience(&stream)) < 0)
            break;
        take_subscriptions(iopub);
        going = take_inbox(iopub, &stream, ROUND);
        if (stream.bytes.length && human_clock() - stream.sent >= GATHER_MS * 1e-3)
            stream_flush(iopub, &stream);
    }
    take_inbox(iopub, &stream, SIZE_MAX); /* the others' last words may stand behind the end */
    stream_flush(iopub, &stream);
    text_fini(&stream.name);
    text_fini(&stream.parent);
    text_fini(&stream.bytes);
    return NULL;
}

static bool unlimited(void *socket)
{
    int none = 0;
    return zmq_setsockopt(socket, ZMQ_SNDHWM, &none, sizeof none) == 0 &&
           zmq_setsockopt(socket, ZMQ_RCVHWM, &none, sizeof none) == 0;
}

bool iopub_start(struct iopub *iopub, struct sockets *sockets, struct wire_shared *shared)
{
    *iopub = (struct iopub){.context = sockets->context, .socket = sockets->bound[PORT_IOPUB]};
    iopub->inbox = zmq_socket(sockets->context, ZMQ_PULL);
    bool ok = iopub->inbox && unlimited(iopub->inbox) && zmq_bind(iopub->inbox, inbox_name) == 0;
    ok = ok && wire_init(&iopub->wire, shared);
    if (ok && pthread_create(&iopub->thread, NULL, publish, iopub) == 0)
        return true;
    if (iopub->inbox)
        zmq_close(iopub->inbox);
    wire_fini(&iopub->wire);
    return false;
}

void iopub_stop(struct iopub *iopub)
{
    struct publisher last;
    if (publisher_open(&last, iopub, NULL))
        socket_send(last.outbox, "Q", 1, 0);
    pthread_join(iopub->thread, NULL);
    publisher_close(&last);
    zmq_close(iopub->inbox);
    wire_fini(&iopub->wire);
}

/* ---- the others ---- */

bool publisher_open(struct publisher *publisher, struct iopub *iopub, struct wire *wire)
{
    *publisher = (struct publisher){.outbox = zmq_socket(iopub->context, ZMQ_PUSH), .wire = wire};
    if (pthread_mutex_init(&publisher->own, NULL) != 0) {
        if (publisher->outbox)
            zmq_close(publisher->outbox);
        publisher->outbox = NULL;
        return false;
    }
    publisher->lock = &publisher->own;
    if (publisher->outbox && unlimited(publisher->outbox) && zmq_connect(publisher->outbox, inbox_name) == 0)
        return true;
    publisher_close(publisher);
    return false;
}

struct publisher publisher_share(struct publisher *publisher, struct wire *wire)
{
    return (struct publisher){
        .outbox = publisher->outbox, .wire = wire, .lock = publisher->lock, .borrowed = true};
}

void publisher_close(struct publisher *publisher)
{
    if (publisher->outbox && !publisher->borrowed) {
        zmq_close(publisher->outbox);
        pthread_mutex_destroy(&publisher->own);
    }
    publisher->outbox = NULL;
}

void publisher_send(struct publisher *publisher, const char *type, const struct text *parent,
                    const json_t *metadata, json_t *content)
{
    struct outgoing outgoing;
    if (wire_write(publisher->wire, type, parent, metadata, content, &outgoing)) {
        struct frame frames[2] = {{"M", 1}, {type, strlen(type)}};
        pthread_mutex_lock(publisher->lock);
        socket_send_outgoing(publisher->outbox, frames, 2, &outgoing);
        pthread_mutex_unlock(publisher->lock);
        outgoing_fini(&outgoing);
    }
    json_decref(content);
}

void publisher_stream(struct publisher *publisher, const char *name, const struct text *parent,
                      const char *bytes, size_t length)
{
    if (!length)
        return;
    pthread_mutex_lock(publisher->lock);
    socket_send(publisher->outbox, "S", 1, ZMQ_SNDMORE);
    socket_send(publisher->outbox, name, strlen(name), ZMQ_SNDMORE);
    socket_send(publisher->outbox, text_string(parent), parent->length, ZMQ_SNDMORE);
    socket_send(publisher->outbox, bytes, length, 0);
    pthread_mutex_unlock(publisher->lock);
}

void publisher_state(struct publisher *publisher, const struct text *parent, const char *state)
{
    publisher_send(publisher, "status", parent, NULL, json_pack("{s:s}", "execution_state", state));
}
