/* What the commands of a conversation do.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/talk_command.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "console/escape.h"
#include "console/files.h"
#include "console/human.h"
#include "console/parameter.h"
#include "repl/say.h"
#include "repl/talk_show.h"

struct argument {
    const char *text; /* the rest of the line, ended by NUL */
    size_t length;
};

typedef int (*command_fn)(struct talk *talk, const struct argument *argument);

static const char *or_null(const struct argument *argument)
{
    return argument->length ? argument->text : NULL;
}

static int unknown_command(const char *line, size_t length, const char *near)
{
    size_t end = 0;
    while (end < length && end < 60 && line[end] && !strchr(" \t\n", line[end]))
        end++;
    if (near)
        say_error("there is no command %.*s; did you mean /%s?", (int)end, line, near);
    else
        say_error("there is no command %.*s; /help lists them, and \"\"\" around a message lets it begin "
                  "with a slash",
                  (int)end, line);
    return LEAVE_USAGE;
}

/* ---- documents ---- */

static int do_load(struct talk *talk, const struct argument *argument)
{
    struct files files;
    int code = LEAVE_OK;
    if (!files_read(&files, argument->text)) {
        say_error("no memory for the names of files");
        code = LEAVE_MEMORY;
    }
    for (size_t i = 0; i < files.count && code < LEAVE_HUNG_UP; i++) {
        int each = talk_attach(talk, files.paths[i]);
        code = each ? each : code;
    }
    files_fini(&files);
    return code;
}

static int do_docs(struct talk *talk, const struct argument *argument)
{
    (void)argument;
    return show_documents(talk);
}

static int do_sum(struct talk *talk, const struct argument *argument)
{
    return talk_sum_all(talk, or_null(argument));
}

static int do_ask(struct talk *talk, const struct argument *argument)
{
    return talk_question(talk, argument->text, 0);
}

static int do_plan(struct talk *talk, const struct argument *argument)
{
    return talk_plan(talk, or_null(argument));
}

static int do_cite(struct talk *talk, const struct argument *argument)
{
    return talk_cite(talk, argument->text);
}

/* ---- settings ---- */

static void say_parameter(const struct talk *talk, const char *name)
{
    enum option option = parameter_find(name, strcspn(name, " \t="));
    const char *value = option == OPTION_COUNT ? NULL : talk->program->settings.values[option].text;
    if (value)
        say_aside("%s is %s from the next answer on", option_row(option)->name, value);
}

static int do_params(struct talk *talk, const struct argument *argument)
{
    struct text problem = {0};
    if (!argument->length)
        return show_parameters(talk);
    bool ok = parameter_set(&talk->program->settings, argument->text, argument->length, &problem);
    if (!ok)
        say_error("%s; /params lists them all", text_string(&problem));
    else
        say_parameter(talk, argument->text);
    text_fini(&problem);
    return ok ? LEAVE_OK : LEAVE_USAGE;
}

static int do_system(struct talk *talk, const struct argument *argument)
{
    struct output *output = &talk->program->output;
    const char *system = talk->conversation.system;
    if (!argument->length) {
        output_printf(output, "%s\n",
                      system ? system : "the model's own system message (/system TEXT sets one)");
        return LEAVE_OK;
    }
    bool own = strcmp(argument->text, "default") == 0;
    if (!conversation_set_system(&talk->conversation, own ? NULL : argument->text)) {
        say_error("no memory for the system message");
        return LEAVE_MEMORY;
    }
    say_aside("from the next message on%s", own ? ", the model's own system message" : "");
    return LEAVE_OK;
}

static int do_model(struct talk *talk, const struct argument *argument)
{
    if (!argument->length)
        return show_model(talk);
    int code = talk_change_model(talk, argument->text);
    if (!code)
        show_model(talk);
    return code;
}

/* ---- what is going on ---- */

static int do_context(struct talk *talk, const struct argument *argument)
{
    (void)argument;
    return show_context(talk);
}

static int do_kv(struct talk *talk, const struct argument *argument)
{
    (void)argument;
    return show_cache(talk);
}

