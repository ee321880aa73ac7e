/* The folder where the running programs of one user meet: private, checked before every use.
 * SPDX-License-Identifier: Apache-2.0
 *
 * $XDG_RUNTIME_DIR/longleaf, else /run/user/UID/longleaf where there is such, else longleaf-UID in $TMPDIR or
 * /tmp. It must be a folder, no link, that this user owns and nobody else may enter. */
#ifndef CONSOLE_MEETING_H
#define CONSOLE_MEETING_H

#include <sys/un.h>

#include "console/text.h"

/* A descriptor of the folder; make: it is made when it is not there. -1: problem says why, in a sentence;
 * with ENOENT in errno there is none yet. */
int meeting_open(bool make, struct text *problem);
/* The address of the socket NAME in it. False: the name is too long. */
bool meeting_address(int folder, const char *name, struct sockaddr_un *ret);

#endif
