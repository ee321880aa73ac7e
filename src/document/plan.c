/* What will be computed before it is: method, windows, calls, tokens, memory.
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/plan.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/options.h"
#include "document/pick.h"
#include "document/prompt.h"

enum {
    DEFAULT_WORDS = 200,
    SMALL_WINDOW = 600, /* tokens; larger ones send small models in circles (measured) */
    SMALL_PART = 70,    /* tokens of output for three sentences */
    LABEL_TOKENS = 48,  /* of a child's label in a merge */
    BATCH_WIDTH = 8,    /* windows taken side by side when memory is predicted */
    MOST_OVERLAP = 200,
};

static const uint64_t billion = 1000000000;

struct planner {
    const struct ll_document *document;
    const struct llm *llm;
    const ll_plan_options *options;
    const ll_run *run;
    struct ll_plan *plan;
    size_t context;
    size_t part_overhead, merge_overhead; /* tokens of a prompt without its text */
    ll_error *error;
};

void ll_plan_options_init(ll_plan_options *options)
{
    *options = (ll_plan_options){.size = sizeof *options, .overlap_tokens = (size_t)-1};
}

/* ---- what is known of the model -------------------------------------------------------------- */

static ll_status measure_prompt(const struct planner *p, enum prompt_kind kind, size_t words, size_t *ret)
{
    struct prompt prompt = {
        .kind = kind, .focus = p->plan->focus, .words = words, .language = p->plan->language};
    struct token_list tokens = {0};
    ll_status status = prompt_encode(&prompt, p->llm, "", 0, &tokens, p->error);
    *ret = tokens.count;
    token_list_fini(&tokens);
    return status;
}

static ll_status measure_model(struct planner *p)
{
    const ll_plan_options *options = p->options;
    size_t refine = 0;
    p->context = options->context ? options->context : p->llm->context;
    if (p->context > p->llm->context)
        return error_set(p->error, LL_ARGUMENT, "plan",
                         "a context of %zu tokens is more than the %zu this model was "
                         "trained for; longer texts are read in windows",
                         p->context, p->llm->context);
    p->plan->small = p->llm->parameters < billion;
    if (!p->llm->chat)
        return LL_OK;
    LL_TRY(measure_prompt(p, PROMPT_PART, p->plan->small ? 0 : p->plan->words, &p->part_overhead));
    LL_TRY(measure_prompt(p, PROMPT_MERGE, p->plan->words, &p->merge_overhead));
    LL_TRY(measure_prompt(p, PROMPT_REFINE, p->plan->words, &refine));
    p->merge_overhead = refine > p->merge_overhead ? refine : p->merge_overhead;
    return LL_OK;
}

/* ---- windows --------------------------------------------------------------------------------- */

static ll_status cut(struct planner *p, size_t tokens, bool whole)
{
    struct ll_plan *plan = p->plan;
    size_t overlap = p->options->overlap_tokens;
    if (overlap == (size_t)-1)
        overlap = tokens / 10 < MOST_OVERLAP ? tokens / 10 : MOST_OVERLAP;
    if (!whole && overlap * 2 > tokens)
        return error_set(p->error, LL_ARGUMENT, "plan",
                         "an overlap of %zu tokens is more than half of a window (%zu)", overlap, tokens);
    struct chunking job = {p->document, p->llm, tokens, whole ? 0 : overlap, whole, p->run};
    window_list_fini(&plan->windows);
    LL_TRY(chunk_make(&job, &plan->windows, &plan->info.document_tokens, p->error));
    plan->info.window_tokens = tokens;
    plan->info.overlap_tokens = job.overlap;
    plan->info.windows = plan->windows.count;
    return LL_OK;
}

static ll_status too_small(const struct planner *p, size_t needed)
{
    return error_set(p->error, LL_CONTEXT_FULL, "plan",
                     "a context of %zu tokens is too small for this: %zu are needed", p->context, needed);
}

