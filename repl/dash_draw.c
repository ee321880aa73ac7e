/* How the dashboard looks: rows of figures, bars, a chart over time, maps of blocks and windows.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <ncurses.h>
#include <string.h>
#include <time.h>

#include "console/escape.h"
#include "console/human.h"
#include "repl/dash.h"

enum { MOST_CHART = 10, MOST_MAP = 4, SMALL_MAP = 2, MOST_COLUMNS = 500, SAMPLES_A_SECOND = 4 };

struct page { /* where the next row goes */
    const struct dash *dash;
    int row, rows, columns;
};

static const char *const blocks[LL_COMPONENTS] = {"█", "▓", "▒", "░", "·"};
static const char *const letters[LL_COMPONENTS] = {"#", "=", "+", "-", "."};

static const char *glyph(const struct dash *dash, int component)
{
    return dash->unicode ? blocks[component] : letters[component];
}

static void colour(const struct dash *dash, int component, bool on)
{
    if (!dash->coloured)
        return;
    if (on)
        attron(COLOR_PAIR(component + 1));
    else
        attroff(COLOR_PAIR(component + 1));
}

static bool has_room(const struct page *page)
{
    return page->row < page->rows;
}

/* The text on the next row, no wider than the screen. */
static void put_row(struct page *page, int style, const struct text *text)
{
    const char *words = text_string(text);
    if (!has_room(page))
        return;
    attron(style);
    mvaddnstr(page->row++, 0, words, (int)text_fit(words, (size_t)page->columns));
    attroff(style);
}

static void put_heading(struct page *page, struct text *words)
{
    if (page->rows > 16 && page->row && page->row + 1 < page->rows)
        page->row++;
    put_row(page, A_BOLD, words);
    text_fini(words);
}

/* ---- what goes on ---- */

static void draw_head(struct page *page)
{
    const struct dash *dash = page->dash;
    const struct report *report = &dash->report;
    struct text words = {0};
    escape_append_line(&words, report->program);
    text_putc(&words, ' ');
    escape_append_line(&words, report->verb);
    text_printf(&words, " %ld", report->pid);
    if (dash->places > 1)
        text_printf(&words, " (%zu of %zu)", dash->place + 1, dash->places);
    if (report->model[0]) {
        text_puts(&words, "  ");
        escape_append_line(&words, report->model);
    }
    double ran = difftime(time(NULL), (time_t)(report->began / 1000));
    if (ran >= 1)
        text_printf(&words, "  for %s", human_seconds(ran).text);
    put_row(page, A_REVERSE, &words);
    text_fini(&words);
}

static void draw_work(struct page *page)
{
    const struct report *report = &page->dash->report;
    struct text words = {0};
    if (!report->working) {
        text_puts(&words, "waiting");
    } else {
        double share = report->total ? (double)report->done / (double)report->total : 0;
        escape_append_line(&words, report->phase);
        if (report->total)
            text_printf(&words, " %s", human_bar(share, 12, page->dash->unicode).text);
        if (report->done && !report->total)
            text_printf(&words, ", %s so far", human_count(report->done).text);
        if (report->label[0]) {
            text_putc(&words, ' ');
            escape_append_line(&words, report->label);
        }
        if (report_time_left(report) > 0)
            text_printf(&words, ", %s left", human_seconds(report_time_left(report)).text);
    }
    if (report->session.decode_rate > 0)
        text_printf(&words, "  %s tokens/s written", human_rate(report->session.decode_rate).text);
    if (report->session.prefill_rate > 0)
        text_printf(&words, "  %s tokens/s read", human_rate(report->session.prefill_rate).text);
    put_row(page, A_NORMAL, &words);
    text_fini(&words);
}

/* ---- memory ---- */

static uint64_t together(const uint64_t bytes[LL_COMPONENTS])
{
    uint64_t sum = 0;
    for (int i = 0; i < LL_COMPONENTS; i++)
        sum += bytes[i] <= UINT64_MAX - sum ? bytes[i] : 0;
    return sum;
}

static void draw_component(struct page *page, int component)
{
    const struct dash *dash = page->dash;
    const ll_memory *memory = &dash->report.memory;
    struct text words = {0};
    if (!has_room(page))
        return;
    colour(dash, component, true);
    mvaddstr(page->row, 0, glyph(dash, component));
    colour(dash, component, false);
    text_printf(&words, " %-8s %10s", ll_component_name((ll_component)component),
                human_bytes(memory->used[component]).text);
    if (page->columns >= 60)
        text_printf(&words, "  of %10s reserved", human_bytes(memory->reserved[component]).text);
    if (page->columns >= 90)
        text_printf(&words, "  %10s at the most", human_bytes(memory->peak[component]).text);
    addnstr(text_string(&words), (int)text_fit(text_string(&words), (size_t)page->columns - 1));
    page->row++;
    text_fini(&words);
}

