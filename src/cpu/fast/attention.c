/* Attention on the pool: units of (sequence, KV head, stretch of queries), and of keys when queries are few.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Keys are cut at fixed places into splits of about 512. Each split is summed by itself and the
 * splits are merged in order, always, so that the result is the same bits whether one thread walks
 * them all (prefill) or each goes to another thread (decode at depth). */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "cpu/cache_rows.h"
#include "cpu/fast/fast.h"
#include "cpu/fast/reach.h"

enum { SPLIT_KEYS = 512, UNIT_ROWS = 96 };

struct attention_unit {
    const struct backend_sequence *sequence;
    int kv_head;
    int64_t first_query; /* in the sequence's rows */
    int queries;
    int64_t first_split, splits;
    int64_t partial; /* place of its state among the partials, in rows; -1: finishes by itself */
};

struct attention_job {
    struct fast *fast;
    const struct backend_attention *attention;
    const struct backend_cache *cache;
    const struct tensor *q;
    struct tensor *out;
    int group;
    int64_t width, split_keys;
    struct attention_unit *units;
    int64_t unit_count;
    int unit_queries; /* positions to a unit, at most */
    bool by_split;
    int64_t partial_rows;
};

/* ---- scratch of a thread, and states in memory ---- */
static uint64_t scratch_bytes(const struct attention_job *job)
{
    uint64_t rows = (uint64_t)job->unit_queries * (uint64_t)job->group, width = (uint64_t)job->width;
    uint64_t floats = rows * (3 * width + ATTENTION_TILE + 64) + 2 * (width + 64) * ATTENTION_TILE;
    return floats * sizeof(float) + rows * sizeof(int64_t) + 1024;
}

static void *take(char **at, uint64_t bytes)
{
    void *memory = *at;
    *at += (bytes + 63) & ~(uint64_t)63;
    return memory;
}

static struct attention_state take_state(char **at, int64_t rows, int64_t width)
{
    struct attention_state state;
    state.largest = take(at, (uint64_t)rows * sizeof(float));
    state.mass = take(at, (uint64_t)rows * sizeof(float));
    state.sums = take(at, (uint64_t)(rows * width) * sizeof(float));
    return state;
}

/* Rows first … of the partials, which are three arrays. */
static struct attention_state partial_state(const struct attention_job *job, int64_t first)
{
    float *memory = job->fast->partials.memory;
    return (struct attention_state){memory + first, memory + job->partial_rows + first,
                                    memory + 2 * ((job->partial_rows + 7) & ~(int64_t)7) +
                                        first * job->width};
}

/* ---- one unit ---- */
static void load_queries(const struct attention_job *job, const struct attention_unit *unit, float *to)
{
    int head_dim = job->cache->head_dim;
    for (int query = 0; query < unit->queries; query++) {
        const float *row = tensor_row(job->q, unit->sequence->first_row + unit->first_query + query);
        for (int i = 0; i < job->group; i++, to += job->width) {
            memcpy(to, row + (int64_t)(unit->kv_head * job->group + i) * head_dim,
                   (size_t)head_dim * sizeof *to);
            memset(to + head_dim, 0, (size_t)(job->width - head_dim) * sizeof *to);
            job->fast->kernels->scale(to, job->attention->scale, head_dim);
        }
    }
}

/* For the gauge. Splits of one stretch count it again: the farthest is the same, and so is the mean. */
static void count_reach(struct fast *fast, const struct attention_rows *rows)
{
    int64_t looked = 0, farthest = 0, count = (int64_t)rows->queries * rows->group;
    for (int64_t i = 0; rows->reach && i < count; i++) {
        int64_t back = rows->first_position + i / rows->group - rows->reach[i] + 1;
        looked += back;
        farthest = back > farthest ? back : farthest;
    }
    if (!rows->reach)
        return;
    atomic_fetch_add_explicit(&fast->looked, looked, memory_order_relaxed);
    atomic_fetch_add_explicit(&fast->queries, count, memory_order_relaxed);
    int_fast64_t most = atomic_load_explicit(&fast->farthest, memory_order_relaxed);
    while (farthest > most && !atomic_compare_exchange_weak(&fast->farthest, &most, farthest))
        continue;
}

