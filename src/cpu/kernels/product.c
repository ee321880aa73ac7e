/* Multiplies an unpacked panel of weights with rows of activations.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cpu/kernels/quantized.h"

enum product_form KERNEL(product_form)(enum dtype dtype)
{
    switch (dtype) {
    case DT_Q4_1:
    case DT_Q5_1:
    case DT_Q4_K:
    case DT_Q5_K:
        return FORM_MIN;
    case DT_Q4_0:
    case DT_Q5_0:
        return FORM_ZERO;
    case DT_Q8_0:
        return SIGNED_Q8 ? FORM_SIGNED : FORM_ZERO;
    case DT_Q6_K:
        return FORM_HALVES;
    default:
        return FORM_FLOAT;
    }
}

static int zero_point(enum dtype dtype)
{
    switch (dtype) {
    case DT_Q4_0:
        return 8;
    case DT_Q5_0:
        return 16;
    case DT_Q6_K:
        return 32;
    case DT_Q8_0:
        return SIGNED_Q8 ? 0 : 128;
    default:
        return 0;
    }
}

/* Symmetric: the largest of the 32 becomes ±127. A NaN or an infinity makes the scale NaN, so that every
 * output shows it. Of groups below 2^-100, where 127/most need not be a number, nothing is left. */
static void quantize_chunk(const float *x, int8_t *q, float *scale, float *sum, int32_t counts[2])
{
    vf largest = vf_set(0), strange = vf_set(0);
    for (int i = 0; i < CHUNK; i += LANES) {
        vf v = vf_load(x + i);
        largest = vf_max(largest, vf_abs(v));
        strange += v - v;
    }
    float most = vf_max_lane(largest) + vf_sum(strange);
    *scale = most / 127;
    if (!(most > 0x1p-100f)) {
        memset(q, 0, CHUNK);
        counts[0] = counts[1] = 0;
        *sum = *scale * 0;
        return;
    }
    float inverse = 127 / most;
    for (int half = 0; half < 2; half++) {
        vi total = (vi)vu_set(0);
        for (int i = half * 16; i < half * 16 + 16; i += LANES) {
            vi rounded = vi_from_vf(vf_round(vf_load(x + i) * vf_set(inverse)));
            vi_store_i8(q + i, rounded);
            total += rounded;
        }
        counts[half] = vi_sum(total);
    }
    *sum = *scale * (float)(counts[0] + counts[1]);
}

void KERNEL(quantize_row)(const float *x, const struct byte_rows *to, int64_t row)
{
    int rows;
    int64_t first = tile_of(row, to->rows, &rows), base = first * to->chunks;
    for (int64_t c = 0; c < to->chunks; c++) {
        int64_t at = base + c * rows + (row - first);
        quantize_chunk(x + c * CHUNK, to->q + at * CHUNK, &to->scales[at], &to->sums[at],
                       &to->counts[2 * at]);
    }
}

/* One tile: P panels by R rows, all chunks. Everything but P and R is the same for each, and so is every
 * output's sequence of operations. Several panels share each activation that is loaded: loads, not
 * products, are what a single panel waits for. */
struct tile {
    const struct panel_chunk *panels[PANELS];
    int64_t chunks;
    const int8_t *q;
    const float *scales, *sums;
    const int32_t *counts;
    int zero; /* minus the zero point */
};

/* Where exact sums start: minus the zero point's share. */
INLINE vi first_sum(const struct tile *t, const enum product_form form, int32_t count)
{
    return form == FORM_ZERO || form == FORM_HALVES ? (vi)vu_set((uint32_t)(t->zero * count)) : (vi)vu_set(0);
}

