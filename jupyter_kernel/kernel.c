/* A kernel from its connection file to its end: sockets, threads, and what they share.
 * SPDX-License-Identifier: Apache-2.0 */
#include "jupyter_kernel/kernel.h"

#include "jupyter_kernel/control.h"
#include "jupyter_kernel/heartbeat.h"
#include "jupyter_kernel/registration.h"
#include "jupyter_kernel/shell.h"

struct kernel {
    struct connection connection;
    struct sockets sockets;
    struct wire_shared wire;
    struct interrupt interrupt;
    struct iopub iopub;
    struct control control;
    struct shell shell;
    pthread_t heartbeat;
};

/* What was made, in its order: the end undoes it backwards. */
enum made {
    MADE_NOTHING,
    MADE_TALK,
    MADE_SOCKETS,
    MADE_WIRE,
    MADE_INTERRUPT,
    MADE_IOPUB,
    MADE_SHELL,
    MADE_HEARTBEAT,
    MADE_CONTROL
};

static bool register_ports(struct kernel *kernel, struct text *problem)
{
    return !kernel->connection.registers ||
           registration_tell(&kernel->sockets, &kernel->connection, &kernel->shell.channel.wire, problem);
}

static void open_question(struct kernel *kernel)
{
    struct shell *shell = &kernel->shell;
    shell->interrupt = &kernel->interrupt;
    shell->connection = &kernel->connection;
    shell->count = 1;
    shell->question = (struct question){.socket = kernel->sockets.bound[PORT_STDIN],
                                        .wire = &shell->channel.wire,
                                        .interrupt = &kernel->interrupt};
}

static bool set_model(struct talk *talk, const char *model, struct text *problem)
{
    return !model || settings_set(&talk->settings, OPTION_MODEL, ORIGIN_LINE, 0, model, problem);
}

static enum made start(struct kernel *kernel, const char *model, struct text *problem)
{
    struct shell *shell = &kernel->shell;
    struct sockets *sockets = &kernel->sockets;
    if (!talk_init(&shell->talk, problem))
        return MADE_NOTHING;
    if (!set_model(&shell->talk, model, problem) || !sockets_open(sockets, &kernel->connection, problem))
        return MADE_TALK;
    if (!wire_shared_init(&kernel->wire, text_string(&kernel->connection.key), kernel->connection.key.length))
        return MADE_SOCKETS;
    if (!interrupt_init(&kernel->interrupt))
        return MADE_WIRE;
    if (!iopub_start(&kernel->iopub, sockets, &kernel->wire))
        return MADE_INTERRUPT;
    if (!channel_open(&shell->channel, sockets->bound[PORT_SHELL], &kernel->wire, &kernel->iopub))
        return MADE_IOPUB;
    open_question(kernel);
    shell->past.secret = settings_flag(&shell->talk.settings, OPTION_PRIVATE);
    publisher_state(&shell->channel.publisher, NULL, "starting");
    if (!heartbeat_start(&kernel->heartbeat, sockets))
        return MADE_SHELL;
    if (!register_ports(kernel, problem) ||
        !control_start(&kernel->control, sockets, &kernel->wire, &kernel->iopub, &kernel->interrupt, problem))
        return MADE_HEARTBEAT;
    return MADE_CONTROL;
}

static void stop(struct kernel *kernel, enum made made)
{
    if (made >= MADE_TALK) {
        past_fini(&kernel->shell.past);
        talk_fini(&kernel->shell.talk);
    }
    if (made >= MADE_CONTROL)
        control_stop(&kernel->control);
    if (made >= MADE_HEARTBEAT)
        heartbeat_stop(kernel->heartbeat, &kernel->sockets);
    if (made >= MADE_SHELL)
        channel_close(&kernel->shell.channel);
    if (made >= MADE_IOPUB)
        iopub_stop(&kernel->iopub);
    if (made >= MADE_INTERRUPT)
        interrupt_fini(&kernel->interrupt);
    if (made >= MADE_WIRE)
        wire_shared_fini(&kernel->wire);
    if (made >= MADE_SOCKETS)
        sockets_close(&kernel->sockets);
}

bool kernel_run(const char *connection_file, const char *model, struct text *problem)
{
    static struct kernel kernel; /* too large for a stack, one a process */
    if (!connection_read(&kernel.connection, connection_file, problem))
        return false;
    enum made made = start(&kernel, model, problem);
    if (made == MADE_CONTROL)
        shell_run(&kernel.shell);
    else if (!problem->length)
        text_puts(problem, "the kernel cannot start: threads or memory are missing");
    stop(&kernel, made);
    connection_fini(&kernel.connection);
    return made == MADE_CONTROL;
}
