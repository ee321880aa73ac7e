/* Curves over a logarithmic axis: SVG for a page, braille for a terminal.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONSOLE_CHART_H
#define CONSOLE_CHART_H

#include "console/text.h"

struct chart_point {
    double x, y;
};

struct chart_series {
    const char *name;
    const struct chart_point *points; /* ascending x > 0 for a line */
    size_t count;
    bool dots; /* single points, not a line */
};

struct chart {
    const char *title, *x_name, *y_name; /* y is shown in MiB or GiB by its size */
    const struct chart_series *series;
    size_t count;
    const double *levels; /* bytes: horizontal lines, such as a card's memory */
    size_t level_count;
};

/* A whole SVG document; names are escaped. */
void chart_svg(const struct chart *chart, struct text *out);
/* rows lines of columns characters each, with the greatest and the least of both axes; all series in one
 * drawing. Nothing without points. */
void chart_braille(const struct chart *chart, size_t columns, size_t rows, struct text *out);

#endif
