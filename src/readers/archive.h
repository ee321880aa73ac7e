/* Archives (ZIP, tar, compressed files): each member read like a file.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_ARCHIVE_H
#define READERS_ARCHIVE_H

#include "readers/reader.h"
#include "readers/source.h"

/* path: of the archive. Members come sorted as those of a folder do. LL_UNREADABLE when none could be
 * read. */
ll_status archive_read_all(struct source_call *call, const struct input *input, const char *path);

#endif
