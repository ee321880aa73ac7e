/* Multiplies an unpacked panel of weights with rows of activations.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cpu/kernels/outputs.h"
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
    case DT_MXFP4:
        return FORM_POWERS;
    case DT_Q8_0:
    case DT_IQ4_NL:
    case DT_IQ4_XS:
        return SIGNED_Q8 ? FORM_SIGNED : FORM_ZERO;
    case DT_Q3_K:
    case DT_Q6_K:
        return FORM_HALVES;
    case DT_Q2_K:
        return FORM_HALVES_MIN;
    default:
        return FORM_FLOAT;
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

/* One tile: P panels by R rows, the panels' chunks. Everything but P and R is the same for each, and so is
 * every output's sequence of operations. Several panels share each activation that is loaded: loads, not
 * products, are what a single panel waits for. */
struct tile {
    const struct panel_chunk *panels[PANELS];
    int64_t chunks; /* of the panels */
    const int8_t *q; /* the rows' first chunk that the panels hold */
    const float *scales, *sums;
    const int32_t *counts;
    int zero; /* minus the zero point */
};

/* Sums start at this float's bits, so that read as a float they are OFFSET + sum, exactly: they stay below
 * 2^22, and one more is one more of its last place. Where d has few bits, as every format's has,
 * fma(OFFSET + sum, d, -OFFSET · d) is sum · d rounded once: one operation less than to convert first.
 * Sets without a fused multiply-add convert, and so does a format whose d can be so large that OFFSET · d is
 * none. */
#define OFFSET 12582912.0f
enum { OFFSET_BITS = 0x4B400000, HALVES = 2 };

INLINE vf scaled(const enum product_form form, vi sum, vf d, vf back)
{
    return FUSED && form != FORM_POWERS ? vf_fma((vf)sum, d, back) : vf_from_vi(sum - OFFSET_BITS) * d;
}

/* Where the sums of a tile's rows start, chunk by chunk, by halves or not: the zero point's share is off. */
INLINE void first_sums(const struct tile *t, const int R, const enum product_form form, int32_t *to)
{
    const int32_t *counts = t->counts;
    if (form == FORM_ZERO || form == FORM_POWERS)
        for (int64_t i = 0; i < t->chunks * R; i++)
            to[i] = OFFSET_BITS + t->zero * (counts[2 * i] + counts[2 * i + 1]);
    if (form == FORM_HALVES)
        for (int64_t i = 0; i < t->chunks * R * HALVES; i++)
            to[i] = OFFSET_BITS + t->zero * counts[i];
}

