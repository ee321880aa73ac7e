/* Questions to a document: the best windows asked side by side, the answer checked against its sentence.
 * SPDX-License-Identifier: Apache-2.0 */
#include "asking/ask.h"

#include <string.h>

#include "asking/evidence.h"
#include "asking/overview.h"
#include "asking/rank.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/options.h"
#include "document/calls.h"
#include "document/prompt.h"

enum {
    USUAL_WINDOWS = 4,
    SHOWN_WINDOWS = 8,       /* of the ranking, also those not asked */
    GROUP = 256,             /* windows whose prompts are in memory at once */
    REPLY_TOKENS = 48,       /* of one window */
    MOST_KEPT = 32,          /* of one question: windows whose keys and values are kept for the next */
    LONGEST_QUESTION = 2000, /* bytes */
};

struct asking {
    const struct llm *llm; /* NULL: quotes only */
    const struct ll_document *document;
    const char *text;
    const ll_ask_options *options;
    const ll_run *run;
    struct terms terms;
    struct likeness *likeness;
    struct question question;
    struct ranking *ranking;
    struct ranked *ranked; /* [ranked_count], best first */
    size_t ranked_count, asked;
    struct calls calls;
    size_t done;
    struct ll_answer *answer;
    ll_error *error;
};

void ll_ask_options_init(ll_ask_options *options)
{
    *options = (ll_ask_options){.size = sizeof *options, .cache_type = LL_F16};
    ll_sampling_init(&options->sampling);
    options->sampling.temperature = 0;
}

/* ---- windows --------------------------------------------------------------------------------- */

static ll_status rank(struct asking *a)
{
    size_t passages;
    LL_TRY(terms_count(a->document, NULL, a->run, &a->terms, a->error));
    LL_TRY(likeness_open(a->document, a->llm, a->run, &a->likeness, a->error));
    question_read(a->text, strlen(a->text), &a->terms, a->likeness, &a->question);
    if (a->question.count == 0)
        return error_set(a->error, LL_ARGUMENT, "ask",
                         "the question holds no word that could be looked for; name what it is about");
    LL_TRY(ranking_open(a->document, a->run, &a->ranking, a->error));
    (void)ranking_passages(a->ranking, &passages);
    a->answer->passages = passages;
    size_t wanted = a->options->windows ? a->options->windows : USUAL_WINDOWS;
    size_t most = a->options->exhaustive ? passages : wanted > SHOWN_WINDOWS ? wanted : SHOWN_WINDOWS;
    a->ranked = mem_new(most, sizeof *a->ranked);
    if (!a->ranked)
        return error_nomem(a->error, "ask", most * sizeof *a->ranked);
    bool all = a->options->exhaustive || !question_has_subject(&a->question);
    LL_TRY(ranking_find(a->ranking, &a->question, all, most, a->ranked, &a->ranked_count, a->error));
    a->asked = a->options->exhaustive || a->ranked_count < wanted ? a->ranked_count : wanted;
    return LL_OK;
}

static ll_status keep_windows(struct asking *a)
{
    const struct window *passages = ranking_passages(a->ranking, &(size_t){0});
    a->answer->windows = mem_new(a->ranked_count, sizeof *a->answer->windows);
    if (!a->answer->windows)
        return error_nomem(a->error, "ask", a->ranked_count * sizeof *a->answer->windows);
    a->answer->window_count = a->ranked_count;
    for (size_t i = 0; i < a->ranked_count; i++) {
        const struct window *w = &passages[a->ranked[i].passage];
        a->answer->windows[i] =
            (struct answer_window){.first = w->first, .last = w->last, .score = (float)a->ranked[i].score};
    }
    return LL_OK;
}

/* ---- the model ------------------------------------------------------------------------------- */

static void report(const struct asking *a)
{
    struct strbuf label = {0};
    if (!a->run || !a->run->on_progress)
        return;
    strbuf_printf(&label, "window %zu of %zu", a->done, a->asked);
    ll_progress progress = {LL_ASKING, a->done, a->asked, strbuf_text(&label)};
    a->run->on_progress(a->run->user, &progress);
    strbuf_fini(&label);
}

static void on_done(void *user)
{
    struct asking *a = user;
    a->done++;
    report(a);
}

/* Tokens that every question about this window begins with. */
static ll_status find_kept(const struct asking *a, const struct strbuf *text, struct call *item)
{
    struct prompt prompt = {.kind = PROMPT_ASK, .focus = ""};
    struct token_list other = {0};
    ll_status status = prompt_encode(&prompt, a->llm, strbuf_text(text), text->length, &other, a->error);
    while (status == LL_OK && item->kept + 1 < item->prompt.count && item->kept < other.count &&
           item->prompt.ids[item->kept] == other.ids[item->kept])
        item->kept++;
    token_list_fini(&other);
    return status;
}

