/* Attention over one stretch of keys: tiles of scores, an online softmax, sums of values.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tiles begin at fixed places of the cache, so a query goes through the same tiles in the same order
 * whichever queries share the call; a tile it may not see leaves its state untouched, bit for bit. */
#include "cpu/kernels/attention.h"

#include <math.h>

#include "cpu/cache_rows.h"
#include "cpu/kernels/gemm.h"
#include "cpu/kernels/math.h"

enum { Q8_BLOCK = 32, Q8_BYTES = 34 };

/* n (≤ LANES) elements from element d of a cache row. */
INLINE vf load_part(const enum dtype dtype, const uint8_t *row, int64_t d, int64_t n)
{
    _Alignas(64) uint8_t tail[LANES * 4] = {0};
    if (dtype == DT_Q8_0) {
        const uint8_t *block = row + d / Q8_BLOCK * Q8_BYTES;
        vf scale = vf_from_f16_lanes(vu_set((uint32_t)(block[0] | block[1] << 8)));
        return vf_load_i8(block + 2 + d % Q8_BLOCK) * scale;
    }
    int bytes = dtype == DT_F32 ? 4 : 2;
    const uint8_t *from = row + d * bytes;
    if (n < LANES) {
        memcpy(tail, from, (size_t)(n * bytes));
        from = tail;
    }
    if (dtype == DT_F32)
        return vf_load((const float *)(const void *)from);
    return dtype == DT_F16 ? vf_load_f16(from) : vf_load_bf16(from);
}

/* Keys turned over: to[d][ATTENTION_TILE], zeros past the last key of its LANES. */
INLINE void load_keys_as(const enum dtype dtype, const uint8_t *row, int64_t row_bytes, int keys,
                         int64_t head_dim, float *to)
{
    for (int key = 0; key < keys; key += LANES)
        for (int64_t d = 0; d < head_dim; d += LANES) {
            vf square[LANES];
            int64_t left = head_dim - d;
#pragma GCC unroll 16
            for (int r = 0; r < LANES; r++)
                square[r] =
                    key + r < keys ? load_part(dtype, row + (key + r) * row_bytes, d, left) : vf_set(0);
            vf_transpose(square);
#pragma GCC unroll 16
            for (int r = 0; r < LANES; r++)
                if (r < left)
                    vf_store(to + (d + r) * ATTENTION_TILE + key, square[r]);
        }
}

INLINE void load_values_as(const enum dtype dtype, const uint8_t *row, int64_t row_bytes, int keys,
                           int64_t head_dim, int64_t width, float *to)
{
    for (int key = 0; key < keys; key++, row += row_bytes)
        for (int64_t d = 0; d < head_dim; d += LANES)
            vf_store(to + key * width + d, load_part(dtype, row, d, head_dim - d));
}

static void load_keys(enum dtype dtype, const uint8_t *row, int64_t row_bytes, int keys, int64_t head_dim,
                      float *to)
{
    switch (dtype) {
    case DT_F32:
        load_keys_as(DT_F32, row, row_bytes, keys, head_dim, to);
        break;
    case DT_F16:
        load_keys_as(DT_F16, row, row_bytes, keys, head_dim, to);
        break;
    case DT_BF16:
        load_keys_as(DT_BF16, row, row_bytes, keys, head_dim, to);
        break;
    default:
        load_keys_as(DT_Q8_0, row, row_bytes, keys, head_dim, to);
    }
}

static void load_values(enum dtype dtype, const uint8_t *row, int64_t row_bytes, int keys, int64_t head_dim,
                        int64_t width, float *to)
{
    switch (dtype) {
    case DT_F32:
        load_values_as(DT_F32, row, row_bytes, keys, head_dim, width, to);
        break;
    case DT_F16:
        load_values_as(DT_F16, row, row_bytes, keys, head_dim, width, to);
        break;
    case DT_BF16:
        load_values_as(DT_BF16, row, row_bytes, keys, head_dim, width, to);
        break;
    default:
        load_values_as(DT_Q8_0, row, row_bytes, keys, head_dim, width, to);
    }
}

void KERNEL(load_row)(enum dtype dtype, const void *from, float *to, int64_t n)
{
    int64_t whole = n / LANES * LANES;
    load_values(dtype, from, 0, 1, whole, whole, to);
    for (int64_t d = whole; d < n; d++) /* Q8_0 rows are whole blocks and never come here */
        to[d] = dtype == DT_F32 ? ((const float *)from)[d] : load_part(dtype, from, d, 1)[0];
}

/* A chain of n/LANES sums is off by less than 2e-5 of itself (n ≤ 1024); squares that vanish hide less
 * than 1e-17 of the norm. */
