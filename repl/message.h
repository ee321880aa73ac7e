/* Lines into messages: fences, backslashes at a line's end, blank ones.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPL_MESSAGE_H
#define REPL_MESSAGE_H

#include "repl/talk.h"

struct message_builder { /* zero-initialised: nothing has come */
    struct talk_message message;
    bool open; /* more lines belong to it */
};

/* Takes one more line, whole and as shown. True: the message is complete, and fences are gone. */
bool message_take(struct message_builder *builder, const struct text *line, const struct text *shown);
/* The input ended: what came is a message. False: nothing came. */
bool message_end(struct message_builder *builder);
void message_clear(struct message_builder *builder); /* and what it holds */
bool message_is_blank(const struct talk_message *message);

#endif
