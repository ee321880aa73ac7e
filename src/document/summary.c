/* A summary being made: the tree of parts, the sentences of the answer, what was covered.
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/summary.h"

#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/options.h"
#include "document/choose.h"
#include "document/fuse.h"
#include "document/map.h"

enum {
    PATH_SHOWN = 160,
    MARK_TITLE = 48 /* bytes of a section's title in a mark */,
    PARAGRAPH_WORDS = 60,
    PARAGRAPH_UNMARKED = 90
};

void ll_summary_options_init(ll_summary_options *options)
{
    *options = (ll_summary_options){.size = sizeof *options, .cache_type = LL_F16};
    ll_sampling_init(&options->sampling);
    options->sampling.temperature = 0;
}

/* ---- for the steps --------------------------------------------------------------------------- */

void summary_report(const struct summary_job *job, ll_phase phase, size_t done, size_t total, size_t tokens)
{
    char label[64];
    if (!job->run || !job->run->on_progress)
        return;
    struct strbuf text = {0};
    strbuf_printf(&text, phase == LL_FUSING ? "merge %zu of %zu" : "window %zu of %zu", done, total);
    if (tokens)
        strbuf_printf(&text, ", %zu tokens", tokens);
    size_t length = text.length < sizeof label ? text.length : sizeof label - 1;
    memcpy(label, strbuf_text(&text), length);
    label[length] = '\0';
    strbuf_fini(&text);
    ll_progress progress = {phase, done, total, label};
    job->run->on_progress(job->run->user, &progress);
}

ll_status summary_check_cancel(const struct summary_job *job)
{
    return job->run && cancel_requested(job->run->cancel)
               ? error_set(job->error, LL_CANCELLED, "summary", "the summary was cancelled")
               : LL_OK;
}

static size_t put_title(struct summary_job *job, size_t first)
{
    struct strbuf *titles = &job->summary->titles;
    size_t at = titles->length;
    document_path(job->document, document_section(job->document, first), PATH_SHOWN, titles);
    if (titles->length == at)
        return SIZE_MAX;
    strbuf_putc(titles, '\0');
    return at;
}

void summary_set_title(struct summary_job *job, const char *title)
{
    struct ll_summary *s = job->summary;
    s->nodes[s->node_count - 1].title = s->titles.length;
    strbuf_puts(&s->titles, title);
    strbuf_putc(&s->titles, '\0');
}

static bool add_all(struct claim_list *out, const struct claim_list *claims)
{
    for (size_t i = 0; i < claims->count; i++)
        if (!claim_add(out, claims->items[i].text, claims->items[i].length, &claims->items[i]))
            return false;
    return true;
}

static void join(const struct claim_list *claims, struct strbuf *out)
{
    for (size_t i = 0; i < claims->count; i++) {
        if (i)
            strbuf_putc(out, claims->items[i].line || claims->items[i - 1].line ? '\n' : ' ');
        strbuf_append(out, claims->items[i].text, claims->items[i].length);
    }
}

