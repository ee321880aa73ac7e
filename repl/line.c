/* Lines a person or a pipe gives to a conversation; on a terminal with editing, history and paste.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* fopencookie */
#include "console/history.h"
#include "repl/line.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "console/escape.h"
#include "repl/line_editor.h"
#include "repl/signals.h"

/* What a handler needs to leave the terminal as it was found. */
static struct termios found_terminal;
static volatile sig_atomic_t terminal_changed;

#define BRACKETS_ON "\033[?2004h"
#define BRACKETS_OFF "\033[?2004l"

static void put(const char *string)
{
    ssize_t ignored = write(STDERR_FILENO, string, strlen(string));
    (void)ignored;
}

static void restore_terminal(void)
{
    if (!terminal_changed)
        return;
    put(BRACKETS_OFF);
    tcsetattr(STDIN_FILENO, TCSANOW, &found_terminal);
}

/* ---- characters for the editor ---- */

/* A whole character from its first byte; what is no UTF-8 becomes U+FFFD. */
static wchar_t read_wide(struct line_reader *reader, int first)
{
    char bytes[4] = {(char)first};
    size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
    unsigned code;
    for (size_t i = 1; i < size; i++) {
        int next = bytes_next(&reader->bytes);
        if (next < 0)
            return 0xFFFD;
        bytes[i] = (char)next;
    }
    return escape_character(bytes, size, &code) == size ? (wchar_t)code : 0xFFFD;
}

static bool read_pending(struct line_reader *reader, wchar_t *out)
{
    if (reader->pending_at >= reader->pending.length)
        return false;
    unsigned code = 0xFFFD;
    size_t size = escape_character(reader->pending.bytes + reader->pending_at,
                                   reader->pending.length - reader->pending_at, &code);
    reader->pending_at += size ? size : 1;
    *out = (wchar_t)code;
    return true;
}

static void remember_now(struct line_reader *reader, const char *entry)
{
    HistEvent event;
    history(reader->history, &event, H_ENTER, entry);
}

/* What stands in the line goes into the history, so that an arrow key brings it back. */
static int stop_editing(struct line_reader *reader, int byte)
{
    const LineInfo *info = el_line(reader->editor);
    struct text typed = {0}, whole = {0};
    reader->event = byte == BYTES_INTERRUPTED ? LINE_INTERRUPTED : byte == BYTES_END ? LINE_END : LINE_FAILED;
    text_append(&typed, info->buffer, (size_t)(info->lastchar - info->buffer));
    reader->had_text = typed.length > 0;
    paste_expand(&reader->pastes, text_string(&typed), &whole);
    if (typed.length && byte == BYTES_INTERRUPTED)
        remember_now(reader, text_string(&whole));
    text_fini(&typed);
    text_fini(&whole);
    return byte == BYTES_END ? 0 : -1;
}

/* Of vi's keys Escape alone is one, and the beginning of others: it is alone when none of those follows at
 * once. */
static bool is_lone_escape(const struct line_reader *reader)
{
    const struct bytes *bytes = &reader->bytes;
    return reader->options.vi &&
           (bytes->at == bytes->length || !memchr("[O\r\n", bytes->block[bytes->at], 4));
}

static int get_character(EditLine *editor, wchar_t *out)
{
    struct line_reader *reader = NULL;
    el_get(editor, EL_CLIENTDATA, &reader);
    for (;;) {
        if (read_pending(reader, out))
            return 1;
        int byte = bytes_next(&reader->bytes);
        if (byte < 0)
            return stop_editing(reader, byte);
        if (byte != '\033' || !bytes_match(&reader->bytes, "[200~")) {
            if (byte == '\033' && is_lone_escape(reader))
                byte = LINE_LONE_ESCAPE;
            *out = byte < 0x80 ? (wchar_t)byte : read_wide(reader, byte);
            return 1;
        }
        bytes_skip(&reader->bytes, 5);
        text_clear(&reader->pending);
        reader->pending_at = 0;
        if (!paste_read(&reader->pastes, &reader->bytes, &reader->pending))
            return stop_editing(reader, BYTES_INTERRUPTED);
    }
}

