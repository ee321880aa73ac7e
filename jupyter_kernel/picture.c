/* Pictures of numbers as SVG: a curve over an axis, and spans along a document.
 * SPDX-License-Identifier: Apache-2.0 */
#include "jupyter_kernel/picture.h"

#include "jupyter_kernel/output.h"

enum { WIDTH = 640, HEIGHT = 300, LEFT = 80, RIGHT = 24, TOP = 36, BOTTOM = 48, TICKS = 4 };

static void begin(struct text *out, int height, int left, const char *title)
{
    text_printf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
        "font-family=\"sans-serif\" font-size=\"12\"><rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>"
        "<text x=\"%d\" y=\"20\" font-size=\"14\" fill=\"#222222\">",
        WIDTH, height, WIDTH, height, WIDTH, height, left);
    html_append(out, title);
    text_puts(out, "</text>");
}

static void label(struct text *out, double x, double y, const char *anchor, const char *words)
{
    text_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"#444444\">", x, y, anchor);
    html_append(out, words);
    text_puts(out, "</text>");
}

static double largest(const struct picture_point *points, size_t count, bool of_x)
{
    double most = 0;
    for (size_t i = 0; i < count; i++) {
        double value = of_x ? points[i].x : points[i].y;
        most = value > most ? value : most;
    }
    return most > 0 ? most : 1;
}

void picture_curve(struct text *out, const char *title, const char *x_words, const char *y_words,
                   const struct picture_point *points, size_t count, size_t mark,
                   void (*spell_x)(double, struct text *), void (*spell_y)(double, struct text *))
{
    double most_x = largest(points, count, true), most_y = largest(points, count, false);
    double wide = WIDTH - LEFT - RIGHT, high = HEIGHT - TOP - BOTTOM;
    begin(out, HEIGHT, LEFT, title);
    for (int i = 0; i <= TICKS; i++) {
        struct text words = {0};
        double x = LEFT + wide * i / TICKS, y = TOP + high - high * i / TICKS;
        text_printf(out, "<path d=\"M%d %.1fH%d\" stroke=\"#dddddd\"/>", LEFT, y, WIDTH - RIGHT);
        spell_y(most_y * i / TICKS, &words);
        label(out, LEFT - 6, y + 4, "end", text_string(&words));
        text_clear(&words);
        spell_x(most_x * i / TICKS, &words);
        label(out, x, HEIGHT - BOTTOM + 16, "middle", text_string(&words));
        text_fini(&words);
    }
    label(out, LEFT + wide / 2, HEIGHT - 10, "middle", x_words);
    label(out, LEFT, TOP - 4, "start", y_words);
    text_puts(out, "<path fill=\"none\" stroke=\"#1b6e3c\" stroke-width=\"2\" d=\"");
    for (size_t i = 0; i < count; i++)
        text_printf(out, "%c%.1f %.1f", i ? 'L' : 'M', LEFT + wide * points[i].x / most_x,
                    TOP + high - high * points[i].y / most_y);
    text_puts(out, "\"/>");
    if (mark < count)
        text_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"#b3541e\"/>",
                    LEFT + wide * points[mark].x / most_x, TOP + high - high * points[mark].y / most_y);
    text_puts(out, "</svg>");
}

void picture_spans(struct text *out, const char *title, const struct picture_span *spans, size_t count,
                   uint64_t whole)
{
    enum { BAR = 14, ROWS_HEIGHT = 100, SIDE = 16 };
    double wide = WIDTH - 2 * SIDE, scale = whole ? wide / (double)whole : 0;
    begin(out, ROWS_HEIGHT, SIDE, title);
    text_printf(out, "<rect x=\"%d\" y=\"36\" width=\"%.1f\" height=\"4\" fill=\"#bbbbbb\"/>", SIDE, wide);
    for (size_t i = 0; i < count; i++) {
        double x = SIDE + (double)spans[i].first * scale;
        double width = (double)(spans[i].last - spans[i].first) * scale;
        text_printf(
            out, "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"%s\" fill-opacity=\"0.8\"/>",
            x, 48 + (int)(i % 2) * (BAR + 4), width < 0.5 ? 0.5 : width, BAR, i % 2 ? "#5d9c73" : "#1b6e3c");
    }
    text_puts(out, "</svg>");
}
