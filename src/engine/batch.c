/* Many prompts through one model together: shared prefix computed once, windows side by side.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine/batch.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/mem.h"
#include "engine/engine.h"
#include "engine/keep.h"
#include "engine/room.h"
#include "engine/sampler.h"
#include "engine/step.h"
#include "memory/estimate.h"
#include "model/hparams.h"

enum { DEFAULT_WIDTH = 8, MAX_WIDTH = LL_WINDOWS_AT_ONCE };

struct slot { /* one running request */
    bool active, fetched; /* fetched: the kept tokens were not computed */
    size_t request;
    struct block_table table;
    struct token_list tokens; /* prompt, then what was generated */
    struct sampler *sampler;
    size_t generated;
};

struct batch {
    ll_model *model;
    const struct batch_options *options;
    const struct batch_request *requests;
    struct batch_output *outputs;
    bool *finished; /* [request_count] */
    size_t request_count, next, width;
    ll_dtype cache_type;
    bool moved; /* layers have been taken off the device */
    const ll_run *run;
    struct block_pool *pool;
    struct block_table prefix; /* the shared tokens */
    struct slot *slots;        /* [width] */
    float *logits;             /* [width, vocabulary] */
    size_t vocabulary;
};

static const ll_cancel *cancel_of(const struct batch *b)
{
    return b->run ? b->run->cancel : NULL;
}

/* ---- opening ---- */

static ll_status check_requests(const struct batch *b, ll_error *error)
{
    for (size_t i = 0; i < b->request_count; i++) {
        const struct batch_request *r = &b->requests[i];
        if (r->count <= b->options->shared || r->count > b->options->context ||
            r->max_tokens > b->options->context - r->count || r->kept >= r->count)
            return error_set(error, LL_CONTEXT_FULL, "batch",
                             "request %zu has %zu tokens (%zu shared) and wants %zu more in a context of %zu",
                             i, r->count, b->options->shared, r->max_tokens, b->options->context);
        for (size_t j = 0; j < r->count; j++)
            if (r->tokens[j] < 0 || (size_t)r->tokens[j] >= b->vocabulary ||
                (j < b->options->shared && r->tokens[j] != b->requests[0].tokens[j]))
                return error_set(error, LL_ARGUMENT, "batch",
                                 "token %zu of request %zu is %d, outside the vocabulary of %zu or not the "
                                 "one that all requests share there",
                                 j, i, (int)r->tokens[j], b->vocabulary);
    }
    return LL_OK;
}

uint64_t batch_cache_bytes(const ll_model *model, size_t context, size_t width, ll_dtype cache_type)
{
    enum dtype type;
    uint64_t bytes;
    if (!model_cache_type(model, cache_type, &type))
        return UINT64_MAX;
    bytes = estimate_cache(model_hparams(model), model_backend(model)->block_tokens, context, type);
    return mem_multiply(bytes, width, &bytes) ? bytes : UINT64_MAX;
}

/* As many as asked or eight, fewer when there are fewer requests or the memory holds fewer. */
static size_t choose_width(const struct batch *b)
{
    enum dtype type;
    struct room room;
    size_t width = b->options->width ? b->options->width : DEFAULT_WIDTH;
    width = width < MAX_WIDTH ? width : MAX_WIDTH;
    width = width < b->request_count ? width : b->request_count;
    if (!model_cache_type(b->model, b->cache_type, &type))
        return 1; /* opening the pool says why it cannot be */
    room_read(b->model, &room);
    double share = room_share(b->model, &room, b->options->context, type);
    while (width > 1 && share * (double)width > 0.5)
        width--;
    return width;
}

static ll_status open_batch(struct batch *b, ll_error *error)
{
    if (b->options->context > INT32_MAX)
        return error_set(error, LL_ARGUMENT, "batch", "a context of %zu tokens is larger than any model's",
                         b->options->context);
    const ll_sampling *s = &b->options->sampling;
    if (s->grammar || s->grammar_file || s->json_schema || s->json_schema_file)
        return error_set(error, LL_UNSUPPORTED, "batch", "grammars are kept in single answers only");
    b->finished = mem_new(b->request_count, sizeof *b->finished);
    if (!b->finished)
        return error_nomem(error, "batch", b->request_count);
    LL_TRY(check_requests(b, error));
    b->width = choose_width(b);
    return LL_OK;
}

