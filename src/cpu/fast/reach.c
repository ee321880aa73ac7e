/* How far back an ALiBi query must look: a bound that is a proof, not a guess.
 * SPDX-License-Identifier: Apache-2.0
 *
 * With slope m, the keys of blocks 0 … t, all at distance ≥ d and of norm ≤ P (the prefix maximum kept
 * with block t), hold together at most
 *     Σ_{j ≥ d} exp(|q|·P - m·j) = exp(|q|·P - m·d) / (1 - exp(-m))
 * by Cauchy and Schwarz and the geometric series; a softcap only lowers |q|·P. The whole softmax holds
 * at least exp(s), s being the query's score of its own key, at distance 0 and always visible. So the
 * share of blocks 0 … t is at most ε when
 *     |q|·P - m·d - ln(1 - exp(-m)) ≤ s + ln ε.
 * The left side grows with t (P grows, d shrinks), so one bisection finds the last such block. Only
 * whole blocks before the query's own count, and only its own key is scored: later keys of the same
 * step cannot change the answer, so it is the same whether rows come together or one by one. */
#include "cpu/fast/reach.h"

#include <math.h>

#include "cpu/cache_rows.h"

/* Scores are rounded to F32 in the kernel; this keeps the bound above what that can add. */
static const double ROUNDING = 1e-3;

struct bound {
    double norm, slope, softcap;
    double limit; /* s + ln ε + ln(1 - exp(-m)) */
    int64_t position;
};

static bool block_skipped(const struct attention_rows *rows, const struct bound *bound, int64_t index)
{
    const struct backend_cache *cache = rows->cache;
    int32_t block = rows->sequence->blocks[index];
    double most = bound->norm * cache->k_norms[(int64_t)block * cache->kv_heads + rows->kv_head] * (1 + 1e-6);
    if (bound->softcap > 0 && most > bound->softcap)
        most = bound->softcap;
    double distance = (double)(bound->position - ((index + 1) * cache->block_tokens - 1));
    return most - bound->slope * distance + ROUNDING <= bound->limit;
}

/* Dropped blocks hold nothing; their norm is that of the nearest block before them. */
static int64_t first_needed(const struct attention_rows *rows, const struct bound *bound)
{
    int64_t low = 0, high = bound->position / rows->cache->block_tokens; /* blocks before `low` are skipped */
    while (low < high) {
        int64_t middle = low + (high - low) / 2, held = middle;
        while (held >= low && rows->sequence->blocks[held] < 0)
            held--;
        if (held < low || block_skipped(rows, bound, held))
            low = middle + 1;
        else
            high = held;
    }
    return low * rows->cache->block_tokens;
}

static double norm_of(const float *q, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += (double)q[i] * q[i];
    return sqrt(sum) * (1 + 1e-9);
}

static int64_t reach_of(const struct kernels *kernels, const struct attention_rows *rows, const float *q,
                        double slope, int64_t position, const float *key)
{
    const struct backend_attention *attention = rows->attention;
    double score = kernels->dot(q, key, rows->cache->head_dim);
    if (attention->softcap > 0)
        score = attention->softcap * tanh(score / attention->softcap);
    struct bound bound = {.norm = norm_of(q, rows->cache->head_dim),
                          .slope = slope,
                          .softcap = attention->softcap,
                          .limit = score + log(attention->reach) + log1p(-exp(-slope)),
                          .position = position};
    return slope > 0 ? first_needed(rows, &bound) : 0;
}

bool reach_find(const struct kernels *kernels, const struct attention_rows *rows, float *key, int64_t *reach)
{
    const struct backend_attention *attention = rows->attention;
    const struct backend_cache *cache = rows->cache;
    if (!attention->slopes || !(attention->reach > 0) || !cache->k_norms)
        return false;
    const float *slopes = (const float *)attention->slopes->data + (int64_t)rows->kv_head * rows->group;
    for (int query = 0; query < rows->queries; query++) {
        int64_t position = rows->first_position + query;
        int32_t block = rows->sequence->blocks[position / cache->block_tokens];
        if (block >= 0)
            kernels->load_row(cache->k_type,
                              cache_key(cache, block, rows->kv_head, position % cache->block_tokens), key,
                              cache->head_dim);
        for (int i = 0; i < rows->group; i++) {
            int row = query * rows->group + i;
            reach[row] = block < 0
                             ? 0
                             : reach_of(kernels, rows, rows->q + row * rows->width, slopes[i], position, key);
        }
    }
    return true;
}
