/* The five bound sockets of a kernel, and whole messages in and out of any socket.
 * SPDX-License-Identifier: Apache-2.0 */
#include "jupyter_kernel/sockets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    LINGER_MS = 1000,
    QUEUED = 100000, /* messages kept for a client that does not read: at 25 a second more than an hour */
    MOST_FRAMES = 4096,
};
static const int64_t most_bytes = (int64_t)1 << 28; /* of one frame from outside */

bool sockets_can_encrypt(void)
{
    return zmq_has("curve") != 0;
}

static bool set_number(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
}

static bool set_curve(void *socket, const struct connection *connection)
{
    if (!connection->secret_key.length)
        return true;
    return set_number(socket, ZMQ_CURVE_SERVER, 1) &&
           zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, text_string(&connection->secret_key), 41) == 0;
}

static bool prepare(void *socket, enum port port, const struct connection *connection)
{
    bool ok = set_number(socket, ZMQ_LINGER, LINGER_MS) && set_number(socket, ZMQ_SNDHWM, QUEUED) &&
              set_number(socket, ZMQ_RCVHWM, QUEUED) && set_number(socket, ZMQ_IPV6, 1) &&
              zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &most_bytes, sizeof most_bytes) == 0;
    /* A client that comes back with its old identity takes the place of what is left of the old one. */
    if (port == PORT_SHELL || port == PORT_STDIN || port == PORT_CONTROL)
        ok = ok && set_number(socket, ZMQ_ROUTER_HANDOVER, 1);
    /* A question is not lost on a client that is about to connect: see question.c. */
    if (port == PORT_STDIN)
        ok = ok && set_number(socket, ZMQ_ROUTER_MANDATORY, 1);
    /* Every subscription is heard of, not only the first, so that each is welcomed. */
    if (port == PORT_IOPUB)
        ok = ok && set_number(socket, ZMQ_XPUB_VERBOSE, 1);
    return ok && set_curve(socket, connection);
}

/* The port that the system chose: what stands after the last colon of the bound endpoint. */
static int bound_port(void *socket)
{
    char endpoint[512];
    size_t length = sizeof endpoint;
    if (zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, endpoint, &length) != 0)
        return 0;
    const char *colon = strrchr(endpoint, ':');
    return colon ? atoi(colon + 1) : 0;
}

/* libzmq takes the place of any socket file, also of one that another kernel listens on. */
static bool is_listened_on(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return false; /* bind says so */
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool taken = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
    if (fd >= 0)
        close(fd);
    return taken;
}

static bool bind_one(struct sockets *sockets, const struct connection *connection, enum port port,
                     const char *endpoint)
{
    const char *file = connection->ipc ? endpoint + strlen("ipc://") : NULL;
    if (file && is_listened_on(file)) {
        errno = EADDRINUSE;
        return false;
    }
    if (zmq_bind(sockets->bound[port], endpoint) != 0)
        return false;
    sockets->files[port] = file ? strdup(file) : NULL;
    return true;
}

static bool open_one(struct sockets *sockets, struct connection *connection, enum port port,
                     struct text *problem)
{
    static const int types[PORT_COUNT] = {ZMQ_ROUTER, ZMQ_XPUB, ZMQ_ROUTER, ZMQ_ROUTER, ZMQ_REP};
    void *context = port == PORT_HEARTBEAT ? sockets->heartbeat_context : sockets->context;
    struct text endpoint = {0};
    connection_endpoint(connection, port, &endpoint);
    void *socket = context ? zmq_socket(context, types[port]) : NULL;
    sockets->bound[port] = socket;
    bool ok = socket && prepare(socket, port, connection) &&
              bind_one(sockets, connection, port, text_string(&endpoint));
    if (!ok)
        text_printf(problem, "%s: cannot listen on %s: %s", connection_port_name(port),
                    text_string(&endpoint), zmq_strerror(errno));
    else if (!connection->ipc && !connection->ports[port])
        connection->ports[port] = bound_port(socket);
    text_fini(&endpoint);
    return ok;
}

/* A place for an ipc endpoint that is free: registration leaves the choice to the kernel. */
static void choose_ipc_ports(struct connection *connection)
{
    for (int i = 0; connection->ipc && connection->registers && i < PORT_COUNT; i++)
        connection->ports[i] = i + 1;
}

