/* The commands that a conversation understands: names, arguments, help, near misses.
 * SPDX-License-Identifier: Apache-2.0 */
#include "console/command.h"

#include <string.h>

#include "console/suggest.h"

static const struct command_row rows[COMMAND_COUNT] = {
    [COMMAND_HELP] = {"/help", NULL, "this list"},
    [COMMAND_QUIT] = {"/quit", NULL, "leave (Ctrl-D, too)"},
    [COMMAND_RESET] = {"/reset", NULL, "begin a new conversation; documents stay"},
    [COMMAND_LOAD] = {"/load", "FILE", "attach a document"},
    [COMMAND_DOCS] = {"/docs", NULL, "list the documents attached"},
    [COMMAND_SUM] = {"/sum", "[FILE]", "summarise the documents attached, or a file"},
    [COMMAND_PARAMS] = {"/params", "[NAME VALUE]", "show or change the sampling parameters"},
    [COMMAND_CONTEXT] = {"/context", NULL, "how full the context is"},
};

const struct command_row *command_row(enum command command)
{
    return &rows[command];
}

static size_t skip_spaces(const char *line, size_t length, size_t at)
{
    while (at < length && strchr(" \t", line[at]))
        at++;
    return at;
}

enum command command_parse(const char *line, size_t length, const char **ret_argument, size_t *ret_length,
                           const char **ret_near)
{
    char name[40] = "";
    size_t end = 0;
    while (end < length && line[end] && !strchr(" \t\n", line[end]))
        end++;
    size_t start = skip_spaces(line, length, end);
    while (length > start && strchr(" \t\n", line[length - 1]))
        length--;
    *ret_argument = line + start;
    *ret_length = length - start;
    *ret_near = NULL;
    if (end >= sizeof name)
        return COMMAND_COUNT;
    memcpy(name, line, end);
    struct suggestion near;
    suggest_begin(&near, name);
    for (int i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(rows[i].name, name) == 0)
            return (enum command)i;
        suggest_offer(&near, rows[i].name);
    }
    /* Words that other programs use for the same. */
    if (!strcmp(name, "/exit") || !strcmp(name, "/bye") || !strcmp(name, "/q"))
        near.best = "/quit";
    if (!strcmp(name, "/?"))
        near.best = "/help";
    *ret_near = near.best;
    return COMMAND_COUNT;
}
