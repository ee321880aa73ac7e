/* An answer for a person and for programs: the text, the sentences it rests on, the windows asked.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/asking.h"

#include <string.h>

#include "console/human.h"
#include "console/sampling.h"
#include "repl/documents.h"
#include "repl/keeping.h"
#include "repl/work.h"
#include "repl/say.h"

int asking_make(struct asking *asking, struct program *program, ll_model *model)
{
    const struct settings *settings = &program->settings;
    struct text journal = {0};
    ll_ask_options options;
    ll_document_get_info(asking->document, &asking->document_info);
    ll_ask_options_init(&options);
    options.windows = (size_t)settings_count(settings, OPTION_WINDOWS, 0);
    options.exhaustive = settings_flag(settings, OPTION_EXHAUSTIVE);
    options.width = (size_t)settings_count(settings, OPTION_WIDTH, 0);
    options.cache_type = cache_type_of(&program->settings);
    options.sampling = sampling_of(&program->settings);
    options.journal = keeping_path(program, &journal);
    options.journal_limit = keeping_limit(program);
    ll_run run = program_run(program);
    ll_error error = {0};
    program->meter.hold = 0.3;
    ll_status status =
        ll_ask(model, asking->document, asking->question, &options, &run, &asking->answer, &error);
    text_fini(&journal);
    if (status != LL_OK)
        return program_fail(program, CONCERN_WORK, &error);
    meter_clear(&program->meter);
    ll_answer_get_info(asking->answer, &asking->info);
    ll_answer_get_stats(asking->answer, &asking->stats);
    if (asking->stats.unkept)
        say_note("the model's answers are not kept: %s", asking->stats.unkept);
    recorder_tokens(program->recorder, asking->stats.prompt_tokens, asking->stats.generated_tokens);
    return LEAVE_OK;
}

/* ---- for a person ---------------------------------------------------------------------------- */

/* Blanks folded: a quote is broken where its page was. */
static void print_folded(const char *text, size_t length, struct output *output)
{
    bool blank = false, any = false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == ' ' || text[i] == '\n' || text[i] == '\t') {
            blank = any;
            continue;
        }
        if (blank)
            output_write(output, " ", 1);
        output_write(output, text + i, 1);
        blank = false;
        any = true;
    }
}

static ll_place place_of(const struct asking *asking, uint64_t first, uint64_t last)
{
    ll_place place = {.name = "", .label = ""};
    (void)ll_document_get_place(asking->document, first, last, &place);
    return place;
}

static void print_place(const struct asking *asking, const ll_quote *quote, struct output *output)
{
    const char *before = "[";
    ll_place place = place_of(asking, quote->first_byte, quote->last_byte);
    if (asking->document_info.files > 1 && *place.label) {
        output_printf(output, "%s%s", before, place.label);
        before = ", ";
    }
    if (quote->first_page) {
        output_printf(output, quote->first_page == quote->last_page ? "%sp. %zu" : "%spp. %zu-%zu", before,
                      quote->first_page, quote->last_page);
        before = ", ";
    } else if (quote->title && asking->document_info.files == 1) {
        output_printf(output, "%s%s", before, quote->title);
        before = ", ";
    }
    output_printf(output, "%sbytes %llu-%llu]", before, (unsigned long long)place.first_byte,
                  (unsigned long long)place.last_byte);
}

/* Whether the answer is the first quote and nothing else: blanks may differ. */
static bool is_quote(const struct asking *asking, const char *text, size_t length)
{
    ll_quote quote;
    if (ll_answer_get_quote(asking->answer, 0, &quote) != LL_OK)
        return false;
    size_t i = 0, k = 0;
    while (i < length && k < quote.length) {
        if (strchr(" \n\t", text[i]))
            i++;
        else if (strchr(" \n\t", quote.text[k]))
            k++;
        else if (text[i++] != quote.text[k++])
            return false;
    }
    while (k < quote.length && strchr(" \n\t", quote.text[k]))
        k++;
    return i == length && k == quote.length;
}