float KERNEL(row_norm)(enum dtype dtype, const void *row, int64_t n)
{
    float values[1024 + LANES];
    KERNEL(load_row)(dtype, row, values, n);
    return sqrtf(KERNEL(dot)(values, values, n)) * (1 + 2e-5f) + 1e-17f;
}

/* One row of scores against one tile. */
struct row_view {
    int64_t position, first; /* of the tile's first key */
    int64_t low;             /* keys before it are hidden, sinks excepted */
    int64_t reach;           /* keys before it are hidden */
    int keys;
    float slope;
};

INLINE bool tile_all_visible(const struct row_view *v)
{
    return v->first >= v->low && v->first >= v->reach && v->first + v->keys - 1 <= v->position &&
           v->keys % LANES == 0;
}

static bool tile_hidden(const struct row_view *v, int sinks)
{
    int64_t last = v->first + v->keys - 1;
    return v->first > v->position || last < v->reach || (last < v->low && v->first >= sinks);
}

static void hide_keys(const struct row_view *v, int sinks, float *scores)
{
    int padded = (v->keys + LANES - 1) / LANES * LANES;
    for (int j = 0; j < padded; j++) {
        int64_t key = v->first + j;
        bool seen = j < v->keys && key <= v->position && key >= v->reach && (key >= v->low || key < sinks);
        if (!seen)
            scores[j] = -INFINITY;
    }
}

