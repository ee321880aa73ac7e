/* The terminal of a conversation: what is said scrolls away upwards, a few live rows stay at the end.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/screen.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "console/escape.h"
#include "console/flow.h"
#include "console/human.h"
#include "console/terminal.h"

#define FRAME_SECONDS 0.033
#define STATUS_SECONDS 0.25
#define CLEAR_DOWN "\033[J"

static void read_size(struct screen *screen)
{
    struct winsize size;
    bool known = ioctl(screen->fd, TIOCGWINSZ, &size) == 0;
    screen->columns = known && size.ws_col ? size.ws_col : 80;
    screen->rows = known && size.ws_row ? size.ws_row : 24;
}

/* The last column stays free: what a terminal does there differs. */
static size_t text_width(const struct screen *screen)
{
    return screen->columns > 12 ? screen->columns - 1 : 11;
}

static void set_width(struct screen *screen)
{
    size_t width = text_width(screen);
    screen->prose.columns = width > 100 ? 100 : width; /* longer rows are hard to read */
    screen->plain.columns = width;
}

void screen_init(struct screen *screen, int fd, struct feed *feed)
{
    *screen = (struct screen){
        .fd = fd, .feed = feed, .styled = terminal_colours(fd), .unicode = terminal_unicode()};
    read_size(screen);
    markdown_init(&screen->prose, 80, screen->styled, screen->unicode);
    markdown_init(&screen->plain, 80, false, screen->unicode);
    screen->plain.verbatim = true;
    set_width(screen);
}

void screen_fini(struct screen *screen)
{
    markdown_fini(&screen->prose);
    markdown_fini(&screen->plain);
    text_fini(&screen->frame);
    text_fini(&screen->finished);
    text_fini(&screen->shown_status);
}

/* ---- the way out ---- */

/* The terminal may take its time: waiting is no failure, losing bytes would be. */
static void send(struct screen *screen)
{
    for (size_t at = 0; at < screen->frame.length;) {
        ssize_t sent = write(screen->fd, screen->frame.bytes + at, screen->frame.length - at);
        struct pollfd wait = {.fd = screen->fd, .events = POLLOUT};
        if (sent > 0)
            at += (size_t)sent;
        else if (sent < 0 && errno == EAGAIN)
            poll(&wait, 1, 1000);
        else if (sent < 0 && errno != EINTR)
            break; /* the terminal is gone; reading will say so */
    }
    text_clear(&screen->frame);
}

void screen_edit_bytes(struct screen *screen, const char *bytes, size_t length)
{
    text_append(&screen->frame, bytes, length);
    if (!screen->composing)
        send(screen);
}

/* Terminals in raw mode want both. */
static void put_rows(struct screen *screen, const char *rows, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (rows[i] == '\n')
            text_putc(&screen->frame, '\r');
        text_putc(&screen->frame, rows[i]);
    }
}

/* ---- painting ---- */

static size_t rows_up(const struct screen *screen)
{
    size_t edit_rows = 0, cursor = 0, up = screen->leftover;
    if (screen->edit_active)
        screen->edit.measure(screen->edit.user, screen->columns, &edit_rows, &cursor);
    for (size_t i = 0; i < screen->above_count; i++) /* a narrower terminal has broken long rows */
        up += screen->above[i] ? (screen->above[i] - 1) / screen->columns + 1 : 1;
    up += cursor;
    return up < screen->rows ? up : screen->rows - 1;
}

static void erase(struct screen *screen)
{
    size_t up = rows_up(screen);
    if (up)
        text_printf(&screen->frame, "\033[%zuA", up);
    text_puts(&screen->frame, "\r" CLEAR_DOWN);
    screen->above_count = 0;
    screen->leftover = 0;
}

static size_t count_rows(const struct text *rows)
{
    size_t count = 0;
    for (size_t i = 0; i < rows->length; i++)
        count += rows->bytes[i] == '\n';
    return count;
}

/* The last `room` rows. */
static void put_live(struct screen *screen, const struct text *rows, size_t room)
{
    size_t count = count_rows(rows);
    const char *row = text_string(rows);
    for (; count > room; count--)
        row += strcspn(row, "\n") + 1;
    for (; *row && screen->above_count < SCREEN_ROWS; count--) {
        size_t length = strcspn(row, "\n");
        put_rows(screen, row, length + 1);
        screen->above[screen->above_count++] = flow_columns(row, length);
        row += length + 1;
    }
}

static void live_rows(struct screen *screen, struct text *out)
{
    if (!markdown_is_empty(&screen->prose))
        markdown_rest(&screen->prose, out);
    if (!markdown_is_empty(&screen->plain))
        markdown_rest(&screen->plain, out);
}

static void write_status(struct screen *screen, struct text *status)
{
    if (screen->status && screen->rows >= 4)
        screen->status(screen->status_user, text_width(screen), status);
}

