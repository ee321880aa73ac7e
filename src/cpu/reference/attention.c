/* The plain form of attention: every key of a query scored, then one softmax over all of them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "cpu/cache_rows.h"
#include "cpu/reference/reference.h"
#include "tensor/dequant.h"

struct query {
    const struct backend_attention *attention;
    const struct backend_cache *cache;
    const struct backend_sequence *sequence;
    int64_t position;
    int head, kv_head;
    const float *q;
    double *scores; /* [position + 1] */
    float *row;     /* [head_dim] */
};

static bool key_visible(const struct query *query, int64_t key)
{
    const struct backend_attention *a = query->attention;
    if (query->sequence->blocks[key / query->cache->block_tokens] < 0)
        return false;
    return a->window <= 0 || query->position - key < a->window || key < a->sinks;
}

static double key_score(const struct query *query, int64_t key)
{
    const struct backend_attention *a = query->attention;
    const struct backend_cache *cache = query->cache;
    int32_t block = query->sequence->blocks[key / cache->block_tokens];
    dequantize_row(cache->k_type, cache_key(cache, block, query->kv_head, key % cache->block_tokens),
                   query->row, cache->head_dim);
    double score = 0;
    for (int i = 0; i < cache->head_dim; i++)
        score += (double)query->q[i] * query->row[i];
    score *= a->scale;
    if (a->softcap > 0)
        score = a->softcap * tanh(score / a->softcap);
    if (a->slopes)
        score -= (double)((const float *)a->slopes->data)[query->head] * (double)(query->position - key);
    return score;
}

static double score_keys(const struct query *query)
{
    double largest = -INFINITY;
    for (int64_t key = 0; key <= query->position; key++) {
        query->scores[key] = key_visible(query, key) ? key_score(query, key) : -INFINITY;
        largest = fmax(largest, query->scores[key]);
    }
    return largest;
}

/* A query that sees no key at all gives zeros. */
static void attend(const struct query *query, double *sums, float *out)
{
    const struct backend_cache *cache = query->cache;
    double largest = score_keys(query), mass = 0;
    memset(sums, 0, (size_t)cache->head_dim * sizeof *sums);
    for (int64_t key = 0; key <= query->position; key++) {
        if (query->scores[key] == -INFINITY)
            continue;
        int32_t block = query->sequence->blocks[key / cache->block_tokens];
        double weight = exp(query->scores[key] - largest);
        mass += weight;
        dequantize_row(cache->v_type, cache_value(cache, block, query->kv_head, key % cache->block_tokens),
                       query->row, cache->head_dim);
        for (int i = 0; i < cache->head_dim; i++)
            sums[i] += weight * query->row[i];
    }
    for (int i = 0; i < cache->head_dim; i++)
        out[i] = (float)(mass > 0 ? sums[i] / mass : 0);
}

static int64_t longest_sequence(const struct backend_step *step)
{
    int64_t longest = 0;
    for (int64_t s = 0; s < step->sequence_count; s++)
        if (step->sequences[s].start + step->sequences[s].rows > longest)
            longest = step->sequences[s].start + step->sequences[s].rows;
    return longest;
}

static void attend_row(struct query *query, const struct tensor *q, int64_t row, double *sums,
                       struct tensor *out)
{
    const struct backend_attention *a = query->attention;
    int group = a->heads / query->cache->kv_heads;
    for (int head = 0; head < a->heads; head++) {
        int64_t offset = (int64_t)head * query->cache->head_dim;
        query->head = head;
        query->kv_head = head / group;
        query->q = (const float *)tensor_row(q, row) + offset;
        attend(query, sums, (float *)tensor_row(out, row) + offset);
    }
}

void reference_attention(struct backend *backend, const struct backend_attention *attention,
                         const struct backend_cache *cache, const struct tensor *q, struct tensor *out)
{
    struct host *host = host_of(backend);
    int64_t cols = (int64_t)attention->heads * cache->head_dim;
    if (host_stopped(host) || !cache_check(host, "attention", cache) ||
        !host_check_rows(host, "attention", q, host->step->rows, cols) ||
        !host_check_rows(host, "attention", out, host->step->rows, cols))
        return;
    struct query query = {.attention = attention, .cache = cache};
    query.scores = mem_new((size_t)longest_sequence(host->step), sizeof *query.scores);
    query.row = mem_new((size_t)cache->head_dim, sizeof *query.row);
    double *sums = mem_new((size_t)cache->head_dim, sizeof *sums);
    if (!query.scores || !query.row || !sums)
        host_fail(host, LL_NOMEM, "attention", "no memory for the scores of a query");
    for (int64_t s = 0; s < host->step->sequence_count; s++) {
        query.sequence = &host->step->sequences[s];
        for (int64_t i = 0; i < query.sequence->rows && !host_stopped(host); i++) {
            query.position = query.sequence->start + i;
            attend_row(&query, q, query.sequence->first_row + i, sums, out);
        }
    }
    mem_free(query.scores);
    mem_free(query.row);
    mem_free(sums);
}
