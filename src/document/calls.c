/* Prompts through a model, side by side, answers kept in the journal: what all steps of a task share.
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/calls.h"

#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "document/guard.h"

typedef unsigned char answer_key[JOURNAL_KEY];

/* One run over the items that the journal did not answer. */
struct pass {
    struct calls *calls;
    struct call *items;
    size_t count;
    answer_key *keys; /* [count] */
    size_t *waiting;  /* items to compute, [missing] */
    size_t *first;    /* [count]: the item with the same prompt that is computed for it, or itself */
    size_t missing;
    struct batch_request *requests; /* [missing] */
    struct batch_output *outputs;   /* [missing] */
    struct guard *guards;           /* [missing] */
    double stored_at;               /* when the last answer was finished */
};

static void let_go(struct calls *calls, const ll_error *reason)
{
    calls->unkept = *reason;
    calls_close(calls);
}

ll_status calls_open_journal(struct calls *calls, const char *path, uint64_t limit)
{
    if (!path || !calls->llm || !calls->llm->identify)
        return LL_OK;
    LL_TRY(calls->llm->identify(calls->llm->self, calls->identity, calls->error));
    const ll_cancel *cancel = calls->run ? calls->run->cancel : NULL;
    ll_error reason = {0};
    ll_status status = journal_open(path, limit, cancel, &calls->journal, &reason);
    if (status == LL_CANCELLED)
        return error_set(calls->error, status, reason.where, "%s", reason.text);
    if (status != LL_OK)
        let_go(calls, &reason);
    return LL_OK;
}

