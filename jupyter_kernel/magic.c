/* The magics: what %name and %%name in a cell do, by the vocabulary that the terminal has, too.
 * SPDX-License-Identifier: Apache-2.0 */
#include "jupyter_kernel/magic.h"

#include <string.h>

static const struct magic_row rows[COMMAND_COUNT] = {
    [COMMAND_LOAD] = {magic_load, BODY_NONE},       [COMMAND_DOCS] = {magic_docs, BODY_NONE},
    [COMMAND_SUM] = {magic_sum, BODY_MAY},          [COMMAND_ASK] = {magic_ask, BODY_MAY},
    [COMMAND_CITE] = {magic_cite, BODY_NONE},       [COMMAND_PLAN] = {magic_plan, BODY_MAY},
    [COMMAND_MODEL] = {magic_model, BODY_NONE},     [COMMAND_PARAMS] = {magic_params, BODY_MAY},
    [COMMAND_SYSTEM] = {magic_system, BODY_MAY},    [COMMAND_PROMPT] = {magic_prompt, BODY_MAY},
    [COMMAND_CONTEXT] = {magic_context, BODY_NONE}, [COMMAND_KV] = {magic_kv, BODY_NONE},
    [COMMAND_MEMORY] = {magic_memory, BODY_NONE},   [COMMAND_UNDO] = {magic_undo, BODY_NONE},
    [COMMAND_RETRY] = {magic_retry, BODY_NONE},     [COMMAND_CONTINUE] = {magic_continue, BODY_NONE},
    [COMMAND_MARK] = {magic_mark, BODY_NONE},       [COMMAND_BACK] = {magic_back, BODY_NONE},
    [COMMAND_SAVE] = {magic_save, BODY_NONE},       [COMMAND_OPEN] = {magic_open, BODY_NONE},
    [COMMAND_EXPORT] = {magic_export, BODY_NONE},   [COMMAND_ECHO] = {magic_echo, BODY_MAY},
    [COMMAND_RESET] = {magic_reset, BODY_NONE},     [COMMAND_FILE] = {magic_file, BODY_MUST},
    [COMMAND_HELP] = {magic_help, BODY_NONE},       [COMMAND_LOG] = {magic_log, BODY_NONE},
};

const struct magic_row *magic_row(enum command command)
{
    return &rows[command];
}

/* ---- help ---- */

static void help_usage(enum command command, struct text *out)
{
    const struct command_row *row = command_row(command);
    const char *sign = rows[command].body == BODY_MUST ? "%%" : "%";
    text_printf(out, "%s%s%s%s", sign, row->name, row->argument ? " " : "",
                row->argument ? row->argument : "");
    if (rows[command].body == BODY_MAY)
        text_printf(out, "   or   %%%%%s and the text below", row->name);
}

void magic_help_text(enum command command, struct text *plain, struct text *markdown)
{
    const struct command_row *row = command_row(command);
    struct text usage = {0};
    help_usage(command, &usage);
    text_printf(plain, "%s\n\n%s.", text_string(&usage), row->help);
    text_printf(markdown, "`%s`\n\n%s.", text_string(&usage), row->help);
    if (row->more) {
        text_printf(plain, " %s", row->more);
        text_printf(markdown, " %s", row->more);
    }
    if (row->aliases) {
        text_printf(plain, "\nAlso: %s", row->aliases);
        text_printf(markdown, "\n\nAlso: `%s`", row->aliases);
    }
    text_fini(&usage);
}

static json_t *row_json(enum command command)
{
    const struct command_row *row = command_row(command);
    json_t *object = json_object();
    json_put_string(object, "name", row->name);
    json_put_string(object, "also", row->aliases);
    json_put_string(object, "argument", row->argument);
    json_put_string(object, "help", row->help);
    json_put_string(object, "more", row->more);
    return object;
}

