/* The inside of the line reader, for its keys: how the edited line looks, and what its own keys do.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/line_editor.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

#include "console/complete.h"
#include "repl/editor.h"
#include "repl/say.h"

enum { MOST_LISTED = 60, MOST_INLINE = 2000 };

int line_idle(void *user)
{
    struct line_reader *reader = user;
    return reader->options.on_idle(reader->options.user);
}

bool line_stop(void *user)
{
    struct line_reader *reader = user;
    return reader->options.on_stop(reader->options.user);
}

/* ---- how it looks: as libedit lays it out ---- */

static size_t width_of(wchar_t c)
{
    if (iswcntrl((wint_t)c))
        return 2; /* ^X */
    int width = wcwidth(c);
    return width >= 0 ? (size_t)width : c > 0xFFFF ? 8 : 7; /* \U+ABCD */
}

void line_measure(void *user, size_t columns, size_t *ret_rows, size_t *ret_cursor)
{
    struct line_reader *reader = user;
    const LineInfoW *info = el_wline(reader->editor);
    size_t row = reader->prompt_columns / columns, column = reader->prompt_columns % columns;
    *ret_cursor = row;
    for (const wchar_t *at = info->buffer;; at++) {
        if (at == info->cursor)
            *ret_cursor = row;
        if (at == info->lastchar)
            break;
        if (*at == L'\n') {
            row++;
            column = 0;
            continue;
        }
        size_t width = width_of(*at);
        if (column + width > columns) {
            row++;
            column = 0;
        }
        column += width;
        if (column >= columns) {
            row++;
            column = 0;
        }
    }
    *ret_rows = row + 1;
}

void line_redraw(void *user)
{
    struct line_reader *reader = user;
    el_set(reader->editor, EL_REFRESH);
    fflush(reader->out);
}

/* ---- completion ---- */

static void replace_before(EditLine *editor, const char *old, size_t length, const char *text)
{
    size_t characters = 0;
    for (size_t i = 0; i < length; i++)
        characters += ((unsigned char)old[i] & 0xC0) != 0x80;
    if (characters)
        el_deletestr(editor, (int)characters);
    el_insertstr(editor, text);
}

/* The last part of a path, so that a list stays narrow. */
static const char *shown_item(const char *item)
{
    size_t length = strlen(item);
    while (length && item[length - 1] == '/')
        length--;
    while (length && item[length - 1] != '/')
        length--;
    return *item == '/' && length == 1 ? item : item + length;
}

static void list_items(struct line_reader *reader, const struct completion *c)
{
    struct text rows = {0};
    size_t widest = 1, columns = reader->options.screen->columns, column = 0;
    for (size_t i = 0; i < c->count; i++) {
        size_t width = text_columns(shown_item(c->items[i]));
        widest = width > widest ? width : widest;
    }
    for (size_t i = 0; i < c->count && i < MOST_LISTED; i++) {
        const char *item = shown_item(c->items[i]);
        size_t width = text_columns(item);
        text_puts(&rows, item);
        column += widest + 2;
        if (column + widest + 2 > columns) {
            text_putc(&rows, '\n');
            column = 0;
        } else {
            text_printf(&rows, "%*s", (int)(widest + 2 - width), "");
        }
    }
    if (c->count > MOST_LISTED)
        text_printf(&rows, "and %zu more", c->count - MOST_LISTED);
    if (rows.length && rows.bytes[rows.length - 1] != '\n')
        text_putc(&rows, '\n');
    screen_put(reader->options.screen, FEED_VERBATIM, rows.bytes, rows.length);
    text_fini(&rows);
    screen_repaint(reader->options.screen);
}

static unsigned char complete_key(EditLine *editor, int key)
{
    (void)key;
    struct line_reader *reader = NULL;
    struct completion c;
    el_get(editor, EL_CLIENTDATA, &reader);
    const LineInfo *info = el_line(editor);
    size_t length = (size_t)(info->cursor - info->buffer);
    const char *const *marks = reader->options.marks ? reader->options.marks(reader->options.user) : NULL;
    complete_line(&c, IN_REPL, info->buffer, length, marks);
    size_t typed = length - c.from, common = completion_common(&c);
    unsigned char result = CC_ERROR;
    if (c.count && (common > typed || c.count == 1)) {
        struct text text = {0};
        text_append(&text, c.items[0], common);
        if (c.count == 1 && c.from == 0)
            text_putc(&text, ' ');
        replace_before(editor, info->buffer + c.from, typed, text_string(&text));
        text_fini(&text);
        result = CC_REFRESH;
    } else if (c.count > 1) {
        list_items(reader, &c);
        result = CC_NORM;
    }
    completion_fini(&c);
    return result;
}

