/* The one vocabulary of both front ends: /sum in the terminal is %sum in a notebook.
 * SPDX-License-Identifier: Apache-2.0 */
#include "console/command.h"

#include <string.h>

#include "console/suggest.h"

static const struct command_row rows[COMMAND_COUNT] = {
    [COMMAND_LOAD] = {"load", "attach", "FILE...", SHAPE_FILES, IN_BOTH, "attach documents",
                      "Names may hold spaces, be quoted, begin with ~/ and have * in them. "
                      "A document that leaves room for questions is given to the model whole, with the next "
                      "message; a longer one is read in windows by sum."},
    [COMMAND_DOCS] = {"docs", "documents", NULL, SHAPE_NONE, IN_BOTH, "list the documents attached", NULL},
    [COMMAND_SUM] = {"sum", "summarize summarise", "[FILE]", SHAPE_FILE, IN_BOTH,
                     "summarise the documents attached, or a file",
                     "Every document is read whole, in windows where it is long. The parameters length and "
                     "focus say what is wanted."},
    [COMMAND_ASK] = {"ask", NULL, "QUESTION", SHAPE_TEXT, IN_BOTH,
                     "answer from the documents, with their pages", NULL},
    [COMMAND_CITE] = {"cite", "source", "N", SHAPE_NUMBER, IN_BOTH,
                      "show the passage that sentence N of the last summary rests on", NULL},
    [COMMAND_PLAN] = {"plan", NULL, "[FILE]", SHAPE_FILE, IN_BOTH,
                      "what a summary would take, before it is made", NULL},
    [COMMAND_LOG] = {"log", "runs", "[--curve | --compare A B]", SHAPE_LOG, IN_BOTH,
                     "what the last runs took: time, tokens, memory",
                     "With --curve: the memory of this model's runs over the line that its plan predicts; "
                     "with --compare: two runs side by side, by the numbers that the list gives them."},
    [COMMAND_MODEL] = {"model", NULL, "[NAME]", SHAPE_MODEL, IN_BOTH, "show the model, or change to another",
                       NULL},
    [COMMAND_PARAMS] = {"params", "set", "[NAME VALUE]", SHAPE_PARAMETER, IN_BOTH,
                        "show or change the sampling parameters", NULL},
    [COMMAND_SYSTEM] = {"system", NULL, "[TEXT]", SHAPE_TEXT, IN_BOTH, "show or change the system message",
                        NULL},
    [COMMAND_PROMPT] = {"prompt", NULL, "[TEXT]", SHAPE_TEXT, IN_BOTH,
                        "exactly what the model would be given next, as text and tokens", NULL},
    [COMMAND_WHY] = {"why", NULL, "[N]", SHAPE_NUMBER, IN_REPL,
                     "the alternatives of the last N tokens, and how likely they were", NULL},
    [COMMAND_CONTEXT] = {"context", "ctx", NULL, SHAPE_NONE, IN_BOTH, "how full the context is", NULL},
    [COMMAND_KV] = {"kv", "cache", NULL, SHAPE_NONE, IN_BOTH, "what the keys and values take", NULL},
    [COMMAND_MEMORY] = {"memory", "mem", "[trim|json|prometheus]", SHAPE_MEMORY, IN_BOTH,
                        "memory in use, by component; trim gives back what can be",
                        "trim returns weights, working space and free blocks to the system; the conversation "
                        "stays, and the next message reads the weights again. The option idle does it by "
                        "itself. json and prometheus are the same account for programs."},
    [COMMAND_DASH] =
        {"dash", "top", NULL, SHAPE_NONE, IN_REPL,
         "memory over time, cache, windows and runs on the whole screen",
         "It opens at once, also while the model works; q leaves it. `longleaf top` shows the same of "
         "any running longleaf or notebook of yours."},
    [COMMAND_UNDO] = {"undo", NULL, NULL, SHAPE_NONE, IN_BOTH, "take back the last turn", NULL},
    [COMMAND_RETRY] = {"retry", "again regenerate", NULL, SHAPE_NONE, IN_BOTH, "answer the last message anew",
                       NULL},
    [COMMAND_EDIT] = {"edit", NULL, "[TEXT]", SHAPE_TEXT, IN_REPL, "change the last message and ask it again",
                      NULL},
    [COMMAND_CONTINUE] = {"continue", "more", NULL, SHAPE_NONE, IN_BOTH, "go on with the last answer", NULL},
    [COMMAND_MARK] = {"mark", "branch", "[NAME]", SHAPE_MARK, IN_BOTH,
                      "remember this point of the conversation, or list those remembered", NULL},
    [COMMAND_BACK] = {"back", NULL, "[NAME]", SHAPE_MARK, IN_BOTH, "return to a point remembered", NULL},
    [COMMAND_SAVE] = {"save", NULL, "FILE", SHAPE_FILE, IN_BOTH,
                      "write the conversation and its computed state to a file",
                      "Only you can read the file. It fits the model and settings that made it."},
    [COMMAND_OPEN] = {"open", "restore", "FILE", SHAPE_FILE, IN_BOTH,
                      "go on with a conversation saved, without computing it again",
                      "In the terminal, /open last brings back a conversation that a crash cut off."},
    [COMMAND_EXPORT] = {"export", NULL, "md|html|json FILE", SHAPE_EXPORT, IN_BOTH,
                        "write the conversation for others to read", NULL},
    [COMMAND_ECHO] = {"echo", NULL, "[TEXT]", SHAPE_TEXT, IN_NOTEBOOK, "print the text", NULL},
    [COMMAND_FILE] = {"file", NULL, "NAME", SHAPE_FILE, IN_NOTEBOOK, "write the text below to a file", NULL},
    [COMMAND_RESET] = {"reset", "new clear", NULL, SHAPE_NONE, IN_BOTH,
                       "begin a new conversation; documents stay", NULL},
    [COMMAND_HELP] = {"help", "?", "[NAME]", SHAPE_COMMAND, IN_BOTH, "this list, or more about one command",
                      NULL},
    [COMMAND_QUIT] = {"quit", "exit q", NULL, SHAPE_NONE, IN_REPL, "leave (Ctrl-D, too)", NULL},
};

