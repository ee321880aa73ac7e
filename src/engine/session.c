/* A session: one timeline of tokens with its KV cache and logits.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine/session.h"

#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/options.h"
#include "base/published.h"
#include "engine/engine.h"
#include "engine/lookup.h"
#include "engine/room.h"
#include "engine/step.h"
#include "memory/estimate.h"

/* Rows per step while scoring: every row has logits, [rows, vocabulary] of fp32. */
enum { SCORE_ROWS = LL_ROWS_SCORED };

struct ll_session {
    ll_model *model;
    size_t context;
    struct block_pool *pool;
    struct block_table table; /* its length is how much of the timeline is computed */
    struct token_list tokens; /* the timeline */
    float *logits;            /* [vocabulary] */
    float *score_logits;      /* [score_capacity, vocabulary], made when first needed */
    size_t score_capacity;
    bool logits_valid;        /* they are those after the last token */
    double verify_seconds;    /* of the verification that is not settled yet */
    atomic_flag busy;
    ll_session_stats stats;       /* written inside enter and leave only */
    struct published shown_stats; /* the same, for the gauge on other threads */
};

_Static_assert(sizeof(ll_session_stats) <= PUBLISHED_WORDS * sizeof(uint64_t), "stats can be published");

static size_t logits_bytes(const ll_session *s)
{
    return (size_t)model_hparams(s->model)->vocabulary * sizeof *s->logits;
}

static void free_score_logits(ll_session *s)
{
    if (s->score_logits)
        engine_count_logits(model_engine(s->model), -(int64_t)(s->score_capacity * logits_bytes(s)));
    mem_free(s->score_logits);
    s->score_logits = NULL;
    s->score_capacity = 0;
}

/* Puts the stats where the gauge reads them. */
static void publish(ll_session *s)
{
    struct block_counts blocks;
    blocks_count(s->pool, &blocks);
    s->stats.position = s->tokens.count;
    s->stats.cache_used = (size_t)s->table.length;
    s->stats.cache_blocks = (size_t)blocks.used;
    s->stats.blocks_free = (size_t)blocks.free;
    s->stats.blocks_shared = (size_t)blocks.shared;
    s->stats.cache_used_bytes = s->stats.cache_bytes / (uint64_t)blocks.capacity * (uint64_t)blocks.used;
    published_write(&s->shown_stats, &s->stats, sizeof s->stats);
}

/* ---- opening ---- */

void ll_session_options_init(ll_session_options *options)
{
    *options = (ll_session_options){.size = sizeof *options, .cache_type = LL_F16};
}

/* What the model was trained for, or what three quarters of the free memory hold on either side. */
static size_t default_context(const ll_model *model, enum dtype type)
{
    uint64_t context = (uint64_t)model_hparams(model)->context;
    struct room room;
    room_read(model, &room);
    while (context > 256 && room_share(model, &room, context, type) > 0.75)
        context /= 2;
    return (size_t)context;
}

static ll_status open_parts(ll_session *s, const ll_session_options *options, ll_error *error)
{
    enum dtype type;
    if (!model_cache_type(s->model, options->cache_type, &type))
        return error_set(error, LL_ARGUMENT, "session", "this KV cache type cannot hold heads of %d numbers",
                         model_hparams(s->model)->head_dim);
    s->context = options->context ? options->context : default_context(s->model, type);
    s->logits = mem_new((size_t)model_hparams(s->model)->vocabulary, sizeof *s->logits);
    if (!s->logits)
        return error_nomem(error, "session", (size_t)model_hparams(s->model)->vocabulary * sizeof *s->logits);
    engine_count_logits(model_engine(s->model), (int64_t)logits_bytes(s));
    engine_lock(model_engine(s->model));
    ll_status status = model_open_cache(s->model, s->context, 1, options->cache_type, &s->pool, error);
    engine_unlock(model_engine(s->model));
    if (status != LL_OK)
        return status;
    s->stats.cache_capacity = s->context;
    s->stats.cache_bytes = blocks_memory(s->pool);
    s->stats.block_tokens = (size_t)blocks_tokens(s->pool);
    publish(s);
    return LL_OK;
}

