/* The one vocabulary of both front ends: /sum in the terminal is %sum in a notebook.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONSOLE_COMMAND_H
#define CONSOLE_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

enum command {
    COMMAND_LOAD,
    COMMAND_DOCS,
    COMMAND_SUM,
    COMMAND_ASK,
    COMMAND_CITE,
    COMMAND_PLAN,
    COMMAND_LOG,
    COMMAND_MODEL,
    COMMAND_PARAMS,
    COMMAND_SYSTEM,
    COMMAND_PROMPT,
    COMMAND_WHY,
    COMMAND_CONTEXT,
    COMMAND_KV,
    COMMAND_MEMORY,
    COMMAND_DASH,
    COMMAND_UNDO,
    COMMAND_RETRY,
    COMMAND_EDIT,
    COMMAND_CONTINUE,
    COMMAND_MARK,
    COMMAND_BACK,
    COMMAND_SAVE,
    COMMAND_OPEN,
    COMMAND_EXPORT,
    COMMAND_ECHO,
    COMMAND_FILE,
    COMMAND_RESET,
    COMMAND_HELP,
    COMMAND_QUIT,
    COMMAND_COUNT
};

/* What follows the name: it decides what is completed there. A text is the rest of the line. */
enum command_shape {
    SHAPE_NONE,
    SHAPE_TEXT,
    SHAPE_FILE,  /* one file name, which may hold spaces */
    SHAPE_FILES, /* one such, or several: files.h reads them */
    SHAPE_NUMBER,
    SHAPE_PARAMETER, /* NAME VALUE of a sampling parameter */
    SHAPE_MODEL,
    SHAPE_MARK,   /* the name of a mark */
    SHAPE_EXPORT, /* md, html or json, then a file name */
    SHAPE_LOG,     /* --curve, or --compare and two numbers */
    SHAPE_COMMAND, /* a command's name */
    SHAPE_MEMORY   /* trim, json or prometheus */
};

enum command_place { IN_REPL = 1, IN_NOTEBOOK = 2, IN_BOTH = 3 };

struct command_row {
    const char *name;     /* without its slash or percent sign */
    const char *aliases;  /* other names, separated by spaces; NULL: none */
    const char *argument; /* as help shows it, in brackets when it may be left out; NULL: takes none */
    enum command_shape shape;
    unsigned places;  /* front ends that have it */
    const char *help; /* lower case, no full stop */
    const char *more; /* a few sentences for /help NAME; NULL: none */
};

const struct command_row *command_row(enum command command);
bool command_is_in(enum command command, enum command_place place);
/* By name or alias, of length bytes; COMMAND_COUNT: none in that front end. */
enum command command_find(enum command_place place, const char *name, size_t length);
/* The name that somebody probably meant; NULL: none is near. */
const char *command_near(enum command_place place, const char *name, size_t length);
/* Reads a line that starts with one sign ('/' or '%'), then a name. The argument is the rest of the line
 * without the spaces at its ends, so names may hold spaces; it is a part of line, *ret_length bytes.
 * COMMAND_COUNT: unknown, and *ret_near is the likely name, without a sign, or NULL. */
enum command command_parse(enum command_place place, const char *line, size_t length,
                           const char **ret_argument, size_t *ret_length, const char **ret_near);

#endif
