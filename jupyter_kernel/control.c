/* The control channel's thread: interrupt, shutdown, kernel_info, signals, the parent's end.
 * SPDX-License-Identifier: Apache-2.0 */
#include "jupyter_kernel/control.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "console/fault.h"
#include "console/human.h"
#include "longleaf.h"

enum { PARENT_MS = 1000, PATIENCE_MS = 5000 };

/* ---- signals: handlers may only count; the thread does the rest ---- */

static struct {
    atomic_bool interrupts, ends;
    int wake;
} signals = {.wake = -1};

static void on_signal(int number)
{
    int saved = errno;
    uint64_t one = 1;
    if (number == SIGINT)
        atomic_store(&signals.interrupts, true);
    else
        atomic_store(&signals.ends, true);
    ssize_t ignored = write(signals.wake, &one, sizeof one);
    (void)ignored;
    errno = saved;
}

static void nothing(int number)
{
    (void)number;
}

static bool catch_signals(int wake)
{
    static const int caught[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    signals.wake = wake;
    bool ok = true;
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
        ok = ok && sigaction(caught[i], &action, NULL) == 0;
    action.sa_handler = nothing; /* rather than ignored, which child processes would inherit */
    return ok && sigaction(SIGPIPE, &action, NULL) == 0 && fault_watch(NULL, 1);
}

/* ---- requests ---- */

static json_t *info(void)
{
    json_t *language = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "name", "longleaf", "version",
                                 ll_version(), "mimetype", "text/x-longleaf", "file_extension", ".txt",
                                 "pygments_lexer", "text", "codemirror_mode", "markdown");
    json_t *content =
        json_pack("{s:s, s:s, s:s, s:s, s:o, s:b, s:[], s:[]}", "status", "ok", "protocol_version",
                  WIRE_PROTOCOL, "implementation", "longleaf", "implementation_version", ll_version(),
                  "language_info", language, "debugger", 0, "help_links", "supported_features");
    struct text banner = {0};
    text_printf(
        &banner,
        "longleaf %s: cells are turns of a conversation, %%help lists the magics, %%load FILE attaches "
        "a document, %%%%summarize reads texts longer than the model's window.",
        ll_version());
    json_put_text(content, "banner", &banner);
    text_fini(&banner);
    return content;
}

void control_serve_info(struct channel *channel, const struct message *request)
{
    channel_reply(channel, request, "kernel_info_reply", info());
}

void control_serve_interrupt(struct channel *channel, const struct message *request,
                             struct interrupt *interrupt)
{
    interrupt_raise(interrupt);
    channel_reply(channel, request, "interrupt_reply", json_pack("{s:s}", "status", "ok"));
}

void control_serve_shutdown(struct channel *channel, const struct message *request,
                            struct interrupt *interrupt)
{
    int restart = json_get_bool(request->content, "restart", false);
    json_t *content = json_pack("{s:s, s:b}", "status", "ok", "restart", restart);
    channel_publish(channel, request, "shutdown_reply", json_incref(content));
    channel_reply(channel, request, "shutdown_reply", content);
    interrupt_leave(interrupt);
}

static void serve(void *user, struct channel *channel, const struct message *request)
{
    struct control *control = user;
    if (strcmp(request->type, "kernel_info_request") == 0)
        control_serve_info(channel, request);
    else if (strcmp(request->type, "interrupt_request") == 0)
        control_serve_interrupt(channel, request, control->interrupt);
    else if (strcmp(request->type, "shutdown_request") == 0)
        control_serve_shutdown(channel, request, control->interrupt);
}

/* ---- the thread ---- */

static bool parent_is_gone(const struct control *control)
{
    return control->parent && getppid() != control->parent;
}

static void heed_signals(struct control *control)
{
    uint64_t count;
    ssize_t ignored = read(control->signals, &count, sizeof count);
    (void)ignored;
    if (atomic_exchange(&signals.interrupts, false))
        interrupt_raise(control->interrupt);
    if (atomic_load(&signals.ends))
        interrupt_leave(control->interrupt);
}

static void *watch(void *user)
{
    struct control *control = user;
    double left = 0; /* when the end was asked for */
    for (;;) {
        zmq_pollitem_t items[] = {{.socket = control->channel.socket, .events = ZMQ_POLLIN},
                                  {.fd = control->signals, .events = ZMQ_POLLIN},
                                  {.fd = control->finished, .events = ZMQ_POLLIN}};
        bool leaves = interrupt_leaves(control->interrupt);
        if (leaves && left <= 0)
            left = human_clock();
        if (leaves && (human_clock() - left) * 1e3 > PATIENCE_MS)
            _exit(EXIT_SUCCESS); /* a cell that does not end must not keep a dead kernel alive */
        sockets_poll(items, 3, leaves ? PATIENCE_MS / 20 : control->parent ? PARENT_MS : -1);
        if (items[2].revents)
            return NULL;
        if (items[1].revents)
            heed_signals(control);
        struct message request;
        while (channel_receive(&control->channel, &request)) {
            channel_serve(&control->channel, &request, serve, control);
            message_fini(&request);
        }
        if (parent_is_gone(control))
            interrupt_leave(control->interrupt);
    }
}

/* Where Jupyter names itself as the parent, the process that is it now: a change of it is its end, also
 * when another process than number 1 takes its children. -1: it ended before it could be watched. */
static pid_t find_parent(void)
{
    const char *named = getenv("JPY_PARENT_PID");
    long number = named ? strtol(named, NULL, 10) : 0;
    pid_t parent = getppid();
    if (number <= 1)
        return 0;
    return number != parent && kill((pid_t)number, 0) != 0 && errno == ESRCH ? -1 : parent;
}

bool control_start(struct control *control, struct sockets *sockets, struct wire_shared *shared,
                   struct iopub *iopub, struct interrupt *interrupt, struct text *problem)
{
    *control = (struct control){.interrupt = interrupt, .parent = find_parent()};
    control->signals = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    control->finished = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    bool ok = control->signals >= 0 && control->finished >= 0 && catch_signals(control->signals) &&
              channel_open(&control->channel, sockets->bound[PORT_CONTROL], shared, iopub);
    if (ok && pthread_create(&control->thread, NULL, watch, control) == 0)
        return true;
    text_puts(problem, "cannot start the thread of the control channel");
    return false;
}

void control_stop(struct control *control)
{
    uint64_t one = 1;
    ssize_t ignored = write(control->finished, &one, sizeof one);
    (void)ignored;
    pthread_join(control->thread, NULL);
    channel_close(&control->channel);
    close(control->finished);
}