ll_status ll_session_open(ll_model *model, const ll_session_options *given, ll_session **ret, ll_error *error)
{
    ll_session_options options;
    OPTIONS_READ(options, given, ll_session_options_init, error);
    LL_TRY(model_require_weights(model, error));
    ll_session *s = mem_new(1, sizeof *s);
    if (!s)
        return error_nomem(error, "session", sizeof *s);
    model_retain(model);
    s->model = model;
    atomic_flag_clear(&s->busy);
    ll_status status = open_parts(s, &options, error);
    if (status != LL_OK) {
        ll_session_close(s);
        return status;
    }
    *ret = s;
    return LL_OK;
}

void ll_session_close(ll_session *s)
{
    if (!s)
        return;
    engine_lock(model_engine(s->model));
    block_table_fini(s->pool, &s->table);
    model_close_cache(s->model, s->pool);
    engine_unlock(model_engine(s->model));
    token_list_fini(&s->tokens);
    if (s->logits)
        engine_count_logits(model_engine(s->model), -(int64_t)logits_bytes(s));
    free_score_logits(s);
    mem_free(s->logits);
    ll_model_close(s->model);
    mem_free(s);
}

/* ---- entering ---- */

ll_status session_enter(ll_session *s, ll_error *error)
{
    if (atomic_flag_test_and_set(&s->busy))
        return error_set(error, LL_BUSY, "session", "the session is in use by another thread");
    return LL_OK;
}

void session_leave(ll_session *s)
{
    publish(s);
    atomic_flag_clear(&s->busy);
}

ll_model *session_model(const ll_session *s)
{
    return s->model;
}

void session_state(ll_session *s, struct session_state *ret)
{
    *ret = (struct session_state){s->pool, &s->table, &s->tokens, s->logits, &s->logits_valid};
}

size_t session_context(const ll_session *s)
{
    return s->context;
}

/* How far back the step looked: measured where heads have ALiBi, else what the layers' windows leave. */
static void update_reach(ll_session *s)
{
    const struct model_hparams *h = model_hparams(s->model);
    struct step_reach reach;
    step_reach(s->model, &reach);
    s->stats.reach = (size_t)s->table.length;
    s->stats.reach_mean = 0.0;
    bool all_slide = true;
    for (int i = 0; i < h->layers; i++) {
        all_slide = all_slide && h->layer[i].window > 0;
        if (h->layer[i].window > 0)
            s->stats.window = (size_t)h->layer[i].window;
    }
    if (all_slide && s->stats.window < s->stats.reach)
        s->stats.reach = s->stats.window;
    if (reach.queries == 0)
        return;
    s->stats.reach = reach.farthest;
    s->stats.reach_mean = reach.mean;
}

static void update_stats(ll_session *s, size_t computed, bool decoding, double seconds)
{
    *(decoding ? &s->stats.decoded : &s->stats.prefilled) += computed;
    *(decoding ? &s->stats.decode_seconds : &s->stats.prefill_seconds) += seconds;
    double *rate = decoding ? &s->stats.decode_rate : &s->stats.prefill_rate;
    double now = seconds > 0.0 ? (double)computed / seconds : 0.0;
    *rate = *rate > 0.0 && decoding ? *rate + (now - *rate) / 8.0 : now; /* single tokens are uneven */
    update_reach(s);
    publish(s);
}

ll_status ll_session_get_stats(const ll_session *session, ll_session_stats *ret)
{
    published_read(&session->shown_stats, ret, sizeof *ret);
    return LL_OK;
}

/* ---- the timeline ---- */

ll_status session_append(ll_session *s, ll_token token, ll_error *error)
{
    if (!token_list_push(&s->tokens, token))
        return error_nomem(error, "session", (s->tokens.count + 1) * sizeof token);
    s->logits_valid = false;
    return LL_OK;
}

static void forget_computed(ll_session *s, size_t position)
{
    engine_lock(model_engine(s->model));
    block_table_truncate(s->pool, &s->table, (int64_t)position);
    engine_unlock(model_engine(s->model));
}

void session_forget(ll_session *s, size_t position)
{
    if (position >= s->tokens.count)
        return;
    s->tokens.count = position;
    s->logits_valid = false;
    forget_computed(s, position);
}

static void report_prefill(const ll_run *run, uint64_t done, uint64_t total)
{
    if (!run || !run->on_progress)
        return;
    ll_progress progress = {LL_PREFILLING, done, total, NULL};
    run->on_progress(run->user, &progress);
}

