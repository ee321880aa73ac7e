/* The connection or registration file that a client hands over: read, checked, as endpoints.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef JUPYTER_KERNEL_CONNECTION_H
#define JUPYTER_KERNEL_CONNECTION_H

#include "console/text.h"

enum port { PORT_SHELL, PORT_IOPUB, PORT_STDIN, PORT_CONTROL, PORT_HEARTBEAT, PORT_COUNT };

struct connection {
    bool ipc;              /* else tcp */
    struct text ip;        /* of ipc: the path that ports are appended to */
    int ports[PORT_COUNT]; /* 0: the kernel chooses and registers */
    struct text key;
    struct text public_key, secret_key; /* of CurveZMQ, 40 characters each; empty: no encryption */
    bool registers; /* a registration file: ports are chosen here and told to registration_port */
    struct text registration_ip, kernel_id;
    int registration_port;
};

/* Reads a file of at most 64 KiB. Unknown members are ignored. False: problem holds the sentence, and
 * the connection is empty. */
bool connection_read(struct connection *connection, const char *path, struct text *problem);
bool connection_parse(struct connection *connection, const char *bytes, size_t length, struct text *problem);
void connection_fini(struct connection *connection);
const char *connection_port_name(enum port port); /* "shell_port" */
void connection_endpoint(const struct connection *connection, enum port port, struct text *out);

#endif
