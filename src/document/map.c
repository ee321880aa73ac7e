/* Windows through the model, side by side: a few checked sentences for each.
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/map.h"

#include <stdio.h>
#include <string.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/mem.h"
#include "document/guard.h"
#include "document/keysentence.h"
#include "document/sentence.h"

enum {
    GROUP = 256,        /* windows whose prompts are in memory at once */
    MOST_SENTENCES = 4, /* of one window */
    KEY_SENTENCES = 2,  /* quoted of a window when nothing generated holds, or there is no model */
};

/* ---- running --------------------------------------------------------------------------------- */

struct run_state {
    struct summary_job *job;
    struct map_task *tasks;
    struct guard *guards;
    ll_phase phase;
    size_t done, total;
};

static ll_flow on_token(void *user, size_t request, const ll_token *tokens, size_t count)
{
    struct run_state *state = user;
    return guard_add(&state->guards[request], state->job->llm, tokens, count) ? LL_STOP : LL_CONTINUE;
}

static void on_done(void *user, size_t request)
{
    struct run_state *state = user;
    (void)request;
    summary_report(state->job, state->phase, ++state->done, state->total);
}

static size_t shared_prefix(const struct token_list *prompts, size_t count)
{
    size_t shared = prompts[0].count ? prompts[0].count - 1 : 0;
    for (size_t i = 1; i < count; i++) {
        size_t k = 0;
        while (k < shared && k + 1 < prompts[i].count && prompts[i].ids[k] == prompts[0].ids[k])
            k++;
        shared = k;
    }
    return count > 1 ? shared : 0;
}

static ll_status encode_prompts(const struct summary_job *job, const struct prompt *prompt,
                                const struct map_task *tasks, size_t count, size_t max_tokens,
                                struct token_list *prompts, struct batch_request *requests)
{
    size_t context = job->plan->info.context;
    for (size_t i = 0; i < count; i++) {
        LL_TRY(prompt_encode(prompt, job->llm, strbuf_text(&tasks[i].text), tasks[i].text.length, &prompts[i],
                             job->error));
        if (prompts[i].count + max_tokens > context)
            return error_set(
                job->error, LL_INTERNAL, "summary",
                "a prompt of %zu tokens and an answer of %zu exceed the planned %zu: please report this",
                prompts[i].count, max_tokens, context);
        requests[i] = (struct batch_request){prompts[i].ids, prompts[i].count, max_tokens};
        job->summary->stats.prompt_tokens += prompts[i].count;
    }
    return LL_OK;
}

static ll_status run_batch(struct run_state *state, const struct token_list *prompts,
                           const struct batch_request *requests, struct batch_output *outputs, size_t count)
{
    struct summary_job *job = state->job;
    struct batch_options options = {
        .context = job->plan->info.context,
        .width = job->options->width,
        .shared = shared_prefix(prompts, count),
        .cache_type = job->options->cache_type,
        .sampling = job->options->sampling,
        .on_token = on_token,
        .on_done = on_done,
        .user = state,
    };
    ll_run quiet = {.size = sizeof quiet, .cancel = job->run ? job->run->cancel : NULL};
    LL_TRY(job->llm->run(job->llm->self, &options, requests, count, &quiet, outputs, job->error));
    return summary_check_cancel(job);
}

static void take_outputs(struct run_state *state, const struct batch_output *outputs, size_t count)
{
    struct summary_job *job = state->job;
    for (size_t i = 0; i < count; i++) {
        struct map_task *task = &state->tasks[i];
        for (size_t k = 0; k < outputs[i].count; k++) {
            size_t length;
            const char *piece = job->llm->piece(job->llm->self, outputs[i].tokens[k], &length);
            if (piece)
                strbuf_append(&task->output, piece, length);
        }
        task->looped = state->guards[i].looped;
        task->ended = outputs[i].finish == LL_FINISH_END;
        job->summary->stats.calls++;
        job->summary->stats.generated_tokens += outputs[i].count;
        job->summary->stats.looped += task->looped;
    }
}

struct run_memory {
    struct token_list *prompts;
    struct batch_request *requests;
    struct batch_output *outputs;
    struct guard *guards;
    size_t count;
};

static bool take_memory(struct run_memory *m, size_t count)
{
    m->count = count;
    m->prompts = mem_new(count, sizeof *m->prompts);
    m->requests = mem_new(count, sizeof *m->requests);
    m->outputs = mem_new(count, sizeof *m->outputs);
    m->guards = mem_new(count, sizeof *m->guards);
    return m->prompts && m->requests && m->outputs && m->guards;
}

