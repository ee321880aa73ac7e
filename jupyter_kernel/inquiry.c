/* Questions answered from documents: the answer, and the sentences it stands in.
 * SPDX-License-Identifier: Apache-2.0 */
#include "jupyter_kernel/inquiry.h"

#include <string.h>

#include "console/human.h"
#include "console/sampling.h"

static void record(struct turn *turn, const ll_answer *answer)
{
    ll_summary_stats stats = {0};
    ll_answer_get_stats(answer, &stats);
    recorder_tokens(turn->talk->recorder, stats.prompt_tokens, stats.generated_tokens);
    talk_record(turn);
}

static bool ask(struct turn *turn, const ll_document *document, const char *question, ll_answer **ret)
{
    const struct settings *settings = &turn->talk->settings;
    struct text journal = {0};
    ll_ask_options options;
    ll_error error = {0};
    ll_ask_options_init(&options);
    options.windows = (size_t)settings_count(settings, OPTION_WINDOWS, 0);
    options.exhaustive = settings_flag(settings, OPTION_EXHAUSTIVE);
    options.width = (size_t)settings_count(settings, OPTION_WIDTH, 0);
    options.cache_type = cache_type_of(&turn->talk->settings);
    options.sampling = talk_sampling(turn->talk);
    options.journal = talk_journal(turn->talk, &journal);
    options.journal_limit = settings_count(settings, OPTION_CACHE_LIMIT, 0);
    ll_run run = turn_run(turn);
    ll_status status = ll_ask(turn->talk->model, document, question, &options, &run, ret, &error);
    text_fini(&journal);
    if (status == LL_OK)
        record(turn, *ret);
    if (status != LL_OK)
        output_fail_error(turn->output, FAIL_WORK, &error);
    return status == LL_OK;
}

static void place(const ll_quote *quote, struct text *out)
{
    const char *slash = quote->file ? strrchr(quote->file, '/') : NULL;
    if (quote->file && *quote->file)
        text_puts(out, slash ? slash + 1 : quote->file);
    if (quote->first_page && quote->last_page > quote->first_page)
        text_printf(out, "%spp. %zu-%zu", out->length ? ", " : "", quote->first_page, quote->last_page);
    else if (quote->first_page)
        text_printf(out, "%sp. %zu", out->length ? ", " : "", quote->first_page);
    if (quote->title && *quote->title)
        text_printf(out, "%s%s", out->length ? ", " : "", quote->title);
}

static json_t *pair(uint64_t first, uint64_t last)
{
    return json_pack("[I, I]", (json_int_t)first, (json_int_t)last);
}

/* The quote as %cite and programs take it. */
static json_t *quote_json(const ll_document *document, const ll_quote *quote)
{
    ll_place place = {.first_byte = quote->first_byte, .last_byte = quote->last_byte};
    (void)ll_document_get_place(document, quote->first_byte, quote->last_byte, &place);
    json_t *row = json_object();
    json_put_bytes(row, "passage", quote->text, quote->length);
    json_put_bool(row, "cut", false);
    json_put_string(row, "document", quote->file ? quote->file : "");
    json_put_string(row, "title", quote->title);
    json_put(row, "pages", pair(quote->first_page, quote->last_page));
    json_put(row, "bytes", pair(place.first_byte, place.last_byte)); /* within that file */
    json_put_number(row, "score", (double)quote->score);
    return row;
}

static json_t *add_quotes(const ll_document *document, const ll_answer *answer, struct text *plain,
                          struct text *markdown)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < ll_answer_quote_count(answer); i++) {
        ll_quote quote;
        struct text where = {0};
        if (ll_answer_get_quote(answer, i, &quote) != LL_OK)
            continue;
        place(&quote, &where);
        text_printf(plain, "\n\n[%zu] ", i + 1);
        text_append(plain, quote.text, quote.length);
        text_printf(plain, where.length ? "\n    (%s)" : "%s", text_string(&where));
        text_printf(markdown, "\n\n> <sup>%zu</sup> ", i + 1);
        for (size_t b = 0; b < quote.length; b++) /* a quotation ends where its paragraph does */
            markdown_append(markdown, quote.text[b] == '\n' ? " " : quote.text + b, 1);
        text_puts(markdown, where.length ? " *(" : "");
        markdown_append(markdown, text_string(&where), where.length);
        text_puts(markdown, where.length ? ")*" : "");
        json_array_append_new(rows, quote_json(document, &quote));
        text_fini(&where);
    }
    return rows;
}

static void add_account(const struct turn *turn, const ll_answer *answer, const ll_answer_info *info,
                        struct text *out)
{
    ll_summary_stats stats = {0};
    ll_answer_get_stats(answer, &stats);
    text_printf(out, "%s; %s of %s window%s asked", info->reason ? info->reason : "",
                human_count(info->asked).text, human_count(info->passages).text,
                info->passages == 1 ? "" : "s");
    if (info->generated)
        text_printf(out, "; written by %s", text_string(&turn->talk->label));
    if (stats.unkept)
        text_printf(out, "; not kept: %s", stats.unkept);
}

static json_t *make_bundle(struct turn *turn, const ll_document *document, const ll_answer *answer,
                           const char *question)
{
    struct text plain = {0}, markdown = {0}, account = {0};
    ll_answer_info info = {0};
    size_t length = 0;
    const char *text = ll_answer_text(answer, &length);
    ll_answer_get_info(answer, &info);
    text_append(&plain, text, length);
    markdown_append(&markdown, text, length);
    json_t *quotes = add_quotes(document, answer, &plain, &markdown), *object = json_object();
    add_account(turn, answer, &info, &account);
    text_printf(&plain, "\n\n%s", text_string(&account));
    text_puts(&markdown, "\n\n*");
    markdown_append(&markdown, text_string(&account), account.length);
    text_puts(&markdown, "*");
    json_put_string(object, "question", question);
    json_put_bytes(object, "text", text, length);
    json_put_bool(object, "found", info.found);
    json_put_bool(object, "generated", info.generated);
    json_put_string(object, "reason", info.reason);
    json_put(object, "quotes", json_incref(quotes));
    json_decref(turn->talk->passages);
    turn->talk->passages = quotes;
    json_t *bundle = bundle_new(text_string(&plain), plain.length);
    bundle_add(bundle, "text/markdown", &markdown);
    json_put(bundle, "application/json", object);
    text_fini(&plain);
    text_fini(&markdown);
    text_fini(&account);
    return bundle;
}

bool inquiry_answer(struct turn *turn, const ll_document *document, const char *question, json_t **ret)
{
    ll_answer *answer = NULL;
    if (!talk_open_model(turn) || !ask(turn, document, question, &answer))
        return false;
    *ret = make_bundle(turn, document, answer, question);
    ll_answer_free(answer);
    return true;
}