static void paint(struct screen *screen)
{
    struct text live = {0}, status = {0};
    size_t edit_rows = 1, cursor = 0;
    screen->composing = true;
    erase(screen);
    put_rows(screen, text_string(&screen->finished), screen->finished.length);
    text_clear(&screen->finished);
    live_rows(screen, &live);
    write_status(screen, &status);
    if (screen->edit_active)
        screen->edit.measure(screen->edit.user, screen->columns, &edit_rows, &cursor);
    size_t taken = edit_rows + count_rows(&status);
    put_live(screen, &live, screen->rows > taken ? screen->rows - taken : 0);
    put_live(screen, &status, screen->rows > edit_rows ? screen->rows - edit_rows : 0);
    if (screen->edit_active)
        screen->edit.draw(screen->edit.user);
    screen->composing = false;
    send(screen);
    text_clear(&screen->shown_status);
    text_append(&screen->shown_status, text_string(&status), status.length);
    screen->painted = human_clock();
    screen->dirty = false;
    text_fini(&live);
    text_fini(&status);
}

/* ---- what comes ---- */

static void move_done(struct screen *screen, struct markdown *from)
{
    if (from->done.length) {
        text_append(&screen->finished, from->done.bytes, from->done.length);
        screen->dirty = true;
    }
    text_clear(&from->done);
}

void screen_put(struct screen *screen, enum feed_kind kind, const char *bytes, size_t length)
{
    struct markdown *to = kind == FEED_PROSE ? &screen->prose : &screen->plain;
    struct markdown *other = kind == FEED_PROSE ? &screen->plain : &screen->prose;
    if (!markdown_is_empty(other)) {
        markdown_finish(other);
        move_done(screen, other);
    }
    markdown_feed(to, bytes, length);
    move_done(screen, to);
    screen->dirty = true;
}

static void take_piece(void *user, enum feed_kind kind, const char *bytes, size_t length)
{
    screen_put(user, kind, bytes, length);
}

static int milliseconds_until(double when, double now)
{
    return when > now ? (int)((when - now) * 1000) + 1 : 0;
}

static bool status_changed(struct screen *screen)
{
    struct text status = {0};
    write_status(screen, &status);
    bool changed = strcmp(text_string(&status), text_string(&screen->shown_status)) != 0;
    text_fini(&status);
    return changed;
}

int screen_work(struct screen *screen, bool busy)
{
    double now = human_clock();
    feed_drain(screen->feed);
    if (now < screen->painted + FRAME_SECONDS)
        return milliseconds_until(screen->painted + FRAME_SECONDS, now);
    feed_take(screen->feed, take_piece, screen);
    bool tick = busy && now >= screen->painted + STATUS_SECONDS;
    if (screen->dirty || (tick && status_changed(screen)))
        paint(screen);
    else if (tick)
        screen->painted = now;
    return busy ? milliseconds_until(screen->painted + STATUS_SECONDS, human_clock()) : -1;
}

void screen_settle(struct screen *screen)
{
    feed_drain(screen->feed);
    feed_take(screen->feed, take_piece, screen);
    markdown_finish(&screen->prose);
    markdown_finish(&screen->plain);
    move_done(screen, &screen->prose);
    move_done(screen, &screen->plain);
    paint(screen);
}

void screen_echo(struct screen *screen, const char *prompt, const char *message)
{
    struct text shown = {0};
    char rest[32];
    size_t indent = strlen(prompt);
    memset(rest, ' ', sizeof rest);
    rest[indent < sizeof rest ? indent : sizeof rest - 1] = '\0';
    escape_append(&shown, message, strlen(message));
    text_puts(&screen->finished, "\n"); /* a blank row parts the turns */
    text_puts(&screen->finished, screen->styled ? "\033[1m" : "");
    for (const char *line = text_string(&shown);; line++) {
        size_t length = strcspn(line, "\n");
        struct flow flow = {text_width(screen), false, line == text_string(&shown) ? prompt : rest, rest, 0};
        flow_rows(&flow, line, length, &screen->finished, NULL, 0);
        line += length;
        if (!*line)
            break;
    }
    text_puts(&screen->finished, screen->styled ? "\033[0m" : "");
    screen->dirty = true;
    text_fini(&shown);
}

/* ---- the line that is edited ---- */

void screen_start_edit(struct screen *screen, const struct screen_edit *edit)
{
    screen->edit = *edit;
    screen->edit_active = true;
}

void screen_end_edit(struct screen *screen, size_t rows)
{
    screen->edit_active = false;
    screen->leftover += rows; /* more than one line may be done before the next frame */
    screen->dirty = true;
}

void screen_resize(struct screen *screen)
{
    read_size(screen);
    set_width(screen);
    paint(screen);
}

void screen_repaint(struct screen *screen)
{
    paint(screen);
}

void screen_leave(struct screen *screen)
{
    erase(screen);
    send(screen);
    screen->dirty = true;
}
