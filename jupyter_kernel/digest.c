/* Summaries and plans of documents as bundles: words, pages, what was read, where it stands.
 * SPDX-License-Identifier: Apache-2.0 */
#include "jupyter_kernel/digest.h"

#include <stdlib.h>
#include <string.h>

#include "console/human.h"
#include "console/sampling.h"
#include "jupyter_kernel/picture.h"

enum { MOST_PARTS = 24, MOST_PASSAGE = 4000 };

static const char *method_name(ll_method method)
{
    const char *const *names = option_row(OPTION_METHOD)->choices; /* in the order of ll_method */
    return (unsigned)method <= LL_METHOD_EXTRACTIVE ? names[method] : "unknown";
}

static bool make_plan(struct turn *turn, const ll_document *document, const ll_plan_options *options,
                      struct digest *digest)
{
    ll_error error = {0};
    if (options->method != LL_METHOD_EXTRACTIVE && !talk_open_model(turn))
        return false;
    ll_model *model = options->method == LL_METHOD_EXTRACTIVE ? NULL : turn->talk->model;
    ll_run run = turn_run(turn);
    if (ll_plan_make(document, model, options, &run, &digest->plan, &error) == LL_OK)
        return ll_plan_get_info(digest->plan, &digest->info) == LL_OK;
    output_fail_error(turn->output, FAIL_WORK, &error);
    return false;
}

/* ---- a summary ---- */

static void pages(struct text *out, const char *before, size_t first, size_t last, const char *after)
{
    if (first && last > first)
        text_printf(out, "%spp. %zu-%zu%s", before, first, last, after);
    else if (first)
        text_printf(out, "%sp. %zu%s", before, first, after);
}

static json_t *pair(uint64_t first, uint64_t last)
{
    return json_pack("[I, I]", (json_int_t)first, (json_int_t)last);
}

/* Within the file that holds the stretch, not within the text that joins all files. */
static json_t *bytes_of(const ll_document *document, uint64_t first, uint64_t last)
{
    ll_place place = {.first_byte = first, .last_byte = last};
    (void)ll_document_get_place(document, first, last, &place);
    return pair(place.first_byte, place.last_byte);
}

/* The passage of the document that a sentence rests on; a long one is shown to its first part. */
static json_t *passage(const ll_document *document, const ll_sentence *sentence, const char *name)
{
    size_t length;
    const char *text = ll_document_text(document, &length);
    size_t first = sentence->first_byte < length ? (size_t)sentence->first_byte : length;
    size_t last = sentence->last_byte < length ? (size_t)sentence->last_byte : length;
    json_t *row = json_object();
    bool cut = last - first > MOST_PASSAGE;
    json_put_bytes(row, "sentence", sentence->text, sentence->length);
    json_put_bytes(row, "passage", text + first, cut ? MOST_PASSAGE : last - first);
    json_put_bool(row, "cut", cut);
    json_put_string(row, "document", name);
    json_put(row, "pages", pair(sentence->first_page, sentence->last_page));
    json_put(row, "bytes", bytes_of(document, sentence->first_byte, sentence->last_byte));
    return row;
}

struct page { /* a summary on its way into a bundle */
    struct text plain, markdown;
    json_t *object;
};

static void add_sentence(struct page *page, const ll_document *document, const ll_sentence *sentence,
                         size_t number, json_t *rows)
{
    text_append(&page->plain, sentence->text, sentence->length);
    text_printf(&page->plain, " [%zu", number);
    pages(&page->plain, ", ", sentence->first_page, sentence->last_page, "");
    text_puts(&page->plain, "] ");
    markdown_append(&page->markdown, sentence->text, sentence->length);
    text_printf(&page->markdown, " <sup>%zu", number);
    pages(&page->markdown, ", ", sentence->first_page, sentence->last_page, "");
    text_puts(&page->markdown, "</sup> ");
    json_t *row = json_object();
    json_put_bytes(row, "text", sentence->text, sentence->length);
    json_put(row, "pages", pair(sentence->first_page, sentence->last_page));
    json_put(row, "bytes", bytes_of(document, sentence->first_byte, sentence->last_byte));
    json_put_number(row, "support", (double)sentence->support);
    json_put_bool(row, "quoted", sentence->quoted);
    json_array_append_new(rows, row);
}

