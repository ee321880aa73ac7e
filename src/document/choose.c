/* Which sentences make the summary: of each file its part, of all parts together the short text.
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/choose.h"

#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "document/pick.h"
#include "document/select.h"

enum {
    LEAST_PART = 30, /* words of a file's part */
    MOST_PART = 120,
    HEARD = 25,       /* words a file gets where all are heard; with less, the weightiest speak */
    LEAST_WORDS = 20, /* of a summary of a short text */
    KEY_WORDS = 12,   /* of the answer for each key sentence to choose from */
    LEAST_KEYS = 3,   /* of a window */
    MOST_KEYS = 6,
};

static bool add_all(struct claim_list *out, const struct claim_list *claims)
{
    for (size_t i = 0; i < claims->count; i++)
        if (!claim_add(out, claims->items[i].text, claims->items[i].length, &claims->items[i]))
            return false;
    return true;
}

/* In document order, which windows and key sentences are already but for claims that were located: those may
 * rest on the lines before their window, which the window before has sentences of, too. */
static void order(struct claim_list *claims)
{
    for (size_t i = 1; i < claims->count; i++) {
        struct claim moved = claims->items[i];
        size_t at = i;
        while (at > 0 && claims->items[at - 1].first > moved.first) {
            claims->items[at] = claims->items[at - 1];
            at--;
        }
        claims->items[at] = moved;
    }
}

/* The share of a claim's weight in words that the model used when it summed up the same window. */
static double share_spoken(const struct summary_job *job, const struct claim *claim)
{
    const struct word_set *spoken = &job->summary->nodes[claim->window].spoken;
    struct words walk = words_of(claim->text, claim->length);
    struct word word;
    double all = 0, met = 0;
    while (words_next(&walk, &word)) {
        double weight = terms_weight(&job->terms, &word);
        all += weight;
        met += word_set_has(spoken, word.hash) ? weight : 0;
    }
    return all > 0 ? met / all : 0;
}

/* The model points at what matters, also where what it wrote does not hold: sentences that say it go first,
 * its own among them. */
static void prefer_spoken(const struct summary_job *job, struct claim_list *claims)
{
    for (size_t i = 0; i < claims->count; i++)
        if (!claims->items[i].counted)
            claims->items[i].score *= (float)(1.0 + share_spoken(job, &claims->items[i]));
}

/* Few windows have to give many sentences each; of many, each gives some to choose from. */
static size_t keys_wanted(const struct summary_job *job)
{
    size_t wanted = job->plan->words / (KEY_WORDS * job->plan->windows.count);
    return wanted < LEAST_KEYS ? LEAST_KEYS : wanted > MOST_KEYS ? MOST_KEYS : wanted;
}

/* The best sentences of a window stand beside what the model wrote of it: the better ones are chosen. */
static bool add_key_sentences(const struct summary_job *job, size_t window, const struct claim_list *own,
                              struct claim_list *out)
{
    struct claim_list picked = {0};
    bool room = pick_claims(job->document, &job->terms, &job->plan->windows.items[window], window,
                            keys_wanted(job), &picked);
    for (size_t i = 0; room && i < picked.count; i++) {
        bool repeated = false;
        for (size_t k = 0; k < own->count && !repeated; k++)
            repeated = own->items[k].first == picked.items[i].first ||
                       claim_overlaps(own->items[k].text, own->items[k].length, picked.items[i].text,
                                      picked.items[i].length);
        if (!repeated)
            room = claim_add(out, picked.items[i].text, picked.items[i].length, &picked.items[i]);
    }
    claim_list_fini(&picked);
    return room;
}

/* All that there is to choose from, in document order. */
static ll_status gather(struct summary_job *job, struct claim_list *all)
{
    const struct ll_summary *s = job->summary;
    bool translated = job->llm && job->plan->language;
    for (size_t n = 0; n < s->node_count; n++) {
        bool of_lines = pick_is_of_lines(document_file(job->document, s->nodes[n].first));
        if (!add_all(all, &s->nodes[n].claims) ||
            (!translated && !of_lines && !add_key_sentences(job, n, &s->nodes[n].claims, all)))
            return error_nomem(job->error, "summary", s->node_count * sizeof *all->items);
    }
    order(all);
    prefer_spoken(job, all);
    return LL_OK;
}

/* A summary of more than half of a text is no summary; logs have been folded already. */
static size_t wanted_words(const struct summary_job *job)
{
    size_t words = job->plan->words, most = job->text_words / 2;
    if (pick_is_of_lines(&job->document->files[0]))
        return words;
    most = most > LEAST_WORDS ? most : LEAST_WORDS;
    return words < most ? words : most;
}

static size_t file_end(const struct ll_document *d, size_t file)
{
    return file + 1 < d->file_count ? d->files[file + 1].first : d->text.length + 1;
}

static bool is_log(const struct doc_file *file)
{
    return file->kind == KIND_LOG;
}

/* ---- one file ---------------------------------------------------------------------------------- */

static ll_status choose_of_file(struct summary_job *job, const struct claim_list *all, size_t file,
                                size_t words, bool *chosen)
{
    const struct doc_file *f = &job->document->files[file];
    struct select_wish wish = {f->first, file_end(job->document, file), words, is_log(f)};
    return select_claims(all, &wish, &job->terms, chosen, job->error);
}

