/* Lines a person or a pipe gives to a conversation; on a terminal with editing, history and paste.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Nothing typed or pasted is lost: bytes are read in blocks into a buffer of our own, a bracketed
 * paste of any size becomes one piece of one line, and keys pressed while the model answers wait for
 * the next prompt. */
#ifndef REPL_LINE_H
#define REPL_LINE_H

#include "console/text.h"

struct line_reader;

enum line_event {
    LINE_READ,        /* a line, without its newline */
    LINE_END,         /* the end of input */
    LINE_INTERRUPTED, /* Ctrl-C or SIGTERM; what was typed went into the history */
    LINE_FAILED       /* errno says why */
};

/* plain: no editing even on a terminal. NULL: no memory. */
struct line_reader *line_open(bool plain);
void line_close(struct line_reader *reader);
/* The prompt is shown on standard error, and only on a terminal. had_text: whether an interrupted
 * line held something; may be NULL. */
enum line_event line_read(struct line_reader *reader, const char *prompt, struct text *line, bool *had_text);
/* Remembers a message for recall with the arrow keys, now and in later conversations. */
void line_remember(struct line_reader *reader, const char *message);
bool line_is_terminal(const struct line_reader *reader);

#endif
