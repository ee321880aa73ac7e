/* One answer as it comes: streamed text, tokens, log-probabilities, how it ended, timings.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/answer.h"

#include <stdio.h>
#include <stdlib.h>

#include "console/circle.h"
#include "console/human.h"
#include "console/sampling.h"
#include "repl/say.h"

void answer_init(struct answer *answer, struct program *program, const struct work *work, bool shows,
                 bool record)
{
    *answer = (struct answer){.program = program, .model = work->model, .shows = shows};
    answer->wants_logprobs = record && settings_given(&program->settings, OPTION_LOGPROBS);
    answer->tokens = record ? json_array() : NULL;
    answer->logprobs = answer->wants_logprobs ? json_array() : NULL;
}

void answer_guard(struct answer *answer)
{
    answer->circle = calloc(1, sizeof *answer->circle);
}

void answer_fini(struct answer *answer)
{
    free(answer->circle);
    text_fini(&answer->text);
    json_decref(answer->tokens);
    json_decref(answer->logprobs);
    answer->tokens = answer->logprobs = NULL;
}

static json_t *choice_json(const struct answer *answer, ll_token token, float logprob)
{
    json_t *row = json_object();
    size_t length = 0;
    const char *text = ll_token_text(answer->model, token, &length);
    json_put_count(row, "id", (uint64_t)token);
    json_put_text(row, "text", text, length);
    json_put_number(row, "logprob", (double)logprob);
    return row;
}

static json_t *event_json(const struct answer *answer, const ll_token_event *event)
{
    json_t *row = choice_json(answer, event->token, event->logprob), *best = json_array();
    for (size_t i = 0; i < event->choice_count; i++)
        json_array_append_new(best, choice_json(answer, event->choices[i].token, event->choices[i].logprob));
    json_object_set_new(row, "best", best);
    return row;
}

static void stream_event(struct answer *answer, const ll_token_event *event)
{
    json_t *line = json_object();
    json_put_string(line, "type", "token");
    json_object_set_new(line, "id", event->token >= 0 ? json_integer(event->token) : json_null());
    json_put_text(line, "text", event->text, event->length);
    json_print(&answer->program->output, line, JSON_COMPACT);
    output_flush(&answer->program->output);
}

static struct why_choice why_choice(const struct answer *answer, ll_token token, float logprob)
{
    struct why_choice choice = {.logprob = logprob};
    struct text shown = {0};
    size_t length = 0;
    const char *bytes = ll_token_text(answer->model, token, &length);
    if (bytes && length < sizeof choice.text) {
        text_append(&shown, bytes, length);
        snprintf(choice.text, sizeof choice.text, "%s", text_string(&shown));
    }
    text_fini(&shown);
    return choice;
}

static void keep_why(struct answer *answer, const ll_token_event *event)
{
    struct why_token *row = &answer->why->tokens[answer->why->count++ % WHY_TOKENS];
    row->taken = why_choice(answer, event->token, event->logprob);
    row->count = event->choice_count < WHY_CHOICES ? event->choice_count : WHY_CHOICES;
    for (size_t i = 0; i < row->count; i++)
        row->best[i] = why_choice(answer, event->choices[i].token, event->choices[i].logprob);
}

static void keep_token(struct answer *answer, const ll_token_event *event)
{
    if (!answer->generated++)
        answer->first_token_seconds = human_clock() - answer->began;
    if (answer->tokens)
        json_array_append_new(answer->tokens, json_integer(event->token));
    if (answer->logprobs)
        json_array_append_new(answer->logprobs, event_json(answer, event));
    if (answer->why)
        keep_why(answer, event);
}

static ll_flow on_token(void *user, const ll_token_event *event)
{
    struct answer *answer = user;
    struct output *output = &answer->program->output;
    text_append(&answer->text, event->text, event->length);
    if (event->token >= 0) /* else only text that was held back */
        keep_token(answer, event);
    if (answer->program->streams_json)
        stream_event(answer, event);
    if (answer->shows && event->length) {
        if (output->terminal)
            meter_clear(&answer->program->meter);
        output_write(output, event->text, event->length);
        output_flush(output);
    }
    answer->circled =
        answer->circled || (answer->circle && circle_add(answer->circle, event->text, event->length));
    return output->failure || answer->text.failed || answer->circled ? LL_STOP : LL_CONTINUE;
}

