/* The five bound sockets of a kernel, and whole messages in and out of any socket.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A socket belongs to one thread at a time; a lock may hand it on. Every call goes on after a signal. */
#ifndef JUPYTER_KERNEL_SOCKETS_H
#define JUPYTER_KERNEL_SOCKETS_H

#include <zmq.h>

#include "jupyter_kernel/connection.h"
#include "jupyter_kernel/wire.h"

struct sockets {
    void *context, *heartbeat_context; /* the heartbeat's own, so that nothing else can delay it */
    void *bound[PORT_COUNT];
    char *files[PORT_COUNT]; /* of ipc: made by bind, removed at the end; owned */
};

struct frames { /* one message as it came */
    zmq_msg_t *messages;
    struct frame *views; /* into messages */
    size_t count;
};

/* Binds all five; chosen ports are written into the connection. False: problem holds the sentence, and
 * nothing is open. */
bool sockets_open(struct sockets *sockets, struct connection *connection, struct text *problem);
/* Sends what is queued for at most a second. */
void sockets_close(struct sockets *sockets);
bool sockets_can_encrypt(void);

/* False: nothing is there (ZMQ_DONTWAIT), the socket is closed, no memory, or more frames than any client
 * sends; then nothing needs to be given back. */
bool socket_receive(void *socket, struct frames *ret, int flags);
void frames_fini(struct frames *frames);
bool socket_send(void *socket, const char *bytes, size_t length, int flags);
/* Identities (or a topic), delimiter, signature and the four parts. */
bool socket_send_outgoing(void *socket, const struct frame *identities, size_t count,
                          const struct outgoing *outgoing);
/* As zmq_poll, in milliseconds, -1 for ever. */
int sockets_poll(zmq_pollitem_t *items, int count, long milliseconds);

#endif
