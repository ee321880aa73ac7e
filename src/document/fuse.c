/* From parts to one: a tree of merges, or a running summary, made by the model within the budget.
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/fuse.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "document/keysentence.h"
#include "document/pick.h"
#include "document/map.h"
#include "document/proof.h"
#include "document/select.h"

struct fusion {
    struct summary_job *job;
    const struct prompt *prompt;
    struct strbuf instruction;
    struct checker checker;
    struct token_list tokens; /* scratch */
};

/* ---- text of a child ------------------------------------------------------------------------- */

static ll_status count_tokens(struct fusion *f, const char *text, size_t length, size_t *ret)
{
    f->tokens.count = 0;
    LL_TRY(f->job->llm->encode_text(f->job->llm->self, text, length, &f->tokens, f->job->error));
    *ret = f->tokens.count;
    return LL_OK;
}

/* As many whole sentences as the output cap allows, counted on the assembled text. */
static ll_status put_claims(struct fusion *f, const struct claim_list *claims, struct strbuf *out)
{
    size_t start = out->length, cap = f->job->plan->budget.output;
    for (size_t i = 0; i < claims->count; i++) {
        size_t before = out->length, tokens;
        if (out->length > start)
            strbuf_putc(out, ' ');
        strbuf_append(out, claims->items[i].text, claims->items[i].length);
        if (out->failed)
            return error_nomem(f->job->error, "summary", out->length);
        LL_TRY(count_tokens(f, out->text + start, out->length - start, &tokens));
        if (tokens > cap) {
            strbuf_truncate(out, before);
            break;
        }
    }
    return LL_OK;
}

/* Cut so that it always fits the budget's label, whatever the heading holds. */
static ll_status put_label(struct fusion *f, const struct summary_node *node, size_t index,
                           struct strbuf *out)
{
    size_t first, last, start = out->length, tokens, most = 80;
    document_pages(f->job->document, node->first, node->last, &first, &last);
    strbuf_printf(out, "[w%zu", index + 1);
    if (first)
        strbuf_printf(out, first == last ? " | p. %zu" : " | p. %zu-%zu", first, last);
    size_t plain = out->length;
    for (;; most /= 2) {
        strbuf_truncate(out, plain);
        if (most >= 8 && node->title != SIZE_MAX) {
            const char *title = f->job->summary->titles.text + node->title;
            size_t length = strlen(title) < most ? strlen(title) : most;
            while (length > 0 && ((unsigned char)title[length] & 0xC0) == 0x80)
                length--;
            strbuf_puts(out, " | ");
            strbuf_append(out, title, length);
        }
        strbuf_puts(out, "]\n");
        if (out->failed)
            return error_nomem(f->job->error, "summary", out->length);
        LL_TRY(count_tokens(f, out->text + start, out->length - start, &tokens));
        if (tokens + 4 <= f->job->plan->label_tokens || most < 8)
            return LL_OK;
    }
}

/* ---- claims of a merge ----------------------------------------------------------------------- */

/* Sentences of all children, those that say the same folded into the first. */
static bool gather(const struct summary_job *job, size_t first, size_t last, struct claim_list *out)
{
    for (size_t n = first; n < last; n++) {
        const struct claim_list *claims = &job->summary->nodes[n].claims;
        for (size_t i = 0; i < claims->count; i++) {
            bool repeated = false;
            for (size_t k = 0; k < out->count && !repeated; k++)
                repeated = claim_repeats(out->items[k].text, out->items[k].length, claims->items[i].text,
                                         claims->items[i].length);
            if (!repeated &&
                !claim_add(out, claims->items[i].text, claims->items[i].length, &claims->items[i]))
                return false;
        }
    }
    return true;
}

static size_t shared_words(const struct word_set *words, const struct claim *claim)
{
    struct words walk = words_of(claim->text, claim->length);
    struct word word;
    size_t shared = 0;
    while (words_next(&walk, &word))
        shared += !word.common && word_set_has(words, word.hash);
    return shared;
}

static bool is_borne(const struct ll_document *d, const struct claim *child, const char *sentence,
                     size_t length)
{
    size_t first, last;
    return proof_holds(d->text.text + child->first, child->last - child->first, sentence, length, &first,
                       &last);
}

/* The place of a merged sentence is that of the child sentence it shares most words with; one that holds its
 * numbers and names goes before one that does not. */
