/* The heartbeat: a thread that gives back the very bytes it is sent.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef JUPYTER_KERNEL_HEARTBEAT_H
#define JUPYTER_KERNEL_HEARTBEAT_H

#include <pthread.h>
#include <stdbool.h>

#include "jupyter_kernel/sockets.h"

/* The thread owns the socket from now on; heartbeat_stop ends both, with the socket's context. */
bool heartbeat_start(pthread_t *thread, struct sockets *sockets);
void heartbeat_stop(pthread_t thread, struct sockets *sockets);

#endif