ll_status summary_add_node(struct summary_job *job, int level, size_t first, size_t last,
                           struct claim_list *claims)
{
    struct ll_summary *s = job->summary;
    if (!mem_grow((void **)&s->nodes, &s->node_capacity, s->node_count + 1, sizeof *s->nodes))
        return error_nomem(job->error, "summary", (s->node_count + 1) * sizeof *s->nodes);
    struct summary_node *node = &s->nodes[s->node_count++];
    /* A window's first blank lines may still lie under the heading before. */
    size_t sentence = document_sentence(job->document, first);
    size_t inside =
        sentence < job->document->sentence_count ? job->document->sentences[sentence].first : first;
    *node = (struct summary_node){.level = level,
                                  .parent = SIZE_MAX,
                                  .title = put_title(job, inside),
                                  .claims = *claims,
                                  .first = first,
                                  .last = last};
    *claims = (struct claim_list){0};
    join(&node->claims, &node->text);
    return node->text.failed || s->titles.failed ? error_nomem(job->error, "summary", node->text.length)
                                                 : LL_OK;
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* Without the dot or colon at its end, cut to a readable length. */
static void put_short(const char *title, struct strbuf *out)
{
    size_t length = strlen(title);
    while (length > 1 && strchr(".: ", title[length - 1]))
        length--;
    bool cut = length > MARK_TITLE;
    length = cut ? MARK_TITLE : length;
    while (cut && length > 0 && ((unsigned char)title[length] & 0xC0) == 0x80)
        length--;
    strbuf_append(out, title, length);
    strbuf_puts(out, cut ? "…" : "");
}

/* "[p. 3]", "[p. 3-4]", or the section's title where there are no pages; the file first where there are
 * several. */
static void put_mark(const struct summary_job *job, const struct claim *claim, struct strbuf *out)
{
    size_t first, last;
    const struct ll_document *d = job->document;
    document_pages(d, claim->first, claim->last, &first, &last);
    size_t section = document_section(d, claim->first);
    const struct doc_section *s = &d->sections[section];
    bool named = d->file_count > 1, titled = !first && s->parent != section;
    if (!first && !titled && !named)
        return;
    strbuf_puts(out, " [");
    if (named)
        put_short(document_label(d, document_file(d, claim->first)), out);
    if (named && (titled || first))
        strbuf_puts(out, ", ");
    if (titled)
        put_short(d->titles.text + s->title, out);
    if (first)
        strbuf_printf(out, first == last ? "p. %zu" : "p. %zu-%zu", first, last);
    strbuf_putc(out, ']');
}

static bool same_mark(const struct summary_job *job, const struct claim *a, const struct claim *b)
{
    struct strbuf one = {0}, two = {0};
    put_mark(job, a, &one);
    put_mark(job, b, &two);
    bool same = strcmp(strbuf_text(&one), strbuf_text(&two)) == 0;
    strbuf_fini(&one);
    strbuf_fini(&two);
    return same;
}

static void write_answer(struct summary_job *job)
{
    struct ll_summary *s = job->summary;
    size_t words = 0;
    for (size_t i = 0; i < s->answer.count; i++) {
        const struct claim *claim = &s->answer.items[i];
        bool last = i + 1 == s->answer.count,
             marked = last || !same_mark(job, claim, &s->answer.items[i + 1]);
        strbuf_append(&s->text, claim->text, claim->length);
        words += claim->words;
        if (!claim_supported(claim))
            strbuf_puts(&s->text, " [unsupported]");
        if (marked)
            put_mark(job, claim, &s->text);
        if (last)
            break;
        bool new_paragraph = words >= (marked ? PARAGRAPH_WORDS : PARAGRAPH_UNMARKED);
        bool lines = claim->line || s->answer.items[i + 1].line || claim->counted;
        strbuf_puts(&s->text, lines ? "\n" : new_paragraph ? "\n\n" : " ");
        words = new_paragraph ? 0 : words;
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void hang_under_root(struct ll_summary *s)
{
    for (size_t n = 0; n < s->node_count; n++)
        if (s->nodes[n].parent == SIZE_MAX)
            s->nodes[n].parent = s->node_count - 1;
}

/* The root holds the answer and comes last: the topmost merge, or a node of its own above the parts. */
static ll_status add_root(struct summary_job *job)
{
    struct ll_summary *s = job->summary;
    struct claim_list copy = {0};
    ll_status status = LL_OK;
    int top = s->nodes[s->node_count - 1].level;
    if (top == 0 || job->plan->info.method == LL_METHOD_SELECT ||
        job->plan->info.method == LL_METHOD_EXTRACTIVE) {
        if (add_all(&copy, &s->answer))
            status = summary_add_node(job, top + 1, 0, job->document->text.length, &copy);
        else
            status = error_nomem(job->error, "summary", s->answer.count * sizeof *copy.items);
        claim_list_fini(&copy);
    }
    hang_under_root(s);
    return status;
}

static void count_coverage(struct summary_job *job)
{
    ll_coverage *c = &job->summary->coverage;
    const struct window_list *windows = &job->plan->windows;
    *c = (ll_coverage){.document_tokens = job->plan->info.document_tokens,
                       .read_tokens = job->plan->info.document_tokens,
                       .document_bytes = job->document->text.length,
                       .windows = windows->count,
                       .pages = job->document->page_count,
                       .unread_pages = job->document->unread_pages};
    uint64_t next = 0;
    for (size_t i = 0; i < windows->count; i++) {
        const struct window *w = &windows->items[i];
        if (w->last > next) /* each byte once */
            c->read_bytes += w->last - (w->first > next ? w->first : next);
        next = w->last > next ? w->last : next;
    }
    c->share = c->document_bytes ? (double)c->read_bytes / (double)c->document_bytes : 1.0;
}

static ll_status answer_of_last(struct summary_job *job)
{
    struct ll_summary *s = job->summary;
    return add_all(&s->answer, &s->nodes[s->node_count - 1].claims)
               ? LL_OK
               : error_nomem(job->error, "summary", sizeof s->answer);
}

static ll_status carry_out(struct summary_job *job)
{
    ll_method method = job->plan->info.method;
    LL_TRY(terms_count(job->document, job->plan->focus, job->run, &job->terms, job->error));
    job->text_words = words_count(job->document->text.text, job->document->text.length);
    if (method == LL_METHOD_REFINE) {
        LL_TRY(fuse_refine(job));
        LL_TRY(answer_of_last(job));
    } else {
        LL_TRY(map_windows(job));
        if (method == LL_METHOD_TREE) {
            LL_TRY(fuse_tree(job));
            LL_TRY(answer_of_last(job));
        } else if (method == LL_METHOD_WHOLE) {
            LL_TRY(answer_of_last(job));
        } else {
            LL_TRY(choose_answer(job));
        }
    }
    write_answer(job);
    LL_TRY(add_root(job));
    count_coverage(job);
    return job->summary->text.failed ? error_nomem(job->error, "summary", job->summary->text.length) : LL_OK;
}

static void count_calls(struct summary_job *job)
{
    ll_summary_stats *stats = &job->summary->stats;
    stats->calls = job->calls.made + job->calls.reused;
    stats->reused = job->calls.reused;
    stats->prompt_tokens = job->calls.prompt_tokens;
    stats->generated_tokens = job->calls.generated_tokens;
    stats->looped = job->calls.looped;
    job->summary->unkept = job->calls.unkept;
    stats->unkept = job->calls.unkept.status == LL_OK ? NULL : job->summary->unkept.text;
}

ll_status summary_make(const struct llm *llm, const ll_plan *plan, const ll_summary_options *options,
                       const ll_run *run, ll_summary **ret, ll_error *error)
{
    ll_summary_options usual;
    if (options && options->size != sizeof *options)
        return error_set(error, LL_VERSION, "summary",
                         "summary options of %zu bytes, %zu known: call "
                         "ll_summary_options_init",
                         options->size, sizeof *options);
    LL_TRY(run_check(run, error));
    if (plan->needs_model && !llm)
        return error_set(error, LL_ARGUMENT, "summary", "this plan needs the model it was made for");
    if (!options) {
        ll_summary_options_init(&usual);
        options = &usual;
    }
    double start = clock_seconds();
    struct summary_job job = {.plan = plan,
                              .document = plan->document,
                              .llm = plan->needs_model ? llm : NULL,
                              .options = options,
                              .run = run,
                              .summary = mem_new(1, sizeof *job.summary),
                              .error = error};
    if (!job.summary)
        return error_nomem(error, "summary", sizeof *job.summary);
    job.summary->document = plan->document;
    job.calls = (struct calls){.llm = job.llm,
                               .context = plan->info.context,
                               .width = options->width,
                               .cache_type = options->cache_type,
                               .sampling = &options->sampling,
                               .run = run,
                               .error = error};
    ll_status status = calls_open_journal(&job.calls, options->journal, options->journal_limit);
    if (status == LL_OK)
        status = carry_out(&job);
    calls_close(&job.calls);
    terms_fini(&job.terms);
    count_calls(&job);
    job.summary->stats.seconds = clock_seconds() - start;
    if (status == LL_OK)
        *ret = job.summary;
    else
        ll_summary_free(job.summary);
    return status;
}

void ll_summary_free(ll_summary *summary)
{
    if (!summary)
        return;
    for (size_t n = 0; n < summary->node_count; n++) {
        strbuf_fini(&summary->nodes[n].text);
        claim_list_fini(&summary->nodes[n].claims);
        word_set_fini(&summary->nodes[n].spoken);
    }
    mem_free(summary->nodes);
    strbuf_fini(&summary->titles);
    strbuf_fini(&summary->text);
    claim_list_fini(&summary->answer);
    mem_free(summary);
}

/* ---- public reading -------------------------------------------------------------------------- */

const char *ll_summary_text(const ll_summary *summary, size_t *ret_length)
{
    if (ret_length)
        *ret_length = summary->text.length;
    return strbuf_text(&summary->text);
}

ll_status ll_summary_get_coverage(const ll_summary *summary, ll_coverage *ret)
{
    *ret = summary->coverage;
    return LL_OK;
}

ll_status ll_summary_get_stats(const ll_summary *summary, ll_summary_stats *ret)
{
    *ret = summary->stats;
    return LL_OK;
}

size_t ll_summary_node_count(const ll_summary *summary)
{
    return summary->node_count;
}

ll_status ll_summary_get_node(const ll_summary *summary, size_t node, ll_summary_node *ret)
{
    if (node >= summary->node_count)
        return LL_NOT_FOUND;
    const struct summary_node *n = &summary->nodes[node];
    bool quoted = true;
    for (size_t i = 0; i < n->claims.count; i++)
        quoted &= n->claims.items[i].quoted || n->claims.items[i].counted;
    *ret = (ll_summary_node){.level = n->level,
                             .parent = n->parent,
                             .title = n->title == SIZE_MAX ? NULL : summary->titles.text + n->title,
                             .text = strbuf_text(&n->text),
                             .length = n->text.length,
                             .quoted = quoted,
                             .first_byte = n->first,
                             .last_byte = n->last};
    document_pages(summary->document, n->first, n->last, &ret->first_page, &ret->last_page);
    return LL_OK;
}

size_t ll_summary_sentence_count(const ll_summary *summary)
{
    return summary->answer.count;
}

ll_status ll_summary_get_sentence(const ll_summary *summary, size_t sentence, ll_sentence *ret)
{
    if (sentence >= summary->answer.count)
        return LL_NOT_FOUND;
    const struct ll_document *d = summary->document;
    const struct claim *c = &summary->answer.items[sentence];
    const struct doc_section *section = &d->sections[document_section(d, c->first)];
    *ret = (ll_sentence){.text = c->text,
                         .length = c->length,
                         .first_byte = c->first,
                         .last_byte = c->last,
                         .support = c->support,
                         .quoted = c->quoted,
                         .counted = c->counted,
                         .line = c->line,
                         .supported = claim_supported(c),
                         .window = c->window,
                         .file = d->titles.text + document_file(d, c->first)->name};
    if (section->parent != (size_t)(section - d->sections))
        ret->title = d->titles.text + section->title;
    document_pages(d, c->first, c->last, &ret->first_page, &ret->last_page);
    return LL_OK;
}
