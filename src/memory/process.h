/* Which process this is, so that a later one can tell whether it still lives.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MEMORY_PROCESS_H
#define MEMORY_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

/* A process in words: its number, when it began, and the boot of the machine; numbers are used again. */
void process_name(long pid, char *out, size_t size);
/* Whether the process so named lives. Where the system says nothing of processes, by its number alone. */
bool process_lives(const char *name);

#endif