static int do_log(struct talk *talk, const struct argument *argument)
{
    return show_runs(talk, argument->text);
}

/* Where there is no screen; chat.c shows it on one. */
static int do_dash(struct talk *talk, const struct argument *argument)
{
    (void)argument;
    return show_report(talk);
}

static int do_memory(struct talk *talk, const struct argument *argument)
{
    enum memory_request request;
    if (memory_read_request(argument->text, argument->length, &request))
        return show_memory(talk, request);
    say_error("/memory takes trim, json, prometheus or nothing");
    return LEAVE_USAGE;
}

static int do_prompt(struct talk *talk, const struct argument *argument)
{
    return show_prompt(talk, argument->text, argument->length);
}

static int do_why(struct talk *talk, const struct argument *argument)
{
    char *end;
    unsigned long count = argument->length ? strtoul(argument->text, &end, 10) : 10;
    if (argument->length && (*end || !count || count > WHY_TOKENS)) {
        say_error("/why takes a number of tokens from 1 to %d", WHY_TOKENS);
        return LEAVE_USAGE;
    }
    return show_why(talk, count);
}

static int do_echo(struct talk *talk, const struct argument *argument)
{
    output_printf(&talk->program->output, "%s\n", argument->text);
    return LEAVE_OK;
}

static int do_help(struct talk *talk, const struct argument *argument)
{
    return show_help(&talk->program->output, argument->text, argument->length);
}

/* ---- turns ---- */

static void say_state(struct talk *talk, const char *what)
{
    size_t count = talk->conversation.now.count;
    const struct conversation_message *last = conversation_last(&talk->conversation, "user");
    size_t length = 0;
    const char *typed = last ? conversation_typed(last, &length) : "";
    struct text shown = {0};
    text_append(&shown, typed, length);
    size_t fits = text_fit(text_string(&shown), 50);
    bool cut = text_string(&shown)[fits] || strchr(text_string(&shown), '\n');
    fits = strcspn(text_string(&shown), "\n") < fits ? strcspn(text_string(&shown), "\n") : fits;
    if (count)
        say_aside("%s; %s, the last of yours: “%.*s%s”", what, human_things(count, "message").text, (int)fits,
                  text_string(&shown), cut ? " …" : "");
    else
        say_aside("%s; the conversation is empty", what);
    text_fini(&shown);
}

static int do_undo(struct talk *talk, const struct argument *argument)
{
    (void)argument;
    if (!conversation_undo(&talk->conversation)) {
        say_error("there is nothing to take back");
        return LEAVE_USAGE;
    }
    talk->retries = 0;
    talk_settle(talk);
    say_state(talk, "taken back");
    talk_keep_safe(talk);
    return LEAVE_OK;
}

static int do_retry(struct talk *talk, const struct argument *argument)
{
    (void)argument;
    return talk_retry(talk, NULL);
}

static int do_edit(struct talk *talk, const struct argument *argument)
{
    if (!argument->length) {
        say_error("/edit needs the new text here; on a terminal it opens $EDITOR");
        return LEAVE_USAGE;
    }
    return talk_retry(talk, argument->text);
}

static int do_continue(struct talk *talk, const struct argument *argument)
{
    (void)argument;
    return talk_continue(talk);
}

static int do_mark(struct talk *talk, const struct argument *argument)
{
    if (!argument->length)
        return show_marks(talk);
    if (!conversation_mark(&talk->conversation, argument->text)) {
        say_error("no memory for the mark");
        return LEAVE_MEMORY;
    }
    say_aside("marked “%s”: /back %s returns here", argument->text, argument->text);
    talk_keep_safe(talk);
    return LEAVE_OK;
}

static int no_mark(const struct talk *talk, const char *name)
{
    if (!talk->conversation.mark_count)
        say_error("no point is marked yet; /mark NAME marks one");
    else
        say_error("there is no mark “%s”; /mark lists them", name);
    return LEAVE_USAGE;
}

