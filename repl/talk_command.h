/* What the commands of a conversation do.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPL_TALK_COMMAND_H
#define REPL_TALK_COMMAND_H

#include "repl/talk.h"

/* A line that begins with a slash. Sets *ret_quit for /quit. LEAVE_OK or an exit code, said. */
int talk_command(struct talk *talk, const char *line, size_t length, bool *ret_quit);

#endif