static struct attention_rows prepare_rows(const struct attention_job *job, const struct attention_unit *unit,
                                          char **at)
{
    int64_t count = (int64_t)unit->queries * job->group;
    struct attention_rows rows = {.attention = job->attention,
                                  .cache = job->cache,
                                  .sequence = unit->sequence,
                                  .kv_head = unit->kv_head,
                                  .group = job->group,
                                  .queries = unit->queries,
                                  .first_position = unit->sequence->start + unit->first_query,
                                  .width = job->width};
    rows.end = unit->sequence->start + unit->sequence->rows;
    rows.q = take(at, (uint64_t)(count * job->width) * sizeof(float));
    rows.scores = take(at, (uint64_t)count * ATTENTION_TILE * sizeof(float));
    rows.keys = take(at, (uint64_t)job->cache->head_dim * ATTENTION_TILE * sizeof(float));
    rows.values = take(at, (uint64_t)job->width * ATTENTION_TILE * sizeof(float));
    int64_t *reach = take(at, (uint64_t)count * sizeof *reach);
    load_queries(job, unit, rows.q);
    if (reach_find(job->fast->kernels, &rows, rows.keys, reach))
        rows.reach = reach;
    count_reach(job->fast, &rows);
    return rows;
}

/* The first key that any row of the unit may see, sinks aside. */
static int64_t lowest_key(const struct attention_rows *rows)
{
    int64_t low = 0;
    if (rows->attention->window > 0 && rows->first_position - rows->attention->window + 1 > 0)
        low = rows->first_position - rows->attention->window + 1;
    if (!rows->reach)
        return low;
    int64_t reach = INT64_MAX;
    for (int i = 0; i < rows->queries * rows->group; i++)
        reach = rows->reach[i] < reach ? rows->reach[i] : reach;
    return reach > low ? reach : low;
}

static bool split_wanted(const struct attention_rows *rows, int64_t low, int64_t first, int64_t last)
{
    bool sinks = rows->attention->window > 0 && first < rows->attention->sinks;
    return first < rows->first_position + rows->queries && (last > low || sinks);
}

static void finish_rows(const struct attention_job *job, const struct attention_unit *unit,
                        const struct attention_state *state)
{
    int head_dim = job->cache->head_dim;
    for (int row = 0; row < unit->queries * job->group; row++) {
        float *out = tensor_row(job->out, unit->sequence->first_row + unit->first_query + row / job->group);
        job->fast->kernels->finish(state, row, job->width, head_dim,
                                   out + (int64_t)(unit->kv_head * job->group + row % job->group) * head_dim);
    }
}

/* The first state is written in place, the others beside it and then merged. */
static void walk_splits(const struct attention_job *job, const struct attention_unit *unit,
                        const struct attention_rows *rows, struct attention_state *total,
                        struct attention_state *part)
{
    int64_t low = lowest_key(rows);
    bool first = true;
    for (int64_t s = unit->first_split; s < unit->first_split + unit->splits; s++) {
        int64_t begin = s * job->split_keys, end = begin + job->split_keys;
        if (host_stopped(&job->fast->host))
            return;
        if (!split_wanted(rows, low, begin, end))
            continue;
        job->fast->kernels->attend(rows, begin, end < rows->end ? end : rows->end, first ? total : part);
        if (!first)
            job->fast->kernels->merge(part, unit->queries * job->group, job->width, total);
        first = false;
    }
    if (first) /* nothing to be seen: an empty state */
        job->fast->kernels->attend(rows, 0, 0, total);
}

static void unit_task(void *context, size_t task, int thread)
{
    const struct attention_job *job = context;
    const struct attention_unit *unit = &job->units[task];
    char *at = job->fast->scratch[thread].memory;
    if (host_stopped(&job->fast->host))
        return;
    struct attention_rows rows = prepare_rows(job, unit, &at);
    int64_t count = (int64_t)unit->queries * job->group;
    struct attention_state part = take_state(&at, count, job->width);
    struct attention_state total = take_state(&at, count, job->width);
    if (unit->partial >= 0)
        total = partial_state(job, unit->partial);
    walk_splits(job, unit, &rows, &total, &part);
    if (unit->partial < 0)
        finish_rows(job, unit, &total);
}

/* ---- merging what several threads summed ---- */
static int64_t merge_units(const struct attention_job *job, int64_t first)
{
    const struct attention_unit *unit = &job->units[first];
    struct attention_state total = partial_state(job, unit->partial);
    int64_t next = first + 1;
    for (; next < job->unit_count && job->units[next].first_split != 0; next++) {
        struct attention_state part = partial_state(job, job->units[next].partial);
        job->fast->kernels->merge(&part, unit->queries * job->group, job->width, &total);
    }
    finish_rows(job, unit, &total);
    return next;
}

/* ---- the plan ---- */
static int64_t sequence_keys(const struct backend_sequence *sequence)
{
    return sequence->start + sequence->rows;
}

static int64_t split_count(const struct attention_job *job, int64_t keys)
{
    return (keys + job->split_keys - 1) / job->split_keys;
}

static int64_t stretches(const struct attention_job *job, const struct backend_sequence *sequence)
{
    return (sequence->rows + job->unit_queries - 1) / job->unit_queries;
}

