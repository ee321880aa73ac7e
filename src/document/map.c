/* Windows through the model, side by side: a few checked sentences for each.
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/map.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "document/keysentence.h"
#include "document/pick.h"
#include "document/proof.h"
#include "document/sentence.h"

enum {
    GROUP = 256,        /* windows whose prompts are in memory at once */
    MOST_SENTENCES = 4, /* of one window */
    KEY_SENTENCES = 2,  /* quoted of a window when nothing generated holds, or there is no model */
};

/* ---- running --------------------------------------------------------------------------------- */

struct run_state {
    struct summary_job *job;
    ll_phase phase;
    size_t done, total, tokens;
};

static void on_done(void *user)
{
    struct run_state *state = user;
    summary_report(state->job, state->phase, ++state->done, state->total, state->tokens);
}

/* Windows finish in crowds; in between the tokens show that work goes on. */
static void on_step(void *user, size_t tokens)
{
    struct run_state *state = user;
    state->tokens += tokens;
    summary_report(state->job, state->phase, state->done, state->total, state->tokens);
}

static void take_output(struct map_task *task, struct call *call)
{
    task->output = call->output;
    call->output = (struct strbuf){0};
    task->looped = call->looped;
    task->ended = call->ended;
}

ll_status map_run(struct summary_job *job, const struct prompt *prompt, struct map_task *tasks, size_t count,
                  size_t max_tokens, ll_phase phase, size_t done, size_t total)
{
    struct run_state state = {job, phase, done, total, 0};
    struct call *items = mem_new(count, sizeof *items);
    if (!items)
        return error_nomem(job->error, "summary", count * sizeof *items);
    ll_status status = LL_OK;
    for (size_t i = 0; i < count && status == LL_OK; i++)
        status = tasks[i].text.failed ? error_nomem(job->error, "summary", tasks[i].text.length)
                                      : prompt_encode(prompt, job->llm, strbuf_text(&tasks[i].text),
                                                      tasks[i].text.length, &items[i].prompt, job->error);
    job->calls.on_done = on_done;
    job->calls.on_step = on_step;
    job->calls.user = &state;
    if (status == LL_OK)
        summary_report(job, phase, done, total, 0); /* the first windows may take long */
    if (status == LL_OK)
        status = calls_run(&job->calls, items, count, max_tokens);
    for (size_t i = 0; i < count; i++) {
        take_output(&tasks[i], &items[i]);
        call_fini(&items[i]);
    }
    mem_free(items);
    return status;
}

void map_task_fini(struct map_task *task)
{
    strbuf_fini(&task->text);
    strbuf_fini(&task->output);
}

/* ---- sentences of an output ------------------------------------------------------------------ */

/* Where a blank line ends the block that begins at `at`: models like to repeat a heading above a text. */
static size_t block_end(const char *text, size_t at, size_t length)
{
    for (size_t i = at; i + 1 < length; i++)
        if (text[i] == '\n' && text[i + 1] == '\n' && i > at)
            return i;
    return length;
}

ll_status map_sentences(const struct map_task *task, const struct checker *checker, bool strict,
                        float least_support,
                        ll_status (*fn)(void *context, const char *sentence, size_t length, float support),
                        void *context)
{
    const char *text = strbuf_text(&task->output);
    size_t length = task->output.length;
    for (size_t at = 0, size; at < length; at += size) {
        at += sentence_marker(text + at, length - at);
        size = sentence_length(text + at, block_end(text, at, length) - at);
        const char *sentence = text + at;
        bool finished = at + size >= length && task->ended && !task->looped;
        if (size == 0) {
            size = 1;
            continue;
        }
        if (!sentence_is_closed(sentence, size) && !finished)
            continue;
        float support;
        enum check_verdict verdict = check_sentence(checker, sentence, size, &support);
        bool good = verdict == CHECK_GOOD || (!strict && verdict == CHECK_WORDS && support >= least_support);
        if (good)
            LL_TRY(fn(context, sentence, size, support));
    }
    return LL_OK;
}

/* ---- windows --------------------------------------------------------------------------------- */

struct collecting {
    struct summary_job *job;
    const struct checker *checker;
    const struct window *window;
    size_t index;
    struct claim_list *claims;
};

static ll_status collect(void *context, const char *sentence, size_t length, float support)
{
    struct collecting *c = context;
    struct claim claim = {.window = c->index, .support = support};
    if (c->claims->count >= MOST_SENTENCES || keysentence_is_boilerplate(sentence, length))
        return LL_OK;
    for (size_t i = 0; i < c->claims->count; i++)
        if (claim_repeats(c->claims->items[i].text, c->claims->items[i].length, sentence, length))
            return LL_OK;
    claim.quoted = check_is_quoted(c->checker, sentence, length);
    claim.score = (float)keysentence_score(&c->job->terms, sentence, length);
    struct proof proof;
    proof_find(c->job->document, c->window->text_first, c->window->last, sentence, length,
               c->job->plan->language != NULL, &proof);
    claim.first = proof.first;
    claim.last = proof.last;
    claim.borne = claim.quoted || proof.borne;
    /* What is written in another language shares names and numbers with its source, not words. */
    if (c->job->plan->small && !c->job->plan->language &&
        (!claim.borne || !check_rests_on(c->job->document->text.text + claim.first, claim.last - claim.first,
                                         sentence, length)))
        return LL_OK;
    return claim_add(c->claims, sentence, length, &claim) ? LL_OK
                                                          : error_nomem(c->job->error, "summary", length);
}

