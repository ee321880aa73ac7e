/* The heartbeat: a thread that gives back the very bytes it is sent.
 * SPDX-License-Identifier: Apache-2.0 */
#include "jupyter_kernel/heartbeat.h"

#include <errno.h>

/* Ends when the context is shut down. */
static void *beat(void *user)
{
    void *socket = user;
    zmq_msg_t message;
    for (;;) {
        zmq_msg_init(&message);
        if (zmq_msg_recv(&message, socket, 0) >= 0) {
            int flags = zmq_msg_more(&message) ? ZMQ_SNDMORE : 0;
            while (zmq_msg_send(&message, socket, flags) < 0 && errno == EINTR) {
            }
        } else if (errno != EINTR) {
            zmq_msg_close(&message);
            break;
        }
        zmq_msg_close(&message);
    }
    zmq_close(socket);
    return NULL;
}

bool heartbeat_start(pthread_t *thread, struct sockets *sockets)
{
    if (pthread_create(thread, NULL, beat, sockets->bound[PORT_HEARTBEAT]) != 0)
        return false;
    sockets->bound[PORT_HEARTBEAT] = NULL;
    return true;
}

void heartbeat_stop(pthread_t thread, struct sockets *sockets)
{
    zmq_ctx_shutdown(sockets->heartbeat_context);
    pthread_join(thread, NULL);
}