/* Enough units for every thread to have several, none larger than the second cache likes. */
static void choose_units(struct attention_job *job)
{
    const struct backend_step *step = job->fast->host.step;
    int most = UNIT_ROWS / job->group > 1 ? UNIT_ROWS / job->group : 1;
    int64_t even = step->rows * job->cache->kv_heads / (job->fast->threads * 4);
    job->unit_queries = even < 4 ? 4 : even < most ? (int)even : most;
    if (job->unit_queries > most)
        job->unit_queries = most;
    int64_t units = 0, splits = 0;
    for (int64_t s = 0; s < step->sequence_count; s++) {
        int64_t here = stretches(job, &step->sequences[s]) * job->cache->kv_heads;
        units += here;
        splits += here * split_count(job, sequence_keys(&step->sequences[s]));
    }
    job->by_split = units < 4 * (int64_t)job->fast->threads && splits > units && job->fast->threads > 1;
    job->unit_count = job->by_split ? splits : units;
}

static void add_units(struct attention_job *job, const struct backend_sequence *sequence, int64_t stretch,
                      int kv_head, int64_t *next)
{
    int64_t first = stretch * job->unit_queries, left = sequence->rows - first;
    int64_t splits = split_count(job, sequence_keys(sequence));
    struct attention_unit unit = {.sequence = sequence, .kv_head = kv_head, .first_query = first,
                                  .queries = (int)(left < job->unit_queries ? left : job->unit_queries),
                                  .splits = splits, .partial = -1};
    if (!job->by_split) {
        job->units[(*next)++] = unit;
        return;
    }
    unit.splits = 1;
    for (; unit.first_split < splits; unit.first_split++) {
        unit.partial = job->partial_rows;
        job->partial_rows += (int64_t)unit.queries * job->group;
        job->units[(*next)++] = unit;
    }
}

/* The last queries of a sequence see most, so they go first. */
static bool list_units(struct attention_job *job)
{
    const struct backend_step *step = job->fast->host.step;
    if (!buffer_need(job->fast, &job->fast->units, (uint64_t)job->unit_count * sizeof *job->units))
        return false;
    job->units = job->fast->units.memory;
    int64_t next = 0;
    for (int64_t s = 0; s < step->sequence_count; s++)
        for (int64_t stretch = stretches(job, &step->sequences[s]); stretch-- > 0;)
            for (int head = 0; head < job->cache->kv_heads; head++)
                add_units(job, &step->sequences[s], stretch, head, &next);
    uint64_t floats = (uint64_t)(job->partial_rows + 8) * (uint64_t)(job->width + 2);
    return !job->by_split || buffer_need(job->fast, &job->fast->partials, floats * sizeof(float));
}

/* Nanoseconds, roughly: half a nanosecond for every 16 products, and the loading of each key. */
static double estimate(const struct attention_job *job)
{
    const struct backend_step *step = job->fast->host.step;
    double work = 0;
    for (int64_t s = 0; s < step->sequence_count; s++) {
        double keys = (double)sequence_keys(&step->sequences[s]);
        work += keys * job->cache->head_dim * job->cache->kv_heads *
                (0.2 + 0.05 * job->group * (double)step->sequences[s].rows);
    }
    return work;
}

static bool check_attention(struct host *host, const struct backend_attention *attention,
                            const struct backend_cache *cache, const struct tensor *q,
                            const struct tensor *out)
{
    int64_t cols = (int64_t)attention->heads * cache->head_dim;
    if (host_stopped(host) || !cache_check(host, "attention", cache) ||
        !host_check_rows(host, "attention", q, host->step->rows, cols) ||
        !host_check_rows(host, "attention", out, host->step->rows, cols))
        return false;
    if (attention->heads % cache->kv_heads != 0)
        host_fail(host, LL_ARGUMENT, "attention", "%d query heads do not share %d KV heads evenly",
                  attention->heads, cache->kv_heads);
    return !host_stopped(host);
}

void fast_attention(struct backend *backend, const struct backend_attention *attention,
                    const struct backend_cache *cache, const struct tensor *q, struct tensor *out)
{
    struct fast *fast = fast_of(backend);
    if (!check_attention(&fast->host, attention, cache, q, out))
        return;
    int lanes = fast->kernels->lanes, blocks = SPLIT_KEYS / cache->block_tokens;
    struct attention_job job = {.fast = fast, .attention = attention, .cache = cache, .q = q, .out = out,
                                .group = attention->heads / cache->kv_heads,
                                .width = (cache->head_dim + lanes - 1) / lanes * lanes,
                                .split_keys = (int64_t)(blocks ? blocks : 1) * cache->block_tokens};
    choose_units(&job);
    if (!list_units(&job) || !scratch_need(fast, scratch_bytes(&job)))
        return;
    fast_run(fast, (size_t)job.unit_count, estimate(&job), unit_task, &job);
    if (job.by_split && !host_stopped(&fast->host))
        for (int64_t unit = 0; unit < job.unit_count;)
            unit = merge_units(&job, unit);
}
