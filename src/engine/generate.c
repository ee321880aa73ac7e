/* Continues a session's timeline token by token, streaming whole UTF-8.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/options.h"
#include "engine/lookup.h"
#include "engine/model.h"
#include "engine/sampler.h"
#include "engine/session.h"
#include "model/hparams.h"
#include "text/stream.h"

enum { MAX_CHOICES = 100, NOT_COMPUTED = -2 };

struct verified { /* drafts whose rows are computed, and how many of them have come true so far */
    size_t drafted, kept;
    ll_token drafts[LOOKUP_MOST];
    const float
        *logits; /* [drafted + 1, vocabulary]: what comes after the token before, and after each draft */
    ll_token greatest[LOOKUP_MOST + 1]; /* instead of logits when plain */
};

struct generation {
    ll_session *session;
    const struct tokenizer *tokenizer;
    ll_sampling sampling;
    struct sampler *sampler;
    struct text_stream stream;
    const ll_run *run;
    size_t max_tokens, index;
    bool plain;               /* the greatest logit is what is picked: the device says which */
    ll_token next;            /* that one, when plain and computed; else NOT_COMPUTED */
    struct lookup *lookup;    /* NULL: nothing is drafted */
    struct verified verified; /* drafted 0: the session's own logits count */
    bool finished;
    bool complete; /* a grammar's text is; its last token is shown */
    ll_finish finish;
};

void ll_run_init(ll_run *run)
{
    *run = (ll_run){.size = sizeof *run};
}

static void end_with(struct generation *g, ll_finish finish)
{
    g->finished = true;
    g->finish = finish;
}

/* Rows of alternatives are computed from the logits the token was picked from. */
static void send(struct generation *g, ll_token token, const float *logits)
{
    ll_choice choices[MAX_CHOICES];
    ll_token_event event = {.token = token,
                            .text = strbuf_text(&g->stream.out),
                            .length = g->stream.out.length,
                            .logprob = NAN,
                            .index = g->index};
    if (!g->run || !g->run->on_token)
        return;
    if (logits && g->sampling.choices > 0) {
        size_t vocabulary = (size_t)model_hparams(session_model(g->session))->vocabulary;
        event.choice_count =
            (size_t)g->sampling.choices < vocabulary ? (size_t)g->sampling.choices : vocabulary;
        sampler_choices(logits, vocabulary, token, &event.logprob, choices, event.choice_count);
        event.choices = choices;
    }
    if (g->run->on_token(g->run->user, &event) == LL_STOP && !g->finished)
        end_with(g, LL_FINISH_CALLER);
}

/* The grammar has all it wants, so no token has to say that it ends. */
static void complete(struct generation *g)
{
    g->complete = true;
    end_with(g, LL_FINISH_END);
}

/* Decides what the new token means before it is shown: end-of-turn tokens and stop strings never are. */
static void classify(struct generation *g, ll_token token)
{
    size_t length = 0;
    bool last = g->index + 1 >= g->max_tokens;
    if (!g->sampling.ignore_end && tokenizer_is_end(g->tokenizer, token)) {
        end_with(g, LL_FINISH_END);
    } else {
        const char *piece = tokenizer_piece(g->tokenizer, token, &length);
        text_stream_push(&g->stream, piece ? piece : "", piece ? length : 0);
        if (g->stream.stopped)
            end_with(g, LL_FINISH_STOP_TEXT);
        else if (sampler_must_end(g->sampler) || (last && sampler_may_end(g->sampler)))
            complete(g);
        else if (last)
            end_with(g, LL_FINISH_LENGTH);
        else if (ll_session_position(g->session) >= session_context(g->session))
            end_with(g, LL_FINISH_CONTEXT);
    }
}

/* At the end the text still held back joins what the last token gave out. */
static void flush_held(struct generation *g)
{
    struct strbuf shown = {0};
    bool ended = g->finish == LL_FINISH_END && !g->complete; /* by a token that is not shown */
    strbuf_append(&shown, strbuf_text(&g->stream.out), ended ? 0 : g->stream.out.length);
    text_stream_finish(&g->stream);
    strbuf_append(&shown, strbuf_text(&g->stream.out), g->stream.out.length);
    strbuf_fini(&g->stream.out);
    g->stream.out = shown;
}

/* What the next token is picked from: the session's logits, or a verified row. */
static const float *next_logits(struct generation *g)
{
    const struct verified *v = &g->verified;
    size_t vocabulary;
    if (v->drafted == 0)
        return ll_session_logits(g->session, &vocabulary);
    if (g->plain) {
        g->next = v->greatest[v->kept];
        return NULL;
    }
    return v->logits + v->kept * (size_t)model_hparams(session_model(g->session))->vocabulary;
}

