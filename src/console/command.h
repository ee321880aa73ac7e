/* The commands that a conversation understands: names, arguments, help, near misses.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONSOLE_COMMAND_H
#define CONSOLE_COMMAND_H

#include <stddef.h>

enum command {
    COMMAND_HELP,
    COMMAND_QUIT,
    COMMAND_RESET,
    COMMAND_LOAD,
    COMMAND_DOCS,
    COMMAND_SUM,
    COMMAND_PARAMS,
    COMMAND_CONTEXT,
    COMMAND_COUNT
};

struct command_row {
    const char *name, *argument, *help; /* name with its slash; argument NULL: takes none */
};

const struct command_row *command_row(enum command command);
/* Reads a line that starts with a slash. The argument is the rest of the line without the spaces at
 * its ends, so names may hold spaces; it is a part of line, *ret_length bytes. COMMAND_COUNT: unknown,
 * and *ret_near is the likely name or NULL. */
enum command command_parse(const char *line, size_t length, const char **ret_argument, size_t *ret_length,
                           const char **ret_near);

#endif