/* What the present width and cache type need; close_pool frees it, whole or not. */
static ll_status open_pool(struct batch *b, ll_error *error)
{
    b->slots = mem_new(b->width, sizeof *b->slots);
    b->logits = mem_new(b->width, b->vocabulary * sizeof *b->logits);
    if (!b->slots || !b->logits)
        return error_nomem(error, "batch", b->width * b->vocabulary * sizeof *b->logits);
    engine_count_logits(model_engine(b->model), (int64_t)(b->width * b->vocabulary * sizeof *b->logits));
    engine_lock(model_engine(b->model));
    size_t tokens = b->options->context * b->width + b->options->shared;
    ll_status status = model_open_cache(b->model, tokens, 2 * b->width + 2, b->cache_type, &b->pool, error);
    engine_unlock(model_engine(b->model));
    return status;
}

static ll_status compute_prefix(struct batch *b, ll_error *error)
{
    size_t most = (size_t)forward_rows(model_backend(b->model));
    while ((size_t)b->prefix.length < b->options->shared) {
        size_t at = (size_t)b->prefix.length, left = b->options->shared - at;
        size_t rows = left < most ? left : most;
        struct step_part part = {&b->prefix, b->requests[0].tokens + at, (int64_t)rows, STEP_NO_OUTPUT};
        LL_TRY(step_run(b->model, b->pool, &part, 1, b->options->context, cancel_of(b), NULL, NULL, error));
    }
    return LL_OK;
}

/* ---- slots ---- */

static void close_slot(struct batch *b, struct slot *slot)
{
    engine_lock(model_engine(b->model));
    block_table_fini(b->pool, &slot->table);
    engine_unlock(model_engine(b->model));
    token_list_fini(&slot->tokens);
    sampler_close(slot->sampler);
    *slot = (struct slot){0};
}

/* Positions that are kept: whole blocks where a block also holds maxima over all of its keys. */
static int64_t kept_length(const struct batch *b, size_t request)
{
    int64_t kept = (int64_t)b->requests[request].kept;
    bool same = !b->moved && b->cache_type == b->options->cache_type;
    if (!same || kept <= (int64_t)b->options->shared)
        return 0;
    const struct backend_cache *caches = blocks_caches(b->pool);
    for (int i = 0; i < model_hparams(b->model)->layers; i++)
        if (caches[i].k_norms)
            return kept - kept % blocks_tokens(b->pool);
    return kept;
}

static void fetch_slot(struct batch *b, struct slot *slot)
{
    struct strbuf bytes = {0};
    int64_t length = b->options->fetch ? kept_length(b, slot->request) : 0;
    if (length > 0 && b->options->fetch(b->options->user, slot->request, &bytes) && !bytes.failed) {
        engine_lock(model_engine(b->model));
        slot->fetched = keep_read(b->model, b->pool, bytes.text, bytes.length, length, &slot->table);
        engine_unlock(model_engine(b->model));
    }
    strbuf_fini(&bytes);
}

static void keep_slot(struct batch *b, struct slot *slot)
{
    struct strbuf bytes = {0};
    int64_t length = b->options->keep && !slot->fetched ? kept_length(b, slot->request) : 0;
    if (length <= 0 || slot->table.length < length)
        return;
    engine_lock(model_engine(b->model));
    bool good = keep_write(b->model, b->pool, &slot->table, length, &bytes);
    engine_unlock(model_engine(b->model));
    if (good)
        b->options->keep(b->options->user, slot->request, bytes.text, bytes.length);
    strbuf_fini(&bytes);
}

static ll_status start_slot(struct batch *b, struct slot *slot, ll_error *error)
{
    const struct batch_request *request = &b->requests[b->next];
    slot->active = true;
    slot->request = b->next++;
    for (size_t i = 0; i < request->count; i++)
        if (!token_list_push(&slot->tokens, request->tokens[i]))
            return error_nomem(error, "batch", request->count * sizeof(ll_token));
    struct sampler_place place = {model_tokenizer(b->model), b->vocabulary, b->options->context};
    LL_TRY(sampler_open(&b->options->sampling, &place, &slot->sampler, error));
    fetch_slot(b, slot);
    if (slot->fetched)
        return LL_OK;
    engine_lock(model_engine(b->model));
    ll_status status =
        block_table_share(b->pool, &b->prefix, (int64_t)b->options->shared, &slot->table, error);
    engine_unlock(model_engine(b->model));
    return status;
}

static ll_status finish_slot(struct batch *b, struct slot *slot, ll_finish finish, ll_error *error)
{
    struct batch_output *output = &b->outputs[slot->request];
    size_t request = slot->request, prompt = b->requests[request].count;
    output->tokens = mem_new(slot->generated, sizeof *output->tokens);
    if (!output->tokens)
        return error_nomem(error, "batch", slot->generated * sizeof *output->tokens);
    for (size_t i = 0; i < slot->generated; i++)
        output->tokens[i] = slot->tokens.ids[prompt + i];
    output->count = slot->generated;
    output->finish = finish;
    output->coarser = b->moved || b->cache_type != b->options->cache_type;
    output->stopped_by_guard = finish == LL_FINISH_CALLER;
    b->finished[request] = true;
    close_slot(b, slot);
    if (b->options->on_done)
        b->options->on_done(b->options->user, request);
    return LL_OK;
}