static int do_back(struct talk *talk, const struct argument *argument)
{
    struct conversation *c = &talk->conversation;
    const struct conversation_mark *mark = argument->length
                                               ? conversation_find_mark(c, argument->text)
                                               : (c->mark_count ? &c->marks[c->mark_count - 1] : NULL);
    if (!mark)
        return no_mark(talk, argument->text);
    if (!conversation_back(c, mark)) {
        say_error("no memory to go back");
        return LEAVE_MEMORY;
    }
    talk_settle(talk);
    say_state(talk, "back (/undo returns)");
    talk_keep_safe(talk);
    return LEAVE_OK;
}

static int do_reset(struct talk *talk, const struct argument *argument)
{
    (void)argument;
    if (!conversation_reset(&talk->conversation)) {
        say_error("no memory to begin anew");
        return LEAVE_MEMORY;
    }
    for (size_t i = 0; i < talk->document_count; i++)
        talk->documents[i].sent = false;
    talk->warned = false;
    talk_settle(talk);
    say_aside("a new conversation begins (/undo brings the old one back)");
    talk_keep_safe(talk);
    return LEAVE_OK;
}

/* ---- files ---- */

static int do_save(struct talk *talk, const struct argument *argument)
{
    return talk_save(talk, argument->text);
}

static int do_open(struct talk *talk, const struct argument *argument)
{
    return talk_open(talk, argument->text);
}

static int do_export(struct talk *talk, const struct argument *argument)
{
    return talk_export(talk, argument->text, argument->length);
}

/* ---- the table ---- */

static const command_fn functions[COMMAND_COUNT] = {
    [COMMAND_LOAD] = do_load,         [COMMAND_DOCS] = do_docs,
    [COMMAND_SUM] = do_sum,           [COMMAND_PLAN] = do_plan,
    [COMMAND_CITE] = do_cite,         [COMMAND_PARAMS] = do_params,
    [COMMAND_SYSTEM] = do_system,     [COMMAND_MODEL] = do_model,
    [COMMAND_CONTEXT] = do_context,   [COMMAND_KV] = do_kv,
    [COMMAND_MEMORY] = do_memory,     [COMMAND_PROMPT] = do_prompt,
    [COMMAND_WHY] = do_why,           [COMMAND_ECHO] = do_echo,
    [COMMAND_HELP] = do_help,         [COMMAND_UNDO] = do_undo,
    [COMMAND_RETRY] = do_retry,       [COMMAND_EDIT] = do_edit,
    [COMMAND_CONTINUE] = do_continue, [COMMAND_MARK] = do_mark,
    [COMMAND_BACK] = do_back,         [COMMAND_RESET] = do_reset,
    [COMMAND_OPEN] = do_open,         [COMMAND_EXPORT] = do_export,
    [COMMAND_SAVE] = do_save,         [COMMAND_ASK] = do_ask,
    [COMMAND_LOG] = do_log,           [COMMAND_DASH] = do_dash,
};

int talk_command(struct talk *talk, const char *line, size_t length, bool *ret_quit)
{
    const char *text, *near;
    size_t text_length;
    enum command command = command_parse(IN_REPL, line, length, &text, &text_length, &near);
    if (command == COMMAND_COUNT)
        return unknown_command(line, length, near);
    const struct command_row *row = command_row(command);
    if (text_length && !row->argument) {
        say_error("/%s takes nothing after it", row->name);
        return LEAVE_USAGE;
    }
    if (!text_length && row->argument && row->argument[0] != '[') {
        say_error("/%s needs something after it: /%s %s", row->name, row->name, row->argument);
        return LEAVE_USAGE;
    }
    if (command == COMMAND_QUIT) {
        *ret_quit = true;
        return LEAVE_OK;
    }
    struct text copy = {0};
    if (row->shape == SHAPE_FILE || row->shape == SHAPE_MODEL) {
        struct text typed = {0};
        text_append(&typed, text, text_length);
        files_one(text_string(&typed), &copy);
        text_fini(&typed);
    } else {
        text_append(&copy, text, text_length);
    }
    struct argument argument = {text_string(&copy), copy.length};
    int code = functions[command](talk, &argument);
    text_fini(&copy);
    return code;
}