static size_t output_tokens(const struct planner *p)
{
    return p->plan->words + p->plan->words / 2 + 32;
}

static ll_status plan_select(struct planner *p)
{
    struct ll_plan *plan = p->plan;
    size_t fixed = p->part_overhead + BUDGET_GUARD + SMALL_PART;
    size_t wanted = p->options->window_tokens ? p->options->window_tokens : SMALL_WINDOW;
    if (p->context < fixed + WINDOW_LEAST || (p->options->window_tokens && p->context < fixed + wanted))
        return too_small(p, fixed + (p->options->window_tokens ? wanted : WINDOW_LEAST));
    size_t tokens = p->context - fixed < wanted ? p->context - fixed : wanted;
    plan->info.part_tokens = SMALL_PART;
    plan->info.context = fixed + tokens;
    plan->info.levels = 1;
    LL_TRY(cut(p, tokens, false));
    plan->info.calls = plan->windows.count;
    return LL_OK;
}

static ll_status plan_whole(struct planner *p)
{
    struct ll_plan *plan = p->plan;
    size_t output = plan->small ? SMALL_PART : output_tokens(p);
    LL_TRY(cut(p, SIZE_MAX, true));
    size_t tokens = plan->windows.items[0].tokens, needed = tokens + p->part_overhead + BUDGET_GUARD + output;
    if (needed > p->context)
        return error_set(
            p->error, LL_CONTEXT_FULL, "plan",
            "the document needs %zu tokens with prompt and answer, and the context holds %zu: use windows",
            needed, p->context);
    plan->info.window_tokens = tokens;
    plan->info.part_tokens = output;
    plan->info.context = needed;
    plan->info.levels = 1;
    plan->info.calls = 1;
    return LL_OK;
}

/* Large windows hide facts in their middle: a quarter to half of the trained length still works. */
static size_t usual_window(const struct planner *p, size_t most)
{
    size_t usual = p->llm->parameters < 3 * billion ? 8192 : 16384;
    if (p->plan->small)
        usual = SMALL_WINDOW;
    size_t wanted = p->options->window_tokens ? p->options->window_tokens : usual;
    return wanted < most ? wanted : most;
}

static ll_status plan_merged(struct planner *p, bool refine)
{
    struct ll_plan *plan = p->plan;
    size_t overhead = p->merge_overhead > p->part_overhead ? p->merge_overhead : p->part_overhead, needed,
           merges = 0;
    struct budget_request request = {p->context, overhead, 0, LABEL_TOKENS, output_tokens(p)};
    if (!budget_make(&request, &plan->budget, &needed))
        return too_small(p, needed);
    size_t most = plan->budget.window - (refine ? plan->budget.output + LABEL_TOKENS : 0);
    if (most < WINDOW_LEAST || plan->budget.window < most)
        return too_small(p, needed + 2 * WINDOW_LEAST);
    if (p->options->window_tokens > most)
        return too_small(p, p->context + p->options->window_tokens - most);
    LL_TRY(cut(p, usual_window(p, most), false));
    plan->info.part_tokens = plan->budget.output;
    plan->info.context = p->context;
    plan->info.levels = refine ? 1 : 1 + budget_levels(plan->windows.count, plan->budget.fan_out, &merges);
    plan->info.calls = plan->windows.count + merges;
    plan->info.prompt_tokens = merges * (p->context - plan->budget.output);
    if (refine)
        plan->info.prompt_tokens = plan->windows.count * (plan->budget.output + LABEL_TOKENS);
    return LL_OK;
}

static ll_status plan_extractive(struct planner *p)
{
    p->plan->needs_model = false;
    LL_TRY(cut(p, p->options->window_tokens ? p->options->window_tokens : SMALL_WINDOW, false));
    p->plan->info.levels = 1;
    return LL_OK;
}

/* ---- choice ---------------------------------------------------------------------------------- */

static bool fits_whole(const struct planner *p)
{
    return p->plan->info.document_tokens + p->part_overhead + BUDGET_GUARD + output_tokens(p) <= p->context;
}