static void give_memory(struct run_memory *m)
{
    for (size_t i = 0; i < m->count; i++) {
        if (m->prompts)
            token_list_fini(&m->prompts[i]);
        if (m->guards)
            guard_fini(&m->guards[i]);
        if (m->outputs)
            mem_free(m->outputs[i].tokens);
    }
    mem_free(m->prompts);
    mem_free(m->requests);
    mem_free(m->outputs);
    mem_free(m->guards);
}

ll_status map_run(struct summary_job *job, const struct prompt *prompt, struct map_task *tasks, size_t count,
                  size_t max_tokens, ll_phase phase, size_t done, size_t total)
{
    struct run_memory memory = {0};
    ll_status status = LL_OK;
    if (!take_memory(&memory, count)) {
        status = error_nomem(job->error, "summary", count * sizeof *memory.prompts);
        goto out;
    }
    struct run_state state = {job, tasks, memory.guards, phase, done, total};
    LL_TRY_GOTO(encode_prompts(job, prompt, tasks, count, max_tokens, memory.prompts, memory.requests), out);
    LL_TRY_GOTO(run_batch(&state, memory.prompts, memory.requests, memory.outputs, count), out);
    take_outputs(&state, memory.outputs, count);
out:
    give_memory(&memory);
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
        bool good = verdict == CHECK_GOOD || (!strict && verdict == CHECK_WORDS && support >= 0.4f);
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
    check_locate(c->job->document, c->window->text_first, c->window->last, sentence, length, &claim.first,
                 &claim.last);
    return claim_add(c->claims, sentence, length, &claim) ? LL_OK
                                                          : error_nomem(c->job->error, "summary", length);
}

static ll_status add_part(struct summary_job *job, size_t index, const struct map_task *task,
                          const char *instruction, struct checker *checker)
{
    const struct window *window = &job->plan->windows.items[index];
    struct claim_list claims = {0};
    ll_status status = LL_OK;
    if (task) {
        struct collecting collecting = {job, checker, window, index, &claims};
        if (!check_load(checker, strbuf_text(&task->text), task->text.length, instruction))
            status = error_nomem(job->error, "summary", task->text.length);
        else
            status = map_sentences(task, checker, job->plan->small, collect, &collecting);
    }
    if (status == LL_OK && claims.count == 0) {
        job->summary->stats.fallbacks += task != NULL;
        if (!keysentence_pick(job->document, &job->terms, window, index, KEY_SENTENCES, &claims))
            status = error_nomem(job->error, "summary", sizeof claims);
    }
    if (status == LL_OK)
        status = summary_add_node(job, 0, window->first, window->last, &claims);
    claim_list_fini(&claims);
    return status;
}

static ll_status map_group(struct summary_job *job, const struct prompt *prompt, const char *instruction,
                           size_t first, size_t count, struct map_task *tasks, struct checker *checker)
{
    const struct window *windows = job->plan->windows.items + first;
    for (size_t i = 0; i < count; i++) {
        window_text(job->document, &windows[i], &tasks[i].text);
        if (tasks[i].text.failed)
            return error_nomem(job->error, "summary", tasks[i].text.length);
    }
    LL_TRY(map_run(job, prompt, tasks, count, job->plan->info.part_tokens, LL_SUMMARIZING, first,
                   job->plan->windows.count));
    for (size_t i = 0; i < count; i++)
        LL_TRY(add_part(job, first + i, &tasks[i], instruction, checker));
    return LL_OK;
}

static ll_status map_with_model(struct summary_job *job, struct checker *checker)
{
    const struct ll_plan *plan = job->plan;
    struct prompt prompt = {PROMPT_PART, plan->focus, plan->small ? 0 : plan->words};
    struct strbuf instruction = {0};
    prompt_instruction(&prompt, &instruction);
    ll_status status = LL_OK;
    for (size_t first = 0; first < plan->windows.count && status == LL_OK; first += GROUP) {
        size_t count = plan->windows.count - first < GROUP ? plan->windows.count - first : GROUP;
        struct map_task *tasks = mem_new(count, sizeof *tasks);
        if (!tasks) {
            status = error_nomem(job->error, "summary", count * sizeof *tasks);
            break;
        }
        status = map_group(job, &prompt, strbuf_text(&instruction), first, count, tasks, checker);
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
