/* What may stop a cell: interrupts and the end, from any thread and from signal handlers.
 * SPDX-License-Identifier: Apache-2.0
 *
 * An interrupt counts only while a cell works; one that comes between cells is forgotten. */
#ifndef JUPYTER_KERNEL_INTERRUPT_H
#define JUPYTER_KERNEL_INTERRUPT_H

#include <pthread.h>
#include <stdbool.h>

#include "longleaf.h"

struct interrupt {
    pthread_mutex_t lock;
    ll_cancel *cancel; /* of the cell's run */
    bool working, leaving;
    int wake; /* readable while a working cell is to stop, and when the kernel leaves */
};

bool interrupt_init(struct interrupt *interrupt);
void interrupt_fini(struct interrupt *interrupt);
/* Around a cell, on its thread. False: the kernel leaves, and the cell must not begin. */
bool interrupt_begin_work(struct interrupt *interrupt);
void interrupt_end_work(struct interrupt *interrupt);
void interrupt_raise(struct interrupt *interrupt);  /* [any thread] */
void interrupt_leave(struct interrupt *interrupt);  /* [any thread]: stops the cell, and no other begins */
bool interrupt_leaves(struct interrupt *interrupt); /* [any thread] */

#endif