/* Windows of logs, tables and code are left out of what the model reads. Returns how many remain. */
static size_t leave_out_lines(const struct planner *p)
{
    size_t asked = 0;
    for (size_t i = 0; i < p->plan->windows.count; i++) {
        struct window *w = &p->plan->windows.items[i];
        w->quoted = pick_is_of_lines(document_file(p->document, w->first));
        asked += !w->quoted;
    }
    return asked;
}

/* Also a short text is read so: asked for the whole of one, a small model writes a thin and partly wrong
 * sentence where key sentences beside its own give the length that was asked for (measured;
 * docs/benchmarks/documents.md). */
static ll_status choose_small(struct planner *p)
{
    struct ll_plan *plan = p->plan;
    plan->info.method = LL_METHOD_SELECT;
    LL_TRY(plan_select(p));
    size_t asked = leave_out_lines(p);
    plan->info.calls = asked;
    if (asked == 0) {
        plan->info.method = LL_METHOD_EXTRACTIVE;
        strbuf_puts(&plan->reason, "logs, tables and code say what they say: their lines are quoted and "
                                   "counted, and a model of this "
                                   "size has nothing to add");
        return plan_extractive(p);
    }
    strbuf_printf(
        &plan->reason,
        "a model of %.0f million parameters reads well only in short windows and cannot merge summaries: "
        "each "
        "window is summarised, each sentence is checked against it, and the answer is chosen from those; the "
        "words are checked, their truth is not guaranteed",
        (double)p->llm->parameters / 1e6);
    if (asked < plan->windows.count)
        strbuf_printf(&plan->reason, "; %zu windows of logs, tables and code are quoted from only",
                      plan->windows.count - asked);
    return LL_OK;
}

static ll_status choose_large(struct planner *p)
{
    p->plan->info.method = LL_METHOD_TREE;
    LL_TRY(plan_merged(p, false));
    if (fits_whole(p) && !p->options->window_tokens) {
        p->plan->info.method = LL_METHOD_WHOLE;
        strbuf_puts(&p->plan->reason, "the whole text fits into one call");
        return plan_whole(p);
    }
    strbuf_printf(&p->plan->reason,
                  "the text is longer than one call holds (%zu tokens): windows are summarised and the "
                  "summaries merged, up to %zu at a time",
                  p->context, p->plan->budget.fan_out);
    return LL_OK;
}

static ll_status choose(struct planner *p)
{
    if (!p->llm || !p->llm->chat) {
        p->plan->info.method = LL_METHOD_EXTRACTIVE;
        strbuf_puts(&p->plan->reason,
                    p->llm ? "the model has no chat format that is known here, so it cannot be asked: "
                             "key sentences are quoted"
                           : "no model is used: key sentences are quoted");
        return plan_extractive(p);
    }
    return p->plan->small ? choose_small(p) : choose_large(p);
}

static ll_status obey(struct planner *p)
{
    struct ll_plan *plan = p->plan;
    plan->info.method = p->options->method;
    strbuf_puts(&plan->reason, "this method was asked for");
    if (p->options->method == LL_METHOD_EXTRACTIVE)
        return plan_extractive(p);
    if (!p->llm)
        return error_set(p->error, LL_ARGUMENT, "plan",
                         "this method needs a model; key sentences (extractive) need none");
    if (!p->llm->chat)
        return error_set(p->error, LL_UNSUPPORTED, "plan",
                         "the model has no chat format that is known here, so it "
                         "cannot be asked for summaries; use the method extractive");
    switch (p->options->method) {
    case LL_METHOD_WHOLE:
        return plan_whole(p);
    case LL_METHOD_SELECT:
        return plan_select(p);
    case LL_METHOD_TREE:
        return plan_merged(p, false);
    case LL_METHOD_REFINE:
        return plan_merged(p, true);
    default:
        return error_set(p->error, LL_ARGUMENT, "plan", "%d is no method", (int)p->options->method);
    }
}