static void add_sentences(struct page *page, struct turn *turn, const ll_summary *summary,
                          const ll_document *document, const char *name)
{
    json_t *rows = json_array(), *passages = json_array();
    size_t count = ll_summary_sentence_count(summary), length = 0;
    for (size_t i = 0; i < count; i++) {
        ll_sentence sentence;
        if (ll_summary_get_sentence(summary, i, &sentence) != LL_OK)
            continue;
        json_array_append_new(passages, passage(document, &sentence, name));
        add_sentence(page, document, &sentence, json_array_size(passages), rows);
    }
    const char *text = ll_summary_text(summary, &length);
    if (!count) {
        text_append(&page->plain, text, length);
        markdown_append(&page->markdown, text, length);
    }
    json_put_bytes(page->object, "text", text, length);
    json_put(page->object, "sentences", rows);
    json_decref(turn->talk->passages);
    turn->talk->passages = passages;
}

static size_t count_parts(const ll_summary *summary)
{
    size_t parts = 0;
    ll_summary_node node;
    for (size_t i = 0; i < ll_summary_node_count(summary); i++)
        parts += ll_summary_get_node(summary, i, &node) == LL_OK && node.level == 0;
    return parts;
}

static json_t *node_json(const ll_document *document, const ll_summary_node *node)
{
    json_t *row = json_object();
    json_put_count(row, "level", (uint64_t)node->level);
    json_put_count(row, "parent", node->parent);
    json_put_string(row, "title", node->title);
    json_put_bytes(row, "text", node->text, node->length);
    json_put(row, "pages", pair(node->first_page, node->last_page));
    json_put(row, "bytes", bytes_of(document, node->first_byte, node->last_byte));
    return row;
}

static void add_part(struct page *page, const ll_summary_node *node)
{
    text_puts(&page->plain, "\n- ");
    text_puts(&page->markdown, "\n- ");
    if (node->title && *node->title) {
        text_printf(&page->plain, "%s: ", node->title);
        text_puts(&page->markdown, "**");
        markdown_append(&page->markdown, node->title, strlen(node->title));
        text_puts(&page->markdown, "** ");
    }
    text_append(&page->plain, node->text, node->length);
    markdown_append(&page->markdown, node->text, node->length);
    pages(&page->plain, " [", node->first_page, node->last_page, "]");
    pages(&page->markdown, " <sup>", node->first_page, node->last_page, "</sup>");
}

/* Parts in the order of the document, evenly spread where not all are shown; JSON has all. */
static void add_outline(struct page *page, const ll_summary *summary, const ll_document *document)
{
    size_t parts = count_parts(summary), shown = 0, seen = 0;
    size_t most = parts < MOST_PARTS ? parts : MOST_PARTS;
    json_t *rows = json_array();
    if (parts > 1) {
        text_printf(&page->plain, "\n\nOutline, %zu of %zu parts", most, parts);
        text_printf(&page->markdown, "\n\n**Outline**, %zu of %zu parts\n", most, parts);
    }
    for (size_t i = 0; i < ll_summary_node_count(summary); i++) {
        ll_summary_node node;
        if (ll_summary_get_node(summary, i, &node) != LL_OK)
            continue;
        json_array_append_new(rows, node_json(document, &node));
        if (node.level || parts < 2 || seen++ * most < shown * parts)
            continue;
        add_part(page, &node);
        shown++;
    }
    json_put(page->object, "outline", rows);
}

static void add_coverage(struct page *page, const struct turn *turn, const ll_summary *summary,
                         const ll_plan_info *plan)
{
    ll_coverage coverage = {0};
    struct text line = {0};
    ll_summary_get_coverage(summary, &coverage);
    text_printf(&line, "%s of %s tokens read in %s window%s, %s of the text",
                human_count(coverage.read_tokens).text, human_count(coverage.document_tokens).text,
                human_count(coverage.windows).text, coverage.windows == 1 ? "" : "s",
                human_share(coverage.share).text);
    if (coverage.unread_pages)
        text_printf(&line, "; %zu of %zu pages hold no text", coverage.unread_pages, coverage.pages);
    text_printf(&line, "; method %s", method_name(plan->method));
    if (turn->talk->model && plan->method != LL_METHOD_EXTRACTIVE)
        text_printf(&line, "; written by %s", text_string(&turn->talk->label));
    text_printf(&page->plain, "\n\nCoverage: %s", text_string(&line));
    text_puts(&page->markdown, "\n\n*Coverage:* ");
    markdown_append(&page->markdown, text_string(&line), line.length);
    text_fini(&line);
    json_t *row = json_object();
    json_put_count(row, "document_tokens", coverage.document_tokens);
    json_put_count(row, "read_tokens", coverage.read_tokens);
    json_put_count(row, "document_bytes", coverage.document_bytes);
    json_put_count(row, "read_bytes", coverage.read_bytes);
    json_put_count(row, "windows", coverage.windows);
    json_put_count(row, "pages", coverage.pages);
    json_put_count(row, "unread_pages", coverage.unread_pages);
    json_put_number(row, "share", coverage.share);
    json_put(page->object, "coverage", row);
    json_put_string(page->object, "method", method_name(plan->method));
}

