/* Lines a person or a pipe gives to a conversation; on a terminal with editing, history and paste.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Nothing typed or pasted is lost: bytes are read in blocks into a buffer of our own, a bracketed
 * paste of any size becomes one piece of one line, and what is typed while the model answers is edited as
 * at any other time. While a line is waited for, the screen's work is done. */
#ifndef REPL_LINE_H
#define REPL_LINE_H

#include "console/text.h"
#include "repl/screen.h"

struct line_reader;

enum line_event {
    LINE_READ,        /* a line, without its newline */
    LINE_END,         /* the end of input */
    LINE_INTERRUPTED, /* a signal that nobody else took, or on_idle's wish; what was typed is in the history
                       */
    LINE_FAILED       /* errno says why */
};

struct line_options {
    struct screen *screen; /* NULL: no editing, even on a terminal */
    bool vi;               /* keys of vi, else of emacs */
    bool private;          /* the history is neither read nor written */
    /* See bytes.h; with a screen only. */
    int (*on_idle)(void *user);
    bool (*on_stop)(void *user);
    size_t (*count_tokens)(void *user, const char *text, size_t length);
    const char *const *(*marks)(void *user); /* names for completion, NULL-terminated; may give NULL */
    void *user;
};

/* NULL: no memory. */
struct line_reader *line_open(const struct line_options *options);
void line_close(struct line_reader *reader);
/* The prompt is shown on standard error, and only on a terminal. shown: what stands on the screen for the
 * line, pastes folded; had_text: whether an interrupted line held something. */
enum line_event line_read(struct line_reader *reader, const char *prompt, struct text *line,
                          struct text *shown, bool *had_text);
/* Remembers a message for recall with the arrow keys, now and in later conversations. */
void line_remember(struct line_reader *reader, const char *message);
bool line_is_terminal(const struct line_reader *reader);
/* The next line to be edited begins with this text. */
void line_prefill(struct line_reader *reader, const char *text);
/* Gives the terminal to another program, and takes it back; nothing without a screen. */
void line_suspend(struct line_reader *reader);
void line_resume(struct line_reader *reader);

#endif