static bool repeats_any(const struct claim_list *claims, const struct claim *claim)
{
    for (size_t i = 0; i < claims->count; i++)
        if (claims->items[i].first == claim->first ||
            claim_repeats(claims->items[i].text, claims->items[i].length, claim->text, claim->length))
            return true;
    return false;
}

/* What a reader cares about must not depend on the model's choice: the window's best sentence on it is
 * quoted, too. false: no memory. */
static bool add_focused(const struct summary_job *job, const struct window *window, size_t index,
                        struct claim_list *claims)
{
    struct claim_list picked = {0};
    bool room = pick_claims(job->document, &job->terms, window, index, 1, &picked);
    for (size_t i = 0; room && i < picked.count; i++) {
        struct claim *claim = &picked.items[i];
        if (terms_focus(&job->terms, claim->text, claim->length) && !repeats_any(claims, claim))
            room = claim_add(claims, claim->text, claim->length, claim);
    }
    claim_list_fini(&picked);
    return room;
}

/* false: no memory. */
static bool learn_spoken(const struct map_task *task, struct word_set *out)
{
    struct words walk = words_of(strbuf_text(&task->output), task->output.length);
    struct word word;
    while (words_next(&walk, &word))
        if (!word.common && !word_set_add(out, word.hash))
            return false;
    return true;
}

static ll_status add_part(struct summary_job *job, size_t index, const struct map_task *task,
                          const char *instruction, struct checker *checker)
{
    const struct window *window = &job->plan->windows.items[index];
    const struct doc_file *file = document_file(job->document, window->first);
    struct claim_list claims = {0};
    ll_status status = LL_OK;
    if (!task && window->first == file->first && !pick_counted(job->document, file, index, &claims))
        status = error_nomem(job->error, "summary", sizeof claims);
    if (status == LL_OK && task) {
        struct collecting collecting = {job, checker, window, index, &claims};
        if (!check_load(checker, strbuf_text(&task->text), task->text.length, instruction))
            status = error_nomem(job->error, "summary", task->text.length);
        else
            status = map_sentences(task, checker, job->plan->small && !job->plan->language,
                                   job->plan->language ? 0.0f : LOOSE_SUPPORT, collect, &collecting);
    }
    if (status == LL_OK && task && job->terms.focus.count && !add_focused(job, window, index, &claims))
        status = error_nomem(job->error, "summary", sizeof claims);
    if (status == LL_OK && (!task || claims.count == 0)) {
        job->summary->stats.fallbacks += task != NULL;
        if (!pick_claims(job->document, &job->terms, window, index, KEY_SENTENCES, &claims))
            status = error_nomem(job->error, "summary", sizeof claims);
    }
    if (status == LL_OK)
        status = summary_add_node(job, 0, window->first, window->last, &claims);
    if (status == LL_OK && task && !learn_spoken(task, &job->summary->nodes[index].spoken))
        status = error_nomem(job->error, "summary", task->output.length);
    claim_list_fini(&claims);
    return status;
}

static size_t count_asked(const ll_plan *plan)
{
    size_t asked = 0;
    for (size_t i = 0; i < plan->windows.count; i++)
        asked += !plan->windows.items[i].quoted;
    return asked;
}

/* Windows [first, first + count): those that the model reads run together, then each gets its node, in order.
 */
static ll_status map_group(struct summary_job *job, const struct prompt *prompt, const char *instruction,
                           size_t first, size_t count, size_t *done, struct map_task *tasks,
                           struct checker *checker)
{
    const struct window *windows = job->plan->windows.items + first;
    size_t asked = 0;
    for (size_t i = 0; i < count; i++)
        if (!windows[i].quoted)
            window_text(job->document, &windows[i], &tasks[asked++].text);
    if (asked)
        LL_TRY(map_run(job, prompt, tasks, asked, job->plan->info.part_tokens, LL_SUMMARIZING, *done,
                       count_asked(job->plan)));
    *done += asked;
    for (size_t i = 0, task = 0; i < count; i++)
        LL_TRY(add_part(job, first + i, windows[i].quoted ? NULL : &tasks[task++], instruction, checker));
    return LL_OK;
}

static ll_status map_with_model(struct summary_job *job, struct checker *checker)
{
    const struct ll_plan *plan = job->plan;
    struct prompt prompt = {PROMPT_PART, plan->focus, plan->small ? 0 : plan->words, plan->language};
    struct strbuf instruction = {0};
    prompt_instruction(&prompt, &instruction);
    ll_status status = LL_OK;
    size_t done = 0;
    for (size_t first = 0; first < plan->windows.count && status == LL_OK; first += GROUP) {
        size_t count = plan->windows.count - first < GROUP ? plan->windows.count - first : GROUP;
        struct map_task *tasks = mem_new(count, sizeof *tasks);
        if (!tasks) {
            status = error_nomem(job->error, "summary", count * sizeof *tasks);
            break;
        }
        status = map_group(job, &prompt, strbuf_text(&instruction), first, count, &done, tasks, checker);
        for (size_t i = 0; i < count; i++)
            map_task_fini(&tasks[i]);
        mem_free(tasks);
    }
    strbuf_fini(&instruction);
    return status;
}

ll_status map_windows(struct summary_job *job)
{
    struct checker checker = {0};
    ll_status status = LL_OK;
    if (job->llm) {
        status = map_with_model(job, &checker);
    } else {
        for (size_t i = 0; i < job->plan->windows.count && status == LL_OK; i++) {
            if (i % 64 == 0)
                status = summary_check_cancel(job);
            if (status == LL_OK)
                status = add_part(job, i, NULL, "", &checker);
        }
    }
    check_fini(&checker);
    return status;
}
