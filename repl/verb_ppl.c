/* ppl: a model's perplexity on documents, over windows of the context, also by position.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Windows of --context tokens begin --stride tokens apart. The first window scores all its tokens but
 * the first; a later one only those that no window before it scored, so every token counts once and,
 * past the first window, has at least context - stride tokens before it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "console/human.h"
#include "repl/documents.h"
#include "repl/json.h"
#include "repl/prompt.h"
#include "repl/say.h"
#include "repl/verbs.h"

struct sums {
    double sum, squares; /* of negative log-probabilities, in nats */
    size_t count;
};

struct measure {
    struct program *program;
    struct work *work;
    ll_token *tokens, *window; /* window: start token, if the model has one, and context tokens */
    float *logprobs;
    size_t count, context, stride, windows;
    ll_token start;
    size_t start_count; /* 0 or 1 */
    struct sums all, *buckets;
    size_t bucket_count;
};

static void sums_add(struct sums *sums, double nats)
{
    sums->sum += nats;
    sums->squares += nats * nats;
    sums->count++;
}

static double perplexity(const struct sums *sums)
{
    return sums->count ? exp(sums->sum / (double)sums->count) : NAN;
}

/* Standard error of the perplexity, by the delta method. */
static double uncertainty(const struct sums *sums)
{
    if (sums->count < 2)
        return NAN;
    double n = (double)sums->count, mean = sums->sum / n;
    double variance = fmax(sums->squares / n - mean * mean, 0) * n / (n - 1);
    return exp(mean) * sqrt(variance / n);
}

static int score_window(struct measure *measure, size_t from, size_t length, size_t first_scored)
{
    struct program *program = measure->program;
    size_t lead = measure->start_count;
    if (lead)
        measure->window[0] = measure->start;
    memcpy(measure->window + lead, measure->tokens + from, length * sizeof *measure->window);
    ll_run run = program_run(program);
    run.on_progress = NULL; /* the meter shows windows */
    ll_error error = {0};
    ll_status status = ll_session_score(measure->work->session, measure->window, lead + length,
                                        measure->logprobs, &run, &error);
    if (status != LL_OK)
        return program_fail(program, CONCERN_WORK, &error);
    for (size_t i = first_scored; i < length; i++) {
        if (lead + i == 0)
            continue; /* nothing stands before the first token */
        double nats = -(double)measure->logprobs[lead + i];
        sums_add(&measure->all, nats);
        if (measure->bucket_count)
            sums_add(&measure->buckets[i * measure->bucket_count / measure->context], nats);
    }
    return LEAVE_OK;
}

static int score_all(struct measure *measure)
{
    size_t scored = 0; /* tokens that have their score */
    ll_progress progress = {.phase = LL_PREFILLING, .total = measure->count};
    measure->program->meter.words = "measuring";
    for (size_t from = 0; scored < measure->count; from += measure->stride) {
        size_t length = measure->count - from < measure->context ? measure->count - from : measure->context;
        progress.done = scored;
        meter_update(&measure->program->meter, &progress);
        int code = score_window(measure, from, length, scored > from ? scored - from : 0);
        if (code)
            return code;
        scored = from + length;
        measure->windows++;
    }
    return LEAVE_OK;
}

static void print_measure(const struct measure *measure)
{
    struct output *output = &measure->program->output;
    output_printf(output, "perplexity %.4f ± %.4f over %s (%s of %zu, stride %zu)\n",
                  perplexity(&measure->all), uncertainty(&measure->all),
                  human_things(measure->all.count, "token").text,
                  human_things(measure->windows, "window").text, measure->context, measure->stride);
    for (size_t i = 0; i < measure->bucket_count; i++) {
        size_t first = (i * measure->context + measure->bucket_count - 1) / measure->bucket_count;
        size_t last = ((i + 1) * measure->context + measure->bucket_count - 1) / measure->bucket_count;
        if (measure->buckets[i].count)
            output_printf(output, "positions %6zu to %6zu: %10.4f (%s tokens)\n", first, last - 1,
                          perplexity(&measure->buckets[i]), human_count(measure->buckets[i].count).text);
    }
}

