/* Blocks of 256 floats to Q4_K, Q5_K and Q6_K by a small search for the best sub-block scales.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each sub-block tries a few spacings around the one that just spans its range; for the levels that
 * each spacing gives, least squares find the best scale (and minimum); the least error wins. The
 * winning scales are then rounded to the block's common step, and levels chosen anew for what a
 * reader will really see. */
#include "formats/quantize_blocks.h"

enum { TRIES = 9 }; /* spacings tried on either side, a tenth of a level apart */

struct line_fit { /* value ≈ scale · level - minimum */
    float scale, minimum;
};

/* Least squares of x over levels, minimum not below 0; returns the squared error. */
static double fit_line(const float *x, const int *levels, int n, struct line_fit *ret)
{
    double sum_l = 0, sum_ll = 0, sum_x = 0, sum_lx = 0, error = 0;
    for (int i = 0; i < n; i++) {
        sum_l += levels[i];
        sum_ll += (double)levels[i] * levels[i];
        sum_x += (double)x[i];
        sum_lx += levels[i] * (double)x[i];
    }
    double spread = n * sum_ll - sum_l * sum_l;
    double scale = spread > 0 ? (n * sum_lx - sum_l * sum_x) / spread : 0;
    double minimum = (scale * sum_l - sum_x) / n;
    if (minimum < 0) {
        minimum = 0;
        scale = sum_ll > 0 ? sum_lx / sum_ll : 0;
    }
    for (int i = 0; i < n; i++) {
        double miss = scale * levels[i] - minimum - (double)x[i];
        error += miss * miss;
    }
    *ret = (struct line_fit){(float)scale, (float)minimum};
    return error;
}

static struct line_fit search_line(const float *x, int n, int most)
{
    float least = 0.0f, largest = x[0];
    int levels[32];
    for (int i = 0; i < n; i++) {
        least = x[i] < least ? x[i] : least;
        largest = x[i] > largest ? x[i] : largest;
    }
    struct line_fit best = {0.0f, -least};
    double best_error = INFINITY;
    for (int step = -TRIES; step <= TRIES && largest > least; step++) {
        struct line_fit fit;
        float inverse = ((float)most + 0.1f * (float)step) / (largest - least);
        for (int i = 0; i < n; i++)
            levels[i] = nearest_int((x[i] - least) * inverse, 0, most);
        double error = fit_line(x, levels, n, &fit);
        if (error < best_error && fit.scale >= 0.0f) {
            best_error = error;
            best = fit;
        }
    }
    return best;
}

/* The inverse of dequant's unpacking: 6-bit pairs, the last four split over nibbles and top bits. */
static void pack_scale_min(unsigned char packed[12], const int scales[8], const int minima[8])
{
    for (int i = 0; i < 4; i++) {
        packed[i] = (unsigned char)(scales[i] | scales[i + 4] >> 4 << 6);
        packed[i + 4] = (unsigned char)(minima[i] | minima[i + 4] >> 4 << 6);
        packed[i + 8] = (unsigned char)((scales[i + 4] & 15) | (minima[i + 4] & 15) << 4);
    }
}

/* Rounds the eight fits to the block's header of 16 bytes, and the fits to what it now says. */
static void store_fits(struct line_fit fits[8], unsigned char *block)
{
    float scale = 0.0f, minimum = 0.0f;
    int scales[8], minima[8];
    for (int s = 0; s < 8; s++) {
        scale = fits[s].scale > scale ? fits[s].scale : scale;
        minimum = fits[s].minimum > minimum ? fits[s].minimum : minimum;
    }
    float d = store_half(block, scale / 63.0f), dmin = store_half(block + 2, minimum / 63.0f);
    for (int s = 0; s < 8; s++) {
        scales[s] = d > 0.0f ? nearest_int(fits[s].scale / d, 0, 63) : 0;
        minima[s] = dmin > 0.0f ? nearest_int(fits[s].minimum / dmin, 0, 63) : 0;
        fits[s] = (struct line_fit){d * (float)scales[s], dmin * (float)minima[s]};
    }
    pack_scale_min(block + 4, scales, minima);
}

static void quantize_k45(const float *src, int bits, unsigned char *block, unsigned char *high,
                         unsigned char *low)
{
    int most = (1 << bits) - 1;
    struct line_fit fits[8];
    for (int s = 0; s < 8; s++)
        fits[s] = search_line(src + 32 * s, 32, most);
    store_fits(fits, block);
    memset(low, 0, 128);
    if (high)
        memset(high, 0, 32);
    for (int i = 0; i < 256; i++) {
        int s = i / 32, lane = i % 32;
        float scale = fits[s].scale;
        int level = scale > 0.0f ? nearest_int((src[i] + fits[s].minimum) / scale, 0, most) : 0;
        low[s / 2 * 32 + lane] |= (unsigned char)((level & 15) << (s & 1 ? 4 : 0));
        if (high)
            high[lane] |= (unsigned char)(level >> 4 << s);
    }
}

void quantize_q4_k(const float *src, unsigned char *block)
{
    quantize_k45(src, 4, block, NULL, block + 16);
}

void quantize_q5_k(const float *src, unsigned char *block)
{
    quantize_k45(src, 5, block, block + 16, block + 48);
}

/* The scale (of either sign) that serves 16 values best with levels -32 … 31. */
static float search_scale(const float *x)
{
    float largest = 0.0f, best = 0.0f;
    double best_gain = 0;
    for (int i = 0; i < 16; i++)
        if (fabsf(x[i]) > fabsf(largest))
            largest = x[i];
    for (int step = -TRIES; step <= TRIES && largest != 0.0f; step++) {
        float inverse = -(32.0f + 0.1f * (float)step) / largest;
        double sum_ll = 0, sum_lx = 0;
        for (int i = 0; i < 16; i++) {
            int level = nearest_int(x[i] * inverse, -32, 31);
            sum_ll += level * level;
            sum_lx += level * (double)x[i];
        }
        double gain = sum_ll > 0 ? sum_lx * sum_lx / sum_ll : 0; /* squared error saved */
        if (gain > best_gain) {
            best_gain = gain;
            best = (float)(sum_lx / sum_ll);
        }
    }
    return best;
}

void quantize_q6_k(const float *src, unsigned char *block)
{
    unsigned char *low = block, *high = block + 128, *scales = block + 192;
    float fits[16], largest = 0.0f;
    for (int s = 0; s < 16; s++) {
        fits[s] = search_scale(src + 16 * s);
        if (fabsf(fits[s]) > fabsf(largest))
            largest = fits[s];
    }
    float d = store_half(block + 208, largest / -128.0f);
    memset(block, 0, 192);
    for (int i = 0; i < 256; i++) {
        int s = i / 16, half = i / 128, run = i % 128 / 32, lane = i % 32;
        int step = d != 0.0f ? nearest_int(fits[s] / d, -128, 127) : 0;
        float scale = d * (float)step;
        int level = 32 + (scale != 0.0f ? nearest_int(src[i] / scale, -32, 31) : 0);
        scales[s] = (unsigned char)step;
        low[half * 64 + (run & 1) * 32 + lane] |= (unsigned char)((level & 15) << (run < 2 ? 0 : 4));
        high[half * 32 + lane] |= (unsigned char)(level >> 4 << (2 * run));
    }
}