/* A resize or a return from the background while the prompt waits. */
static void on_wake(void *user)
{
    struct line_reader *reader = user;
    struct screen *screen = reader->options.screen;
    if (signals_take_continue()) {
        el_set(reader->editor, EL_PREP_TERM, 0);
        el_set(reader->editor, EL_PREP_TERM, 1);
        put(BRACKETS_ON);
        screen->above_count = screen->leftover = 0; /* the shell has written below what stood here */
        screen->edit_active = true;
        line_redraw(reader);
    }
    if (signals_take_resize()) {
        screen->composing = true; /* the editor clears lines of its own account */
        el_resize(reader->editor);
        fflush(reader->out);
        screen->composing = false;
        text_clear(&screen->frame);
        screen_resize(screen);
    }
}

static char *give_prompt(EditLine *editor)
{
    static char none[] = "";
    struct line_reader *reader = NULL;
    el_get(editor, EL_CLIENTDATA, &reader);
    return reader->prompt.bytes ? reader->prompt.bytes : none;
}

/* ---- opening ---- */

static void remember_loaded(void *user, const char *entry)
{
    remember_now(user, entry);
}

static bool open_history(struct line_reader *reader)
{
    HistEvent event;
    reader->history = history_init();
    if (!reader->history)
        return false;
    history(reader->history, &event, H_SETSIZE, HISTORY_ENTRIES);
    history(reader->history, &event, H_SETUNIQUE, 1);
    if (!reader->options.private)
        history_load(remember_loaded, reader);
    return true;
}

static ssize_t write_cookie(void *cookie, const char *bytes, size_t length)
{
    struct line_reader *reader = cookie;
    screen_edit_bytes(reader->options.screen, bytes, length);
    return (ssize_t)length;
}

static bool open_editor(struct line_reader *reader)
{
    cookie_io_functions_t functions = {.write = write_cookie};
    if (tcgetattr(STDIN_FILENO, &found_terminal) != 0 || !open_history(reader))
        return false;
    reader->out = fopencookie(reader, "w", functions);
    if (!reader->out)
        return false;
    setvbuf(reader->out, NULL, _IOFBF, 1 << 14);
    reader->editor =
        el_init_fd("longleaf", stdin, reader->out, reader->out, STDIN_FILENO, STDERR_FILENO, STDERR_FILENO);
    if (!reader->editor)
        return false;
    terminal_changed = 1;
    signals_set_restore(restore_terminal);
    el_set(reader->editor, EL_CLIENTDATA, reader);
    el_set(reader->editor, EL_PROMPT_ESC, give_prompt, '\1');
    el_set(reader->editor, EL_HIST, history, reader->history);
    el_set(reader->editor, EL_GETCFN, get_character);
    /* While no line is edited, keys wait unseen and uncut: a line-wise terminal would drop what is
     * longer than its own buffer. */
    el_set(reader->editor, EL_SETTY, "-x", "-icanon", "-echo", NULL);
    line_bind_keys(reader);
    reader->bytes.on_wake = on_wake;
    reader->bytes.on_idle = reader->options.on_idle ? line_idle : NULL;
    reader->bytes.on_stop = reader->options.on_stop ? line_stop : NULL;
    reader->bytes.extra = feed_descriptor(reader->options.screen->feed);
    reader->bytes.user = reader;
    reader->pastes.count_tokens = reader->options.count_tokens;
    reader->pastes.user = reader->options.user;
    return true;
}

struct line_reader *line_open(const struct line_options *options)
{
    struct line_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return NULL;
    reader->options = *options;
    reader->bytes.fd = STDIN_FILENO;
    reader->bytes.extra = -1;
    reader->terminal = isatty(STDIN_FILENO);
    if (options->screen && !open_editor(reader)) {
        line_close(reader);
        return NULL;
    }
    return reader;
}

void line_close(struct line_reader *reader)
{
    if (!reader)
        return;
    if (reader->editor)
        el_end(reader->editor);
    if (reader->history)
        history_end(reader->history);
    if (reader->out)
        fclose(reader->out);
    terminal_changed = 0;
    signals_set_restore(NULL);
    pastes_clear(&reader->pastes);
    text_fini(&reader->pending);
    text_fini(&reader->prompt);
    free(reader);
}

