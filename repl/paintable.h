/* Whether terminfo knows a terminal that can be painted over.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPL_PAINTABLE_H
#define REPL_PAINTABLE_H

#include <stdbool.h>

/* Its cursor goes up and it clears to its end, in the sequences that all of today's terminals know. */
bool paintable_is(int fd);

#endif
