/* The connection or registration file that a client hands over: read, checked, as endpoints.
 * SPDX-License-Identifier: Apache-2.0 */
#include "jupyter_kernel/connection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/escape.h"
#include "jupyter_kernel/json.h"

enum { MOST_BYTES = 1 << 16, CURVE_DIGITS = 40 };

static const char *const names[PORT_COUNT] = {"shell_port", "iopub_port", "stdin_port", "control_port",
                                              "hb_port"};

const char *connection_port_name(enum port port)
{
    return names[port];
}

void connection_fini(struct connection *connection)
{
    text_fini(&connection->ip);
    text_fini(&connection->key);
    text_fini(&connection->public_key);
    text_fini(&connection->secret_key);
    text_fini(&connection->registration_ip);
    text_fini(&connection->kernel_id);
    *connection = (struct connection){0};
}

/* A port is a number; some clients write it as a string. 0: problem holds what is wrong. */
static int take_port(const json_t *file, const char *name, struct text *problem)
{
    const json_t *value = json_object_get(file, name);
    long long port = json_integer_value(value);
    const char *digits = json_string_value(value);
    if (digits && strlen(digits) < 6 && strspn(digits, "0123456789") == strlen(digits))
        sscanf(digits, "%lld", &port);
    if (port >= 1 && port <= 65535)
        return (int)port;
    if (!problem->length)
        text_printf(problem, value ? "%s is no port number (1 to 65535)" : "%s is missing", name);
    return 0;
}

static bool take_text(const json_t *file, const char *name, struct text *out)
{
    size_t length = 0;
    const char *bytes = json_get_string(file, name, &length);
    if (bytes)
        text_append(out, bytes, length);
    return bytes != NULL;
}

static void take_transport(struct connection *connection, const json_t *file, struct text *problem)
{
    const char *transport = json_get_string(file, "transport", NULL);
    const char *scheme = json_get_string(file, "signature_scheme", NULL);
    connection->ipc = transport && strcmp(transport, "ipc") == 0;
    if (transport && !connection->ipc && strcmp(transport, "tcp") != 0) {
        text_puts(problem, "transport is “");
        escape_append_line(problem, transport);
        text_puts(problem, "”, and longleaf knows tcp and ipc");
    } else if (scheme && *scheme && strcmp(scheme, "hmac-sha256") != 0) {
        text_puts(problem, "signature_scheme is “");
        escape_append_line(problem, scheme);
        text_puts(problem, "”, and longleaf knows hmac-sha256");
    }
}

static void take_curve(struct connection *connection, const json_t *file, struct text *problem)
{
    bool public = take_text(file, "curve_publickey", &connection->public_key);
    bool secret = take_text(file, "curve_secretkey", &connection->secret_key);
    if (!public && !secret)
        return;
    if (connection->public_key.length != CURVE_DIGITS || connection->secret_key.length != CURVE_DIGITS)
        text_printf(problem, "curve_publickey and curve_secretkey must both be there, %d characters each",
                    CURVE_DIGITS);
}

static void take_address(struct connection *connection, const json_t *file, struct text *problem)
{
    connection->registers = json_object_get(file, "registration_port") != NULL;
    if (!take_text(file, "key", &connection->key) && !problem->length)
        text_puts(problem, "key is missing (an empty one turns signatures off)");
    if (connection->registers) {
        connection->registration_port = take_port(file, "registration_port", problem);
        if (!take_text(file, "registration_ip", &connection->registration_ip))
            text_puts(&connection->registration_ip, "127.0.0.1");
        take_text(file, "kernel_id", &connection->kernel_id);
    }
    if (!take_text(file, "ip", &connection->ip) || !connection->ip.length) {
        if (!connection->registers && !problem->length)
            text_puts(problem, "ip is missing");
        text_puts(&connection->ip, "127.0.0.1");
    }
    for (int i = 0; i < PORT_COUNT && !connection->registers; i++)
        connection->ports[i] = take_port(file, names[i], problem);
}

bool connection_parse(struct connection *connection, const char *bytes, size_t length, struct text *problem)
{
    *connection = (struct connection){0};
    json_t *file = json_read_object(bytes, length);
    if (!file)
        text_puts(problem, "it is no JSON object");
    else
        take_transport(connection, file, problem);
    if (!problem->length)
        take_address(connection, file, problem);
    if (!problem->length)
        take_curve(connection, file, problem);
    if (!problem->length && strlen(text_string(&connection->ip)) != connection->ip.length)
        text_puts(problem, "ip holds a NUL character");
    json_decref(file);
    if (problem->length || problem->failed)
        connection_fini(connection);
    return !problem->length;
}

bool connection_read(struct connection *connection, const char *path, struct text *problem)
{
    char *bytes = malloc(MOST_BYTES + 1);
    FILE *file = bytes ? fopen(path, "re") : NULL;
    size_t length = file ? fread(bytes, 1, MOST_BYTES + 1, file) : 0;
    int failure = file && !ferror(file) ? 0 : errno;
    if (file)
        fclose(file);
    struct text reason = {0};
    if (failure)
        text_puts(&reason, strerror(failure));
    else if (length > MOST_BYTES)
        text_printf(&reason, "it is longer than the %d bytes that a connection file may have", MOST_BYTES);
    bool ok = !reason.length && connection_parse(connection, bytes, length, &reason);
    if (!ok) {
        text_puts(problem, "the connection file ");
        escape_append_line(problem, path);
        text_printf(problem, " cannot be used: %s", text_string(&reason));
    }
    text_fini(&reason);
    free(bytes);
    return ok;
}

void connection_endpoint(const struct connection *connection, enum port port, struct text *out)
{
    const char *ip = text_string(&connection->ip);
    if (connection->ipc)
        text_printf(out, "ipc://%s-%d", ip, connection->ports[port]);
    else if (connection->ports[port])
        text_printf(out, strchr(ip, ':') && ip[0] != '[' ? "tcp://[%s]:%d" : "tcp://%s:%d", ip,
                    connection->ports[port]);
    else
        text_printf(out, "tcp://%s:*", ip);
}