static void add_note(struct page *page, const char *note, json_t *notes)
{
    text_printf(&page->plain, "\nNote: %s", note);
    text_puts(&page->markdown, "\n\n*Note:* ");
    markdown_append(&page->markdown, note, strlen(note));
    json_array_append_new(notes, json_make_string(note));
}

/* more: one further note; NULL: none. */
static void add_notes(struct page *page, const ll_document *document, const char *more)
{
    json_t *notes = json_array();
    for (size_t i = 0; i < ll_document_note_count(document); i++)
        add_note(page, ll_document_note(document, i), notes);
    if (more)
        add_note(page, more, notes);
    json_put(page->object, "notes", notes);
}

/* Why answers were not kept, in `words`; NULL when they were. */
static const char *unkept_note(const ll_summary *summary, struct text *words)
{
    ll_summary_stats stats = {0};
    ll_summary_get_stats(summary, &stats);
    if (!stats.unkept)
        return NULL;
    text_printf(words, "the model's answers are not kept: %s", stats.unkept);
    return text_string(words);
}

static json_t *page_bundle(struct page *page)
{
    json_t *bundle = bundle_new(text_string(&page->plain), page->plain.length);
    bundle_add(bundle, "text/markdown", &page->markdown);
    json_put(bundle, "application/json", page->object);
    text_fini(&page->plain);
    text_fini(&page->markdown);
    return bundle;
}

static void record(struct turn *turn, const ll_summary *summary)
{
    ll_summary_stats stats = {0};
    ll_coverage coverage = {0};
    ll_summary_get_stats(summary, &stats);
    ll_summary_get_coverage(summary, &coverage);
    recorder_tokens(turn->talk->recorder, stats.prompt_tokens, stats.generated_tokens);
    recorder_coverage(turn->talk->recorder, coverage.share);
    talk_record(turn);
}

bool digest_make(struct turn *turn, const ll_document *document, const ll_plan_options *wanted,
                 struct digest *digest)
{
    ll_summary_options options;
    ll_error error = {0};
    struct text journal = {0};
    if (!make_plan(turn, document, wanted, digest))
        return false;
    ll_summary_options_init(&options);
    options.journal = talk_journal(turn->talk, &journal);
    options.journal_limit = settings_count(&turn->talk->settings, OPTION_CACHE_LIMIT, 0);
    options.width = (size_t)settings_count(&turn->talk->settings, OPTION_WIDTH, 0);
    options.cache_type = cache_type_of(&turn->talk->settings);
    options.sampling = talk_sampling(turn->talk);
    ll_model *model = digest->info.method == LL_METHOD_EXTRACTIVE ? NULL : turn->talk->model;
    if (model)
        recorder_plan(turn->talk->recorder, &digest->info, options.width);
    ll_run run = turn_run(turn);
    ll_status status = ll_summarize(model, digest->plan, &options, &run, &digest->summary, &error);
    text_fini(&journal);
    if (status == LL_OK && model)
        record(turn, digest->summary);
    else if (status != LL_OK)
        output_fail_error(turn->output, FAIL_WORK, &error);
    return status == LL_OK;
}

void digest_fini(struct digest *digest)
{
    ll_summary_free(digest->summary);
    ll_plan_free(digest->plan);
    *digest = (struct digest){0};
}

bool digest_summarise(struct turn *turn, const ll_document *document, const char *name, json_t **ret)
{
    ll_plan_options options = plan_options_of(&turn->talk->settings);
    struct digest digest = {0};
    bool ok = digest_make(turn, document, &options, &digest);
    if (ok) {
        struct page page = {.object = json_object()};
        struct text words = {0};
        json_put_string(page.object, "document", name);
        add_sentences(&page, turn, digest.summary, document, name);
        add_outline(&page, digest.summary, document);
        add_coverage(&page, turn, digest.summary, &digest.info);
        add_notes(&page, document, unkept_note(digest.summary, &words));
        text_fini(&words);
        *ret = page_bundle(&page);
    }
    digest_fini(&digest);
    return ok;
}

