/* Curves over a logarithmic axis: SVG for a page, braille for a terminal.
 * SPDX-License-Identifier: Apache-2.0 */
#include "console/chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "console/human.h"

enum { WIDTH = 860, HEIGHT = 480, LEFT = 90, RIGHT = 190, TOP = 48, BOTTOM = 56, MOST_COLUMNS = 200 };

struct frame { /* of all points: x logarithmic, y from 0 */
    double x_least, x_most, y_most;
    bool empty;
};

static struct frame find_frame(const struct chart *chart)
{
    struct frame frame = {.x_least = INFINITY, .empty = true};
    for (size_t s = 0; s < chart->count; s++)
        for (size_t i = 0; i < chart->series[s].count; i++) {
            const struct chart_point *point = &chart->series[s].points[i];
            if (!(point->x > 0.0) || !isfinite(point->y))
                continue;
            frame.x_least = fmin(frame.x_least, point->x);
            frame.x_most = fmax(frame.x_most, point->x);
            frame.y_most = fmax(frame.y_most, point->y);
            frame.empty = false;
        }
    if (frame.x_most <= frame.x_least)
        frame.x_most = frame.x_least * 2.0;
    frame.y_most = frame.y_most > 0.0 ? frame.y_most * 1.05 : 1.0;
    return frame;
}

static double across(const struct frame *frame, double x)
{
    return log(x / frame->x_least) / log(frame->x_most / frame->x_least);
}

/* ---- SVG ---- */

static void put_escaped(struct text *out, const char *text)
{
    for (; *text; text++)
        if (*text == '<' || *text == '>' || *text == '&' || *text == '"')
            text_printf(out, "&#%d;", *text);
        else if ((unsigned char)*text >= ' ')
            text_putc(out, *text);
}

static double at_x(const struct frame *frame, double x)
{
    return LEFT + across(frame, x) * (WIDTH - LEFT - RIGHT);
}

static double at_y(const struct frame *frame, double y)
{
    return HEIGHT - BOTTOM - y / frame->y_most * (HEIGHT - TOP - BOTTOM);
}

static void put_label(struct text *out, double x, double y, const char *anchor, const char *label)
{
    text_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    put_escaped(out, label);
    text_puts(out, "</text>\n");
}

static void put_axes(const struct chart *chart, const struct frame *frame, struct text *out)
{
    for (int i = 0; i <= 5; i++) {
        double y = frame->y_most * i / 5.0;
        text_printf(out, "<path d=\"M%d %.1fH%d\" stroke=\"#ddd\"/>\n", LEFT, at_y(frame, y), WIDTH - RIGHT);
        put_label(out, LEFT - 8, at_y(frame, y) + 4, "end", human_bytes((uint64_t)y).text);
    }
    double first = pow(2.0, ceil(log2(frame->x_least) - 1e-9));
    double step = log2(frame->x_most / frame->x_least) > 9.0 ? 4.0 : 2.0;
    for (double x = first; x <= frame->x_most * 1.0001; x *= step) {
        text_printf(out, "<path d=\"M%.1f %dV%d\" stroke=\"#eee\"/>\n", at_x(frame, x), TOP, HEIGHT - BOTTOM);
        put_label(out, at_x(frame, x), HEIGHT - BOTTOM + 18, "middle", human_count((uint64_t)x).text);
    }
    put_label(out, LEFT, TOP - 22, "start", chart->title);
    put_label(out, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 14, "middle", chart->x_name);
    put_label(out, 8, TOP - 6, "start", chart->y_name);
}

static void put_series(const struct chart_series *series, size_t index, const struct frame *frame,
                       struct text *out)
{
    static const char *const colours[] = {"#0b6e4f", "#b3541e", "#3a5a98", "#8a2c6d", "#6b6b00", "#444"};
    const char *colour = colours[index % (sizeof colours / sizeof *colours)];
    if (!series->dots)
        text_puts(out, "<polyline fill=\"none\" stroke-width=\"2\" points=\"");
    for (size_t i = 0; i < series->count; i++) {
        const struct chart_point *point = &series->points[i];
        if (!(point->x > 0.0) || !isfinite(point->y))
            continue;
        if (series->dots)
            text_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>\n", at_x(frame, point->x),
                        at_y(frame, point->y), colour);
        else
            text_printf(out, "%.1f,%.1f ", at_x(frame, point->x), at_y(frame, point->y));
    }
    if (!series->dots)
        text_printf(out, "\" stroke=\"%s\"/>\n", colour);
    double y = TOP + 20.0 * (double)(index + 1);
    text_printf(out, "<rect x=\"%d\" y=\"%.1f\" width=\"14\" height=\"4\" fill=\"%s\"/>\n",
                WIDTH - RIGHT + 16, y - 6, colour);
    put_label(out, WIDTH - RIGHT + 38, y, "start", series->name);
}

