/* A summary for programs: JSON of the plan, the sentences, the outline, coverage and costs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/documents.h"
#include "repl/summing.h"

/* Pages and bytes within the file; "of" says whether they are the file's own or those of its text. */
static void put_place(json_t *row, const struct summing *summing, uint64_t first, uint64_t last)
{
    ll_place place = summing_place(summing, first, last);
    json_object_set_new(row, "pages",
                        json_pack("[I,I]", (json_int_t)place.first_page, (json_int_t)place.last_page));
    json_object_set_new(row, "bytes",
                        json_pack("[I,I]", (json_int_t)place.first_byte, (json_int_t)place.last_byte));
    json_put_string(row, "of", place.in_file ? "file" : "text");
    json_put_string(row, "file", place.name);
}

static json_t *sentences_json(const struct summing *summing)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < ll_summary_sentence_count(summing->summary); i++) {
        ll_sentence sentence;
        if (ll_summary_get_sentence(summing->summary, i, &sentence) != LL_OK)
            continue;
        json_t *row = json_object();
        json_put_text(row, "text", sentence.text, sentence.length);
        put_place(row, summing, sentence.first_byte, sentence.last_byte);
        json_put_string(row, "title", sentence.title);
        json_put_count(row, "window", sentence.window);
        json_put_bool(row, "supported", sentence.supported);
        json_put_number(row, "support", (double)sentence.support);
        json_put_bool(row, "quoted", sentence.quoted);
        json_put_bool(row, "counted", sentence.counted);
        json_array_append_new(rows, row);
    }
    return rows;
}

json_t *summing_node_json(const struct summing *summing, size_t node)
{
    ll_summary_node part = {0};
    json_t *row = json_object();
    if (ll_summary_get_node(summing->summary, node, &part) != LL_OK)
        return row;
    json_put_count(row, "level", (uint64_t)part.level);
    json_put_count(row, "parent", part.parent);
    json_put_string(row, "title", part.title);
    json_put_text(row, "text", part.text, part.length);
    json_put_bool(row, "quoted", part.quoted);
    put_place(row, summing, part.first_byte, part.last_byte);
    bool several = summing->document_info.files > 1 && part.parent == node;
    if (several) { /* the whole is of no one file */
        json_object_del(row, "file");
        json_object_del(row, "of");
    }
    return row;
}

static json_t *outline_json(const struct summing *summing)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < ll_summary_node_count(summing->summary); i++)
        json_array_append_new(rows, summing_node_json(summing, i));
    return rows;
}

static json_t *coverage_json(const struct summing *summing)
{
    const ll_coverage *coverage = &summing->coverage;
    json_t *row = json_object();
    json_put_bool(row, "tokens_estimated", !summing->model);
    json_put_count(row, "document_tokens", coverage->document_tokens);
    json_put_count(row, "read_tokens", coverage->read_tokens);
    json_put_count(row, "source_bytes", summing->document_info.source_bytes);
    json_put_count(row, "document_bytes", coverage->document_bytes);
    json_put_count(row, "read_bytes", coverage->read_bytes);
    json_put_count(row, "windows", coverage->windows);
    json_put_count(row, "pages", coverage->pages);
    json_put_count(row, "unread_pages", coverage->unread_pages);
    json_put_number(row, "share", coverage->share);
    return row;
}

static json_t *stats_json(const ll_summary_stats *stats)
{
    json_t *row = json_object();
    json_put_count(row, "calls", stats->calls);
    json_put_count(row, "reused", stats->reused);
    json_put_count(row, "prompt_tokens", stats->prompt_tokens);
    json_put_count(row, "generated_tokens", stats->generated_tokens);
    json_put_count(row, "looped", stats->looped);
    json_put_count(row, "fallbacks", stats->fallbacks);
    json_put_number(row, "seconds", stats->seconds);
    return row;
}

json_t *summing_plan_json(const struct summing *summing)
{
    const ll_plan_info *plan = &summing->plan_info;
    json_t *row = json_object();
    json_put_string(row, "method", summing_method_name(plan->method));
    json_put_string(row, "reason", plan->reason);
    json_put_count(row, "document_tokens", plan->document_tokens);
    json_put_bool(row, "tokens_estimated", !summing->model);
    json_put_count(row, "windows", plan->windows);
    json_put_count(row, "window_tokens", plan->window_tokens);
    json_put_count(row, "overlap_tokens", plan->overlap_tokens);
    json_put_count(row, "levels", plan->levels);
    json_put_count(row, "calls", plan->calls);
    json_put_count(row, "prompt_tokens", plan->prompt_tokens);
    json_put_count(row, "part_tokens", plan->part_tokens);
    json_put_count(row, "context", plan->context);
    json_put_count(row, "answer_tokens", plan->answer_tokens);
    json_put_count(row, "memory_bytes", plan->memory_bytes);
    if (summing->seconds > 0)
        json_put_number(row, "seconds", summing->seconds);
    return row;
}

json_t *summing_json(const struct summing *summing, bool with_outline)
{
    json_t *object = json_object();
    size_t length = 0;
    const char *text = ll_summary_text(summing->summary, &length);
    json_put_text(object, "summary", text, length);
    json_object_set_new(object, "sentences", sentences_json(summing));
    if (with_outline)
        json_object_set_new(object, "outline", outline_json(summing));
    json_object_set_new(object, "coverage", coverage_json(summing));
    json_object_set_new(object, "plan", summing_plan_json(summing));
    json_object_set_new(object, "stats", stats_json(&summing->stats));
    json_put_string(object, "model", summing->model_name);
    json_object_set_new(object, "notes", documents_notes(summing->document));
    return object;
}
