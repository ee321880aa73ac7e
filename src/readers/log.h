/* Whether a text is a log: most of its lines carry a time or a level.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_LOG_H
#define READERS_LOG_H

#include <stdbool.h>
#include <stddef.h>

/* named: the file is called a log, so that two lines will do. */
bool log_is_plausible(const char *text, size_t length, bool named);

#endif
