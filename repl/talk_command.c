/* What the commands of a conversation do.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/talk_command.h"

#include <stdlib.h>
#include <string.h>

#include "console/command.h"
#include "console/human.h"
#include "console/parameter.h"
#include "repl/documents.h"
#include "repl/say.h"
#include "repl/summing.h"

static int list_commands(struct output *output)
{
    for (int i = 0; i < COMMAND_COUNT; i++) {
        const struct command_row *row = command_row((enum command)i);
        if (command_is_in((enum command)i, IN_REPL))
            output_printf(output, "/%-9s %-18s %s\n", row->name, row->argument ? row->argument : "",
                          row->help);
    }
    output_puts(
        output,
        "\"\"\" begins a message of several lines and ends it; Ctrl-C stops an answer, twice at an empty "
        "prompt it leaves.\n");
    return LEAVE_OK;
}

static int show_help(struct output *output, const char *name, size_t length)
{
    if (!length)
        return list_commands(output);
    if (name[0] == '/') {
        name++;
        length--;
    }
    enum command command = command_find(IN_REPL, name, length);
    if (command == COMMAND_COUNT) {
        const char *near = command_near(IN_REPL, name, length);
        say_error("there is no command /%.*s%s%s%s; /help lists them", (int)(length < 60 ? length : 60), name,
                  near ? " (did you mean /" : "", near ? near : "", near ? "?)" : "");
        return LEAVE_USAGE;
    }
    const struct command_row *row = command_row(command);
    output_printf(output, "/%s%s%s: %s.\n", row->name, row->argument ? " " : "",
                  row->argument ? row->argument : "", row->help);
    if (row->aliases)
        output_printf(output, "Also called: %s.\n", row->aliases);
    if (row->more)
        output_printf(output, "%s\n", row->more);
    return LEAVE_OK;
}

static int show_documents(const struct talk *talk)
{
    struct output *output = &talk->program->output;
    if (!talk->document_count)
        output_puts(output, "no document is attached; /load FILE attaches one\n");
    for (size_t i = 0; i < talk->document_count; i++) {
        const struct talk_document *document = &talk->documents[i];
        ll_document_info info = {0};
        ll_document_get_info(document->document, &info);
        output_printf(output, "%s: %s, %s tokens", document->name, info.kind,
                      human_count(document->tokens).text);
        if (info.pages)
            output_printf(output, ", %zu pages", info.pages);
        output_puts(output, document->fits ? "\n" : "; too long to talk about at once, /sum summarises it\n");
    }
    return LEAVE_OK;
}

static int show_context(const struct talk *talk)
{
    ll_session_stats stats;
    struct output *output = &talk->program->output;
    if (ll_session_get_stats(talk->work->session, &stats) != LL_OK)
        return LEAVE_OTHER;
    double share = stats.cache_capacity ? (double)stats.position / (double)stats.cache_capacity : 0;
    output_printf(output, "%s of %s tokens %s, %s for keys and values, %zu messages\n",
                  human_count(stats.position).text, human_count(stats.cache_capacity).text,
                  human_bar(share, 10, talk->program->meter.unicode).text,
                  human_bytes(stats.cache_bytes).text, talk->message_count);
    return LEAVE_OK;
}

static int show_parameters(const struct talk *talk)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct setting *setting = &talk->program->settings.values[i];
        if (parameter_is((enum option)i))
            output_printf(&talk->program->output, "%-18s %s\n", option_row((enum option)i)->name,
                          setting->given ? setting->text : "-");
    }
    return LEAVE_OK;
}

static int set_parameter(struct talk *talk, const char *argument, size_t length)
{
    struct text problem = {0};
    bool ok = parameter_set(&talk->program->settings, argument, length, &problem);
    if (!ok)
        say_error("%s; /params lists them all", text_string(&problem));
    text_fini(&problem);
    return ok ? LEAVE_OK : LEAVE_USAGE;
}

static int sum_one(struct talk *talk, const char *name, const ll_document *document)
{
    struct summing summing = {0};
    struct output *output = &talk->program->output;
    int code =
        summing_plan(&summing, talk->program, document, talk->work->model, text_string(&talk->work->label));
    if (!code)
        code = summing_make(&summing, talk->program);
    if (!code) {
        output_printf(output, "%s\n\n", name);
        summing_print(&summing, output);
        code = summing_complete(&summing) ? LEAVE_OK : LEAVE_UNCOVERED;
    }
    output_flush(output);
    summing_fini(&summing);
    return code;
}

static int sum_documents(struct talk *talk, const char *path)
{
    int code = LEAVE_OK;
    if (!path && !talk->document_count) {
        say_error("no document is attached; /sum FILE summarises a file, /load FILE attaches one");
        return LEAVE_USAGE;
    }
    if (path) {
        ll_document *document = NULL;
        code = documents_open(talk->program, &path, 1, &document);
        if (!code)
            code = sum_one(talk, path, document);
        ll_document_close(document);
        return code;
    }
    for (size_t i = 0; i < talk->document_count && code < LEAVE_INTERRUPTED; i++) {
        int each = sum_one(talk, talk->documents[i].name, talk->documents[i].document);
        code = each ? each : code;
    }
    return code;
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

int talk_command(struct talk *talk, const char *line, size_t length, bool *ret_quit)
{
    const char *argument, *near;
    size_t argument_length;
    enum command command = command_parse(IN_REPL, line, length, &argument, &argument_length, &near);
    if (command == COMMAND_COUNT)
        return unknown_command(line, length, near);
    const struct command_row *row = command_row(command);
    if (argument_length && !row->argument) {
        say_error("/%s takes nothing after it", row->name);
        return LEAVE_USAGE;
    }
    struct text path = {0};
    text_append(&path, argument, argument_length);
    int code = LEAVE_OK;
    switch (command) {
    case COMMAND_HELP:
        code = show_help(&talk->program->output, argument, argument_length);
        break;
    case COMMAND_QUIT:
        *ret_quit = true;
        break;
    case COMMAND_RESET:
        talk_reset(talk);
        ll_session_rewind(talk->work->session, 0);
        break;
    case COMMAND_LOAD:
        if (!path.length)
            say_error("/load needs the name of a file");
        code = path.length ? talk_attach(talk, text_string(&path)) : LEAVE_USAGE;
        break;
    case COMMAND_DOCS:
        code = show_documents(talk);
        break;
    case COMMAND_SUM:
        code = sum_documents(talk, path.length ? text_string(&path) : NULL);
        break;
    case COMMAND_PARAMS:
        code = path.length ? set_parameter(talk, argument, argument_length) : show_parameters(talk);
        break;
    case COMMAND_CONTEXT:
        code = show_context(talk);
        break;
    default:
        break;
    }
    text_fini(&path);
    return code;
}