/* Finished ones are passed by: the requests may have been begun once already. */
static bool has_next(struct batch *b)
{
    while (b->next < b->request_count && b->finished[b->next])
        b->next++;
    return b->next < b->request_count;
}

static ll_status start_waiting(struct batch *b, ll_error *error)
{
    for (size_t i = 0; i < b->width; i++)
        while (!b->slots[i].active && has_next(b)) {
            LL_TRY(start_slot(b, &b->slots[i], error));
            if (b->requests[b->slots[i].request].max_tokens == 0)
                LL_TRY(finish_slot(b, &b->slots[i], LL_FINISH_LENGTH, error));
        }
    return LL_OK;
}

/* ---- for whoever watches ---- */

static void show_activity(struct batch *b)
{
    ll_activity now = {.windows = b->request_count, .block_tokens = (size_t)blocks_tokens(b->pool)};
    struct block_counts blocks;
    for (size_t i = 0; i < b->request_count; i++)
        now.finished += b->finished[i];
    for (size_t i = 0; i < b->width; i++) {
        const struct slot *slot = &b->slots[i];
        if (!slot->active)
            continue;
        size_t prompt = b->requests[slot->request].count, held = (size_t)slot->table.length;
        now.now[now.running++] = (ll_window_work){.window = (uint32_t)slot->request,
                                                  .prompt = (uint32_t)prompt,
                                                  .read = (uint32_t)(held < prompt ? held : prompt),
                                                  .written = (uint32_t)slot->generated};
    }
    engine_lock(model_engine(b->model));
    blocks_count(b->pool, &blocks);
    now.blocks_used = (size_t)blocks.used;
    now.blocks_shared = (size_t)blocks.shared;
    now.blocks_free = (size_t)blocks.free;
    engine_show_activity(model_engine(b->model), &now);
    engine_unlock(model_engine(b->model));
}

static void show_rest(struct batch *b)
{
    engine_lock(model_engine(b->model));
    engine_show_activity(model_engine(b->model), &(ll_activity){0});
    engine_unlock(model_engine(b->model));
}

/* ---- stepping ---- */

/* The rows left after the decoding slots' one each go to prompts, in slot order, so that the first
 * windows finish first and their answers begin early. */
static size_t plan_step(struct batch *b, struct step_part *parts, struct slot **owners)
{
    size_t count = 0;
    int64_t room = forward_rows(model_backend(b->model));
    for (int prompts = 0; prompts < 2; prompts++)
        for (size_t i = 0; i < b->width && room > 0; i++) {
            struct slot *slot = &b->slots[i];
            int64_t left = (int64_t)slot->tokens.count - slot->table.length;
            if (!slot->active || (left > 1) != prompts)
                continue;
            int64_t rows = left < room ? left : room;
            owners[count] = slot;
            parts[count++] = (struct step_part){&slot->table, slot->tokens.ids + slot->table.length, rows,
                                                rows == left ? STEP_LAST_OUTPUT : STEP_NO_OUTPUT};
            room -= rows;
        }
    return count;
}

/* Whether the request goes on after its new token. */
static bool goes_on(struct batch *b, struct slot *slot, ll_finish *finish)
{
    const struct batch_request *request = &b->requests[slot->request];
    if (b->options->on_token &&
        b->options->on_token(b->options->user, slot->request, slot->tokens.ids + request->count,
                             slot->generated) == LL_STOP)
        *finish = LL_FINISH_CALLER;
    else if (slot->generated >= request->max_tokens)
        *finish = LL_FINISH_LENGTH;
    else
        return true;
    return false;
}

static ll_status take_token(struct batch *b, struct slot *slot, ll_token token, ll_error *error)
{
    ll_finish finish;
    if (token < 0)
        return error_set(error, LL_FORMAT, "batch",
                         "the model's output is not a number; its file may be damaged");
    if (!b->options->sampling.ignore_end && tokenizer_is_end(model_tokenizer(b->model), token))
        return finish_slot(b, slot, LL_FINISH_END, error);
    if (!token_list_push(&slot->tokens, token))
        return error_nomem(error, "batch", (slot->tokens.count + 1) * sizeof token);
    slot->generated++;
    return goes_on(b, slot, &finish) ? LL_OK : finish_slot(b, slot, finish, error);
}

static size_t rows_of(const struct step_part *parts, size_t count)
{
    size_t rows = 0;
    for (size_t i = 0; i < count; i++)
        rows += (size_t)parts[i].count;
    return rows;
}