static const struct claim *origin_of(const struct ll_document *d, const char *sentence, size_t length,
                                     const struct claim_list *children, bool *ret_borne)
{
    struct word_set words = {0};
    struct words walk = words_of(sentence, length);
    struct word word;
    const struct claim *best = NULL;
    size_t most = 0;
    while (words_next(&walk, &word))
        (void)word_set_add(&words, word.hash);
    *ret_borne = false;
    for (size_t i = 0; i < children->count; i++) {
        size_t shared = shared_words(&words, &children->items[i]);
        bool borne = is_borne(d, &children->items[i], sentence, length);
        if (!best || borne > *ret_borne || (borne == *ret_borne && shared > most)) {
            best = &children->items[i];
            most = shared;
            *ret_borne = borne;
        }
    }
    word_set_fini(&words);
    return best;
}

struct merging {
    struct fusion *fusion;
    const struct claim_list *children;
    struct claim_list *out;
};

static ll_status collect(void *context, const char *sentence, size_t length, float support)
{
    struct merging *m = context;
    bool borne;
    const struct claim *origin = origin_of(m->fusion->job->document, sentence, length, m->children, &borne);
    for (size_t i = 0; i < m->out->count; i++)
        if (claim_repeats(m->out->items[i].text, m->out->items[i].length, sentence, length))
            return LL_OK;
    struct claim claim = *origin;
    claim.support = support;
    claim.quoted = false;
    claim.borne = borne;
    claim.score = (float)keysentence_score(&m->fusion->job->terms, sentence, length);
    return claim_add(m->out, sentence, length, &claim)
               ? LL_OK
               : error_nomem(m->fusion->job->error, "summary", length);
}

/* The best of the children's own sentences, when the model's merge does not hold. */
static ll_status fall_back(const struct fusion *f, const struct claim_list *children, struct claim_list *out)
{
    const struct summary_job *job = f->job;
    bool *chosen = mem_new(children->count, sizeof *chosen);
    if (!chosen)
        return error_nomem(job->error, "summary", children->count);
    ll_status status =
        select_claims(children, &(struct select_wish){0, job->document->text.length, job->plan->words, false},
                      &job->terms, chosen, job->error);
    for (size_t i = 0; i < children->count && status == LL_OK; i++)
        if (chosen[i] &&
            !claim_add(out, children->items[i].text, children->items[i].length, &children->items[i]))
            status = error_nomem(job->error, "summary", children->items[i].length);
    mem_free(chosen);
    return status;
}

static ll_status judge(struct fusion *f, const struct map_task *task, const struct claim_list *children,
                       struct claim_list *out)
{
    struct merging merging = {f, children, out};
    if (!check_load(&f->checker, strbuf_text(&task->text), task->text.length, strbuf_text(&f->instruction)))
        return error_nomem(f->job->error, "summary", task->text.length);
    LL_TRY(map_sentences(task, &f->checker, f->job->plan->small && !f->job->plan->language,
                         f->job->plan->language ? 0.0f : LOOSE_SUPPORT, collect, &merging));
    if (out->count > 0)
        return LL_OK;
    f->job->summary->stats.fallbacks++;
    return fall_back(f, children, out);
}

/* ---- the tree -------------------------------------------------------------------------------- */

static ll_status merge_text(struct fusion *f, size_t first, size_t last, struct strbuf *out)
{
    for (size_t n = first; n < last; n++) {
        if (out->length)
            strbuf_puts(out, "\n\n");
        LL_TRY(put_label(f, &f->job->summary->nodes[n], n, out));
        LL_TRY(put_claims(f, &f->job->summary->nodes[n].claims, out));
    }
    return out->failed ? error_nomem(f->job->error, "summary", out->length) : LL_OK;
}

static ll_status finish_group(struct fusion *f, int level, size_t first, size_t last,
                              const struct map_task *task)
{
    struct summary_job *job = f->job;
    struct claim_list children = {0}, merged = {0};
    ll_status status =
        gather(job, first, last, &children) ? LL_OK : error_nomem(job->error, "summary", last - first);
    if (status == LL_OK && last - first > 1)
        status = judge(f, task, &children, &merged);
    size_t from = job->summary->nodes[first].first, to = job->summary->nodes[last - 1].last;
    if (status == LL_OK)
        status = summary_add_node(job, level, from, to, last - first > 1 ? &merged : &children);
    if (status == LL_OK)
        for (size_t n = first; n < last; n++)
            job->summary->nodes[n].parent = job->summary->node_count - 1;
    claim_list_fini(&children);
    claim_list_fini(&merged);
    return status;
}