void asking_print(const struct asking *asking, struct output *output)
{
    size_t length;
    const char *text = ll_answer_text(asking->answer, &length);
    bool quoted = asking->info.found && !asking->info.generated && is_quote(asking, text, length);
    if (!quoted) {
        output_write(output, text, length);
        output_puts(output, "\n");
    }
    if (!asking->info.found)
        output_printf(
            output, "\n(%s; %s of %s %s)\n", asking->info.reason, human_count(asking->info.asked).text,
            human_things(asking->info.passages, "window").text, asking->model_name ? "asked" : "looked at");
    for (size_t i = 0; i < ll_answer_quote_count(asking->answer); i++) {
        ll_quote quote;
        if (ll_answer_get_quote(asking->answer, i, &quote) != LL_OK)
            continue;
        output_puts(output, i || quoted ? "  “" : "\n  “");
        print_folded(quote.text, quote.length, output);
        output_puts(output, "” ");
        print_place(asking, &quote, output);
        output_puts(output, "\n");
    }
    if (asking->info.generated)
        output_printf(output,
                      "\nWritten by %s; its words stand in the sentence quoted, which is what counts.\n",
                      asking->model_name);
}

void asking_trace(const struct asking *asking)
{
    for (size_t i = 0; i < ll_answer_window_count(asking->answer); i++) {
        ll_answer_window w;
        if (ll_answer_get_window(asking->answer, i, &w) != LL_OK)
            continue;
        ll_place place = place_of(asking, w.first_byte, w.last_byte);
        say_error("trace: window %zu, score %.2f, %s bytes %llu to %llu, page %zu: %s", i + 1,
                  (double)w.score, place.label, (unsigned long long)place.first_byte,
                  (unsigned long long)place.last_byte, place.first_page, w.reply ? w.reply : "not asked");
    }
}

/* ---- for programs ---------------------------------------------------------------------------- */

static json_t *range(uint64_t first, uint64_t last)
{
    return json_pack("[I,I]", (json_int_t)first, (json_int_t)last);
}

/* As summaries have it: within the file, or within its text where that is all that is known. */
static void put_place(json_t *row, const struct asking *asking, uint64_t first, uint64_t last)
{
    ll_place place = place_of(asking, first, last);
    json_put_string(row, "file", place.name);
    json_object_set_new(row, "pages", range(place.first_page, place.last_page));
    json_object_set_new(row, "bytes", range(place.first_byte, place.last_byte));
    json_put_string(row, "of", place.in_file ? "file" : "text");
}

static json_t *quotes_json(const struct asking *asking)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < ll_answer_quote_count(asking->answer); i++) {
        ll_quote quote;
        if (ll_answer_get_quote(asking->answer, i, &quote) != LL_OK)
            continue;
        json_t *row = json_object();
        json_put_text(row, "text", quote.text, quote.length);
        json_put_string(row, "title", quote.title);
        put_place(row, asking, quote.first_byte, quote.last_byte);
        json_put_count(row, "window", quote.window);
        json_put_number(row, "score", (double)quote.score);
        json_array_append_new(rows, row);
    }
    return rows;
}

static json_t *windows_json(const struct asking *asking)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < ll_answer_window_count(asking->answer); i++) {
        ll_answer_window w;
        if (ll_answer_get_window(asking->answer, i, &w) != LL_OK)
            continue;
        json_t *row = json_object();
        put_place(row, asking, w.first_byte, w.last_byte);
        json_put_number(row, "score", (double)w.score);
        if (w.reply)
            json_put_text(row, "reply", w.reply, strlen(w.reply));
        else
            json_put_string(row, "reply", NULL);
        json_array_append_new(rows, row);
    }
    return rows;
}

json_t *asking_json(const struct asking *asking)
{
    json_t *object = json_object(), *stats = json_object();
    size_t length;
    const char *text = ll_answer_text(asking->answer, &length);
    json_put_text(object, "question", asking->question, strlen(asking->question));
    json_put_bool(object, "found", asking->info.found);
    json_put_text(object, "answer", text, length);
    json_put_bool(object, "generated", asking->info.generated);
    json_put_string(object, "reason", asking->info.reason);
    json_object_set_new(object, "quotes", quotes_json(asking));
    json_object_set_new(object, "windows", windows_json(asking));
    json_put_count(object, "passages", asking->info.passages);
    json_put_count(object, "asked", asking->info.asked);
    json_put_count(stats, "calls", asking->stats.calls);
    json_put_count(stats, "reused", asking->stats.reused);
    json_put_count(stats, "prompt_tokens", asking->stats.prompt_tokens);
    json_put_count(stats, "generated_tokens", asking->stats.generated_tokens);
    json_put_number(stats, "seconds", asking->stats.seconds);
    json_object_set_new(object, "stats", stats);
    json_put_string(object, "model", asking->model_name);
    json_object_set_new(object, "notes", documents_notes(asking->document));
    return object;
}
