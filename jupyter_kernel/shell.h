/* The shell channel: requests in their order, cells among them, on the thread that owns the model.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef JUPYTER_KERNEL_SHELL_H
#define JUPYTER_KERNEL_SHELL_H

#include "jupyter_kernel/past.h"
#include "jupyter_kernel/question.h"
#include "jupyter_kernel/talk.h"

struct shell {
    struct channel channel;
    struct interrupt *interrupt;
    struct question question;
    struct talk talk;
    struct past past;
    int64_t count;           /* of the next stored cell */
    struct message *waiting; /* requests that came before a cell failed; owned */
    size_t waiting_count;
    const struct connection *connection;
};

/* Serves requests until the kernel leaves. talk must be initialised. */
void shell_run(struct shell *shell);
/* What a cell does (execute.c). When it fails and does not forbid it, the cells that wait are given up. */
void shell_execute(struct shell *shell, const struct message *request);
/* Takes in what has come by now, to be given up. Before anybody hears of the failure: who has heard of it
 * and sends a cell then means it to run. */
void shell_collect(struct shell *shell);
/* The reply to a queued cell that is given up. */
void shell_abort(struct shell *shell, const struct message *request);

#endif
