/* The loop of a conversation: lines in, work done one piece at a time, the screen kept alive meanwhile.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPL_CHAT_H
#define REPL_CHAT_H

#include "repl/talk.h"

int chat_run(struct talk *talk); /* the exit code; failures are said already */

#endif
