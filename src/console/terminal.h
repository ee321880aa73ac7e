/* What the terminal behind a descriptor can do.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONSOLE_TERMINAL_H
#define CONSOLE_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

/* A terminal that moves its cursor: not TERM=dumb and not unset. */
bool terminal_draws(int fd);
/* The same, and NO_COLOR is not set. */
bool terminal_colours(int fd);
size_t terminal_columns(int fd); /* 80 when it does not say */
bool terminal_unicode(void);     /* the locale's encoding is UTF-8 */

#endif