static bool take_chosen(const struct claim_list *all, const bool *chosen, struct claim_list *out)
{
    for (size_t i = 0; i < all->count; i++)
        if (chosen[i] && !claim_add(out, all->items[i].text, all->items[i].length, &all->items[i]))
            return false;
    return true;
}

/* ---- several files ----------------------------------------------------------------------------- */

/* The node of a file above the nodes of its windows; its claims are chosen from theirs. */
static ll_status add_part(struct summary_job *job, const struct claim_list *all, size_t file, size_t windows)
{
    const struct ll_document *d = job->document;
    const struct doc_file *f = &d->files[file];
    struct claim_list part = {0};
    size_t words = job->plan->words / 2;
    words = words < LEAST_PART ? LEAST_PART : words > MOST_PART ? MOST_PART : words;
    bool *chosen = mem_new(all->count, sizeof *chosen);
    if (!chosen)
        return error_nomem(job->error, "summary", all->count);
    ll_status status = choose_of_file(job, all, file, words, chosen);
    if (status == LL_OK && !take_chosen(all, chosen, &part))
        status = error_nomem(job->error, "summary", sizeof part);
    mem_free(chosen);
    if (status == LL_OK && part.count)
        status = summary_add_node(job, 1, f->first, f->last, &part);
    if (status == LL_OK && job->summary->nodes[job->summary->node_count - 1].level == 1) {
        summary_set_title(job, document_label(d, f));
        for (size_t n = 0; n < windows; n++)
            if (document_file(d, job->summary->nodes[n].first) == f)
                job->summary->nodes[n].parent = job->summary->node_count - 1;
    }
    claim_list_fini(&part);
    return status;
}

/* Each file gets half of an equal share of the words and half of one by its length, so that a short letter
 * beside a long report is heard, too. */
static ll_status share_words(struct summary_job *job, const struct claim_list *all, size_t words,
                             bool *chosen)
{
    const struct ll_document *d = job->document;
    for (size_t f = 0; f < d->file_count; f++) {
        double share = 0.5 / (double)d->file_count + 0.5 * (double)(d->files[f].last - d->files[f].first) /
                                                         (double)(d->text.length ? d->text.length : 1);
        LL_TRY(choose_of_file(job, all, f, (size_t)((double)words * share), chosen));
    }
    return LL_OK;
}

/* Too many files for each to be heard: the best sentence of the longest ones, as many as there is room for.
 */
static void let_weightiest_speak(const struct ll_document *d, const struct claim_list *all, size_t words,
                                 bool *chosen)
{
    bool any = false;
    for (size_t used = 0;;) {
        size_t best = SIZE_MAX;
        double best_weight = 0;
        for (size_t i = 0; i < all->count; i++) {
            const struct claim *c = &all->items[i];
            const struct doc_file *f = document_file(d, c->first);
            bool heard = false;
            for (size_t k = 0; k < all->count && !heard; k++)
                heard = chosen[k] &&
                        (document_file(d, all->items[k].first) == f ||
                         claim_repeats(all->items[k].text, all->items[k].length, c->text, c->length));
            double weight = (double)c->score * log(2.0 + (double)(f->last - f->first));
            if (!heard && weight > best_weight && (used + c->words <= words || !any)) {
                best = i;
                best_weight = weight;
            }
        }
        if (best == SIZE_MAX)
            return;
        chosen[best] = any = true;
        used += all->items[best].words;
    }
}

static ll_status fuse_parts(struct summary_job *job, size_t first_part, bool *chosen,
                            struct claim_list *parts)
{
    struct ll_summary *s = job->summary;
    const struct ll_document *d = job->document;
    size_t words = wanted_words(job);
    for (size_t n = first_part; n < s->node_count; n++)
        if (!add_all(parts, &s->nodes[n].claims))
            return error_nomem(job->error, "summary", sizeof *parts);
    if (words / d->file_count >= HEARD)
        return share_words(job, parts, words, chosen);
    let_weightiest_speak(d, parts, words, chosen);
    return LL_OK;
}

static ll_status choose_of_several(struct summary_job *job, const struct claim_list *all, bool *chosen)
{
    struct claim_list parts = {0};
    size_t windows = job->summary->node_count;
    ll_status status = LL_OK;
    for (size_t f = 0; f < job->document->file_count && status == LL_OK; f++)
        status = add_part(job, all, f, windows);
    if (status == LL_OK)
        status = fuse_parts(job, windows, chosen, &parts);
    if (status == LL_OK && !take_chosen(&parts, chosen, &job->summary->answer))
        status = error_nomem(job->error, "summary", sizeof parts);
    claim_list_fini(&parts);
    return status;
}

/* ---- the whole --------------------------------------------------------------------------------- */

ll_status choose_answer(struct summary_job *job)
{
    struct claim_list all = {0};
    ll_status status = gather(job, &all);
    bool *chosen = mem_new(all.count, sizeof *chosen);
    if (!chosen && status == LL_OK)
        status = error_nomem(job->error, "summary", all.count);
    if (status == LL_OK && job->document->file_count > 1) {
        status = choose_of_several(job, &all, chosen);
    } else if (status == LL_OK) {
        status = choose_of_file(job, &all, 0, wanted_words(job), chosen);
        if (status == LL_OK && !take_chosen(&all, chosen, &job->summary->answer))
            status = error_nomem(job->error, "summary", sizeof all);
    }
    mem_free(chosen);
    claim_list_fini(&all);
    return status;
}