/* The samples that one column of the chart stands for; the largest of them is drawn. */
static const struct dash_sample *sample_of(const struct dash *dash, size_t column, size_t each)
{
    size_t kept = dash->sample_count < DASH_SAMPLES ? dash->sample_count : DASH_SAMPLES;
    size_t first = dash->sample_count - kept;
    const struct dash_sample *most = NULL;
    for (size_t i = column * each; i < (column + 1) * each && i < kept; i++) {
        const struct dash_sample *sample = &dash->samples[(first + i) % DASH_SAMPLES];
        if (!most || together(sample->used) > together(most->used))
            most = sample;
    }
    return most;
}

/* Which component stands at this height of a stack; -1: above all. */
static int component_at(const struct dash_sample *sample, double height)
{
    double sum = 0;
    for (int i = 0; i < LL_COMPONENTS; i++) {
        sum += (double)sample->used[i];
        if (height < sum)
            return i;
    }
    return -1;
}

static void draw_column(const struct page *page, const struct dash_sample *sample, int column, int rows,
                        double most)
{
    for (int row = 0; row < rows; row++) {
        int component = component_at(sample, (rows - row - 0.5) / rows * most);
        if (component < 0)
            continue;
        colour(page->dash, component, true);
        mvaddstr(page->row + row, column, glyph(page->dash, component));
        colour(page->dash, component, false);
    }
}

static void draw_chart(struct page *page, int rows)
{
    const struct dash *dash = page->dash;
    size_t columns = (size_t)(page->columns < MOST_COLUMNS ? page->columns : MOST_COLUMNS);
    size_t kept = dash->sample_count < DASH_SAMPLES ? dash->sample_count : DASH_SAMPLES;
    size_t each = kept > columns ? (kept + columns - 1) / columns : 1;
    const struct dash_sample *shown[MOST_COLUMNS];
    uint64_t most = 1;
    for (size_t i = 0; i < columns; i++) {
        shown[i] = sample_of(dash, i, each);
        uint64_t sum = shown[i] ? together(shown[i]->used) : 0;
        most = sum > most ? sum : most;
    }
    for (size_t i = 0; i < columns; i++)
        if (shown[i])
            draw_column(page, shown[i], (int)i, rows, (double)most);
    page->row += rows;
    struct text words = {0};
    text_printf(&words, "up to %s, the last %s", human_bytes(most).text,
                human_seconds((double)kept / SAMPLES_A_SECOND).text);
    put_row(page, A_DIM, &words);
    text_fini(&words);
}

static void draw_memory(struct page *page, int chart)
{
    const ll_memory *memory = &page->dash->report.memory;
    struct text words = {0};
    text_printf(&words, "Memory  %s", human_bytes(together(memory->used)).text);
    if (memory->total)
        text_printf(&words, " of %s", human_bytes(memory->total).text);
    if (page->columns >= 60)
        text_printf(&words, "  process %s", human_bytes(memory->resident).text);
    if (isfinite(memory->busy))
        text_printf(&words, "  busy %s", human_share((double)memory->busy).text);
    if (isfinite(memory->celsius))
        text_printf(&words, "  %.0f °C", (double)memory->celsius);
    if (isfinite(memory->watts))
        text_printf(&words, "  %.0f W", (double)memory->watts);
    put_heading(page, &words);
    for (int i = 0; i < LL_COMPONENTS; i++)
        draw_component(page, i);
    if (chart > 0)
        draw_chart(page, chart);
}

/* ---- maps ---- */

/* A map's cell stands for each of its things; of several the one that says most is shown. */
typedef int (*thing_fn)(const void *user, size_t thing); /* 0: nothing, 1: something, 2: more */

static void draw_map(struct page *page, size_t things, thing_fn state, const void *user, size_t *ret_each)
{
    static const char *const cells[2][3] = {{".", "#", "="}, {"·", "█", "▒"}};
    size_t room = (size_t)page->columns * (page->rows < 30 ? SMALL_MAP : MOST_MAP);
    size_t each = things > room ? (things + room - 1) / room : 1, count = (things + each - 1) / each;
    for (size_t i = 0; i < count && has_room(page); i++) {
        int most = 0;
        for (size_t thing = i * each; thing < (i + 1) * each && thing < things; thing++) {
            int each_state = state(user, thing);
            most = each_state > most ? each_state : most;
        }
        mvaddstr(page->row, (int)(i % (size_t)page->columns), cells[page->dash->unicode][most]);
        if ((i + 1) % (size_t)page->columns == 0 || i + 1 == count)
            page->row++;
    }
    *ret_each = each;
}

struct block_map {
    size_t used, shared;
};

static int block_state(const void *user, size_t thing)
{
    const struct block_map *map = user;
    return thing < map->shared ? 2 : thing < map->used ? 1 : 0;
}