static json_t *help_list(void)
{
    struct text plain = {0}, markdown = {0};
    json_t *magics = json_array();
    text_puts(&markdown, "| magic | does |\n|---|---|\n");
    for (int i = 0; i < COMMAND_COUNT; i++) {
        if (!command_is_in((enum command)i, IN_NOTEBOOK))
            continue;
        const struct command_row *row = command_row((enum command)i);
        const char *sign = rows[i].body == BODY_MUST ? "%%" : "%";
        const char *argument = row->argument ? row->argument : "";
        text_printf(&plain, "%s%-10s %-18s %s\n", sign, row->name, argument, row->help);
        text_printf(&markdown, "| `%s%s%s", sign, row->name, *argument ? " " : "");
        for (const char *c = argument; *c; c++)
            text_printf(&markdown, *c == '|' ? "\\%c" : "%c", *c);
        text_printf(&markdown, "` | %s |\n", row->help);
        json_array_append_new(magics, row_json((enum command)i));
    }
    static const char more[] =
        "\nAnything else in a cell is said to the model. Magics stand at the top of a cell; "
        "%%name takes the rest of the cell as its text. A prompt that begins with % is "
        "written \\%.\n";
    text_puts(&plain, more);
    text_puts(&markdown, "\nAnything else in a cell is said to the model. Magics stand at the top of a cell; "
                         "`%%name` takes the rest of the cell as its text. A prompt that begins with `%` is "
                         "written `\\%`.\n");
    json_t *bundle = bundle_new(text_string(&plain), plain.length);
    bundle_add(bundle, "text/markdown", &markdown);
    json_put(bundle, "application/json", json_pack("{s:o}", "magics", magics));
    text_fini(&plain);
    text_fini(&markdown);
    return bundle;
}

static bool unknown(struct turn *turn, const char *name, size_t length)
{
    const char *near = command_near(IN_NOTEBOOK, name, length);
    if (near)
        output_fail(turn->output, FAIL_USAGE, "there is no magic %%%.*s; did you mean %%%s?",
                    (int)(length > 60 ? 60 : length), name, near);
    else
        output_fail(
            turn->output, FAIL_USAGE,
            "there is no magic %%%.*s; %%help lists them, and a prompt that begins with %% is written \\%%",
            (int)(length > 60 ? 60 : length), name);
    return false;
}

bool magic_help(struct turn *turn, const struct call *call, json_t **ret)
{
    struct text plain = {0}, markdown = {0};
    if (!call->argument_length) {
        *ret = help_list();
        return true;
    }
    const char *name = call->argument + strspn(call->argument, "%");
    enum command command = command_find(IN_NOTEBOOK, name, strlen(name));
    if (command == COMMAND_COUNT)
        return unknown(turn, name, strlen(name));
    magic_help_text(command, &plain, &markdown);
    *ret = bundle_new(text_string(&plain), plain.length);
    bundle_add(*ret, "text/markdown", &markdown);
    json_put(*ret, "application/json", row_json(command));
    text_fini(&plain);
    text_fini(&markdown);
    return true;
}

/* ---- running ---- */

static size_t name_length(const char *line, size_t length)
{
    size_t end = 1;
    while (end < length && line[end] != ' ' && line[end] != '\t')
        end++;
    return end - 1;
}

static bool check_shape(struct turn *turn, const struct call *call)
{
    const struct command_row *row = command_row(call->command);
    enum magic_body body = rows[call->command].body;
    if (call->block && body == BODY_NONE)
        output_fail(turn->output, FAIL_USAGE, "%%%s takes no text below it; write it with one %%", row->name);
    else if (!call->block && body == BODY_MUST)
        output_fail(turn->output, FAIL_USAGE, "%%%%%s takes the text below it; write it with two %%",
                    row->name);
    else if (call->argument_length && !row->argument && call->command != COMMAND_RESET)
        output_fail(turn->output, FAIL_USAGE, "%%%s takes nothing after it", row->name);
    else
        return true;
    return false;
}

bool magic_run(struct turn *turn, const struct step *step, struct question *question,
               const struct message *request, json_t **ret)
{
    *ret = NULL;
    if (step->kind == STEP_PARAMETERS)
        return params_assign_lines(turn, step->body, step->body_length);
    const char *argument, *near;
    struct call call = {.block = step->kind == STEP_BLOCK,
                        .body = step->body,
                        .body_length = step->body_length,
                        .question = question,
                        .request = request};
    call.command =
        command_parse(IN_NOTEBOOK, step->line, step->line_length, &argument, &call.argument_length, &near);
    if (call.command == COMMAND_COUNT || !rows[call.command].run)
        return unknown(turn, step->line + 1, name_length(step->line, step->line_length));
    struct text copy = {0};
    text_append(&copy, argument, call.argument_length);
    call.argument = text_string(&copy);
    call.name = command_row(call.command)->name;
    bool ok = !copy.failed && check_shape(turn, &call);
    if (ok && strlen(call.argument) != call.argument_length) {
        output_fail(turn->output, FAIL_USAGE, "%%%s: a NUL character stands in the line", call.name);
        ok = false;
    }
    ok = ok && rows[call.command].run(turn, &call, ret);
    text_fini(&copy);
    return ok;
}
