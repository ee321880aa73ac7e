/* A mapped model file that is cut while it is read: a sentence and an exit code in place of a crash.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONSOLE_FAULT_H
#define CONSOLE_FAULT_H

#include <stdbool.h>

/* The library looks at its model file before each step; what is cut in the middle of one makes the system
 * raise SIGBUS, which is the program's to answer, never a library's. Says what happened on standard error and
 * ends the process at once with `code`. restore: gives the terminal back, asked when it happens; may give
 * NULL. It must be safe in a signal handler. */
bool fault_watch(void (*(*restore)(void))(void), int code);

#endif
