/* The inside of the line reader, for its keys: how the edited line looks, and what its own keys do.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPL_LINE_EDITOR_H
#define REPL_LINE_EDITOR_H

#include <histedit.h>
#include <stdio.h>

#include "repl/bytes.h"
#include "repl/line.h"
#include "repl/paste.h"

enum { LINE_LONE_ESCAPE = 0x1C }; /* what the editor is given for Escape alone, with vi's keys */

struct line_reader {
    struct line_options options;
    EditLine *editor; /* NULL: plain reading */
    History *history;
    FILE *out; /* where the editor draws: into the screen's next frame */
    struct bytes bytes;
    struct pastes pastes;
    struct text pending; /* characters that stand for a paste, on their way to the editor */
    size_t pending_at;
    struct text prompt;
    size_t prompt_columns;
    bool terminal, broken_pastes;
    enum line_event event; /* why the editor got no character */
    bool had_text;
};

void line_bind_keys(struct line_reader *reader);
void line_measure(void *reader, size_t columns, size_t *ret_rows, size_t *ret_cursor);
void line_redraw(void *reader);
int line_idle(void *reader);
bool line_stop(void *reader);

#endif