INLINE vi first_sum(const enum product_form form, const int32_t *starts)
{
    bool zero = form == FORM_ZERO || form == FORM_POWERS || form == FORM_HALVES;
    return (vi)vu_set((uint32_t)(zero ? *starts : OFFSET_BITS));
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

/* The minimum of a chunk's half, behind the panel's last chunk. */
INLINE vf half_min(const struct tile *t, int p, int64_t c, int half)
{
    return ((const vf *)(t->panels[p] + t->chunks))[2 * c + half];
}

INLINE void multiply_halves(const struct tile *t, const int P, const int R, const enum product_form form,
                            int64_t c, const int32_t *starts, vf acc[TILE_ROWS][PANELS])
{
    const float *scales = t->scales + c * R;
    const int32_t *counts = t->counts + 2 * c * R;
#pragma GCC unroll 2
    for (int half = 0; half < 2; half++) {
        vi dots[TILE_ROWS][PANELS];
        vf d[PANELS], back[PANELS];
#pragma GCC unroll 2
        for (int p = 0; p < P; p++) {
            d[p] = half ? t->panels[p][c].m : t->panels[p][c].d;
            back[p] = vf_set(-OFFSET) * d[p];
        }
#pragma GCC unroll 6
        for (int r = 0; r < R; r++)
#pragma GCC unroll 2
            for (int p = 0; p < P; p++)
                dots[r][p] = first_sum(form, &starts[(c * R + r) * HALVES + half]);
        add_dots(t, P, R, form, c, 4 * half, 4, dots);
#pragma GCC unroll 6
        for (int r = 0; r < R; r++)
#pragma GCC unroll 2
            for (int p = 0; p < P; p++) {
                acc[r][p] = vf_fma(scaled(form, dots[r][p], d[p], back[p]), vf_set(scales[r]), acc[r][p]);
                if (form == FORM_HALVES_MIN)
                    acc[r][p] = vf_fma(half_min(t, p, c, half),
                                       vf_set(scales[r] * (float)counts[2 * r + half]), acc[r][p]);
            }
    }
}

INLINE void multiply_chunk(const struct tile *t, const int P, const int R, const enum product_form form,
                           int64_t c, const int32_t *starts, vf acc[TILE_ROWS][PANELS])
{
    const float *scales = t->scales + c * R, *sums = t->sums + c * R;
    vi dots[TILE_ROWS][PANELS];
    vf d[PANELS], back[PANELS];
#pragma GCC unroll 6
    for (int r = 0; r < R; r++)
#pragma GCC unroll 2
        for (int p = 0; p < P; p++)
            dots[r][p] = first_sum(form, &starts[c * R + r]);
    add_dots(t, P, R, form, c, 0, 8, dots);
#pragma GCC unroll 2
    for (int p = 0; p < P; p++) {
        d[p] = t->panels[p][c].d;
        back[p] = vf_set(-OFFSET) * d[p];
    }
#pragma GCC unroll 6
    for (int r = 0; r < R; r++)
#pragma GCC unroll 2
        for (int p = 0; p < P; p++) {
            acc[r][p] = vf_fma(scaled(form, dots[r][p], d[p], back[p]), vf_set(scales[r]), acc[r][p]);
            if (form == FORM_MIN)
                acc[r][p] = vf_fma(t->panels[p][c].m, vf_set(sums[r]), acc[r][p]);
        }
}

/* Sums so far of one row and panel: zero before the first column. */
INLINE vf take_sum(const struct product_range *range, const int P, int64_t row, int panel)
{
    if (range->first_col == 0)
        return vf_set(0);
    return vf_load(range->partial + ((row - range->first_row) * P + panel) * LANES);
}

INLINE void keep_sum(const struct product_range *range, const int P, int64_t row, int panel, vf sum)
{
    if (range->first_col + range->cols == range->product->weight->cols)
        put_outputs(range, row, panel, sum);
    else
        vf_store(range->partial + ((row - range->first_row) * P + panel) * LANES, sum);
}

/* Takes copies: were the running sums indexed here, in a loop, they would live in memory from the start. */
INLINE void keep_sums(const struct product_range *range, const int P, const int R, int64_t row,
                      const vf *sums, const int panels)
{
    for (int r = 0; r < R; r++)
        for (int p = 0; p < P; p++)
            keep_sum(range, P, row + r, p, sums[r * panels + p]);
}

INLINE void multiply_tile(const struct tile *t, const int P, const int R, const enum product_form form,
                          const struct product_range *range, int64_t row)
{
    vf acc[TILE_ROWS][PANELS];
    int32_t starts[MOST_CHUNKS * TILE_ROWS * HALVES];
    first_sums(t, R, form, starts);
#pragma GCC unroll 6
    for (int r = 0; r < R; r++)
#pragma GCC unroll 2
        for (int p = 0; p < P; p++)
            acc[r][p] = take_sum(range, P, row + r, p);
    for (int64_t c = 0; c < t->chunks; c++) {
        if (form == FORM_HALVES || form == FORM_HALVES_MIN)
            multiply_halves(t, P, R, form, c, starts, acc);
        else
            multiply_chunk(t, P, R, form, c, starts, acc);
    }
    vf sums[TILE_ROWS][PANELS];
#pragma GCC unroll 6
    for (int r = 0; r < R; r++)
#pragma GCC unroll 2
        for (int p = 0; p < P; p++)
            sums[r][p] = acc[r][p];
    keep_sums(range, P, R, row, &sums[0][0], PANELS);
}

INLINE void multiply_rows(struct tile t, const int P, const enum product_form form,
                          const struct byte_rows *in, const struct product_range *range)
{
    int rows;
    for (int64_t row = range->first_row; row < range->first_row + range->rows; row += rows) {
        int64_t at = tile_of(row, in->rows, &rows) * in->chunks;
        at += range->first_col / CHUNK * rows;
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
    struct tile t = {.chunks = range->cols / CHUNK, .zero = -zero_point(dtype)};
    int64_t bytes = KERNEL(panel_bytes)(dtype, range->cols);
    for (int p = 0; p < count; p++)
        t.panels[p] = (const void *)((const char *)panels + p * bytes);
    switch (KERNEL(product_form)(dtype)) {
    case FORM_MIN:
        multiply_panels(t, count, FORM_MIN, in, range);
        break;
    case FORM_ZERO:
        multiply_panels(t, count, FORM_ZERO, in, range);
        break;
    case FORM_POWERS:
        multiply_panels(t, count, FORM_POWERS, in, range);
        break;
    case FORM_HALVES:
        multiply_panels(t, count, FORM_HALVES, in, range);
        break;
    case FORM_HALVES_MIN:
        multiply_panels(t, count, FORM_HALVES_MIN, in, range);
        break;
    case FORM_SIGNED:
        multiply_panels(t, count, FORM_SIGNED, in, range);
        break;
    case FORM_FLOAT:
        break;
    }
}

/* Float weights: the columns in order, one fused multiply-add each. */
INLINE void multiply_float_tile(const float *panels, const struct tensor *in, const int P, const int R,
                                const struct product_range *range, int64_t row)
{
    vf acc[FLOAT_ROWS][FLOAT_PANELS];
    const float *x[FLOAT_ROWS];
#pragma GCC unroll 8
    for (int r = 0; r < R; r++) {
        x[r] = (const float *)tensor_row(in, row + r) + range->first_col;
#pragma GCC unroll 2
        for (int p = 0; p < P; p++)
            acc[r][p] = take_sum(range, P, row + r, p);
    }
    for (int64_t i = 0; i < range->cols; i++) {
        vf w[FLOAT_PANELS];
#pragma GCC unroll 2
        for (int p = 0; p < P; p++)
            w[p] = vf_load(panels + (p * range->cols + i) * LANES);
#pragma GCC unroll 8
        for (int r = 0; r < R; r++)
#pragma GCC unroll 2
            for (int p = 0; p < P; p++)
                acc[r][p] = vf_fma(w[p], vf_set(x[r][i]), acc[r][p]);
    }
    vf sums[FLOAT_ROWS][FLOAT_PANELS];
#pragma GCC unroll 8
    for (int r = 0; r < R; r++)
#pragma GCC unroll 2
        for (int p = 0; p < P; p++)
            sums[r][p] = acc[r][p];
    keep_sums(range, P, R, row, &sums[0][0], FLOAT_PANELS);
}

INLINE void multiply_float_rows(const float *panels, const int P, const struct tensor *in,
                                const struct product_range *range)
{
    int64_t row = range->first_row, end = range->first_row + range->rows;
    for (; row + FLOAT_ROWS <= end; row += FLOAT_ROWS)
        multiply_float_tile(panels, in, P, FLOAT_ROWS, range, row);
    for (; row + 4 <= end; row += 4)
        multiply_float_tile(panels, in, P, 4, range, row);
    for (; row < end; row++)
        multiply_float_tile(panels, in, P, 1, range, row);
}

void KERNEL(multiply_float)(const float *panels, int count, const struct tensor *in,
                            const struct product_range *range)
{
    if (count == FLOAT_PANELS)
        multiply_float_rows(panels, FLOAT_PANELS, in, range);
    else
        multiply_float_rows(panels, 1, in, range);
}