ll_status session_compute(ll_session *s, const ll_run *run, bool decoding, ll_token *greatest,
                          ll_error *error)
{
    /* After a rewind or a cancel the logits in memory are another place's: the last token again. */
    if (!s->logits_valid && (size_t)s->table.length == s->tokens.count)
        forget_computed(s, s->tokens.count - 1);
    size_t first = (size_t)s->table.length, total = s->tokens.count - first;
    size_t most = (size_t)forward_rows(model_backend(s->model));
    while ((size_t)s->table.length < s->tokens.count) {
        size_t at = (size_t)s->table.length, left = s->tokens.count - at;
        size_t count = left < most ? left : most;
        struct step_part part = {&s->table, s->tokens.ids + at, (int64_t)count,
                                 count == left ? STEP_LAST_OUTPUT : STEP_NO_OUTPUT};
        double start = clock_seconds();
        LL_TRY(step_run(s->model, s->pool, &part, 1, s->context, run ? run->cancel : NULL,
                        greatest ? NULL : s->logits, greatest, error));
        update_stats(s, count, decoding, clock_seconds() - start);
        if (!decoding)
            report_prefill(run, at + count - first, total);
    }
    s->logits_valid = !greatest;
    return LL_OK;
}

static ll_status check_tokens(const ll_session *s, const ll_token *tokens, size_t count, ll_error *error)
{
    if (count == 0)
        return error_set(error, LL_ARGUMENT, "session", "a session needs at least one token");
    if (count > s->context)
        return error_set(error, LL_CONTEXT_FULL, "session",
                         "the text is %zu tokens long and the context holds %zu", count, s->context);
    for (size_t i = 0; i < count; i++)
        if (tokens[i] < 0 || tokens[i] >= model_hparams(s->model)->vocabulary)
            return error_set(error, LL_ARGUMENT, "session",
                             "token %d at index %zu is outside the vocabulary of %lld", (int)tokens[i], i,
                             (long long)model_hparams(s->model)->vocabulary);
    return LL_OK;
}

static size_t common_prefix(const ll_session *s, const ll_token *tokens, size_t count)
{
    size_t i = 0;
    while (i < count && i < s->tokens.count && s->tokens.ids[i] == tokens[i])
        i++;
    return i;
}

static ll_status append_and_compute(ll_session *s, const ll_token *tokens, size_t count, const ll_run *run,
                                    ll_error *error)
{
    for (size_t i = 0; i < count; i++)
        LL_TRY(session_append(s, tokens[i], error));
    return session_compute(s, run, false, NULL, error);
}

static ll_status sync(ll_session *s, const ll_token *tokens, size_t count, const ll_run *run, ll_error *error)
{
    LL_TRY(check_tokens(s, tokens, count, error));
    LL_TRY(model_wake(s->model, run, error));
    size_t keep = common_prefix(s, tokens, count);
    bool same = keep == count && s->tokens.count == count && s->logits_valid;
    if (!same && keep == count) /* the last token's logits are gone: compute it again */
        keep = count - 1;
    session_forget(s, keep);
    s->stats.reused = keep < (size_t)s->table.length ? keep : (size_t)s->table.length;
    publish(s);
    ll_status status = append_and_compute(s, tokens + keep, count - keep, run, error);
    if (status != LL_OK) /* rule 6: valid at the last finished token */
        session_forget(s, (size_t)s->table.length);
    return status;
}

ll_status ll_session_sync(ll_session *s, const ll_token *tokens, size_t count, const ll_run *run,
                          ll_error *error)
{
    LL_TRY(run_check(run, error));
    LL_TRY(session_enter(s, error));
    ll_status status = sync(s, tokens, count, run, error);
    session_leave(s);
    return status;
}

ll_status ll_session_rewind(ll_session *s, size_t position)
{
    LL_TRY(session_enter(s, NULL));
    ll_status status = position <= s->tokens.count ? LL_OK : LL_ARGUMENT;
    if (status == LL_OK)
        session_forget(s, position);
    session_leave(s);
    return status;
}

ll_status ll_session_trim(ll_session *s, uint64_t *ret_bytes, ll_error *error)
{
    LL_TRY(session_enter(s, error));
    free_score_logits(s);
    engine_lock(model_engine(s->model));
    uint64_t bytes = blocks_trim(s->pool);
    engine_unlock(model_engine(s->model));
    machine_trim();
    session_leave(s);
    *ret_bytes = bytes;
    return LL_OK;
}

size_t ll_session_position(const ll_session *s)
{
    return s->tokens.count;
}

const ll_token *ll_session_tokens(const ll_session *s, size_t *ret_count)
{
    *ret_count = s->tokens.count;
    return s->tokens.ids;
}