static ll_status next_token(struct generation *g, ll_error *error)
{
    size_t history_count;
    const float *logits = next_logits(g);
    const ll_token *history = ll_session_tokens(g->session, &history_count);
    ll_token token = g->next;
    if (token == NOT_COMPUTED)
        token = sampler_pick(g->sampler, logits, history, history_count);
    g->next = NOT_COMPUTED;
    if (token < 0)
        LL_TRY(sampler_problem(g->sampler, error));
    if (token < 0)
        return error_set(error, LL_FORMAT, "generate",
                         "the model's output is not a number after %zu tokens; its file may be damaged",
                         history_count);
    LL_TRY(session_append(g->session, token, error));
    classify(g, token);
    if (g->finished)
        flush_held(g);
    if (g->stream.out.failed || g->stream.held.failed)
        return error_nomem(error, "generate", g->stream.held.length);
    send(g, token, logits);
    g->index++;
    return LL_OK;
}

/* Forgets drafts that did not come true. */
static void settle(struct generation *g)
{
    struct verified *v = &g->verified;
    if (v->drafted == 0)
        return;
    session_settle(g->session, v->drafted, v->kept);
    lookup_learn(g->lookup, v->drafted, v->kept);
    v->drafted = v->kept = 0;
}

/* Whether the token just taken is the one that was drafted, so that what follows it is known. */
static bool came_true(struct generation *g)
{
    struct verified *v = &g->verified;
    size_t count;
    const ll_token *tokens = ll_session_tokens(g->session, &count);
    if (v->drafted == 0 || v->kept == v->drafted || v->drafts[v->kept] != tokens[count - 1])
        return false;
    v->kept++;
    return true;
}

/* One token's step, or that token's and a draft's. */
static ll_status compute_next(struct generation *g, ll_error *error)
{
    struct verified *v = &g->verified;
    size_t count, most = g->max_tokens - g->index - 1;
    const ll_token *tokens = ll_session_tokens(g->session, &count);
    size_t drafted = g->lookup ? lookup_draft(g->lookup, tokens, count, most, v->drafts) : 0;
    if (drafted == 0 || !session_can_verify(g->session, drafted))
        return session_compute(g->session, g->run, true, g->plain ? &g->next : NULL, error);
    LL_TRY(session_verify(g->session, v->drafts, drafted, g->run, &v->logits, g->plain ? v->greatest : NULL,
                          error));
    v->drafted = drafted;
    return LL_OK;
}

/* A cancel between or inside steps is an end, not an error; the text so far stays. */
static ll_status compute(struct generation *g, ll_error *error)
{
    bool cancelled = g->run && cancel_requested(g->run->cancel);
    ll_status status = cancelled ? LL_CANCELLED : compute_next(g, error);
    if (status != LL_CANCELLED)
        return status;
    end_with(g, LL_FINISH_CANCELLED);
    strbuf_clear(&g->stream.out);
    flush_held(g);
    if (g->stream.out.length > 0)
        send(g, -1, NULL);
    return LL_OK;
}

static ll_status generate(struct generation *g, ll_error *error)
{
    size_t vocabulary;
    if (ll_session_position(g->session) == 0)
        return error_set(error, LL_STATE, "generate", "the session is empty; sync a prompt first");
    if (g->max_tokens == 0)
        end_with(g, LL_FINISH_LENGTH);
    else if (ll_session_position(g->session) >= session_context(g->session))
        end_with(g, LL_FINISH_CONTEXT);
    if (!g->finished && !ll_session_logits(g->session, &vocabulary))
        LL_TRY(compute(g, error));
    while (!g->finished) {
        LL_TRY(next_token(g, error));
        if (g->finished || came_true(g))
            continue;
        settle(g);
        LL_TRY(compute(g, error));
    }
    return LL_OK;
}

ll_status ll_generate(ll_session *session, const ll_sampling *given, size_t max_tokens, const ll_run *run,
                      ll_finish *ret, ll_error *error)
{
    struct generation g = {.session = session, .run = run, .max_tokens = max_tokens, .next = NOT_COMPUTED};
    OPTIONS_READ(g.sampling, given, ll_sampling_init, error);
    LL_TRY(run_check(run, error));
    LL_TRY(session_enter(session, error));
    ll_model *model = session_model(session);
    g.tokenizer = model_tokenizer(model);
    struct sampler_place place = {g.tokenizer, (size_t)model_hparams(model)->vocabulary,
                                  session_context(session)};
    ll_status status = sampler_open(&g.sampling, &place, &g.sampler, error);
    text_stream_init(&g.stream, g.sampling.stop, g.sampling.stop_count);
    g.plain = status == LL_OK && sampler_is_plain(g.sampler) && g.sampling.choices == 0;
    if (status == LL_OK && g.sampling.lookup && !(g.lookup = lookup_open(place.context)))
        status = error_nomem(error, "generate", place.context);
    if (status == LL_OK)
        status = model_wake(model, run, error);
    if (status == LL_OK)
        status = generate(&g, error);
    settle(&g);
    lookup_close(g.lookup);
    text_stream_fini(&g.stream);
    sampler_close(g.sampler);
    session_leave(session);
    if (status == LL_OK && ret)
        *ret = g.finish;
    return status;
}