/* ---- totals ---------------------------------------------------------------------------------- */

static void add_totals(struct planner *p)
{
    struct ll_plan *plan = p->plan;
    ll_plan_info *info = &plan->info;
    for (size_t i = 0; i < plan->windows.count && plan->needs_model; i++)
        if (!plan->windows.items[i].quoted)
            info->prompt_tokens += plan->windows.items[i].tokens + p->part_overhead + BUDGET_GUARD;
    if (plan->needs_model) {
        size_t width = info->method == LL_METHOD_REFINE ? 1
                       : info->calls < BATCH_WIDTH      ? info->calls
                                                        : BATCH_WIDTH;
        info->memory_bytes = p->llm->cache_bytes(p->llm->self, info->context, width, LL_F16);
    }
    info->answer_tokens = (uint64_t)info->calls * info->part_tokens;
    info->reason = strbuf_text(&plan->reason);
}

static ll_status copy_wish(const struct planner *p, const char *text, char **ret)
{
    if (!text || !*text)
        return LL_OK;
    *ret = mem_copy_text(text, strlen(text));
    return *ret ? LL_OK : error_nomem(p->error, "plan", strlen(text));
}

static ll_status fill(struct planner *p)
{
    struct ll_plan *plan = p->plan;
    plan->document = p->document;
    plan->needs_model = true;
    plan->label_tokens = LABEL_TOKENS;
    plan->words = p->options->summary_words ? p->options->summary_words : DEFAULT_WORDS;
    LL_TRY(copy_wish(p, p->options->focus, &plan->focus));
    LL_TRY(copy_wish(p, p->options->language, &plan->language));
    if (p->llm)
        LL_TRY(measure_model(p));
    LL_TRY(p->options->method == LL_METHOD_AUTO ? choose(p) : obey(p));
    add_totals(p);
    return plan->reason.failed ? error_nomem(p->error, "plan", 256) : LL_OK;
}

ll_status plan_make(const struct ll_document *document, const struct llm *llm, const ll_plan_options *options,
                    const ll_run *run, ll_plan **ret, ll_error *error)
{
    ll_plan_options usual;
    ll_plan_options_init(&usual);
    if (options && options->size != sizeof *options)
        return error_set(error, LL_VERSION, "plan",
                         "plan options of %zu bytes, %zu known: call ll_plan_options_init", options->size,
                         sizeof *options);
    LL_TRY(run_check(run, error));
    struct planner p = {.document = document,
                        .llm = llm,
                        .options = options ? options : &usual,
                        .run = run,
                        .plan = mem_new(1, sizeof *p.plan),
                        .error = error};
    if (!p.plan)
        return error_nomem(error, "plan", sizeof *p.plan);
    ll_status status = fill(&p);
    if (status == LL_OK)
        *ret = p.plan;
    else
        ll_plan_free(p.plan);
    return status;
}

void ll_plan_free(ll_plan *plan)
{
    if (!plan)
        return;
    mem_free(plan->focus);
    mem_free(plan->language);
    window_list_fini(&plan->windows);
    strbuf_fini(&plan->reason);
    mem_free(plan);
}

ll_status ll_plan_get_info(const ll_plan *plan, ll_plan_info *ret)
{
    *ret = plan->info;
    return LL_OK;
}

ll_status ll_plan_get_chunk(const ll_plan *plan, size_t chunk, ll_chunk *ret)
{
    if (chunk >= plan->windows.count)
        return LL_NOT_FOUND;
    const struct window *w = &plan->windows.items[chunk];
    *ret = (ll_chunk){.text = plan->document->text.text + w->text_first,
                      .length = w->last - w->text_first,
                      .tokens = w->tokens,
                      .section = w->section,
                      .first_byte = w->first,
                      .last_byte = w->last};
    document_pages(plan->document, w->first, w->last, &ret->first_page, &ret->last_page);
    return LL_OK;
}