static void draw_blocks(struct page *page)
{
    const struct report *report = &page->dash->report;
    const ll_activity *activity = &report->activity;
    bool windows = activity->windows > 0;
    size_t used = windows ? activity->blocks_used : report->session.cache_blocks;
    size_t shared = windows ? activity->blocks_shared : report->session.blocks_shared;
    size_t unused = windows ? activity->blocks_free : report->session.blocks_free, each = 1;
    enum { MOST = 1 << 24 }; /* more than any cache has: whoever says so is not to keep us busy */
    if ((!windows && !report->with_session) || used > MOST || unused > MOST || !(used + unused))
        return;
    struct text words = {0};
    text_printf(&words, "KV blocks  %s used, %s shared, %s free", human_count(used).text,
                human_count(shared).text, human_count(unused).text);
    if (!windows && page->columns >= 70)
        text_printf(&words, "  %s of %s tokens, %s reused", human_count(report->session.position).text,
                    human_count(report->session.cache_capacity).text,
                    human_count(report->session.reused).text);
    put_heading(page, &words);
    draw_map(page, used + unused, block_state, &(struct block_map){used, shared}, &each);
}

/* Windows begin in their order, so those that have begun and do not run are finished. */
static int window_state(const void *user, size_t thing)
{
    const ll_activity *activity = user;
    for (size_t i = 0; i < activity->running; i++)
        if (activity->now[i].window == thing)
            return 2;
    return thing < activity->finished + activity->running;
}

static void draw_window(struct page *page, const ll_window_work *work)
{
    struct text words = {0};
    double share = work->prompt ? (double)work->read / (double)work->prompt : 0;
    text_printf(&words, "%4" PRIu32 " %s", work->window + 1,
                human_bar(share > 1 ? 1 : share, 12, page->dash->unicode).text);
    text_printf(&words, "  %s tokens to read, %s written", human_count(work->prompt).text,
                human_count(work->written).text);
    put_row(page, A_NORMAL, &words);
    text_fini(&words);
}

static void draw_windows(struct page *page, int room)
{
    const ll_activity *activity = &page->dash->report.activity;
    enum { MOST = 1 << 20 };
    size_t each = 1;
    if (!activity->windows || activity->windows > MOST)
        return;
    struct text words = {0};
    text_printf(&words, "Windows  %s of %s finished, %zu running", human_count(activity->finished).text,
                human_count(activity->windows).text, activity->running);
    put_heading(page, &words);
    draw_map(page, activity->windows, window_state, activity, &each);
    for (size_t i = 0; i < activity->running && (int)i < room; i++)
        draw_window(page, &activity->now[i]);
}

/* ---- the run log ---- */

static void draw_runs(struct page *page)
{
    struct text words = {0};
    if (page->row + 3 > page->rows)
        return;
    text_puts(&words, "Runs");
    put_heading(page, &words);
    const char *line = text_string(&page->dash->runs);
    int room = page->rows - page->row, lines = 0;
    for (const char *at = line; (at = strchr(at, '\n')); at++)
        lines++;
    for (int i = 0; *line; i++) { /* the heading, then the newest */
        size_t length = strcspn(line, "\n");
        struct text shown = {0}, row = {0};
        text_append(&row, line, length);
        escape_append_line(&shown, text_string(&row));
        if (i == 0 || i > lines - room)
            put_row(page, i ? A_NORMAL : A_DIM, &shown);
        text_fini(&shown);
        text_fini(&row);
        line += length + (line[length] == '\n');
    }
}

/* ---- all of it ---- */

static void draw_foot(const struct dash *dash, int row, int columns)
{
    const char *words = dash->places > 1 ? "q leaves   Tab shows the next program" : "q leaves";
    attron(A_DIM);
    mvaddnstr(row, 0, words, columns - 1);
    attroff(A_DIM);
}

void dash_draw(const struct dash *dash)
{
    int rows, columns;
    getmaxyx(stdscr, rows, columns);
    struct page page = {.dash = dash, .rows = rows > 1 ? rows - 1 : rows, .columns = columns};
    erase();
    if (!dash->with_report) {
        put_row(&page, A_NORMAL, &dash->words);
    } else {
        bool windows = dash->report.activity.windows > 0;
        int left = rows - (windows ? 20 : 14);
        int chart = left < 2 ? 0 : left / 2 < MOST_CHART ? left / 2 : MOST_CHART;
        draw_head(&page);
        draw_work(&page);
        if (dash->report.with_memory)
            draw_memory(&page, chart);
        draw_windows(&page, rows < 30 ? 2 : rows / 4);
        draw_blocks(&page);
    }
    draw_runs(&page);
    if (rows > 1)
        draw_foot(dash, rows - 1, columns);
    refresh();
}
