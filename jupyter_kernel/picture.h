/* Pictures of numbers as SVG: a curve over an axis, and spans along a document.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef JUPYTER_KERNEL_PICTURE_H
#define JUPYTER_KERNEL_PICTURE_H

#include <stddef.h>
#include <stdint.h>

#include "console/text.h"

struct picture_point {
    double x, y;
};

/* A line through the points, from 0; a mark on point `mark` unless it is count. Words are escaped. */
void picture_curve(struct text *out, const char *title, const char *x_words, const char *y_words,
                   const struct picture_point *points, size_t count, size_t mark,
                   void (*spell_x)(double, struct text *), void (*spell_y)(double, struct text *));
struct picture_span {
    uint64_t first, last;
};
/* Spans of [0, whole) as bars, in two alternating rows so that overlaps show. */
void picture_spans(struct text *out, const char *title, const struct picture_span *spans, size_t count,
                   uint64_t whole);

#endif