/* ---- other keys ---- */

static unsigned char newline_key(EditLine *editor, int key)
{
    (void)key;
    return el_insertstr(editor, "\n") == 0 ? CC_REFRESH : CC_ERROR;
}

/* The note of a paste goes as a whole. */
static unsigned char erase_key(EditLine *editor, int key)
{
    (void)key;
    struct line_reader *reader = NULL;
    el_get(editor, EL_CLIENTDATA, &reader);
    const LineInfo *info = el_line(editor);
    size_t length = (size_t)(info->cursor - info->buffer);
    if (!length)
        return CC_ERROR;
    size_t note = paste_note_before(&reader->pastes, info->buffer, length);
    el_deletestr(editor, note ? (int)note : 1);
    return CC_REFRESH;
}

static void replace_line(struct line_reader *reader, const char *text)
{
    const LineInfoW *info = el_wline(reader->editor);
    el_cursor(reader->editor, (int)(info->lastchar - info->cursor));
    info = el_wline(reader->editor);
    if (info->cursor > info->buffer)
        el_deletestr(reader->editor, (int)(info->cursor - info->buffer));
    el_insertstr(reader->editor, text);
}

void line_prefill(struct line_reader *reader, const char *text)
{
    if (!reader->editor)
        return;
    text_clear(&reader->pending);
    text_puts(&reader->pending, text);
    reader->pending_at = 0;
}

static unsigned char editor_key(EditLine *editor, int key)
{
    (void)key;
    struct line_reader *reader = NULL;
    struct text typed = {0}, whole = {0}, shown = {0}, problem = {0};
    el_get(editor, EL_CLIENTDATA, &reader);
    const LineInfo *info = el_line(editor);
    text_append(&typed, info->buffer, (size_t)(info->lastchar - info->buffer));
    paste_expand(&reader->pastes, text_string(&typed), &whole);
    line_suspend(reader);
    bool ok = editor_run(&whole, &problem);
    if (ok && whole.length > MOST_INLINE)
        ok = paste_keep(&reader->pastes, &whole, &shown);
    else if (ok)
        text_puts(&shown, text_string(&whole));
    if (ok)
        replace_line(reader, text_string(&shown));
    else
        say_error("%s", text_string(&problem));
    line_resume(reader);
    text_fini(&typed);
    text_fini(&whole);
    text_fini(&shown);
    text_fini(&problem);
    return CC_NORM;
}

/* ---- which key does what ---- */

/* Sequences that begin with Escape would keep it from being a key of its own: see LINE_LONE_ESCAPE. */
static void bind_vi_keys(EditLine *editor)
{
    static const char *const arrows[][3] = {{"\033[A", "\033OA", "ed-prev-history"},
                                            {"\033[B", "\033OB", "ed-next-history"},
                                            {"\033[C", "\033OC", "ed-next-char"},
                                            {"\033[D", "\033OD", "ed-prev-char"}};
    const char escape[] = {LINE_LONE_ESCAPE, '\0'};
    el_set(editor, EL_EDITOR, "vi");
    el_set(editor, EL_BIND, escape, "vi-command-mode", NULL);
    for (size_t i = 0; i < sizeof arrows / sizeof *arrows; i++)
        for (size_t form = 0; form < 2; form++)
            el_set(editor, EL_BIND, arrows[i][form], arrows[i][2], NULL);
}

void line_bind_keys(struct line_reader *reader)
{
    EditLine *editor = reader->editor;
    el_set(editor, EL_EDITOR, "emacs");
    /* The narrow form copies both names and never frees them. */
    el_wset(editor, EL_ADDFN, L"ll-complete", L"complete commands, files, parameters", complete_key);
    el_wset(editor, EL_ADDFN, L"ll-newline", L"a new line in the message", newline_key);
    el_wset(editor, EL_ADDFN, L"ll-erase", L"erase a character or a folded paste", erase_key);
    el_wset(editor, EL_ADDFN, L"ll-editor", L"edit the message in $EDITOR", editor_key);
    el_source(editor, NULL); /* ~/.editrc, as other programs with this library */
    if (reader->options.vi)
        bind_vi_keys(editor);
    el_set(editor, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_set(editor, EL_BIND, "\t", "ll-complete", NULL);
    el_set(editor, EL_BIND, "\033\r", "ll-newline", NULL);
    el_set(editor, EL_BIND, "\033\n", "ll-newline", NULL);
    el_set(editor, EL_BIND, "^?", "ll-erase", NULL);
    el_set(editor, EL_BIND, "^H", "ll-erase", NULL);
    el_set(editor, EL_BIND, "^X^E", "ll-editor", NULL);
}
