/* Room for the next answer: what is oldest becomes a summary, what no context holds a document.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef JUPYTER_KERNEL_ROOM_H
#define JUPYTER_KERNEL_ROOM_H

#include "jupyter_kernel/talk.h"

/* Tokens that the next answer should find room for. */
size_t room_wanted(const struct talk *talk);
/* The conversation's oldest part becomes a summary, which is shown, so that the rest and the next answer fit.
 * True also when nothing could go. */
bool room_make(struct turn *turn);
/* Does so long a prompt need to be read in windows? */
bool room_lacks(const struct talk *talk, size_t tokens);
/* Attaches the prompt as a document and gives its summary. */
bool room_route(struct turn *turn, const char *prompt, size_t length, size_t tokens, json_t **ret);

#endif
