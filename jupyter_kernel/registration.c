/* Registration: the ports that the kernel chose, told to whoever started it (JEP 66).
 * SPDX-License-Identifier: Apache-2.0 */
#include "jupyter_kernel/registration.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { PATIENCE_MS = 10000, LINGER_MS = 1000 };

/* Ports travel as strings. */
static bool describe(const struct connection *connection, struct text *out)
{
    json_t *content = json_object();
    json_put_text(content, "kernel_id", &connection->kernel_id);
    for (int i = 0; i < PORT_COUNT; i++) {
        char port[16];
        snprintf(port, sizeof port, "%d", connection->ports[i]);
        json_put_string(content, connection_port_name((enum port)i), port);
    }
    json_write(out, content);
    json_decref(content);
    return !out->failed;
}

static bool send_ports(void *socket, const struct wire *wire, const struct text *content)
{
    char signature[SIGNATURE_DIGITS + 1];
    struct frame frame = {text_string(content), content->length};
    return signer_sign(&wire->signer, &frame, 1, signature) &&
           socket_send(socket, WIRE_DELIMITER, sizeof WIRE_DELIMITER - 1, ZMQ_SNDMORE) &&
           socket_send(socket, signature, strlen(signature), ZMQ_SNDMORE) &&
           socket_send(socket, frame.bytes, frame.length, 0);
}

/* NULL: a genuine acknowledgement. */
static const char *read_answer(void *socket, const struct wire *wire)
{
    zmq_pollitem_t item = {.socket = socket, .events = ZMQ_POLLIN};
    struct frames frames;
    unsigned char digest[SIGNATURE_BYTES];
    if (sockets_poll(&item, 1, PATIENCE_MS) <= 0 || !socket_receive(socket, &frames, ZMQ_DONTWAIT))
        return "no answer came";
    bool genuine = frames.count >= 2 && signer_verify(&wire->signer, &frames.views[frames.count - 2],
                                                      &frames.views[frames.count - 1], 1, digest);
    frames_fini(&frames);
    return genuine ? NULL : "the answer's signature is wrong";
}

bool registration_tell(const struct sockets *sockets, const struct connection *connection,
                       const struct wire *wire, struct text *problem)
{
    struct text endpoint = {0}, content = {0};
    const char *ip = text_string(&connection->registration_ip);
    const char *reason = NULL;
    int linger = LINGER_MS;
    if (connection->ipc)
        text_printf(&endpoint, "ipc://%s-%d", ip, connection->registration_port);
    else
        text_printf(&endpoint, "tcp://%s:%d", ip, connection->registration_port);
    void *socket = zmq_socket(sockets->context, ZMQ_DEALER);
    if (!socket || zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger) != 0 ||
        zmq_connect(socket, text_string(&endpoint)) != 0)
        reason = zmq_strerror(errno);
    else if (!describe(connection, &content) || !send_ports(socket, wire, &content))
        reason = "the ports cannot be sent";
    else
        reason = read_answer(socket, wire);
    if (socket)
        zmq_close(socket);
    if (reason)
        text_printf(problem, "registration at %s failed: %s", text_string(&endpoint), reason);
    text_fini(&endpoint);
    text_fini(&content);
    return !reason;
}
