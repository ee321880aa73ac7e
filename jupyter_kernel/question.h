/* A question to the person at the notebook, over the stdin channel.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef JUPYTER_KERNEL_QUESTION_H
#define JUPYTER_KERNEL_QUESTION_H

#include "jupyter_kernel/channel.h"
#include "jupyter_kernel/interrupt.h"

struct question { /* used by the shell's thread only */
    void *socket;
    struct wire *wire;
    struct interrupt *interrupt;
};

enum reply { REPLY_GIVEN, REPLY_STOPPED, REPLY_UNSENT };

/* Asks whoever sent the request and waits; an interrupt ends the waiting. Unsent: for a minute the asker had
 * no stdin channel that is connected, or there was no memory. */
enum reply question_ask(struct question *question, const struct message *request, const char *prompt,
                        struct text *ret);

#endif
