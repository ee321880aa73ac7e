/* The terminal of a conversation: what is said scrolls away upwards, a few live rows stay at the end.
 * SPDX-License-Identifier: Apache-2.0
 *
 * From the top: finished rows, which are printed once and belong to the terminal's own history; then the
 * live area, which is painted anew at most thirty times a second: the unfinished end of the answer,
 * messages that wait, the status line, and the line that is being edited. Everything goes out in one
 * write. Only the screen's thread calls these functions; the engine's thread uses the feed. */
#ifndef REPL_SCREEN_H
#define REPL_SCREEN_H

#include "console/markdown.h"
#include "repl/feed.h"

enum { SCREEN_ROWS = 200 };

/* The line being edited, which stands below all: its owner knows how it looks. */
struct screen_edit {
    /* Rows that it takes, and the row of its cursor, for so many columns. */
    void (*measure)(void *user, size_t columns, size_t *ret_rows, size_t *ret_cursor);
    /* Draws it from the first column of a fresh row, by screen_edit_bytes. */
    void (*draw)(void *user);
    void *user;
};

struct screen {
    int fd;
    size_t columns, rows;
    bool styled, unicode;
    struct feed *feed;
    /* Writes the status line for so many columns, and what waits; may be NULL. */
    void (*status)(void *user, size_t columns, struct text *out);
    void *status_user;
    struct screen_edit edit;
    bool edit_active, composing, dirty;
    struct text frame, finished, shown_status;
    struct markdown prose, plain;
    size_t above[SCREEN_ROWS], above_count; /* columns of the live rows that stand above the edited line */
    size_t leftover;                        /* rows of a line that is done, between those and the next line */
    double painted;
};

/* For terminals that can be painted (repl/paintable.h). */
void screen_init(struct screen *screen, int fd, struct feed *feed);
void screen_fini(struct screen *screen);
void screen_start_edit(struct screen *screen, const struct screen_edit *edit);
/* The line is done, and the cursor stands so many rows below its first row. */
void screen_end_edit(struct screen *screen, size_t rows);
/* What the editor draws. */
void screen_edit_bytes(struct screen *screen, const char *bytes, size_t length);
/* Something to print, now from the screen's own thread. */
void screen_put(struct screen *screen, enum feed_kind kind, const char *bytes, size_t length);
/* The message as it was typed, after its prompt. */
void screen_echo(struct screen *screen, const char *prompt, const char *message);
/* Takes what came and paints what is due; gives the milliseconds to the next time, or -1 when idle. */
int screen_work(struct screen *screen, bool busy);
/* All that came is finished and painted. */
void screen_settle(struct screen *screen);
void screen_resize(struct screen *screen);
void screen_repaint(struct screen *screen);
/* Takes the live area away, for another program or a full screen. */
void screen_leave(struct screen *screen);

#endif
