/* What was typed in earlier conversations: one private file, appended to at once.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The file is $XDG_STATE_HOME/longleaf/history (~/.local/state), mode 0600, one entry a line, newlines
 * and backslashes written as \n and \\. An entry is on disk before its answer begins. */
#ifndef CONSOLE_HISTORY_H
#define CONSOLE_HISTORY_H

#include "console/text.h"

#define HISTORY_ENTRIES 1000
#define HISTORY_ENTRY_BYTES 4096 /* longer messages, pasted ones mostly, are not kept */

/* The private folder that it is in, made when it is not there. False: no home is known. */
bool history_folder(struct text *path);

typedef void (*history_fn)(void *user, const char *entry);

void history_load(history_fn each, void *user); /* oldest first, the last HISTORY_ENTRIES */
bool history_append(const char *entry);         /* false: not kept; errno says why */

#endif
