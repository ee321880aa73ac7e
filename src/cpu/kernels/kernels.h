/* The kernels of one instruction set: what the fast backend runs inside a task.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Quantised products. Whatever the format, a weight is d·q + m per group (of 32, or 16 in Q6_K) with
 * small unsigned q; formats without m have a zero point z instead (w = d·(q - z)). Activations are
 * rounded once to signed bytes, 32 sharing a scale. A panel is LANES weight rows unpacked to chunks
 * of 32 columns, each chunk being
 *     [8][LANES][4 bytes] q, [LANES] d, [LANES] m (or the second group's d)
 * so that a byte dot product gives LANES outputs at once; FORM_HALVES_MIN keeps [2][LANES] m for each
 * chunk after the last. Sums over a group are exact integers and groups are added in ascending order, so
 * an output is the same bits whatever rows share the call. A panel holds a stretch of columns that the
 * first cache can keep; between stretches the sums wait in memory, which changes no bit of them. */
#ifndef CPU_KERNELS_KERNELS_H
#define CPU_KERNELS_KERNELS_H

#include "backend/backend.h"

enum {
    CHUNK = 32,
    MOST_CHUNKS = 24 /* of a panel of quantised weights */
};

/* How a format is multiplied. */
enum product_form {
    FORM_MIN,        /* groups of 32, d and m */
    FORM_ZERO,       /* groups of 32, d and a zero point */
    FORM_POWERS,     /* the same, d being any power of two that a float can hold */
    FORM_HALVES,     /* groups of 16, d and a zero point */
    FORM_HALVES_MIN, /* groups of 16, d and m */
    FORM_SIGNED,     /* groups of 32, d and signed q */
    FORM_FLOAT,      /* F32, F16, BF16: floats */
};

/* Activations as bytes, laid out for tiles of up to tile_rows rows: tile t starts at row t·tile_rows
 * and keeps, chunk by chunk, its rows' 32 bytes side by side, their scales likewise. */
struct byte_rows {
    int64_t rows, chunks;
    int8_t *q;         /* [tile][chunk][row][32] */
    float *scales;     /* [tile][chunk][row] */
    float *sums;       /* the same: scale · Σ q, for FORM_MIN */
    int32_t *counts;   /* [tile][chunk][row][2]: Σ q of each half, for zero points */
};

struct product_range { /* one or a few weight panels times some rows */
    const struct backend_product *product;
    int64_t first_output; /* a multiple of lanes */
    int64_t first_row, rows;
    int64_t first_col, cols; /* the stretch of columns that the panels hold; whole chunks but for floats */
    float *partial;          /* [rows][panels][lanes]: sums so far, when first_col > 0 or columns remain */
};

struct attention_rows { /* queries of one KV head, side by side, and what each may see */
    const struct backend_attention *attention;
    const struct backend_cache *cache;
    const struct backend_sequence *sequence;
    int kv_head, group;    /* query heads of the KV head */
    int queries;           /* positions first_position … +queries-1 */
    int64_t first_position;
    int64_t end;           /* keys in the cache */
    const int64_t *reach;  /* [queries · group]: keys before it are skipped; NULL: none */
    float *q;              /* [queries · group][width], scaled, zeros past head_dim */
    int64_t width;         /* head_dim rounded up to lanes */
    float *scores;         /* [queries · group][ATTENTION_TILE] scratch */
    float *keys, *values;  /* ATTENTION_TILE · width scratch each */
};

enum { ATTENTION_TILE = 64 };

struct attention_state { /* the softmax so far of each row */
    float *largest, *mass; /* [rows] */
    float *sums;           /* [rows][width] */
};

struct kernels {
    const char *name;
    int lanes;
    int tile_rows;
    int panels_at_once, float_panels; /* of quantised weights, of float ones */

    enum product_form (*form)(enum dtype dtype);
    /* One row of 32·chunks floats into its place. */
    void (*quantize_row)(const float *x, const struct byte_rows *to, int64_t row);
    /* Panel bytes for a stretch of columns. */
    int64_t (*panel_bytes)(enum dtype dtype, int64_t cols);
    /* Columns first … first+cols-1 (whole blocks) of lanes weight rows `stride` apart; the next lanes rows
     * are asked for. */
    void (*unpack)(enum dtype dtype, const void *weights, int64_t stride, int64_t first, int64_t cols,
                   void *panel);
    /* `count` panels one after another in memory (1, or panels_at_once; float_panels). */
    void (*multiply)(enum dtype dtype, const void *panels, int count, const struct byte_rows *in,
                     const struct product_range *range);
    /* One row of activations times lanes weight rows `stride` apart, all columns, where they lie: the same
     * operations on every output as in unpack and multiply, so the same bytes, and sooner. */
    bool (*has_single)(enum dtype dtype, int64_t cols);
    void (*multiply_single)(enum dtype dtype, const void *weights, int64_t stride, const struct byte_rows *in,
                            const struct product_range *range);
    void (*multiply_float)(const float *panels, int count, const struct tensor *in,
                           const struct product_range *range);

    /* Adds the keys first … last-1 (within one split) to a fresh state. */
    void (*attend)(const struct attention_rows *rows, int64_t first, int64_t last,
                   struct attention_state *state);
    /* Adds part to total; part follows total in key order. */
    void (*merge)(const struct attention_state *part, int rows, int64_t width, struct attention_state *total);
    void (*finish)(const struct attention_state *state, int row, int64_t width, int head_dim, float *out);
    float (*dot)(const float *a, const float *b, int64_t n);

    void (*norm)(enum backend_norm kind, const float *in, const float *weight, const float *bias, float eps,
                 int64_t n, float *out);
    /* cosines and sines: [rotary_dim / 2] */
    void (*rotate)(const struct backend_rotary *rotary, const float *cosines, const float *sines, float *x);
    void (*activate)(enum backend_activation kind, const float *gate, const float *up, int64_t n, float *out);
    void (*add)(const float *a, const float *b, int64_t n, float *out);
    void (*scale)(float *x, float factor, int64_t n);
    void (*clamp)(float *x, float limit, int64_t n);
    void (*softcap)(float *x, float limit, int64_t n);
    void (*store_row)(enum dtype dtype, const float *from, void *to, int64_t n);
    /* A cache row as floats; n = head_dim. */
    void (*load_row)(enum dtype dtype, const void *from, float *to, int64_t n);
    float (*row_norm)(enum dtype dtype, const void *row, int64_t n); /* never too small */
};

extern const struct kernels kernels_scalar;
#if defined(__x86_64__)
extern const struct kernels kernels_avx2, kernels_avx512;
#elif defined(__aarch64__)
extern const struct kernels kernels_neon, kernels_dotprod, kernels_i8mm;
#endif

#endif
