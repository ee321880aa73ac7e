/* A summary for a person: sentences with their pages, the outline, the coverage line, the trace.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "console/human.h"
#include "repl/say.h"
#include "repl/summing.h"

enum { WORDS_A_PART = 5, LEAST_PARTS = 8 };

static void print_pages(struct output *output, const char *before, size_t first, size_t last,
                        const char *after)
{
    if (first && last > first)
        output_printf(output, "%spp. %zu-%zu%s", before, first, last, after);
    else if (first)
        output_printf(output, "%sp. %zu%s", before, first, after);
}

/* "[p. 3]"; of several files each sentence names its own. */
static void print_mark(const struct summing *summing, const ll_sentence *sentence, struct output *output)
{
    ll_place place = summing_place(summing, sentence->first_byte, sentence->last_byte);
    bool several = summing->document_info.files > 1;
    if (!sentence->supported)
        output_puts(output, " [unsupported]");
    if (several && place.first_page) {
        output_printf(output, " [%s, ", place.label);
        print_pages(output, "", place.first_page, place.last_page, "]");
    } else if (several) {
        output_printf(output, " [%s]", place.label);
    } else {
        print_pages(output, " [", place.first_page, place.last_page, "]");
    }
}

/* Sentences of one file run on; lines and what was counted stand alone. */
static const char *between(const ll_sentence *before, const ll_sentence *sentence)
{
    if (strcmp(before->file, sentence->file) != 0)
        return "\n\n";
    return before->line || sentence->line || before->counted ? "\n" : " ";
}

static void print_sentences(const struct summing *summing, struct output *output)
{
    size_t count = ll_summary_sentence_count(summing->summary), length = 0;
    ll_sentence before = {0}, sentence;
    if (!count) {
        const char *text = ll_summary_text(summing->summary, &length);
        output_write(output, text, length);
    }
    for (size_t i = 0; i < count; i++) {
        if (ll_summary_get_sentence(summing->summary, i, &sentence) != LL_OK)
            continue;
        if (before.file)
            output_puts(output, between(&before, &sentence));
        before = sentence;
        output_write(output, sentence.text, sentence.length);
        print_mark(summing, &sentence, output);
    }
    output_puts(output, "\n");
}

