/* The dashboard: memory over time, KV blocks, windows and runs of one running program, on the whole screen.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/dash.h"

#include <math.h>
#include <ncurses.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "console/human.h"
#include "console/runs.h"
#include "console/terminal.h"
#include "repl/signals.h"

#define FRAME_SECONDS 0.25
#define RUNS_SECONDS 2.0

enum { ESCAPE_KEY = 27, INTERRUPT_KEY = 3, SUSPEND_KEY = 26, RUNS_SHOWN = 12 };

struct watch { /* what is looked at, and when it is looked at again */
    struct dash dash;
    struct beacon *own;
    long pid, turned; /* being shown; turned: the one whose samples are kept */
    long pids[REPORT_PROGRAMS];
    size_t pid_count;
    double runs_read;
    int fd;
    bool left;
};

/* ---- looking ---- */

static void find_programs(struct watch *watch)
{
    struct text problem = {0};
    report_find(watch->pids, &watch->pid_count, &problem);
    text_clear(&watch->dash.words);
    text_puts(&watch->dash.words, problem.length ? text_string(&problem)
                                                 : "no longleaf is running; one that begins appears here");
    text_fini(&problem);
    size_t at = 0;
    while (at < watch->pid_count && watch->pids[at] != watch->pid)
        at++;
    if (at == watch->pid_count && !(watch->own && watch->pid == (long)getpid())) {
        at = 0;
        watch->pid = watch->own ? (long)getpid() : watch->pid_count ? watch->pids[0] : 0;
    }
    watch->dash.place = at;
    watch->dash.places = watch->pid_count;
}

static void keep_sample(struct watch *watch)
{
    struct dash *dash = &watch->dash;
    if (watch->turned != watch->pid)
        dash->sample_count = 0;
    watch->turned = watch->pid;
    struct dash_sample *sample = &dash->samples[dash->sample_count++ % DASH_SAMPLES];
    memcpy(sample->used, dash->report.memory.used, sizeof sample->used);
}

/* Keys and signals end the wait for an answer; what was seen last then stays. */
static bool fetch(struct watch *watch, struct text *bytes, bool *ret_woken)
{
    struct report_patience patience = {{STDIN_FILENO, signals_descriptor()}};
    struct text problem = {0};
    if (watch->own && watch->pid == (long)getpid()) {
        beacon_report(watch->own, bytes);
        return true;
    }
    bool got = watch->pid && report_fetch(watch->pid, &patience, bytes, &problem);
    *ret_woken = !got && !problem.length && watch->pid == watch->turned;
    if (problem.length) {
        text_clear(&watch->dash.words);
        text_puts(&watch->dash.words, text_string(&problem));
    }
    text_fini(&problem);
    return got;
}

static void look_at_program(struct watch *watch)
{
    struct text bytes = {0};
    bool woken = false, got = fetch(watch, &bytes, &woken);
    if (!woken)
        watch->dash.with_report =
            got && !bytes.failed && report_read(text_string(&bytes), bytes.length, &watch->dash.report);
    if (!woken && watch->dash.with_report)
        keep_sample(watch);
    text_fini(&bytes);
}

static void look_at_runs(struct watch *watch, double now)
{
    if (watch->runs_read && now - watch->runs_read < RUNS_SECONDS)
        return;
    watch->runs_read = now;
    ll_runlog_filter filter;
    ll_error error = {0};
    ll_runlog_filter_init(&filter);
    filter.last = RUNS_SHOWN;
    text_clear(&watch->dash.runs);
    if (runs_show(RUNS_TEXT, &filter, (size_t)COLS, &watch->dash.runs, &error) != LL_OK) {
        text_clear(&watch->dash.runs);
        text_puts(&watch->dash.runs, error.text);
    }
}

static void look(struct watch *watch)
{
    find_programs(watch);
    look_at_program(watch);
    look_at_runs(watch, human_clock());
    dash_draw(&watch->dash);
}

/* ---- keys and signals ---- */

static void turn_to_next(struct watch *watch, int step)
{
    size_t count = watch->pid_count;
    if (!count)
        return;
    watch->pid = watch->pids[(watch->dash.place + count + (size_t)(step + (int)count)) % count];
    look(watch);
}

static void suspend(struct watch *watch)
{
    endwin();
    raise(SIGSTOP);
    signals_take_continue();
    refresh();
    look(watch);
}

static void take_key(struct watch *watch, int key)
{
    switch (key) {
    case 'q':
    case 'Q':
    case ESCAPE_KEY:
    case INTERRUPT_KEY:
        watch->left = true;
        break;
    case SUSPEND_KEY:
        suspend(watch);
        break;
    case '\t':
    case 'n':
    case KEY_RIGHT:
    case KEY_DOWN:
        turn_to_next(watch, 1);
        break;
    case 'p':
    case KEY_LEFT:
    case KEY_UP:
        turn_to_next(watch, -1);
        break;
    default:
        break;
    }
}

static void take_resize(struct watch *watch)
{
    struct winsize size;
    if (ioctl(watch->fd, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col)
        resizeterm(size.ws_row, size.ws_col);
    watch->runs_read = 0;
    look(watch);
}

/* Until the next frame is due, and once at least, however long the last one took. A terminal that went away
 * ends it. */
static void wait_for_keys(struct watch *watch, double until)
{
    double left;
    do {
        left = fmax(until - human_clock(), 0);
        struct pollfd wait[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
                                 {.fd = signals_descriptor(), .events = POLLIN}};
        if (poll(wait, 2, (int)ceil(left * 1000)) > 0 && wait[1].revents)
            signals_drain();
        int key = getch();
        if (key == ERR && (wait[0].revents & (POLLHUP | POLLERR | POLLNVAL)))
            watch->left = true;
        for (; key != ERR && !watch->left; key = getch())
            take_key(watch, key);
        if (signals_seen())
            watch->left = true;
        if (signals_take_resize())
            take_resize(watch);
    } while (!watch->left && left > 0);
}

/* ---- the screen ---- */

static void choose_colours(struct dash *dash)
{
    static const short colours[LL_COMPONENTS] = {COLOR_BLUE, COLOR_GREEN, COLOR_YELLOW, COLOR_MAGENTA,
                                                 COLOR_CYAN};
    dash->coloured = dash->coloured && has_colors() && start_color() == OK;
    if (!dash->coloured)
        return;
    use_default_colors();
    for (short i = 0; i < LL_COMPONENTS; i++)
        init_pair((short)(i + 1), colours[i], -1);
}

bool dash_run(FILE *out, struct beacon *own, long pid)
{
    struct watch *watch = calloc(1, sizeof *watch);
    SCREEN *screen = watch ? newterm(NULL, out, stdin) : NULL;
    if (!screen) {
        free(watch);
        return false;
    }
    watch->own = own;
    watch->pid = pid ? pid : own ? (long)getpid() : 0;
    watch->fd = fileno(out);
    watch->dash.unicode = terminal_unicode();
    watch->dash.coloured = terminal_colours(watch->fd);
    raw(); /* Ctrl-C leaves the screen, not the program */
    noecho();
    nodelay(stdscr, TRUE);
    keypad(stdscr, TRUE);
    set_escdelay(50);
    curs_set(0);
    choose_colours(&watch->dash);
    while (!watch->left) {
        double began = human_clock();
        look(watch);
        wait_for_keys(watch, began + FRAME_SECONDS);
    }
    endwin();
    delscreen(screen);
    text_fini(&watch->dash.words);
    text_fini(&watch->dash.runs);
    free(watch);
    return true;
}
