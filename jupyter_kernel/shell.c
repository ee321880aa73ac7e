/* The shell channel: requests in their order, cells among them, on the thread that owns the model.
 * SPDX-License-Identifier: Apache-2.0 */
#include "jupyter_kernel/shell.h"

#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "jupyter_kernel/control.h"
#include "jupyter_kernel/words.h"

typedef void (*shell_fn)(struct shell *shell, const struct message *request);

static void reply(struct shell *shell, const struct message *request, const char *type, json_t *content)
{
    channel_reply(&shell->channel, request, type, content);
}

static void serve_complete(struct shell *shell, const struct message *request)
{
    reply(shell, request, "complete_reply", words_complete(&shell->talk, request->content));
}

static void serve_inspect(struct shell *shell, const struct message *request)
{
    reply(shell, request, "inspect_reply", words_inspect(&shell->talk, request->content));
}

static void serve_is_complete(struct shell *shell, const struct message *request)
{
    reply(shell, request, "is_complete_reply", words_is_complete(request->content));
}

static void serve_history(struct shell *shell, const struct message *request)
{
    reply(shell, request, "history_reply", past_answer(&shell->past, request->content));
}

static void serve_info(struct shell *shell, const struct message *request)
{
    control_serve_info(&shell->channel, request);
}

static void serve_interrupt(struct shell *shell, const struct message *request)
{
    control_serve_interrupt(&shell->channel, request, shell->interrupt);
}

static void serve_shutdown(struct shell *shell, const struct message *request)
{
    control_serve_shutdown(&shell->channel, request, shell->interrupt);
}

static void serve_comm_info(struct shell *shell, const struct message *request)
{
    reply(shell, request, "comm_info_reply", json_pack("{s:s, s:{}}", "status", "ok", "comms"));
}

/* There are no comms here: whoever opens one or writes to one is told at once that it is closed. */
static void serve_comm(struct shell *shell, const struct message *request)
{
    const char *id = json_get_string(request->content, "comm_id", NULL);
    if (id)
        channel_publish(&shell->channel, request, "comm_close",
                        json_pack("{s:s, s:{}}", "comm_id", id, "data"));
}

static void serve_connect(struct shell *shell, const struct message *request)
{
    json_t *content = json_pack("{s:s}", "status", "ok");
    for (int i = 0; i < PORT_COUNT; i++)
        json_put_count(content, connection_port_name((enum port)i), (uint64_t)shell->connection->ports[i]);
    reply(shell, request, "connect_reply", content);
}

static const struct {
    const char *type;
    shell_fn serve;
} services[] = {
    {"complete_request", serve_complete},
    {"inspect_request", serve_inspect},
    {"is_complete_request", serve_is_complete},
    {"history_request", serve_history},
    {"kernel_info_request", serve_info},
    {"comm_info_request", serve_comm_info},
    {"comm_open", serve_comm},
    {"comm_msg", serve_comm},
    {"interrupt_request", serve_interrupt},
    {"shutdown_request", serve_shutdown},
    {"connect_request", serve_connect},
};

/* ---- dispatch ---- */

static void serve(void *user, struct channel *channel, const struct message *request)
{
    struct shell *shell = user;
    (void)channel;
    if (strcmp(request->type, "execute_request") == 0)
        shell_execute(shell, request);
    for (size_t i = 0; i < sizeof services / sizeof *services; i++)
        if (strcmp(services[i].type, request->type) == 0)
            services[i].serve(shell, request);
}

/* The same for a request that waited behind a cell that failed. */
static void serve_waiting(void *user, struct channel *channel, const struct message *request)
{
    if (strcmp(request->type, "execute_request") == 0)
        shell_abort(user, request);
    else
        serve(user, channel, request);
}

void shell_collect(struct shell *shell)
{
    struct message request;
    while (channel_receive(&shell->channel, &request)) {
        struct message *waiting = realloc(shell->waiting, (shell->waiting_count + 1) * sizeof *waiting);
        if (waiting) {
            shell->waiting = waiting;
            waiting[shell->waiting_count++] = request;
        } else {
            channel_serve(&shell->channel, &request, serve_waiting, shell);
            message_fini(&request);
        }
    }
}

static void give_up_waiting(struct shell *shell)
{
    for (size_t i = 0; i < shell->waiting_count; i++) {
        channel_serve(&shell->channel, &shell->waiting[i], serve_waiting, shell);
        message_fini(&shell->waiting[i]);
    }
    free(shell->waiting);
    shell->waiting = NULL;
    shell->waiting_count = 0;
}

enum { REST_MS = 1000 };

static void serve_all(struct shell *shell)
{
    struct message request;
    while (!interrupt_leaves(shell->interrupt) && channel_receive(&shell->channel, &request)) {
        channel_serve(&shell->channel, &request, serve, shell);
        message_fini(&request);
        give_up_waiting(shell);
    }
}

/* What many clients or large cells left behind lies between what is in use. */
static void return_memory(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

/* Milliseconds to wait for the next request; -1: for ever. */
static long patience(const struct shell *shell, bool rests)
{
    long idle = talk_idle(&shell->talk);
    return rests || (idle >= 0 && idle < REST_MS) ? idle : REST_MS;
}

void shell_run(struct shell *shell)
{
    bool rests = true; /* since the last request the memory was given back */
    while (!interrupt_leaves(shell->interrupt)) {
        zmq_pollitem_t items[] = {{.socket = shell->channel.socket, .events = ZMQ_POLLIN},
                                  {.fd = shell->interrupt->wake, .events = ZMQ_POLLIN}};
        bool nothing = sockets_poll(items, 2, patience(shell, rests)) == 0;
        if (nothing && !rests)
            return_memory();
        rests = nothing;
        talk_rest(&shell->talk);
        serve_all(shell);
    }
}
