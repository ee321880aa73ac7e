/* What a front end asks about a cell that is being typed: completion, help, whether it is whole.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Cursor positions are in code points, as the protocol has them. */
#ifndef JUPYTER_KERNEL_WORDS_H
#define JUPYTER_KERNEL_WORDS_H

#include "jupyter_kernel/talk.h"

/* Contents of complete_reply, inspect_reply and is_complete_reply. */
json_t *words_complete(const struct talk *talk, const json_t *request);
json_t *words_inspect(const struct talk *talk, const json_t *request);
json_t *words_is_complete(const json_t *request);

#endif