/* Steps first … first+steps-1 of a chunk: dots[r][p] += panel p · row r. */
INLINE void add_dots(const struct tile *t, const int P, const int R, const enum product_form form, int64_t c,
                     const int first, const int steps, vi dots[TILE_ROWS][PANELS])
{
    const int8_t *q = t->q + c * R * CHUNK;
    const int budget = form == FORM_SIGNED ? 0 : form == FORM_HALVES ? 2 : 4;
#pragma GCC unroll 8
    for (int j = first; j < first + steps; j += DOT_STEPS) {
        int r = 0;
#if defined(DOT_TWO_ROWS)
#pragma GCC unroll 2
        for (; r + 2 <= R; r += 2)
#pragma GCC unroll 2
            for (int p = 0; p < P; p++)
                vi_dot_two(&dots[r][p], &dots[r + 1][p], t->panels[p][c].q + j, q + r * CHUNK + 4 * j,
                           q + (r + 1) * CHUNK + 4 * j, DOT_STEPS);
#endif
#pragma GCC unroll 6
        for (; r < R; r++)
#pragma GCC unroll 2
            for (int p = 0; p < P; p++)
                dots[r][p] =
                    vi_dot(dots[r][p], t->panels[p][c].q + j, q + r * CHUNK + 4 * j, DOT_STEPS, budget);
    }
}

INLINE void multiply_halves(const struct tile *t, const int P, const int R, int64_t c,
                            vf acc[TILE_ROWS][PANELS])
{
    const float *scales = t->scales + c * R;
    const int32_t *counts = t->counts + 2 * c * R;
#pragma GCC unroll 2
    for (int half = 0; half < 2; half++) {
        vi dots[TILE_ROWS][PANELS];
#pragma GCC unroll 6
        for (int r = 0; r < R; r++)
#pragma GCC unroll 2
            for (int p = 0; p < P; p++)
                dots[r][p] = first_sum(t, FORM_HALVES, counts[2 * r + half]);
        add_dots(t, P, R, FORM_HALVES, c, 4 * half, 4, dots);
#pragma GCC unroll 6
        for (int r = 0; r < R; r++)
#pragma GCC unroll 2
            for (int p = 0; p < P; p++) {
                vf d = half ? t->panels[p][c].m : t->panels[p][c].d;
                acc[r][p] = vf_fma(vf_from_vi(dots[r][p]) * d, vf_set(scales[r]), acc[r][p]);
            }
    }
}

INLINE void multiply_chunk(const struct tile *t, const int P, const int R, const enum product_form form,
                           int64_t c, vf acc[TILE_ROWS][PANELS])
{
    const float *scales = t->scales + c * R, *sums = t->sums + c * R;
    const int32_t *counts = t->counts + 2 * c * R;
    vi dots[TILE_ROWS][PANELS];
#pragma GCC unroll 6
    for (int r = 0; r < R; r++)
#pragma GCC unroll 2
        for (int p = 0; p < P; p++)
            dots[r][p] = first_sum(t, form, counts[2 * r] + counts[2 * r + 1]);
    add_dots(t, P, R, form, c, 0, 8, dots);
#pragma GCC unroll 6
    for (int r = 0; r < R; r++)
#pragma GCC unroll 2
        for (int p = 0; p < P; p++) {
            acc[r][p] = vf_fma(vf_from_vi(dots[r][p]) * t->panels[p][c].d, vf_set(scales[r]), acc[r][p]);
            if (form == FORM_MIN)
                acc[r][p] = vf_fma(t->panels[p][c].m, vf_set(sums[r]), acc[r][p]);
        }
}

/* Bias and what out held are added last, in this order. */
INLINE void put_outputs(const struct product_range *range, int64_t row, int panel, vf value)
{
    const struct backend_product *product = range->product;
    int64_t first = range->first_output + (int64_t)panel * LANES, lanes = product->weight->rows - first;
    float *out = (float *)tensor_row(product->out, row) + first;
    if (product->bias)
        value += vf_load_part((const float *)product->bias->data + first, lanes);
    if (product->accumulate)
        value += vf_load_part(out, lanes);
    vf_store_part(out, value, lanes);
}

