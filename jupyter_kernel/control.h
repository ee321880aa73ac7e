/* The control channel's thread: interrupt, shutdown, kernel_info, signals, the parent's end.
 * SPDX-License-Identifier: Apache-2.0
 *
 * It answers whatever a cell is doing. After a shutdown the process ends, at the latest after a few
 * seconds, should a cell not come to its end. */
#ifndef JUPYTER_KERNEL_CONTROL_H
#define JUPYTER_KERNEL_CONTROL_H

#include "jupyter_kernel/channel.h"
#include "jupyter_kernel/interrupt.h"

struct control {
    pthread_t thread;
    struct channel channel;
    struct interrupt *interrupt;
    int signals;  /* readable when a signal came */
    int finished; /* readable when the shell's thread is done */
    pid_t parent; /* whose end is the kernel's, too; 0: nobody's */
};

/* Blocks nothing; signal handlers are set for the whole process. False: problem holds the sentence. */
bool control_start(struct control *control, struct sockets *sockets, struct wire_shared *shared,
                   struct iopub *iopub, struct interrupt *interrupt, struct text *problem);
/* Tells the thread that no cell works any more, and waits for its end. */
void control_stop(struct control *control);

/* Also for requests of that kind that come by the shell channel. */
void control_serve_info(struct channel *channel, const struct message *request);
void control_serve_interrupt(struct channel *channel, const struct message *request,
                             struct interrupt *interrupt);
void control_serve_shutdown(struct channel *channel, const struct message *request,
                            struct interrupt *interrupt);

#endif