/* Words that other programs use for the same; suggested, not taken. */
static const char *const foreign[][2] = {{"bye", "quit"},      {"leave", "quit"},  {"read", "load"},
                                         {"doc", "docs"},      {"show", "model"},  {"temperature", "params"},
                                         {"rewind", "undo"},   {"fork", "mark"},   {"write", "save"},
                                         {"status", "memory"}, {"vram", "memory"}, {"history", "export"}};

const struct command_row *command_row(enum command command)
{
    return &rows[command];
}

bool command_is_in(enum command command, enum command_place place)
{
    return (rows[command].places & (unsigned)place) != 0;
}

static bool is_word(const char *list, const char *name, size_t length)
{
    while (list && *list) {
        size_t word = strcspn(list, " ");
        if (word == length && memcmp(list, name, length) == 0)
            return true;
        list += word + strspn(list + word, " ");
    }
    return false;
}

enum command command_find(enum command_place place, const char *name, size_t length)
{
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (command_is_in((enum command)i, place) &&
            (is_word(rows[i].name, name, length) || is_word(rows[i].aliases, name, length)))
            return (enum command)i;
    return COMMAND_COUNT;
}

const char *command_near(enum command_place place, const char *name, size_t length)
{
    char typed[40];
    struct suggestion near;
    if (length >= sizeof typed)
        return NULL;
    memcpy(typed, name, length);
    typed[length] = '\0';
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (strcmp(foreign[i][0], typed) == 0 &&
            command_find(place, foreign[i][1], strlen(foreign[i][1])) != COMMAND_COUNT)
            return foreign[i][1];
    suggest_begin(&near, typed);
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (command_is_in((enum command)i, place))
            suggest_offer(&near, rows[i].name);
    return near.best;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

enum command command_parse(enum command_place place, const char *line, size_t length,
                           const char **ret_argument, size_t *ret_length, const char **ret_near)
{
    size_t end = 1;
    while (end < length && line[end] && !is_blank(line[end]))
        end++;
    size_t start = end;
    while (start < length && is_blank(line[start]))
        start++;
    while (length > start && is_blank(line[length - 1]))
        length--;
    *ret_argument = line + start;
    *ret_length = length - start;
    enum command command = command_find(place, line + 1, end - 1);
    *ret_near = command == COMMAND_COUNT ? command_near(place, line + 1, end - 1) : NULL;
    return command;
}