static json_t *measure_json(const struct measure *measure)
{
    json_t *object = json_object(), *buckets = json_array();
    json_put_number(object, "perplexity", perplexity(&measure->all));
    json_put_number(object, "standard_error", uncertainty(&measure->all));
    json_put_number(object, "nats_per_token",
                    measure->all.count ? measure->all.sum / (double)measure->all.count : NAN);
    json_put_count(object, "tokens", measure->all.count);
    json_put_count(object, "windows", measure->windows);
    json_put_count(object, "context", measure->context);
    json_put_count(object, "stride", measure->stride);
    for (size_t i = 0; i < measure->bucket_count; i++) {
        json_t *row = json_object();
        json_put_count(row, "first",
                       (i * measure->context + measure->bucket_count - 1) / measure->bucket_count);
        json_put_count(row, "tokens", measure->buckets[i].count);
        json_put_number(row, "perplexity", perplexity(&measure->buckets[i]));
        json_array_append_new(buckets, row);
    }
    if (measure->bucket_count)
        json_object_set_new(object, "buckets", buckets);
    else
        json_decref(buckets);
    return object;
}

static int measure_prepare(struct measure *measure, const ll_document *document)
{
    const struct settings *settings = &measure->program->settings;
    size_t trained = measure->work->info.trained_context ? measure->work->info.trained_context : 1024;
    measure->context = (size_t)settings_count(settings, OPTION_CONTEXT, trained < 1024 ? trained : 1024);
    measure->stride = (size_t)settings_count(settings, OPTION_STRIDE, (measure->context + 1) / 2);
    measure->bucket_count = (size_t)settings_count(settings, OPTION_BUCKETS, 0);
    if (measure->stride > measure->context || measure->bucket_count > measure->context) {
        say_error("--stride and --buckets can be no larger than the context of %zu tokens", measure->context);
        return LEAVE_USAGE;
    }
    ll_token *start = NULL;
    int code = prompt_text_tokens(measure->program, measure->work, "", 0, false, true, &start,
                                  &measure->start_count);
    if (!code && measure->start_count)
        measure->start = start[0];
    measure->start_count = measure->start_count > 0;
    free(start);
    size_t length;
    const char *text = ll_document_text(document, &length);
    if (!code)
        code = prompt_text_tokens(measure->program, measure->work, text, length, false, false,
                                  &measure->tokens, &measure->count);
    if (!code && measure->count + measure->start_count < 2) {
        say_error("perplexity needs a text of at least two tokens");
        return LEAVE_DOCUMENT;
    }
    size_t room = measure->context + 1;
    measure->window = calloc(room, sizeof *measure->window);
    measure->logprobs = calloc(room, sizeof *measure->logprobs);
    measure->buckets = calloc(measure->bucket_count + 1, sizeof *measure->buckets);
    if (!code && (!measure->window || !measure->logprobs || !measure->buckets)) {
        say_error("no memory for windows of %zu tokens", measure->context);
        return LEAVE_MEMORY;
    }
    return code ? code : work_open_session(measure->work, measure->program, room);
}

int verb_ppl(struct program *program)
{
    struct work work = {0};
    struct measure measure = {.program = program, .work = &work};
    ll_document *document = NULL;
    int code = documents_open(program, (const char *const *)program->operands, (size_t)program->operand_count,
                              &document);
    if (!code)
        code = work_open(&work, program, NULL, WORK_MODEL);
    if (!code)
        code = measure_prepare(&measure, document);
    if (!code)
        code = score_all(&measure);
    meter_clear(&program->meter);
    if (!code && settings_flag(&program->settings, OPTION_JSON))
        json_print(&program->output, measure_json(&measure), JSON_INDENT(2));
    else if (!code)
        print_measure(&measure);
    free(measure.tokens);
    free(measure.window);
    free(measure.logprobs);
    free(measure.buckets);
    if (!code)
        code = documents_covered(document);
    ll_document_close(document);
    work_close(&work, code);
    return code;
}