void chart_svg(const struct chart *chart, struct text *out)
{
    struct frame frame = find_frame(chart);
    text_printf(out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
                "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" "
                "fill=\"#fff\"/>\n",
                WIDTH, HEIGHT, WIDTH, HEIGHT);
    if (!frame.empty) {
        put_axes(chart, &frame, out);
        for (size_t i = 0; i < chart->level_count; i++)
            if (chart->levels[i] <= frame.y_most) {
                double y = at_y(&frame, chart->levels[i]);
                text_printf(out, "<path d=\"M%d %.1fH%d\" stroke=\"#c00\" stroke-dasharray=\"6 4\"/>\n", LEFT,
                            y, WIDTH - RIGHT);
                put_label(out, WIDTH - RIGHT + 4, y + 4, "start",
                          human_bytes((uint64_t)chart->levels[i]).text);
            }
        for (size_t i = 0; i < chart->count; i++)
            put_series(&chart->series[i], i, &frame, out);
    }
    text_puts(out, "</svg>\n");
}

/* ---- braille: cells of 2 by 4 dots ---- */

struct canvas {
    size_t columns, rows;
    unsigned char *cells; /* [rows][columns] */
};

static void set_dot(struct canvas *canvas, double x, double y)
{
    static const unsigned char bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    double wide = (double)canvas->columns * 2.0 - 1.0, high = (double)canvas->rows * 4.0 - 1.0;
    if (!(x >= 0.0 && x <= 1.0 && y >= 0.0 && y <= 1.0))
        return;
    size_t column = (size_t)lround(x * wide), row = (size_t)lround((1.0 - y) * high);
    canvas->cells[row / 4 * canvas->columns + column / 2] |= bits[row % 4][column % 2];
}

static void draw_series(struct canvas *canvas, const struct chart_series *series, const struct frame *frame)
{
    for (size_t i = 0; i < series->count; i++) {
        struct chart_point from = series->points[i];
        struct chart_point to = i + 1 < series->count && !series->dots ? series->points[i + 1] : from;
        if (!(from.x > 0.0) || !(to.x > 0.0))
            continue;
        double x0 = across(frame, from.x), x1 = across(frame, to.x);
        double y0 = from.y / frame->y_most, y1 = to.y / frame->y_most;
        size_t steps =
            (size_t)(4.0 * (fabs(x1 - x0) * (double)canvas->columns + fabs(y1 - y0) * (double)canvas->rows)) +
            1;
        for (size_t step = 0; step <= steps; step++) {
            double part = (double)step / (double)steps;
            set_dot(canvas, x0 + (x1 - x0) * part, y0 + (y1 - y0) * part);
        }
    }
}

static void put_cell(struct text *out, unsigned char cell)
{
    char bytes[] = {(char)0xE2, (char)(0xA0 | cell >> 6), (char)(0x80 | (cell & 0x3F))};
    text_append(out, bytes, sizeof bytes);
}

void chart_braille(const struct chart *chart, size_t columns, size_t rows, struct text *out)
{
    struct frame frame = find_frame(chart);
    columns = columns < MOST_COLUMNS ? columns : MOST_COLUMNS;
    if (frame.empty || columns == 0 || rows == 0 || rows > 100)
        return;
    struct canvas canvas = {columns, rows, calloc(rows, columns)};
    if (!canvas.cells) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < chart->count; i++)
        draw_series(&canvas, &chart->series[i], &frame);
    text_printf(out, "%s, up to %s\n", chart->y_name, human_bytes((uint64_t)frame.y_most).text);
    for (size_t row = 0; row < rows; row++) {
        for (size_t column = 0; column < columns; column++)
            put_cell(out, canvas.cells[row * columns + column]);
        text_putc(out, '\n');
    }
    text_printf(out, "%s to %s %s\n", human_count((uint64_t)frame.x_least).text,
                human_count((uint64_t)frame.x_most).text, chart->x_name);
    free(canvas.cells);
}
