/* What the commands of a conversation do.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPL_TALK_COMMAND_H
#define REPL_TALK_COMMAND_H

#include "repl/talk.h"

/* Carries out a line that starts with a slash. *ret_quit: the conversation ends. Gives an exit code,
 * said already, that matters only when the input is no terminal. */
int talk_command(struct talk *talk, const char *line, size_t length, bool *ret_quit);

#endif