static bool same_title(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_part(const struct summing *summing, size_t index, ll_summary_node *ret)
{
    return ll_summary_get_node(summing->summary, index, ret) == LL_OK && summing_is_part(summing, ret);
}

static size_t count_parts(const struct summing *summing)
{
    size_t parts = 0;
    ll_summary_node node;
    for (size_t i = 0; i < ll_summary_node_count(summing->summary); i++)
        parts += is_part(summing, i, &node);
    return parts;
}

/* Hundreds of parts are no guide: the outline grows with the length that was asked for. */
static size_t most_parts(const struct summing *summing)
{
    size_t most = summing->wanted_words / WORDS_A_PART;
    return most > LEAST_PARTS ? most : LEAST_PARTS;
}

static void print_part(const ll_summary_node *node, const char *title, struct output *output)
{
    if (node->title && *node->title && !same_title(title, node->title))
        output_printf(output, "\n%s\n", node->title);
    output_puts(output, "  - ");
    for (size_t i = 0, from = 0; i <= node->length; i++) { /* lines stay lines */
        if (i < node->length && node->text[i] != '\n')
            continue;
        output_puts(output, from ? "\n    " : "");
        output_write(output, node->text + from, i - from);
        from = i + 1;
    }
    print_pages(output, " [", node->first_page, node->last_page, "]");
    output_puts(output, "\n");
}

/* The summary of a short text holds nearly all its parts: they are not said twice. */
static bool says_all_already(const struct summing *summing)
{
    size_t parts = 0, summary;
    (void)ll_summary_text(summing->summary, &summary);
    for (size_t i = 0; i < ll_summary_node_count(summing->summary); i++) {
        ll_summary_node node;
        parts += is_part(summing, i, &node) ? node.length : 0;
    }
    return parts * 2 <= summary * 3;
}

/* Logs and tables have no parts that would say anything of their own. */
static bool has_outline(const struct summing *summing)
{
    const char *kind = summing->document_info.kind;
    return ll_summary_node_count(summing->summary) >= 2 && strcmp(kind, "log") != 0 &&
           strcmp(kind, "table") != 0 && (summing->document_info.files > 1 || !says_all_already(summing));
}

/* Window parts in the order of the document, evenly spread where not all are shown; parts of one section
 * stand under one heading. */
static void print_outline(const struct summing *summing, struct output *output)
{
    size_t parts = count_parts(summing), most = most_parts(summing), seen = 0, shown = 0;
    const char *title = NULL;
    const char *name = summing->document_info.files > 1 ? "By document" : "Outline";
    if (!has_outline(summing))
        return;
    if (parts > most)
        output_printf(output, "\n%s (%zu of %zu parts; a longer --length shows more, --json all)\n", name,
                      most, parts);
    else
        output_printf(output, "\n%s\n", name);
    for (size_t i = 0; i < ll_summary_node_count(summing->summary); i++) {
        ll_summary_node node;
        if (!is_part(summing, i, &node) || (parts > most && seen++ * most < shown * parts))
            continue;
        print_part(&node, title, output);
        title = node.title;
        shown++;
    }
}

/* Without a model nobody knows its tokens: four bytes are taken for one. */
static const char *roughly(const struct summing *summing)
{
    return summing->model ? "" : "about ";
}

static const char *ending(size_t count)
{
    return count == 1 ? "" : "s";
}

static void print_coverage(const struct summing *summing, struct output *output)
{
    const ll_coverage *coverage = &summing->coverage;
    output_printf(output, "\nCoverage: %s%s of %s tokens read in %s window%s, %s of the text",
                  roughly(summing), human_count(coverage->read_tokens).text,
                  human_count(coverage->document_tokens).text, human_count(coverage->windows).text,
                  ending(coverage->windows), human_share(coverage->share).text);
    if (coverage->unread_pages)
        output_printf(output, "; %zu of %zu pages hold no text", coverage->unread_pages, coverage->pages);
    output_printf(output, "; method %s", summing_method_name(summing->plan_info.method));
    if (summing->model_name && summing_is_written(summing))
        output_printf(output, "; written by %s", summing->model_name);
    else
        output_puts(output, "; in the document's own words");
    output_puts(output, "\n");
}

void summing_print(const struct summing *summing, struct output *output)
{
    print_sentences(summing, output);
    print_outline(summing, output);
    print_coverage(summing, output);
}

void summing_trace(const struct summing *summing)
{
    for (size_t i = 0; i < ll_summary_node_count(summing->summary); i++) {
        ll_summary_node node;
        if (ll_summary_get_node(summing->summary, i, &node) != LL_OK)
            continue;
        ll_place place = summing_place(summing, node.first_byte, node.last_byte);
        say_error("trace: part %zu, level %d, goes into %zu, %s bytes %llu to %llu, pages %zu to %zu: %.*s",
                  i, node.level, node.parent, place.label, (unsigned long long)place.first_byte,
                  (unsigned long long)place.last_byte, place.first_page, place.last_page,
                  (int)(node.length > 3000 ? 3000 : node.length), node.text);
    }
}

void summing_print_plan(const struct summing *summing, struct output *output)
{
    const ll_plan_info *plan = &summing->plan_info;
    const ll_document_info *document = &summing->document_info;
    output_printf(output, "method    %s: %s\n", summing_method_name(plan->method),
                  plan->reason ? plan->reason : "");
    output_printf(output, "document  %s%s tokens, %s of text", roughly(summing),
                  human_count(plan->document_tokens).text, human_bytes(document->bytes).text);
    if (document->pages)
        output_printf(output, ", %s page%s", human_count(document->pages).text, ending(document->pages));
    output_printf(output, ", %s section%s\n", human_count(document->sections).text,
                  ending(document->sections));
    output_printf(output, "windows   %s of at most %s tokens, %s shared by neighbours\n",
                  human_count(plan->windows).text, human_count(plan->window_tokens).text,
                  human_count(plan->overlap_tokens).text);
    if (plan->calls)
        output_printf(
            output, "model     %s call%s, at most %s prompt tokens in all, %s level%s, context %s\n",
            human_count(plan->calls).text, ending(plan->calls), human_count(plan->prompt_tokens).text,
            human_count(plan->levels).text, ending(plan->levels), human_count(plan->context).text);
    else
        output_puts(output, "model     not used\n");
    if (!summing->model)
        return;
    ll_model_info model = {0};
    (void)ll_model_get_info(summing->model, &model);
    output_printf(output, "memory    %s of keys and values beside %s of weights\n",
                  human_bytes(plan->memory_bytes).text, human_bytes(model.file_bytes).text);
    if (summing->seconds > 0)
        output_printf(output, "time      at most about %s on this machine, as a short trial tells\n",
                      human_seconds(summing->seconds).text);
}
