/* A kernel from its connection file to its end: sockets, threads, and what they share.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef JUPYTER_KERNEL_KERNEL_H
#define JUPYTER_KERNEL_KERNEL_H

#include "console/text.h"

/* Serves until it is told to end. model: as --model, or NULL. False: it could not start, and problem
 * holds the sentence. */
bool kernel_run(const char *connection_file, const char *model, struct text *problem);

#endif