INLINE void multiply_tile(const struct tile *t, const int P, const int R, const enum product_form form,
                          const struct product_range *range, int64_t row)
{
    vf acc[TILE_ROWS][PANELS];
#pragma GCC unroll 6
    for (int r = 0; r < R; r++)
#pragma GCC unroll 2
        for (int p = 0; p < P; p++)
            acc[r][p] = vf_set(0);
    for (int64_t c = 0; c < t->chunks; c++) {
        if (form == FORM_HALVES)
            multiply_halves(t, P, R, c, acc);
        else
            multiply_chunk(t, P, R, form, c, acc);
    }
#pragma GCC unroll 6
    for (int r = 0; r < R; r++)
#pragma GCC unroll 2
        for (int p = 0; p < P; p++)
            put_outputs(range, row + r, p, acc[r][p]);
}

INLINE void multiply_rows(struct tile t, const int P, const enum product_form form,
                          const struct byte_rows *in, const struct product_range *range)
{
    int rows;
    for (int64_t row = range->first_row; row < range->first_row + range->rows; row += rows) {
        int64_t at = tile_of(row, in->rows, &rows) * in->chunks;
        t.q = in->q + at * CHUNK;
        t.scales = in->scales + at;
        t.sums = in->sums + at;
        t.counts = in->counts + 2 * at;
        switch (rows) {
        case 1:
            multiply_tile(&t, P, 1, form, range, row);
            break;
        case 2:
            multiply_tile(&t, P, 2, form, range, row);
            break;
        case 3:
            multiply_tile(&t, P, 3, form, range, row);
            break;
        case 4:
            multiply_tile(&t, P, 4, form, range, row);
            break;
        default:
            multiply_tile(&t, P, TILE_ROWS, form, range, row);
        }
    }
}

INLINE void multiply_panels(struct tile t, int panels, const enum product_form form,
                            const struct byte_rows *in, const struct product_range *range)
{
    if (panels == PANELS)
        multiply_rows(t, PANELS, form, in, range);
    else
        multiply_rows(t, 1, form, in, range);
}

void KERNEL(multiply)(enum dtype dtype, const void *panels, int count, const struct byte_rows *in,
                      const struct product_range *range)
{
    struct tile t = {.chunks = in->chunks, .zero = -zero_point(dtype)};
    for (int p = 0; p < count; p++)
        t.panels[p] = (const struct panel_chunk *)panels + p * in->chunks;
    switch (KERNEL(product_form)(dtype)) {
    case FORM_MIN:
        multiply_panels(t, count, FORM_MIN, in, range);
        break;
    case FORM_ZERO:
        multiply_panels(t, count, FORM_ZERO, in, range);
        break;
    case FORM_HALVES:
        multiply_panels(t, count, FORM_HALVES, in, range);
        break;
    case FORM_SIGNED:
        multiply_panels(t, count, FORM_SIGNED, in, range);
        break;
    case FORM_FLOAT:
        break;
    }
}

/* Float weights: the columns in order, one fused multiply-add each. */
INLINE void multiply_float_tile(const float *panel, const struct tensor *in, const int R,
                                const struct product_range *range, int64_t row)
{
    vf acc[FLOAT_ROWS];
    const float *x[FLOAT_ROWS];
#pragma GCC unroll 8
    for (int r = 0; r < R; r++) {
        acc[r] = vf_set(0);
        x[r] = tensor_row(in, row + r);
    }
    for (int64_t i = 0; i < in->cols; i++) {
        vf w = vf_load(panel + i * LANES);
#pragma GCC unroll 8
        for (int r = 0; r < R; r++)
            acc[r] = vf_fma(w, vf_set(x[r][i]), acc[r]);
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; r++)
        put_outputs(range, row + r, 0, acc[r]);
}

void KERNEL(multiply_float)(const float *panel, const struct tensor *in, const struct product_range *range)
{
    int64_t row = range->first_row, end = range->first_row + range->rows;
    for (; row + FLOAT_ROWS <= end; row += FLOAT_ROWS)
        multiply_float_tile(panel, in, FLOAT_ROWS, range, row);
    for (; row + 4 <= end; row += 4)
        multiply_float_tile(panel, in, 4, range, row);
    for (; row < end; row++)
        multiply_float_tile(panel, in, 1, range, row);
}
