/* A conversation: its messages, the documents attached to it, and one answer at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPL_TALK_H
#define REPL_TALK_H

#include "repl/work.h"

struct talk_document {
    char *name;
    ll_document *document;
    size_t tokens;
    bool fits; /* its text is given to the model; else only /sum reads it */
};

struct talk_message {
    const char *role; /* static */
    char *text;       /* owned */
    size_t length;
};

struct talk {
    struct program *program;
    struct work *work;
    struct talk_message *messages;
    size_t message_count;
    struct talk_document *documents;
    size_t document_count;
    size_t given; /* documents whose text the conversation holds already; they come in order */
};

void talk_fini(struct talk *talk);
/* Forgets the messages; documents stay and are given anew with the next message. */
void talk_reset(struct talk *talk);
/* LEAVE_OK or an exit code, said; the conversation is as it was then. */
int talk_attach(struct talk *talk, const char *path);
/* Sends a message and streams the answer to the output. Interrupted answers are kept as far as they
 * came. LEAVE_OK, an exit code that was said, or program_interrupted(). */
int talk_ask(struct talk *talk, const char *text, size_t length);

#endif