/* Softcap and bias, in this order; returns the largest score. */
INLINE float shape_scores(const struct attention_rows *rows, const struct row_view *v, float *scores)
{
    static const float steps[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const struct backend_attention *a = rows->attention;
    int padded = (v->keys + LANES - 1) / LANES * LANES;
    if (a->softcap > 0)
        for (int j = 0; j < padded; j += LANES)
            vf_store(scores + j, vf_tanh(vf_load(scores + j) / vf_set(a->softcap)) * vf_set(a->softcap));
    if (a->slopes)
        for (int j = 0; j < padded; j += LANES) {
            vf distance = vf_set((float)(v->position - v->first - j)) - vf_load(steps);
            vf_store(scores + j, vf_fma(vf_set(-v->slope), distance, vf_load(scores + j)));
        }
    if (!tile_all_visible(v))
        hide_keys(v, a->sinks, scores);
    vf largest = vf_load(scores);
    for (int j = LANES; j < padded; j += LANES)
        largest = vf_max(largest, vf_load(scores + j));
    return vf_max_lane(largest);
}

INLINE float exp_one(float x)
{
    return vf_exp(vf_set(x))[0];
}

INLINE void scale_row(float *x, float factor, int64_t width)
{
    for (int64_t d = 0; d < width; d += LANES)
        vf_store(x + d, vf_load(x + d) * vf_set(factor));
}

/* Turns scores into weights against the running maximum and brings the row's sums to it. */
INLINE void soften_row(float *scores, int padded, float tile_largest, float *largest, float *mass,
                       float *sums, int64_t width)
{
    float now = tile_largest > *largest ? tile_largest : *largest;
    if (now > *largest) {
        float factor = exp_one(*largest - now);
        *mass *= factor;
        scale_row(sums, factor, width);
        *largest = now;
    }
    vf total = vf_set(0);
    for (int j = 0; j < padded; j += LANES) {
        vf weight = vf_exp(vf_load(scores + j) - vf_set(now));
        total += weight;
        vf_store(scores + j, weight);
    }
    *mass += vf_sum(total);
}

static struct row_view view_of(const struct attention_rows *rows, int row, int64_t first, int keys)
{
    const struct backend_attention *a = rows->attention;
    int64_t position = rows->first_position + row / rows->group;
    return (struct row_view){
        .position = position,
        .first = first,
        .low = a->window > 0 && position - a->window + 1 > 0 ? position - a->window + 1 : 0,
        .reach = rows->reach ? rows->reach[row] : 0,
        .keys = keys,
        .slope =
            a->slopes ? ((const float *)a->slopes->data)[rows->kv_head * rows->group + row % rows->group] : 0,
    };
}

/* The rows that see something of this tile are a stretch: those hidden at either end are left out. */
static bool visible_stretch(const struct attention_rows *rows, int64_t first, int keys, int *begin, int *end)
{
    int count = rows->queries * rows->group;
    *begin = 0;
    *end = count;
    for (; *begin < count; ++*begin) {
        struct row_view v = view_of(rows, *begin, first, keys);
        if (!tile_hidden(&v, rows->attention->sinks))
            break;
    }
    for (; *end > *begin; --*end) {
        struct row_view v = view_of(rows, *end - 1, first, keys);
        if (!tile_hidden(&v, rows->attention->sinks))
            break;
    }
    return *begin < *end;
}

/* Weights of a row that sees nothing are zero and leave its sums as they are. */
static void soften_tile(const struct attention_rows *rows, int64_t first, int keys, int begin, int end,
                        struct attention_state *state)
{
    int padded = (keys + LANES - 1) / LANES * LANES;
    for (int row = begin; row < end; row++) {
        struct row_view v = view_of(rows, row, first, keys);
        float *scores = rows->scores + (int64_t)row * ATTENTION_TILE;
        float largest = shape_scores(rows, &v, scores);
        if (largest == -INFINITY)
            memset(scores, 0, (size_t)padded * sizeof *scores);
        else
            soften_row(scores, padded, largest, &state->largest[row], &state->mass[row],
                       state->sums + (int64_t)row * rows->width, rows->width);
    }
}

static void attend_tile(const struct attention_rows *rows, int32_t block, int64_t token, int64_t first,
                        int keys, struct attention_state *state)
{
    const struct backend_cache *cache = rows->cache;
    int begin, end, padded = (keys + LANES - 1) / LANES * LANES;
    if (!visible_stretch(rows, first, keys, &begin, &end))
        return;
    load_keys(cache->k_type, cache_key(cache, block, rows->kv_head, token),
              (int64_t)dtype_row_bytes(cache->k_type, (uint64_t)cache->head_dim), keys, cache->head_dim,
              rows->keys);
    struct gemm scores = {.a = rows->q + begin * rows->width, .lda = rows->width, .b = rows->keys,
                          .ldb = ATTENTION_TILE, .c = rows->scores + (int64_t)begin * ATTENTION_TILE,
                          .ldc = ATTENTION_TILE, .k = cache->head_dim};
    gemm(&scores, end - begin, padded, 0);
    soften_tile(rows, first, keys, begin, end, state);
    load_values(cache->v_type, cache_value(cache, block, rows->kv_head, token),
                (int64_t)dtype_row_bytes(cache->v_type, (uint64_t)cache->head_dim), keys, cache->head_dim,
                rows->width, rows->values);
    struct gemm sums = {.a = rows->scores + (int64_t)begin * ATTENTION_TILE,
                        .lda = ATTENTION_TILE,
                        .b = rows->values,
                        .ldb = rows->width,
                        .c = state->sums + begin * rows->width,
                        .ldc = rows->width,
                        .k = keys};
    gemm(&sums, end - begin, rows->width, 1);
}

void KERNEL(attend)(const struct attention_rows *rows, int64_t first, int64_t last,
                    struct attention_state *state)
{
    int64_t block_tokens = rows->cache->block_tokens;
    int count = rows->queries * rows->group;
    for (int row = 0; row < count; row++) {
        state->largest[row] = -INFINITY;
        state->mass[row] = 0;
    }
    memset(state->sums, 0, (size_t)(count * rows->width) * sizeof *state->sums);
    for (int64_t key = first, next; key < last; key = next) {
        int64_t token = key % block_tokens;
        int64_t tile_end = token + ATTENTION_TILE < block_tokens ? token + ATTENTION_TILE : block_tokens;
        next = key - token + tile_end;
        int64_t keys = (next < rows->end ? next : rows->end) - key;
        int32_t block = rows->sequence->blocks[key / block_tokens];
        if (block >= 0 && keys > 0)
            attend_tile(rows, block, token, key, (int)keys, state);
    }
}

static void merge_row(const struct attention_state *part, int row, int64_t width,
                      struct attention_state *total)
{
    float mine = total->largest[row], other = part->largest[row];
    float now = other > mine ? other : mine;
    float *sums = total->sums + row * width;
    const float *added = part->sums + row * width;
    if (other == -INFINITY)
        return;
    float keep = exp_one(mine - now), take = exp_one(other - now);
    for (int64_t d = 0; d < width; d += LANES)
        vf_store(sums + d, vf_fma(vf_load(added + d), vf_set(take), vf_load(sums + d) * vf_set(keep)));
    total->mass[row] = total->mass[row] * keep + part->mass[row] * take;
    total->largest[row] = now;
}

void KERNEL(merge)(const struct attention_state *part, int rows, int64_t width, struct attention_state *total)
{
    for (int row = 0; row < rows; row++)
        merge_row(part, row, width, total);
}

void KERNEL(finish)(const struct attention_state *state, int row, int64_t width, int head_dim, float *out)
{
    float mass = state->mass[row], inverse = mass > 0 ? 1 / mass : 0;
    const float *sums = state->sums + row * width;
    for (int64_t d = 0; d < head_dim; d += LANES)
        vf_store_part(out + d, vf_load(sums + d) * vf_set(inverse), head_dim - d);
}

float KERNEL(dot)(const float *a, const float *b, int64_t n)
{
    vf sum = vf_set(0);
    for (int64_t i = 0; i < n; i += LANES)
        sum = vf_fma(vf_load_part(a + i, n - i), vf_load_part(b + i, n - i), sum);
    return vf_sum(sum);
}
