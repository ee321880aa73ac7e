/* A question to the person at the notebook, over the stdin channel.
 * SPDX-License-Identifier: Apache-2.0 */
#include "jupyter_kernel/question.h"

#include <errno.h>
#include <string.h>

enum { AGAIN_MS = 50, MOST_TRIES = 1200 }; /* a minute */

/* Takes what is there; true: it is an answer. Answers to earlier questions are told by their parent. */
static bool take_reply(struct question *question, const char *id, struct text *ret)
{
    struct frames frames;
    bool found = false;
    while (!found && socket_receive(question->socket, &frames, ZMQ_DONTWAIT)) {
        struct message message;
        const char *refused = wire_read(question->wire, frames.views, frames.count, &message);
        frames_fini(&frames);
        if (refused)
            continue;
        const char *parent = json_get_string(message.parent, "msg_id", NULL);
        size_t length = 0;
        const char *value = json_get_string(message.content, "value", &length);
        found = strcmp(message.type, "input_reply") == 0 && value && (!parent || strcmp(parent, id) == 0);
        if (found)
            text_append(ret, value, length);
        message_fini(&message);
    }
    return found;
}

static void drain(struct question *question)
{
    struct frames frames;
    while (socket_receive(question->socket, &frames, ZMQ_DONTWAIT))
        frames_fini(&frames);
}

/* A client's channels connect one after the other, and the first may ask before the last is there. */
static enum reply deliver(struct question *question, const struct message *request,
                          const struct outgoing *outgoing)
{
    for (int i = 0; i < MOST_TRIES; i++) {
        if (socket_send_outgoing(question->socket, request->identities, request->identity_count, outgoing))
            return REPLY_GIVEN;
        zmq_pollitem_t stop = {.fd = question->interrupt->wake, .events = ZMQ_POLLIN};
        if (errno != EHOSTUNREACH)
            return REPLY_UNSENT;
        sockets_poll(&stop, 1, AGAIN_MS);
        if (stop.revents)
            return REPLY_STOPPED;
    }
    return REPLY_UNSENT;
}

/* REPLY_GIVEN: to the client, the question is. */
static enum reply send_request(struct question *question, const struct message *request, const char *prompt,
                               struct text *ret_id)
{
    struct outgoing outgoing;
    json_t *content = json_pack("{s:s, s:b}", "prompt", prompt, "password", 0);
    bool ok = wire_write(question->wire, "input_request", &request->header, NULL, content, &outgoing);
    json_decref(content);
    if (!ok)
        return REPLY_UNSENT;
    json_t *header = json_read_object(outgoing.parts[0].bytes, outgoing.parts[0].length);
    const char *id = json_get_string(header, "msg_id", NULL);
    text_puts(ret_id, id ? id : "");
    json_decref(header);
    enum reply sent = deliver(question, request, &outgoing);
    outgoing_fini(&outgoing);
    return sent;
}

enum reply question_ask(struct question *question, const struct message *request, const char *prompt,
                        struct text *ret)
{
    struct text id = {0};
    bool given = false;
    drain(question);
    enum reply sent = send_request(question, request, prompt, &id);
    bool stopped = sent != REPLY_GIVEN;
    while (!given && !stopped) {
        zmq_pollitem_t items[] = {{.socket = question->socket, .events = ZMQ_POLLIN},
                                  {.fd = question->interrupt->wake, .events = ZMQ_POLLIN}};
        sockets_poll(items, 2, -1);
        stopped = items[1].revents != 0;
        given = !stopped && take_reply(question, text_string(&id), ret);
    }
    text_fini(&id);
    return given ? REPLY_GIVEN : sent == REPLY_UNSENT ? REPLY_UNSENT : REPLY_STOPPED;
}
