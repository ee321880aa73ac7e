/* What a conversation shows of itself: documents, parameters, context, cache, memory, prompt, alternatives.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/talk_show.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "console/escape.h"
#include "console/human.h"
#include "console/memory.h"
#include "console/parameter.h"
#include "console/report.h"
#include "console/runs.h"
#include "console/sampling.h"
#include "console/terminal.h"
#include "repl/say.h"

/* ---- help ---- */

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
        "\nTab completes, Ctrl-R searches what was typed before, Alt-Enter or a backslash at the end goes "
        "on in a new line, \"\"\" begins and ends a message of several lines, Ctrl-X Ctrl-E opens "
        "$EDITOR. Ctrl-C stops an answer; twice at an empty prompt it leaves.\n");
    return LEAVE_OK;
}

int show_help(struct output *output, const char *name, size_t length)
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

/* ---- what is there ---- */

int show_documents(const struct talk *talk)
{
    struct output *output = &talk->program->output;
    if (!talk->document_count)
        output_puts(output, "no document is attached; /load FILE attaches one\n");
    for (size_t i = 0; i < talk->document_count; i++) {
        const struct talk_document *document = &talk->documents[i];
        ll_document_info info = {0};
        ll_document_get_info(document->document, &info);
        output_printf(output, "%s: %s, %s", document->name, info.kind,
                      human_things(document->tokens, "token").text);
        if (info.pages)
            output_printf(output, ", %s", human_things(info.pages, "page").text);
        output_puts(output, !document->fits
                                ? "; too long to talk about at once, /ask asks it, /sum summarises it\n"
                            : talk_given(talk, i) ? "; the model has its text\n"
                                                  : "; goes with the next message\n");
    }
    return LEAVE_OK;
}

int show_parameters(const struct talk *talk)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct setting *setting = &talk->program->settings.values[i];
        if (parameter_is((enum option)i))
            output_printf(&talk->program->output, "%-18s %-8s %s\n", option_row((enum option)i)->name,
                          setting->given && setting->text ? setting->text : "-",
                          option_row((enum option)i)->help);
    }
    ll_sampling sampling = sampling_of(&talk->program->settings);
    char order[256] = "";
    size_t length;
    ll_error error = {0};
    if (ll_sampling_order(&sampling, order, sizeof order, &length, &error) != LL_OK)
        output_printf(&talk->program->output, "%-18s %s\n", "order", error.text);
    else
        output_printf(&talk->program->output, "%-18s %s\n", "order", order);
    return LEAVE_OK;
}

int show_model(const struct talk *talk)
{
    const ll_model_info *info = &talk->work->info;
    output_printf(&talk->program->output,
                  "%s: %s, %s parameters, %s, %s in the file, %s; context %s of %s trained\n",
                  text_string(&talk->work->label), info->architecture, human_count(info->parameters).text,
                  info->quantization, human_bytes(info->file_bytes).text, info->chat,
                  human_count(work_capacity(talk->work)).text, human_count(info->trained_context).text);
    if (info->adapters)
        output_printf(&talk->program->output, "%zu adapter%s over it, %s in memory\n", info->adapters,
                      info->adapters == 1 ? "" : "s", human_bytes(info->adapter_bytes).text);
    return LEAVE_OK;
}

int show_context(struct talk *talk)
{
    ll_session_stats stats;
    ll_memory memory;
    struct output *output = &talk->program->output;
    if (!talk_gauge(talk, &stats, &memory))
        return LEAVE_OTHER;
    double share = stats.cache_capacity ? (double)stats.position / (double)stats.cache_capacity : 0;
    output_printf(
        output, "%s of %s tokens %s, %s for keys and values, %s\n", human_count(stats.position).text,
        human_count(stats.cache_capacity).text, human_bar(share, 10, talk->program->meter.unicode).text,
        human_bytes(stats.cache_bytes).text, human_things(talk->conversation.now.count, "message").text);
    return LEAVE_OK;
}

int show_cache(const struct talk *talk)
{
    ll_session_stats stats;
    struct output *output = &talk->program->output;
    if (ll_session_get_stats(talk->work->session, &stats) != LL_OK)
        return LEAVE_OTHER;
    output_printf(output, "%-10s %s of %s tokens in %s\n", "held", human_count(stats.cache_used).text,
                  human_count(stats.cache_capacity).text, human_things(stats.cache_blocks, "block").text);
    output_printf(output, "%-10s %s as %s, %s a token\n", "memory", human_bytes(stats.cache_bytes).text,
                  settings_text(&talk->program->settings, OPTION_KV),
                  human_bytes(stats.cache_capacity ? stats.cache_bytes / stats.cache_capacity : 0).text);
    output_printf(output, "%-10s %s tokens of the last prompt needed no computing\n", "reused",
                  human_count(stats.reused).text);
    output_printf(output, "%-10s %s tokens read in %s (%s/s), %s written in %s (%s/s)\n", "computed",
                  human_count(stats.prefilled).text, human_seconds(stats.prefill_seconds).text,
                  human_rate((double)stats.prefilled / stats.prefill_seconds).text,
                  human_count(stats.decoded).text, human_seconds(stats.decode_seconds).text,
                  human_rate((double)stats.decoded / stats.decode_seconds).text);
    return LEAVE_OK;
}

int show_memory(const struct talk *talk, enum memory_request request)
{
    struct text account = {0};
    ll_error error = {0};
    const struct work *work = talk->work;
    if (request != REQUEST_TRIM)
        memory_show((enum memory_form)request, work->engine, work->model, work->session, &account);
    else if (memory_trim(work->engine, work->model, work->session, &account, &error) != LL_OK) {
        text_fini(&account);
        return program_fail(talk->program, CONCERN_WORK, &error);
    }
    if (request == REQUEST_JSON)
        text_putc(&account, '\n');
    output_write(&talk->program->output, text_string(&account), account.length);
    text_fini(&account);
    return LEAVE_OK;
}