static ll_status run_step(struct batch *b, bool *ret_idle, ll_error *error)
{
    struct step_part parts[MAX_WIDTH];
    struct slot *owners[MAX_WIDTH];
    LL_TRY(start_waiting(b, error));
    size_t count = plan_step(b, parts, owners), output = 0;
    *ret_idle = count == 0;
    if (count == 0)
        return LL_OK;
    show_activity(b);
    ll_token picked[MAX_WIDTH];
    bool plain = sampler_is_plain(owners[0]->sampler); /* one sampling for all */
    LL_TRY(step_run(b->model, b->pool, parts, count, b->options->context, cancel_of(b),
                    plain ? NULL : b->logits, plain ? picked : NULL, error));
    if (b->options->on_step)
        b->options->on_step(b->options->user, rows_of(parts, count));
    for (size_t i = 0; i < count; i++)
        if (parts[i].outputs != STEP_NO_OUTPUT) {
            struct slot *slot = owners[i];
            if (slot->generated == 0)
                keep_slot(b, slot);
            if (!plain)
                picked[output] = sampler_pick(slot->sampler, b->logits + output * b->vocabulary,
                                              slot->tokens.ids, slot->tokens.count);
            LL_TRY(take_token(b, slot, picked[output++], error));
        }
    return LL_OK;
}

static void close_pool(struct batch *b)
{
    for (size_t i = 0; b->slots && i < b->width; i++)
        if (b->slots[i].active)
            close_slot(b, &b->slots[i]);
    engine_lock(model_engine(b->model));
    block_table_fini(b->pool, &b->prefix);
    model_close_cache(b->model, b->pool);
    engine_unlock(model_engine(b->model));
    if (b->slots && b->logits)
        engine_count_logits(model_engine(b->model), -(int64_t)(b->width * b->vocabulary * sizeof *b->logits));
    mem_free(b->slots);
    mem_free(b->logits);
    b->pool = NULL;
    b->slots = NULL;
    b->logits = NULL;
    b->next = 0;
}

/* All requests that are not finished yet, from their beginning. */
static ll_status run_rest(struct batch *b, ll_error *error)
{
    bool idle = false;
    LL_TRY(model_wake(b->model, b->run, error)); /* it may have retreated */
    ll_status status = open_pool(b, error);
    if (status == LL_OK)
        status = compute_prefix(b, error);
    while (status == LL_OK && !idle)
        status = cancel_requested(cancel_of(b)) ? error_set(error, LL_CANCELLED, "batch", "cancelled")
                                                : run_step(b, &idle, error);
    show_rest(b);
    close_pool(b);
    return status;
}

/* One rung down the ladder; false when there is none. */
static bool step_down(struct batch *b, const ll_error *why)
{
    const struct log *log = engine_log(model_engine(b->model));
    enum dtype type;
    if (b->width > 1) {
        b->width /= 2;
        log_printf(log, LOG_WARNING, "memory", "%s; going on with %zu windows at once", why->text, b->width);
        return true;
    }
    if (b->cache_type != LL_Q8_0 && model_cache_type(b->model, LL_Q8_0, &type)) {
        b->cache_type = LL_Q8_0;
        log_printf(log, LOG_WARNING, "memory", "%s; going on with q8_0 keys and values", why->text);
        return true;
    }
    if (!model_retreat(b->model))
        return false;
    b->moved = true;
    log_printf(log, LOG_WARNING, "memory", "%s; going on with fewer layers on the GPU", why->text);
    return true;
}

ll_status batch_run(ll_model *model, const struct batch_options *options,
                    const struct batch_request *requests, size_t count, const ll_run *run,
                    struct batch_output *outputs, ll_error *error)
{
    ll_error why = {0};
    LL_TRY(model_wake(model, run, error));
    for (size_t i = 0; i < count; i++)
        outputs[i] = (struct batch_output){0};
    if (count == 0)
        return LL_OK;
    struct batch b = {.model = model,
                      .options = options,
                      .requests = requests,
                      .outputs = outputs,
                      .request_count = count,
                      .run = run,
                      .cache_type = options->cache_type,
                      .vocabulary = (size_t)model_hparams(model)->vocabulary};
    ll_status status = open_batch(&b, &why);
    if (status == LL_OK)
        do
            status = run_rest(&b, &why);
        while ((status == LL_NOMEM || status == LL_DEVICE_MEMORY) && step_down(&b, &why));
    mem_free(b.finished);
    if (status != LL_OK && error)
        *error = why;
    return status;
}

void batch_outputs_free(struct batch_output *outputs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        mem_free(outputs[i].tokens);
        outputs[i] = (struct batch_output){0};
    }
}