const float *ll_session_logits(const ll_session *s, size_t *ret_count)
{
    *ret_count = s->logits_valid ? (size_t)model_hparams(s->model)->vocabulary : 0;
    return s->logits_valid ? s->logits : NULL;
}

/* ---- scoring ---- */

static ll_status make_score_logits(ll_session *s, size_t rows, ll_error *error)
{
    if (s->score_capacity >= rows)
        return LL_OK;
    free_score_logits(s);
    s->score_logits = mem_new(rows, logits_bytes(s));
    if (!s->score_logits)
        return error_nomem(error, "session", rows * logits_bytes(s));
    s->score_capacity = rows;
    engine_count_logits(model_engine(s->model), (int64_t)(rows * logits_bytes(s)));
    return LL_OK;
}

static ll_status score_rows(ll_session *s, const ll_token *tokens, size_t count, const ll_run *run,
                            void (*row)(void *user, size_t index, const float *logits), void *user,
                            ll_error *error)
{
    size_t vocabulary = (size_t)model_hparams(s->model)->vocabulary;
    for (size_t i = 0; i < count; i++)
        LL_TRY(session_append(s, tokens[i], error));
    while ((size_t)s->table.length < count) {
        size_t at = (size_t)s->table.length, rows = count - at < SCORE_ROWS ? count - at : SCORE_ROWS;
        struct step_part part = {&s->table, tokens + at, (int64_t)rows, STEP_ALL_OUTPUTS};
        double start = clock_seconds();
        LL_TRY(step_run(s->model, s->pool, &part, 1, s->context, run ? run->cancel : NULL, s->score_logits,
                        NULL, error));
        update_stats(s, rows, false, clock_seconds() - start);
        for (size_t i = 0; i < rows; i++)
            row(user, at + i, s->score_logits + i * vocabulary);
        report_prefill(run, at + rows, count);
    }
    return LL_OK;
}

ll_status session_score_rows(ll_session *s, const ll_token *tokens, size_t count, const ll_run *run,
                             void (*row)(void *user, size_t index, const float *logits), void *user,
                             ll_error *error)
{
    LL_TRY(check_tokens(s, tokens, count, error));
    LL_TRY(model_wake(s->model, run, error));
    LL_TRY(make_score_logits(s, SCORE_ROWS, error));
    session_forget(s, 0);
    ll_status status = score_rows(s, tokens, count, run, row, user, error);
    session_forget(s, 0);
    return status;
}

/* ---- verifying drafts ---- */

_Static_assert(LOOKUP_MOST + 1 == LL_ROWS_DRAFTED, "the rows of a verification are those that are planned");

bool session_can_verify(const ll_session *s, size_t count)
{
    return (size_t)s->table.length + 1 == s->tokens.count && s->tokens.count + count <= s->context;
}

/* On success the table is ahead of the timeline by the drafts. */
static ll_status run_drafts(ll_session *s, size_t rows, const ll_run *run, ll_token *greatest,
                            ll_error *error)
{
    struct step_part part = {&s->table, s->tokens.ids + s->table.length, (int64_t)rows, STEP_ALL_OUTPUTS};
    double start = clock_seconds();
    LL_TRY(step_run(s->model, s->pool, &part, 1, s->context, run ? run->cancel : NULL,
                    greatest ? NULL : s->score_logits, greatest, error));
    s->verify_seconds = clock_seconds() - start;
    return LL_OK;
}

ll_status session_verify(ll_session *s, const ll_token *drafts, size_t count, const ll_run *run,
                         const float **ret_logits, ll_token *greatest, ll_error *error)
{
    size_t timeline = s->tokens.count;
    ll_status status = greatest ? LL_OK : make_score_logits(s, LL_ROWS_DRAFTED, error);
    for (size_t i = 0; i < count && status == LL_OK; i++)
        status = session_append(s, drafts[i], error);
    if (status == LL_OK)
        status = run_drafts(s, count + 1, run, greatest, error);
    s->tokens.count = timeline;
    *ret_logits = greatest ? NULL : s->score_logits;
    return status;
}

void session_settle(ll_session *s, size_t drafted, size_t kept)
{
    if ((size_t)s->table.length >= s->tokens.count)
        forget_computed(s, s->tokens.count - 1);
    s->stats.drafted += drafted;
    s->stats.kept += kept;
    update_stats(s, kept + 1, true, s->verify_seconds);
}