static ll_status ask_group(struct asking *a, size_t first, size_t count, struct call *items)
{
    const struct window *passages = ranking_passages(a->ranking, &(size_t){0});
    struct prompt prompt = {.kind = PROMPT_ASK, .focus = a->text};
    for (size_t i = 0; i < count; i++) {
        struct strbuf text = {0};
        window_text(a->document, &passages[a->ranked[first + i].passage], &text);
        ll_status status = text.failed ? error_nomem(a->error, "ask", text.length)
                                       : prompt_encode(&prompt, a->llm, strbuf_text(&text), text.length,
                                                       &items[i].prompt, a->error);
        if (status == LL_OK && a->asked <= MOST_KEPT)
            status = find_kept(a, &text, &items[i]);
        strbuf_fini(&text);
        LL_TRY(status);
        size_t needed = items[i].prompt.count + REPLY_TOKENS;
        a->calls.context = needed > a->calls.context ? needed : a->calls.context;
        if (needed > a->llm->context)
            return error_set(a->error, LL_CONTEXT_FULL, "ask",
                             "the question with one window needs %zu tokens and the model holds %zu", needed,
                             a->llm->context);
    }
    LL_TRY(calls_run(&a->calls, items, count, REPLY_TOKENS));
    for (size_t i = 0; i < count; i++) {
        struct answer_window *w = &a->answer->windows[first + i];
        w->reply = items[i].output;
        w->asked = true;
        items[i].output = (struct strbuf){0};
    }
    return LL_OK;
}

static ll_status ask_windows(struct asking *a)
{
    a->calls = (struct calls){.llm = a->llm,
                              .width = a->options->width,
                              .cache_type = a->options->cache_type,
                              .sampling = &a->options->sampling,
                              .run = a->run,
                              .on_done = on_done,
                              .user = a,
                              .error = a->error};
    LL_TRY(calls_open_journal(&a->calls, a->options->journal, a->options->journal_limit));
    report(a); /* the first windows may take long */
    for (size_t first = 0, count; first < a->asked; first += count) {
        count = a->asked - first < GROUP ? a->asked - first : GROUP;
        struct call *items = mem_new(count, sizeof *items);
        if (!items)
            return error_nomem(a->error, "ask", count * sizeof *items);
        ll_status status = ask_group(a, first, count, items);
        for (size_t i = 0; i < count; i++)
            call_fini(&items[i]);
        mem_free(items);
        LL_TRY(status);
    }
    return LL_OK;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static ll_status decide(struct asking *a)
{
    struct evidence_job job = {.document = a->document,
                               .terms = &a->terms,
                               .question = &a->question,
                               .ranking = a->ranking,
                               .ranked = a->ranked,
                               .count = a->llm ? a->asked : a->ranked_count,
                               .answer = a->answer};
    if (!evidence_decide(&job))
        return error_nomem(a->error, "ask", a->answer->text.length);
    return LL_OK;
}

static ll_status carry_out(struct asking *a)
{
    enum overview_kind kind = overview_of(a->text);
    if (kind != OVERVIEW_NONE)
        return overview_make(a->document, kind, a->run, a->answer, a->error);
    LL_TRY(rank(a));
    LL_TRY(keep_windows(a));
    if (a->llm && a->llm->chat && a->asked)
        LL_TRY(ask_windows(a));
    LL_TRY(decide(a));
    ll_summary_stats *stats = &a->answer->stats;
    stats->calls = a->calls.made + a->calls.reused;
    stats->reused = a->calls.reused;
    stats->prompt_tokens = a->calls.prompt_tokens;
    stats->generated_tokens = a->calls.generated_tokens;
    stats->looped = a->calls.looped;
    a->answer->unkept = a->calls.unkept;
    stats->unkept = a->calls.unkept.status == LL_OK ? NULL : a->answer->unkept.text;
    return LL_OK;
}

static ll_status check_arguments(const char *question, const ll_ask_options *options, ll_error *error)
{
    if (options->windows > 100000)
        return error_set(error, LL_ARGUMENT, "ask", "%zu windows are too many; --exhaustive asks about all",
                         options->windows);
    size_t length = question ? strlen(question) : 0;
    if (length > LONGEST_QUESTION)
        return error_set(error, LL_ARGUMENT, "ask", "a question of %zu bytes is too long; %d are the most",
                         length, (int)LONGEST_QUESTION);
    return length ? LL_OK : error_set(error, LL_ARGUMENT, "ask", "the question is empty");
}

ll_status ask_make(const struct llm *llm, const struct ll_document *document, const char *question,
                   const ll_ask_options *given, const ll_run *run, ll_answer **ret, ll_error *error)
{
    ll_ask_options options;
    OPTIONS_READ(options, given, ll_ask_options_init, error);
    LL_TRY(run_check(run, error));
    LL_TRY(check_arguments(question, &options, error));
    double start = clock_seconds();
    struct asking a = {.llm = llm,
                       .document = document,
                       .text = question,
                       .options = &options,
                       .run = run,
                       .answer = mem_new(1, sizeof *a.answer),
                       .error = error};
    if (!a.answer)
        return error_nomem(error, "ask", sizeof *a.answer);
    a.answer->document = document;
    ll_status status = carry_out(&a);
    a.answer->stats.seconds = clock_seconds() - start;
    calls_close(&a.calls);
    ranking_close(a.ranking);
    likeness_close(a.likeness);
    terms_fini(&a.terms);
    mem_free(a.ranked);
    if (status == LL_OK)
        *ret = a.answer;
    else
        ll_answer_free(a.answer);
    return status;
}

ll_status ll_ask(ll_model *model, const ll_document *document, const char *question,
                 const ll_ask_options *options, const ll_run *run, ll_answer **ret, ll_error *error)
{
    struct llm llm;
    if (model)
        llm_of_model(model, &llm);
    return ask_make(model ? &llm : NULL, document, question, options, run, ret, error);
}
