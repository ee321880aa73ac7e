/* run: one prompt, one answer.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

#include "console/human.h"
#include "repl/answer.h"
#include "repl/prompt.h"
#include "repl/say.h"
#include "repl/verbs.h"

static void print_end(struct program *program, struct answer *answer, const struct work *work)
{
    struct output *output = &program->output;
    json_t *object = NULL;
    if (program->streams_json || settings_flag(&program->settings, OPTION_JSON))
        object = answer_json(answer, work->load_seconds);
    if (object && program->streams_json)
        json_put_string(object, "type", "answer");
    if (object)
        json_print(output, object, program->streams_json ? JSON_COMPACT : JSON_INDENT(2));
    else
        output_end_line(output);
}

static void say_end(const struct answer *answer, size_t capacity)
{
    if (answer->finish == LL_FINISH_CONTEXT)
        say_note("the context of %s tokens is full; -c N asks for a larger one", human_count(capacity).text);
    say_aside("%s tokens read in %s (%s/s), %s written (%s/s)",
              human_count(answer->prompt_count - answer->reused).text,
              human_seconds(answer->prefill_seconds).text,
              human_rate((double)(answer->prompt_count - answer->reused) / answer->prefill_seconds).text,
              human_count(answer->generated).text,
              human_rate((double)answer->generated / answer->decode_seconds).text);
}

static int run_prompt(struct program *program, struct work *work, struct prompt *prompt)
{
    bool structured = program->streams_json || settings_flag(&program->settings, OPTION_JSON);
    size_t limit = (size_t)settings_count(&program->settings, OPTION_MAX_TOKENS, SIZE_MAX);
    int code = prompt_encode(prompt, program, work);
    if (code)
        return code;
    struct answer answer;
    answer_init(&answer, program, work, !structured, structured);
    code = answer_make(&answer, work, prompt->tokens, prompt->count, limit);
    if (!code) {
        print_end(program, &answer, work);
        say_end(&answer, work_capacity(work));
        if (answer.finish == LL_FINISH_CANCELLED)
            code = program_interrupted();
    }
    answer_fini(&answer);
    return code;
}

static int check_options(const struct settings *settings)
{
    bool structured = settings_flag(settings, OPTION_JSON) || settings_flag(settings, OPTION_NDJSON);
    if (settings_given(settings, OPTION_LOGPROBS) && !structured) {
        say_error("--logprobs needs --json or --ndjson");
        return LEAVE_USAGE;
    }
    if (settings_flag(settings, OPTION_RAW) && settings->values[OPTION_SYSTEM].origin == ORIGIN_LINE) {
        say_error("--system belongs to a chat template, which --raw leaves out");
        return LEAVE_USAGE;
    }
    return LEAVE_OK;
}

int verb_run(struct program *program)
{
    struct prompt prompt = {0};
    struct work work = {0};
    int code = check_options(&program->settings);
    if (!code)
        code = prompt_read(&prompt, program);
    if (!code)
        code = work_open(&work, program, NULL, WORK_SESSION);
    if (!code)
        code = run_prompt(program, &work, &prompt);
    prompt_fini(&prompt);
    work_close(&work, code);
    return code;
}