static ll_status run_level(struct fusion *f, size_t base, size_t children, size_t groups,
                           struct map_task *tasks, size_t *done, size_t total)
{
    size_t count = 0, first, last;
    for (size_t g = 0; g < groups; g++) {
        budget_group(children, groups, g, &first, &last);
        if (last - first > 1)
            LL_TRY(merge_text(f, base + first, base + last, &tasks[count++].text));
    }
    if (count)
        LL_TRY(
            map_run(f->job, f->prompt, tasks, count, f->job->plan->budget.output, LL_FUSING, *done, total));
    *done += count;
    return LL_OK;
}

static ll_status merge_level(struct fusion *f, int level, size_t base, size_t children, size_t *done,
                             size_t total)
{
    size_t groups = budget_groups(children, f->job->plan->budget.fan_out), used = 0, first, last;
    struct map_task *tasks = mem_new(groups, sizeof *tasks);
    if (!tasks)
        return error_nomem(f->job->error, "summary", groups * sizeof *tasks);
    ll_status status = run_level(f, base, children, groups, tasks, done, total);
    for (size_t g = 0; g < groups && status == LL_OK; g++) {
        budget_group(children, groups, g, &first, &last);
        status = finish_group(f, level, base + first, base + last, &tasks[used]);
        used += last - first > 1;
    }
    for (size_t g = 0; g < groups; g++)
        map_task_fini(&tasks[g]);
    mem_free(tasks);
    return status;
}

static void fusion_fini(struct fusion *f)
{
    strbuf_fini(&f->instruction);
    check_fini(&f->checker);
    token_list_fini(&f->tokens);
}

ll_status fuse_tree(struct summary_job *job)
{
    struct prompt prompt = {PROMPT_MERGE, job->plan->focus, job->plan->words, job->plan->language};
    struct fusion f = {.job = job, .prompt = &prompt};
    size_t base = 0, children = job->summary->node_count, done = 0, total = 0;
    ll_status status = LL_OK;
    prompt_instruction(&prompt, &f.instruction);
    (void)budget_levels(children, job->plan->budget.fan_out, &total);
    for (int level = 1; children > 1 && status == LL_OK; level++) {
        status = merge_level(&f, level, base, children, &done, total);
        base += children;
        children = job->summary->node_count - base;
    }
    fusion_fini(&f);
    return status;
}

/* ---- the running summary --------------------------------------------------------------------- */

static ll_status refine_step(struct fusion *f, size_t index, struct claim_list *running)
{
    struct summary_job *job = f->job;
    const struct window *w = &job->plan->windows.items[index];
    struct map_task task = {0};
    struct claim_list own = {0}, all = {0}, next = {0};
    ll_status status = LL_OK;
    if (!pick_claims(job->document, &job->terms, w, index, 3, &own))
        status = error_nomem(job->error, "summary", sizeof own);
    if (status == LL_OK && running->count) {
        strbuf_puts(&task.text, "Summary so far:\n");
        status = put_claims(f, running, &task.text);
        strbuf_puts(&task.text, "\n\nNext part:\n");
    }
    for (size_t i = 0; i < running->count && status == LL_OK; i++)
        if (!claim_add(&all, running->items[i].text, running->items[i].length, &running->items[i]))
            status = error_nomem(job->error, "summary", sizeof all);
    for (size_t i = 0; i < own.count && status == LL_OK; i++)
        if (!claim_add(&all, own.items[i].text, own.items[i].length, &own.items[i]))
            status = error_nomem(job->error, "summary", sizeof all);
    window_text(job->document, w, &task.text);
    if (status == LL_OK)
        status = map_run(job, f->prompt, &task, 1, job->plan->budget.output, LL_SUMMARIZING, index,
                         job->plan->windows.count);
    if (status == LL_OK)
        status = judge(f, &task, &all, &next);
    if (status == LL_OK)
        status = summary_add_node(job, 0, w->first, w->last, &own);
    claim_list_fini(running);
    *running = next;
    claim_list_fini(&own);
    claim_list_fini(&all);
    map_task_fini(&task);
    return status;
}

ll_status fuse_refine(struct summary_job *job)
{
    struct prompt prompt = {PROMPT_REFINE, job->plan->focus, job->plan->words, job->plan->language};
    struct fusion f = {.job = job, .prompt = &prompt};
    struct claim_list running = {0};
    ll_status status = LL_OK;
    prompt_instruction(&prompt, &f.instruction);
    for (size_t i = 0; i < job->plan->windows.count && status == LL_OK; i++) {
        status = summary_check_cancel(job);
        if (status == LL_OK)
            status = refine_step(&f, i, &running);
    }
    if (status == LL_OK)
        status = summary_add_node(job, 1, 0, job->document->text.length, &running);
    claim_list_fini(&running);
    fusion_fini(&f);
    return status;
}