/* ---- a plan ---- */

static void add_row(struct page *page, const char *name, const struct text *words)
{
    text_printf(&page->plain, "%-9s %s\n", name, text_string(words));
    text_printf(&page->markdown, "| %s | ", name);
    markdown_append(&page->markdown, text_string(words), words->length);
    text_puts(&page->markdown, " |\n");
}

static void plan_rows(struct page *page, const ll_plan_info *plan, const ll_document_info *document,
                      const char *name)
{
    struct text words[5] = {{0}};
    text_printf(&words[0], "%s: %s", method_name(plan->method), plan->reason ? plan->reason : "");
    text_printf(&words[1], "%s: %s tokens, %s of text", name, human_count(plan->document_tokens).text,
                human_bytes(document->bytes).text);
    if (document->pages)
        text_printf(&words[1], ", %s pages", human_count(document->pages).text);
    text_printf(&words[2], "%s of at most %s tokens, %s shared by neighbours",
                human_count(plan->windows).text, human_count(plan->window_tokens).text,
                human_count(plan->overlap_tokens).text);
    if (plan->calls)
        text_printf(&words[3], "%s calls, at most %s prompt tokens in all, context %s",
                    human_count(plan->calls).text, human_count(plan->prompt_tokens).text,
                    human_count(plan->context).text);
    else
        text_puts(&words[3], "not used");
    text_printf(&words[4], "%s of keys and values", human_bytes(plan->memory_bytes).text);
    static const char *const names[] = {"method", "document", "windows", "model", "memory"};
    text_puts(&page->markdown, "| plan | |\n|---|---|\n");
    for (size_t i = 0; i < 5; i++) {
        add_row(page, names[i], &words[i]);
        text_fini(&words[i]);
    }
}

static void plan_json(json_t *row, const ll_plan_info *plan)
{
    json_put_string(row, "method", method_name(plan->method));
    json_put_string(row, "reason", plan->reason);
    json_put_count(row, "document_tokens", plan->document_tokens);
    json_put_count(row, "windows", plan->windows);
    json_put_count(row, "window_tokens", plan->window_tokens);
    json_put_count(row, "overlap_tokens", plan->overlap_tokens);
    json_put_count(row, "calls", plan->calls);
    json_put_count(row, "prompt_tokens", plan->prompt_tokens);
    json_put_count(row, "context", plan->context);
    json_put_count(row, "memory_bytes", plan->memory_bytes);
}

static void show_windows(struct turn *turn, const ll_plan *plan, size_t windows, uint64_t bytes)
{
    enum { MOST_SPANS = 2000 };
    size_t step = windows / MOST_SPANS + 1, count = 0;
    struct picture_span *spans = calloc(windows / step + 1, sizeof *spans);
    struct text picture = {0}, title = {0};
    for (size_t i = 0; spans && i < windows; i += step) {
        ll_chunk chunk;
        if (ll_plan_get_chunk(plan, i, &chunk) == LL_OK)
            spans[count++] = (struct picture_span){chunk.first_byte, chunk.last_byte};
    }
    text_printf(&title, "%s windows along the document%s", human_count(windows).text,
                step > 1 ? " (some of them drawn)" : "");
    picture_spans(&picture, text_string(&title), spans, count, bytes);
    if (spans && !picture.failed)
        output_picture(turn->output, text_string(&title), &picture);
    text_fini(&picture);
    text_fini(&title);
    free(spans);
}

bool digest_plan(struct turn *turn, const ll_document *document, const char *name, json_t **ret)
{
    ll_plan_options options = plan_options_of(&turn->talk->settings);
    struct digest digest = {0};
    ll_document_info about = {0};
    bool ok = make_plan(turn, document, &options, &digest);
    if (ok) {
        struct page page = {.object = json_object()};
        ll_document_get_info(document, &about);
        plan_rows(&page, &digest.info, &about, name);
        plan_json(page.object, &digest.info);
        add_notes(&page, document, NULL);
        *ret = page_bundle(&page);
        show_windows(turn, digest.plan, digest.info.windows, about.bytes);
    }
    digest_fini(&digest);
    return ok;
}