static int refuse_long(struct program *program, size_t count, size_t capacity)
{
    meter_clear(&program->meter);
    say_error("the prompt has %s tokens and the context holds %s; "
              "`longleaf sum` reads texts of any length, and -c N asks for a larger context",
              human_count(count).text, human_count(capacity).text);
    return LEAVE_UNCOVERED;
}

static int answer_compute(struct answer *answer, struct work *work, const ll_token *prompt, size_t count,
                          size_t limit, size_t capacity)
{
    struct program *program = answer->program;
    ll_sampling sampling = sampling_of(&program->settings);
    if (answer->why)
        sampling.choices = WHY_CHOICES;
    sampling.seed += answer->seed_shift;
    ll_run run = program_run(program);
    ll_error error = {0};
    ll_status status = ll_session_sync(work->session, prompt, count, &run, &error);
    if (status == LL_CONTEXT_FULL)
        return refuse_long(program, count, capacity);
    if (status == LL_OK && limit)
        status = ll_generate(work->session, &sampling, limit, &run, &answer->finish, &error);
    else if (status == LL_OK)
        answer->finish = LL_FINISH_LENGTH;
    if (status == LL_CANCELLED)
        answer->finish = LL_FINISH_CANCELLED;
    else if (status != LL_OK)
        return program_fail(program, CONCERN_WORK, &error);
    bool grammar = sampling.grammar_file || sampling.json_schema_file;
    if (grammar && limit && answer->finish != LL_FINISH_END) {
        meter_clear(&program->meter);
        say_note("the answer was cut (%s) before it was a whole text of its grammar",
                 answer_finish_name(answer->finish));
    }
    return LEAVE_OK;
}

int answer_make(struct answer *answer, struct work *work, const ll_token *prompt, size_t count, size_t limit)
{
    struct program *program = answer->program;
    ll_session_stats before = {0}, after = {0};
    ll_session_get_stats(work->session, &before);
    if (count >= before.cache_capacity)
        return refuse_long(program, count, before.cache_capacity);
    answer->prompt_count = count;
    answer->began = human_clock();
    program->on_token = on_token;
    program->hearer = answer;
    if (limit > before.cache_capacity)
        limit = before.cache_capacity;
    int code = answer_compute(answer, work, prompt, count, limit, before.cache_capacity);
    program->on_token = NULL;
    meter_clear(&program->meter);
    if (answer->generated)
        recorder_first_token(program->recorder, answer->first_token_seconds);
    recorder_tokens(program->recorder, 0, answer->generated);
    ll_session_get_stats(work->session, &after);
    answer->reused = after.reused;
    answer->prefill_seconds = after.prefill_seconds - before.prefill_seconds;
    answer->decode_seconds = after.decode_seconds - before.decode_seconds;
    return code;
}

const char *answer_finish_name(ll_finish finish)
{
    static const char *const names[] = {"end", "length", "stop", "caller", "cancelled", "context"};
    return (size_t)finish < sizeof names / sizeof *names ? names[finish] : "unknown";
}

static json_t *timings_json(const struct answer *answer, double load_seconds)
{
    json_t *timings = json_object();
    double computed = (double)(answer->prompt_count - answer->reused);
    json_put_number(timings, "load_seconds", load_seconds);
    json_put_count(timings, "prompt_tokens", answer->prompt_count);
    json_put_count(timings, "reused_tokens", answer->reused);
    json_put_number(timings, "prefill_seconds", answer->prefill_seconds);
    json_put_number(timings, "prefill_rate", computed / answer->prefill_seconds);
    json_put_number(timings, "first_token_seconds", answer->first_token_seconds);
    json_put_count(timings, "generated_tokens", answer->generated);
    json_put_number(timings, "decode_seconds", answer->decode_seconds);
    json_put_number(timings, "decode_rate", (double)answer->generated / answer->decode_seconds);
    return timings;
}

json_t *answer_json(const struct answer *answer, double load_seconds)
{
    json_t *object = json_object();
    json_put_text(object, "text", answer->text.bytes, answer->text.length);
    json_object_set(object, "tokens", answer->tokens);
    json_put_string(object, "finish", answer_finish_name(answer->finish));
    ll_sampling sampling = sampling_of(&answer->program->settings);
    char order[256] = "";
    size_t length;
    if (ll_sampling_order(&sampling, order, sizeof order, &length, NULL) == LL_OK)
        json_put_string(object, "sampling", order);
    json_object_set_new(object, "timings", timings_json(answer, load_seconds));
    if (answer->logprobs)
        json_object_set(object, "logprobs", answer->logprobs);
    return object;
}