int show_report(const struct talk *talk)
{
    struct text bytes = {0}, shown = {0};
    struct report report;
    beacon_report(talk->program->beacon, &bytes);
    if (report_read(text_string(&bytes), bytes.length, &report))
        report_show(&report, &shown);
    output_write(&talk->program->output, text_string(&shown), shown.length);
    text_fini(&bytes);
    text_fini(&shown);
    return LEAVE_OK;
}

int show_runs(const struct talk *talk, const char *words)
{
    struct output *output = &talk->program->output;
    size_t columns = output->terminal ? terminal_columns(STDOUT_FILENO) : 0;
    struct text answer = {0};
    ll_error error = {0};
    ll_runlog_filter filter;
    ll_status status = LL_OK;
    int64_t pair[2];
    ll_runlog_filter_init(&filter);
    switch (runs_read_wish(words, pair)) {
    case RUNS_LIST:
        status = runs_show(RUNS_TEXT, &filter, columns, &answer, &error);
        break;
    case RUNS_CURVE:
        status = runs_curve(text_string(&talk->work->path), text_string(&talk->work->label), &filter, false,
                            columns ? columns : 72, &answer, &error);
        break;
    case RUNS_PAIR:
        status = runs_compare(RUNS_TEXT, pair[0], pair[1], &answer, &error);
        break;
    case RUNS_UNKNOWN:
        say_error("/log takes nothing, --curve, or --compare and the numbers of two runs, not “%s”", words);
        return LEAVE_USAGE;
    }
    if (status == LL_OK)
        output_write(output, text_string(&answer), answer.length);
    text_fini(&answer);
    return status == LL_OK ? LEAVE_OK : program_fail(talk->program, CONCERN_WORK, &error);
}

int show_marks(const struct talk *talk)
{
    const struct conversation *c = &talk->conversation;
    if (!c->mark_count)
        output_puts(&talk->program->output, "no point is marked; /mark NAME marks this one\n");
    for (size_t i = 0; i < c->mark_count; i++)
        output_printf(&talk->program->output, "%s: after %s\n", c->marks[i].name,
                      human_things(c->marks[i].state.count, "message").text);
    return LEAVE_OK;
}

/* ---- what the model is given, and why it said what it said ---- */

static int print_prompt(const struct talk *talk, const struct conversation *c)
{
    struct output *output = &talk->program->output;
    struct text rendered = {0};
    ll_token *tokens = NULL;
    size_t count = 0;
    ll_error error = {0};
    ll_status status = conversation_render(c, talk->work->model, c->now.count, true, &rendered, &error);
    if (status == LL_OK)
        status = conversation_tokens(c, talk->work->model, c->now.count, true, &tokens, &count, &error);
    if (status == LL_OK) {
        output_write(output, text_string(&rendered), rendered.length);
        output_puts(output, "\n");
        for (size_t i = 0; i < count; i++)
            output_printf(output, "%d%s", tokens[i], i + 1 < count ? " " : "\n");
        output_printf(output, "%s tokens of a context of %s\n", human_count(count).text,
                      human_count(work_capacity(talk->work)).text);
    }
    free(tokens);
    text_fini(&rendered);
    return status == LL_OK ? LEAVE_OK : program_fail(talk->program, CONCERN_WORK, &error);
}

int show_prompt(const struct talk *talk, const char *text, size_t length)
{
    struct conversation next = {.system = talk->conversation.system};
    bool ok = true;
    for (size_t i = 0; ok && i < talk->conversation.now.count; i++) {
        const struct conversation_message *message = talk->conversation.now.messages[i];
        ok = conversation_add(&next, message->role, message->text, message->length, message->prefix, false);
    }
    struct text whole = {0};
    size_t prefix = talk_compose(talk, text, length, &whole);
    if (length)
        ok = ok && !whole.failed && conversation_add(&next, "user", whole.bytes, whole.length, prefix, false);
    text_fini(&whole);
    int code = LEAVE_OK;
    if (!ok) {
        say_error("no memory for the prompt");
        code = LEAVE_MEMORY;
    } else if (!next.now.count && !next.system) {
        say_error("the conversation is empty; /prompt TEXT shows what TEXT would become");
        code = LEAVE_USAGE;
    } else {
        code = print_prompt(talk, &next);
    }
    next.system = NULL;
    conversation_fini(&next);
    return code;
}

static void print_choice(struct output *output, const struct why_choice *choice, const char *end)
{
    struct text shown = {0};
    escape_append_line(&shown, choice->text);
    output_printf(output, "“%s” %.1f %%%s", text_string(&shown), 100 * exp((double)choice->logprob), end);
    text_fini(&shown);
}

int show_why(const struct talk *talk, size_t count)
{
    struct output *output = &talk->program->output;
    size_t kept = talk->why.count < WHY_TOKENS ? talk->why.count : WHY_TOKENS;
    if (!kept) {
        say_error("there is no answer yet whose tokens could be explained");
        return LEAVE_USAGE;
    }
    count = count < kept ? count : kept;
    for (size_t i = talk->why.count - count; i < talk->why.count; i++) {
        const struct why_token *row = &talk->why.tokens[i % WHY_TOKENS];
        print_choice(output, &row->taken, " among ");
        for (size_t c = 0; c < row->count; c++)
            print_choice(output, &row->best[c], c + 1 < row->count ? ", " : "\n");
    }
    return LEAVE_OK;
}
