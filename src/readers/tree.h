/* Folders: their files in sorted order, .gitignore honoured, binaries and what nobody wrote left out.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_TREE_H
#define READERS_TREE_H

#include "readers/source.h"

/* fd: of the folder; stays the caller's. Links are not followed, pipes and devices not opened. LL_UNREADABLE
 * when no file could be read. */
ll_status tree_read(struct source_call *call, int fd, const char *path, ll_error *error);

#endif
