/* Executing a cell: its flags, its steps, what is shown of it, and the reply.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "jupyter_kernel/magic.h"
#include "jupyter_kernel/shell.h"

struct flags {
    bool silent, store, stop, asks;
};

static struct flags read_flags(const json_t *content)
{
    struct flags flags = {.silent = json_get_bool(content, "silent", false),
                          .stop = json_get_bool(content, "stop_on_error", true),
                          .asks = json_get_bool(content, "allow_stdin", true)};
    flags.store = !flags.silent && json_get_bool(content, "store_history", true);
    return flags;
}

/* ---- steps ---- */

/* Bundles of magics before the last step are displays; that of the last is the cell's result. */
static void show(struct output *output, json_t *bundle, bool last)
{
    if (bundle && last)
        output_result(output, bundle);
    else if (bundle)
        output_display(output, bundle, NULL, false);
}

static bool changes_params(const struct step *step)
{
    const char *argument, *near;
    size_t length;
    return step->kind == STEP_LINE &&
           command_parse(IN_NOTEBOOK, step->line, step->line_length, &argument, &length, &near) ==
               COMMAND_PARAMS &&
           length;
}

static void run_step(struct turn *turn, const struct step *step, struct question *question, bool last)
{
    json_t *bundle = NULL;
    if (step->kind == STEP_PROMPT) {
        if (talk_ask(turn, step->body, step->body_length, &bundle)) {
            gauge_end(&turn->gauge);
            show(turn->output, bundle, last);
        }
        return;
    }
    if (magic_run(turn, step, question, turn->output->request, &bundle)) {
        if (!last && changes_params(step)) {
            json_decref(bundle); /* a change before a prompt needs no table */
            return;
        }
        gauge_end(&turn->gauge);
        show(turn->output, bundle, last);
    } else {
        json_decref(bundle);
    }
}

static void run_cell(struct shell *shell, struct output *output, const char *code, size_t length, bool asks)
{
    struct script script;
    struct step step, next;
    script_begin(&script, code, length);
    bool more = script_next(&script, &step);
    while (more && !output->failed) {
        struct turn turn;
        turn_init(&turn, &shell->talk, output, shell->interrupt->cancel);
        more = script_next(&script, &next);
        run_step(&turn, &step, asks ? &shell->question : NULL, !more);
        turn_fini(&turn);
        step = next;
        if (more && !output->failed && ll_cancel_requested(shell->interrupt->cancel))
            output_fail(output, FAIL_INTERRUPT, "stopped before the cell's last step");
    }
}

/* ---- user_expressions: each is one magic ---- */

static json_t *evaluate(struct shell *shell, const struct message *request, const char *code, size_t length)
{
    struct output output;
    struct turn turn;
    struct script script;
    struct step step, other;
    json_t *bundle = NULL, *result;
    output_init(&output, &shell->channel, request);
    output.silent = true;
    turn_init(&turn, &shell->talk, &output, shell->interrupt->cancel);
    script_begin(&script, code, length);
    if (!script_next(&script, &step) || step.kind != STEP_LINE || script_next(&script, &other))
        output_fail(&output, FAIL_USAGE, "an expression is one magic, such as %%memory");
    else
        magic_run(&turn, &step, NULL, request, &bundle);
    turn_fini(&turn);
    if (output.failed) {
        json_decref(bundle);
        result = output_failure(&output);
        json_put_string(result, "status", "error");
    } else {
        result = json_pack("{s:s, s:o, s:{}}", "status", "ok", "data", bundle ? bundle : bundle_new("", 0),
                           "metadata");
    }
    output_fini(&output);
    return result;
}

static json_t *expressions(struct shell *shell, const struct message *request)
{
    json_t *results = json_object(), *value;
    const char *key;
    json_object_foreach(json_object_get(request->content, "user_expressions"), key, value)
    {
        const char *code = json_string_value(value);
        json_put(results, key, evaluate(shell, request, code ? code : "", json_string_length(value)));
    }
    return results;
}

/* ---- the request ---- */

static bool is_blank(const char *code, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!strchr(" \t\r\n", code[i]))
            return false;
    return true;
}

/* The console sends these words as any other cell, and leaves when the reply says so. */
static bool is_leave(const char *code, size_t length)
{
    while (length && strchr(" \t\r\n", code[length - 1]))
        length--;
    return length == 4 && (memcmp(code, "exit", 4) == 0 || memcmp(code, "quit", 4) == 0);
}

static json_t *payload(const struct output *output)
{
    json_t *items = json_array();
    if (output->leaves)
        json_array_append_new(items, json_pack("{s:s, s:b}", "source", "ask_exit", "keepkernel", 0));
    return items;
}

static void publish_input(struct output *output, const char *code, size_t length)
{
    json_t *content = json_object();
    json_put_bytes(content, "code", code, length);
    json_put(content, "execution_count", json_integer(output->count));
    channel_publish(output->channel, output->request, "execute_input", content);
}

static json_t *result(struct shell *shell, const struct output *output)
{
    json_t *content = output->failed ? output_failure(output) : json_object();
    json_put_string(content, "status", output->failed ? "error" : "ok");
    json_put(content, "execution_count", json_integer(output->count));
    json_put(content, "payload", payload(output));
    json_put(content, "user_expressions",
             output->failed ? json_object() : expressions(shell, output->request));
    return content;
}

static void execute(struct shell *shell, struct output *output, const char *code, size_t length,
                    const struct flags *flags)
{
    bool stored = flags->store && !is_blank(code, length);
    if (!flags->silent)
        publish_input(output, code, length);
    if (stored) {
        shell->count++;
        past_add(&shell->past, output->count, code, length);
    }
    output->leaves = is_leave(code, length);
    if (!output->leaves)
        run_cell(shell, output, code, length, flags->asks);
    if (stored)
        past_set_output(&shell->past, &output->record);
}

/* For front ends that show how long a cell took. */
static json_t *moments(const struct output *output)
{
    json_t *metadata = json_object();
    json_put_string(metadata, "started", output->started);
    if (output->first_token[0])
        json_put_string(metadata, "first_token", output->first_token);
    return metadata;
}

static void reply(struct shell *shell, struct output *output, bool stop)
{
    json_t *content = result(shell, output);
    if (output->failed && stop)
        shell_collect(shell);
    if (output->failed)
        output_publish_failure(output);
    interrupt_end_work(shell->interrupt);
    channel_reply_with(&shell->channel, output->request, "execute_reply", moments(output), content);
}

void shell_execute(struct shell *shell, const struct message *request)
{
    size_t length = 0;
    const char *code = json_get_string(request->content, "code", &length);
    struct flags flags = read_flags(request->content);
    struct output output;
    if (!interrupt_begin_work(shell->interrupt)) {
        shell_abort(shell, request);
        return;
    }
    output_init(&output, &shell->channel, request);
    output.silent = flags.silent;
    output.count = shell->count;
    if (code)
        execute(shell, &output, code, length, &flags);
    else
        output_fail(&output, FAIL_USAGE, "the request holds no code");
    reply(shell, &output, flags.stop);
    output_fini(&output);
}

void shell_abort(struct shell *shell, const struct message *request)
{
    json_t *content = json_pack("{s:s, s:I, s:[], s:{}}", "status", "aborted", "execution_count",
                                (json_int_t)shell->count, "payload", "user_expressions");
    channel_reply(&shell->channel, request, "execute_reply", content);
}
