/* Whether the stack that this process is allowed holds what the programs need.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONSOLE_STACK_H
#define CONSOLE_STACK_H

#include "console/text.h"

/* False, with one sentence in *problem, when `ulimit -s` leaves too little. */
bool stack_suffices(struct text *problem);

#endif