bool line_is_terminal(const struct line_reader *reader)
{
    return reader->terminal;
}

/* ---- reading ---- */

static void set_prompt(struct line_reader *reader, const char *prompt)
{
    text_clear(&reader->prompt);
    /* The editor hangs an escape sequence on the character after it, so one at the very end is lost:
     * the prompt's last character, a blank, carries the end of bold. */
    size_t length = strlen(prompt);
    if (reader->options.screen->styled && length)
        text_printf(&reader->prompt, "\1\033[1m\1%.*s\1\033[0m\1%s", (int)length - 1, prompt,
                    prompt + length - 1);
    else
        text_puts(&reader->prompt, prompt);
    reader->prompt_columns = text_columns(prompt);
}

static void finish_edit(struct line_reader *reader, bool whole)
{
    size_t rows, cursor;
    fflush(reader->out);
    line_measure(reader, reader->options.screen->columns, &rows, &cursor);
    screen_end_edit(reader->options.screen, whole ? rows - 1 : cursor); /* a whole line ends with a newline */
    put(BRACKETS_OFF);
    if (!whole)
        screen_leave(reader->options.screen); /* the cursor may stand anywhere in the line */
}

static enum line_event read_edited(struct line_reader *reader, const char *prompt, struct text *line,
                                   struct text *shown)
{
    int count = 0;
    struct screen_edit edit = {line_measure, line_redraw, reader};
    set_prompt(reader, prompt);
    reader->event = LINE_END; /* what an editor's own end of file means */
    reader->had_text = false;
    put(BRACKETS_ON);
    screen_start_edit(reader->options.screen, &edit);
    const char *edited = el_gets(reader->editor, &count);
    bool got = edited && count > 0;
    finish_edit(reader, got);
    if (!got)
        return reader->event;
    text_append(shown, edited, (size_t)count - (edited[count - 1] == '\n'));
    reader->broken_pastes = paste_expand(&reader->pastes, text_string(shown), line) < reader->pastes.count;
    pastes_clear(&reader->pastes);
    return line->failed || shown->failed ? LINE_FAILED : LINE_READ;
}

static enum line_event read_plain(struct line_reader *reader, const char *prompt, struct text *line)
{
    if (reader->terminal)
        put(prompt);
    for (;;) {
        int byte = bytes_next(&reader->bytes);
        if (byte == '\n' || (byte == BYTES_END && line->length)) {
            if (line->length && line->bytes[line->length - 1] == '\r')
                line->bytes[--line->length] = '\0';
            return line->failed ? LINE_FAILED : LINE_READ;
        }
        if (byte < 0) {
            reader->had_text = line->length > 0;
            if (reader->terminal)
                put("\n");
            return byte == BYTES_END ? LINE_END : byte == BYTES_INTERRUPTED ? LINE_INTERRUPTED : LINE_FAILED;
        }
        text_putc(line, (char)byte);
    }
}

enum line_event line_read(struct line_reader *reader, const char *prompt, struct text *line,
                          struct text *shown, bool *had_text)
{
    text_clear(line);
    text_clear(shown);
    enum line_event event =
        reader->editor ? read_edited(reader, prompt, line, shown) : read_plain(reader, prompt, line);
    if (had_text)
        *had_text = reader->had_text;
    return event;
}

void line_remember(struct line_reader *reader, const char *message)
{
    if (!reader->editor || !*message || strlen(message) > HISTORY_ENTRY_BYTES)
        return;
    remember_now(reader, message);
    if (!reader->options.private)
        history_append(message);
}

void line_suspend(struct line_reader *reader)
{
    if (!reader->editor)
        return;
    screen_leave(reader->options.screen);
    put(BRACKETS_OFF);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &found_terminal);
}

void line_resume(struct line_reader *reader)
{
    if (!reader->editor)
        return;
    el_set(reader->editor, EL_PREP_TERM, 0);
    el_set(reader->editor, EL_PREP_TERM, 1);
    put(BRACKETS_ON);
    screen_repaint(reader->options.screen);
}