bool sockets_open(struct sockets *sockets, struct connection *connection, struct text *problem)
{
    *sockets = (struct sockets){.context = zmq_ctx_new(), .heartbeat_context = zmq_ctx_new()};
    if (connection->secret_key.length && !sockets_can_encrypt()) {
        text_puts(problem, "the connection file asks for CurveZMQ, and this libzmq was built without it");
        sockets_close(sockets);
        return false;
    }
    choose_ipc_ports(connection);
    for (int i = 0; i < PORT_COUNT; i++)
        if (!open_one(sockets, connection, (enum port)i, problem)) {
            sockets_close(sockets);
            return false;
        }
    return true;
}

void sockets_close(struct sockets *sockets)
{
    for (int i = 0; i < PORT_COUNT; i++)
        if (sockets->bound[i])
            zmq_close(sockets->bound[i]);
    if (sockets->heartbeat_context)
        zmq_ctx_term(sockets->heartbeat_context);
    if (sockets->context)
        zmq_ctx_term(sockets->context);
    for (int i = 0; i < PORT_COUNT; i++) {
        if (sockets->files[i])
            unlink(sockets->files[i]);
        free(sockets->files[i]);
    }
    *sockets = (struct sockets){0};
}

/* ---- messages ---- */

void frames_fini(struct frames *frames)
{
    for (size_t i = 0; i < frames->count; i++)
        zmq_msg_close(&frames->messages[i]);
    free(frames->messages);
    free(frames->views);
    *frames = (struct frames){0};
}

static bool receive_one(void *socket, zmq_msg_t *message, int flags)
{
    int got;
    zmq_msg_init(message);
    do
        got = zmq_msg_recv(message, socket, flags);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        zmq_msg_close(message);
    return got >= 0;
}

/* Takes message into the frames; false: there is no room or memory for it, and it is closed. */
static bool frames_add(struct frames *frames, zmq_msg_t *message)
{
    bool full = frames->count == MOST_FRAMES;
    if (!full && (frames->count & (frames->count - 1)) == 0) { /* a power of two, or none: grow */
        size_t capacity = frames->count ? 2 * frames->count : 1;
        zmq_msg_t *messages = realloc(frames->messages, capacity * sizeof *messages);
        if (messages)
            frames->messages = messages;
        struct frame *views = realloc(frames->views, capacity * sizeof *views);
        if (views)
            frames->views = views;
        full = !messages || !views;
    }
    if (full) {
        zmq_msg_close(message);
        return false;
    }
    zmq_msg_init(&frames->messages[frames->count]);
    zmq_msg_move(&frames->messages[frames->count++], message);
    zmq_msg_close(message);
    return true;
}

/* Data of small messages lies inside zmq_msg_t, so views are made when nothing moves any more. */
static void make_views(struct frames *frames)
{
    for (size_t i = 0; i < frames->count; i++)
        frames->views[i] =
            (struct frame){zmq_msg_data(&frames->messages[i]), zmq_msg_size(&frames->messages[i])};
}

bool socket_receive(void *socket, struct frames *ret, int flags)
{
    struct frames frames = {0};
    zmq_msg_t message;
    bool more = true, whole = true;
    while (more) {
        if (!receive_one(socket, &message, flags)) {
            frames_fini(&frames);
            return false;
        }
        more = zmq_msg_more(&message);
        whole = frames_add(&frames, &message) && whole;
    }
    if (!whole) {
        frames_fini(&frames);
        return false;
    }
    make_views(&frames);
    *ret = frames;
    return true;
}

bool socket_send(void *socket, const char *bytes, size_t length, int flags)
{
    int sent;
    do
        sent = zmq_send(socket, length ? bytes : "", length, flags);
    while (sent < 0 && errno == EINTR);
    return sent >= 0;
}

bool socket_send_outgoing(void *socket, const struct frame *identities, size_t count,
                          const struct outgoing *outgoing)
{
    bool ok = true;
    for (size_t i = 0; i < count && ok; i++)
        ok = socket_send(socket, identities[i].bytes, identities[i].length, ZMQ_SNDMORE);
    ok = ok && socket_send(socket, WIRE_DELIMITER, sizeof WIRE_DELIMITER - 1, ZMQ_SNDMORE) &&
         socket_send(socket, outgoing->signature, strlen(outgoing->signature), ZMQ_SNDMORE);
    for (size_t i = 0; i < 4 && ok; i++)
        ok = socket_send(socket, text_string(&outgoing->parts[i]), outgoing->parts[i].length,
                         i < 3 ? ZMQ_SNDMORE : 0);
    return ok;
}

int sockets_poll(zmq_pollitem_t *items, int count, long milliseconds)
{
    int ready = zmq_poll(items, count, milliseconds);
    if (ready >= 0 || errno != EINTR)
        return ready;
    for (int i = 0; i < count; i++)
        items[i].revents = 0;
    return 0;
}