void calls_close(struct calls *calls)
{
    journal_close(calls->journal);
    calls->journal = NULL;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static ll_status open_pass(struct pass *p)
{
    p->keys = mem_new(p->count, sizeof *p->keys);
    p->waiting = mem_new(p->count, sizeof *p->waiting);
    p->first = mem_new(p->count, sizeof *p->first);
    p->requests = mem_new(p->count, sizeof *p->requests);
    p->outputs = mem_new(p->count, sizeof *p->outputs);
    p->guards = mem_new(p->count, sizeof *p->guards);
    return p->keys && p->waiting && p->first && p->requests && p->outputs && p->guards
               ? LL_OK
               : error_nomem(p->calls->error, "document", p->count * sizeof *p->outputs);
}

static void close_pass(struct pass *p)
{
    for (size_t i = 0; p->guards && i < p->missing; i++)
        guard_fini(&p->guards[i]);
    for (size_t i = 0; p->outputs && i < p->missing; i++)
        mem_free(p->outputs[i].tokens);
    mem_free(p->keys);
    mem_free(p->waiting);
    mem_free(p->first);
    mem_free(p->requests);
    mem_free(p->outputs);
    mem_free(p->guards);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void put_answer(struct calls *calls, struct call *item, const ll_token *tokens, size_t count,
                       bool ended, bool looped)
{
    for (size_t k = 0; k < count; k++) {
        size_t length;
        const char *piece = calls->llm->piece(calls->llm->self, tokens[k], &length);
        if (piece)
            strbuf_append(&item->output, piece, length);
    }
    item->ended = ended;
    item->looped = looped;
    calls->generated_tokens += count;
    calls->looped += looped;
}

static void report(struct calls *calls)
{
    if (calls->on_done)
        calls->on_done(calls->user);
}

/* An answer of tokens that the model does not have was damaged in the file. */
static bool is_whole(const struct llm *llm, const struct token_list *tokens)
{
    for (size_t i = 0; i < tokens->count; i++)
        if (tokens->ids[i] < 0 || (llm->vocabulary && (size_t)tokens->ids[i] >= llm->vocabulary))
            return false;
    return true;
}

/* What the journal holds already. */
static bool look_up(struct pass *p, size_t item)
{
    struct calls *calls = p->calls;
    struct journal_answer answer = {0};
    ll_error reason = {0};
    bool found = false;
    if (journal_find(calls->journal, p->keys[item], &answer, &found, &reason) != LL_OK) {
        let_go(calls, &reason);
        found = false;
    }
    found = found && is_whole(calls->llm, &answer.tokens);
    if (found) {
        put_answer(calls, &p->items[item], answer.tokens.ids, answer.tokens.count, answer.ended,
                   answer.looped);
        calls->reused++;
        report(calls);
    }
    token_list_fini(&answer.tokens);
    return found;
}

static bool same_prompt(const struct call *a, const struct call *b)
{
    return a->prompt.count == b->prompt.count &&
           memcmp(a->prompt.ids, b->prompt.ids, a->prompt.count * sizeof *a->prompt.ids) == 0;
}

/* The item before this one that asks the same; itself when there is none. Keys compare quickly. */
static size_t find_first(const struct pass *p, size_t item)
{
    for (size_t i = 0; i < p->missing; i++)
        if (memcmp(p->keys[p->waiting[i]], p->keys[item], JOURNAL_KEY) == 0 &&
            same_prompt(&p->items[p->waiting[i]], &p->items[item]))
            return p->waiting[i];
    return item;
}

static ll_status sort_items(struct pass *p, size_t max_tokens)
{
    struct calls *calls = p->calls;
    for (size_t i = 0; i < p->count; i++) {
        const struct token_list *prompt = &p->items[i].prompt;
        if (prompt->count + max_tokens > calls->context)
            return error_set(
                calls->error, LL_INTERNAL, "document",
                "a prompt of %zu tokens and an answer of %zu exceed the planned %zu: please report this",
                prompt->count, max_tokens, calls->context);
        LL_TRY(journal_key(calls->identity, calls->sampling, calls->cache_type, max_tokens, prompt,
                           p->keys[i], calls->error));
        calls->prompt_tokens += prompt->count;
        p->first[i] = i;
        if (calls->journal && look_up(p, i))
            continue;
        p->first[i] = find_first(p, i);
        if (p->first[i] != i)
            continue;
        p->requests[p->missing] = (struct batch_request){prompt->ids, prompt->count, max_tokens,
                                                           calls->journal ? p->items[i].kept : 0};
        p->waiting[p->missing++] = i;
    }
    return LL_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

static ll_flow on_token(void *user, size_t request, const ll_token *tokens, size_t count)
{
    struct pass *p = user;
    if (count == 1) /* also a request that begins anew */
        guard_fini(&p->guards[request]);
    return guard_add(&p->guards[request], p->calls->llm, tokens, count) ? LL_STOP : LL_CONTINUE;
}

static void on_done(void *user, size_t request)
{
    struct pass *p = user;
    const struct batch_output *output = &p->outputs[request];
    double now = clock_seconds(), seconds = now - p->stored_at;
    p->stored_at = now;
    ll_error reason = {0};
    if (p->calls->journal && !output->coarser && /* or its key says another KV type */
        journal_store(p->calls->journal, p->keys[p->waiting[request]], output->tokens, output->count,
                      output->finish == LL_FINISH_END, p->guards[request].looped, seconds, &reason) != LL_OK)
        let_go(p->calls, &reason);
    report(p->calls);
}

static bool window_key(struct pass *p, size_t request, answer_key key)
{
    const struct batch_request *r = &p->requests[request];
    ll_error ignored;
    return p->calls->journal && journal_window_key(p->calls->identity, p->calls->cache_type, r->tokens,
                                                   r->kept, key, &ignored) == LL_OK;
}

static bool fetch_window(void *user, size_t request, struct strbuf *out)
{
    struct pass *p = user;
    answer_key key;
    ll_error reason = {0};
    bool found = false;
    if (!window_key(p, request, key))
        return false;
    if (journal_find_window(p->calls->journal, key, out, &found, &reason) != LL_OK) {
        let_go(p->calls, &reason);
        return false;
    }
    return found;
}

static void keep_window(void *user, size_t request, const char *bytes, size_t length)
{
    struct pass *p = user;
    answer_key key;
    ll_error reason = {0};
    if (window_key(p, request, key) &&
        journal_store_window(p->calls->journal, key, bytes, length, &reason) != LL_OK)
        let_go(p->calls, &reason);
}

static void on_step(void *user, size_t tokens)
{
    const struct pass *p = user;
    if (p->calls->on_step)
        p->calls->on_step(p->calls->user, tokens);
}

static size_t shared_prefix(const struct batch_request *requests, size_t count)
{
    size_t shared = requests[0].count ? requests[0].count - 1 : 0;
    for (size_t i = 1; i < count; i++) {
        size_t k = 0;
        while (k < shared && k + 1 < requests[i].count && requests[i].tokens[k] == requests[0].tokens[k])
            k++;
        shared = k;
    }
    return count > 1 ? shared : 0;
}

static ll_status run_missing(struct pass *p)
{
    struct calls *calls = p->calls;
    struct batch_options options = {
        .context = calls->context,
        .width = calls->width,
        .shared = shared_prefix(p->requests, p->missing),
        .cache_type = calls->cache_type,
        .sampling = *calls->sampling,
        .on_token = on_token,
        .on_step = on_step,
        .fetch = fetch_window,
        .keep = keep_window,
        .on_done = on_done,
        .user = p,
    };
    ll_run quiet = {.size = sizeof quiet, .cancel = calls->run ? calls->run->cancel : NULL};
    double began = p->stored_at = clock_seconds();
    ll_status status = calls->llm->run(calls->llm->self, &options, p->requests, p->missing, &quiet,
                                       p->outputs, calls->error);
    calls->seconds += clock_seconds() - began;
    LL_TRY(status);
    return calls->run && cancel_requested(calls->run->cancel)
               ? error_set(calls->error, LL_CANCELLED, "document", "the work was cancelled")
               : LL_OK;
}

static void take_outputs(struct pass *p)
{
    for (size_t i = 0; i < p->missing; i++) {
        const struct batch_output *output = &p->outputs[i];
        put_answer(p->calls, &p->items[p->waiting[i]], output->tokens, output->count,
                   output->finish == LL_FINISH_END, p->guards[i].looped);
        p->calls->made++;
    }
    for (size_t i = 0; i < p->count; i++) {
        struct call *item = &p->items[i], *first = &p->items[p->first[i]];
        if (item == first)
            continue;
        strbuf_append(&item->output, strbuf_text(&first->output), first->output.length);
        item->ended = first->ended;
        item->looped = first->looped;
        report(p->calls);
    }
}

ll_status calls_run(struct calls *calls, struct call *items, size_t count, size_t max_tokens)
{
    struct pass p = {.calls = calls, .items = items, .count = count};
    ll_status status = open_pass(&p);
    if (status == LL_OK)
        status = sort_items(&p, max_tokens);
    if (status == LL_OK && p.missing)
        status = run_missing(&p);
    if (status == LL_OK)
        take_outputs(&p);
    for (size_t i = 0; status == LL_OK && i < count; i++)
        if (items[i].output.failed)
            status = error_nomem(calls->error, "document", items[i].output.length);
    close_pass(&p);
    return status;
}

void call_fini(struct call *call)
{
    token_list_fini(&call->prompt);
    strbuf_fini(&call->output);
}
