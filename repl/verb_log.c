/* log: what earlier runs took, as a table, JSON, CSV, two side by side, or a curve over the plan.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <unistd.h>

#include "console/modelpath.h"
#include "console/runs.h"
#include "console/terminal.h"
#include "repl/say.h"
#include "repl/verbs.h"

static void label_path(const char *path, struct text *label)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t length = strlen(name);
    text_append(label, name, length > 5 && strcmp(name + length - 5, ".gguf") == 0 ? length - 5 : length);
}

static enum runs_form wanted_form(const struct settings *settings)
{
    return settings_flag(settings, OPTION_JSON)  ? RUNS_JSON
           : settings_flag(settings, OPTION_CSV) ? RUNS_CSV
                                                 : RUNS_TEXT;
}

static size_t columns_of(const struct program *program)
{
    return program->output.terminal ? terminal_columns(STDOUT_FILENO) : 0;
}

/* Words are checked before the log is looked at. */
static int check_line(const struct program *program)
{
    const struct settings *settings = &program->settings;
    bool compare = settings_flag(settings, OPTION_COMPARE), curve = settings_flag(settings, OPTION_CURVE);
    const char *problem = NULL;
    if (settings_flag(settings, OPTION_JSON) && settings_flag(settings, OPTION_CSV))
        problem = "--json and --csv are two forms of the answer: choose one";
    else if (compare && curve)
        problem = "--compare and --curve are two answers: choose one";
    else if (compare && program->operand_count != 2)
        problem = "--compare needs two runs: longleaf log --compare A B";
    else if (!compare && program->operand_count)
        problem = "log takes runs only to compare them: longleaf log --compare A B";
    else if (curve && wanted_form(settings) != RUNS_TEXT)
        problem = "--curve draws; the figures are in `longleaf log --json`";
    else if (!curve && settings_text(settings, OPTION_SVG))
        problem = "--svg needs --curve";
    if (problem)
        say_error("%s", problem);
    return problem ? LEAVE_USAGE : LEAVE_OK;
}

static int read_filter(const struct program *program, ll_runlog_filter *filter, struct text *model)
{
    const struct settings *settings = &program->settings;
    const char *since = settings_text(settings, OPTION_SINCE);
    ll_runlog_filter_init(filter);
    if (since && !runs_read_since(since, &filter->since)) {
        say_error("--since: “%s” is neither a day such as 2026-11-30 nor a time such as 12h or 7d", since);
        return LEAVE_USAGE;
    }
    /* A usual model of the configuration is no wish to see its runs alone. */
    if (settings->values[OPTION_MODEL].origin == ORIGIN_LINE && !settings_flag(settings, OPTION_CURVE)) {
        label_path(settings_text(settings, OPTION_MODEL), model);
        filter->model = text_string(model);
    }
    filter->verb = settings_text(settings, OPTION_VERB);
    filter->last = (size_t)settings_count(settings, OPTION_LAST, 0);
    return LEAVE_OK;
}

static int compare(struct program *program, struct text *answer)
{
    int64_t ids[2];
    ll_error error = {0};
    for (int i = 0; i < 2; i++)
        if (!runs_read_id(program->operands[i], &ids[i])) {
            say_error("“%s” is no number of a run; `longleaf log` lists them", program->operands[i]);
            return LEAVE_USAGE;
        }
    if (runs_compare(wanted_form(&program->settings), ids[0], ids[1], answer, &error) != LL_OK)
        return program_fail(program, CONCERN_WORK, &error);
    return LEAVE_OK;
}

static int write_drawing(const char *path, const struct text *drawing)
{
    struct output output;
    if (output_open(&output, path)) {
        output_write(&output, text_string(drawing), drawing->length);
        if (output_close(&output, true))
            return LEAVE_OK;
        say_error("%s: %s", path, strerror(output.failure));
    } else {
        say_error("%s cannot be written", path);
        output_close(&output, false);
    }
    return LEAVE_OTHER;
}

static int draw(struct program *program, const ll_runlog_filter *filter, struct text *answer)
{
    const char *svg = settings_text(&program->settings, OPTION_SVG);
    struct text path = {0}, label = {0}, problem = {0}, drawing = {0};
    ll_error error = {0};
    int code = LEAVE_OK;
    if (!modelpath_find(settings_text(&program->settings, OPTION_MODEL), &path, &problem)) {
        say_error("%s", text_string(&problem));
        code = LEAVE_MODEL;
    }
    label_path(text_string(&path), &label);
    size_t columns = program->output.terminal ? columns_of(program) : 72;
    if (!code &&
        runs_curve(text_string(&path), text_string(&label), filter, false, columns, answer, &error) != LL_OK)
        code = program_fail(program, CONCERN_MODEL, &error);
    if (!code && svg &&
        runs_curve(text_string(&path), text_string(&label), filter, true, columns, &drawing, &error) != LL_OK)
        code = program_fail(program, CONCERN_MODEL, &error);
    if (!code && svg)
        code = write_drawing(svg, &drawing);
    text_fini(&drawing);
    text_fini(&problem);
    text_fini(&label);
    text_fini(&path);
    return code;
}

int verb_log(struct program *program)
{
    ll_runlog_filter filter;
    ll_error error = {0};
    struct text answer = {0}, model = {0};
    int code = check_line(program);
    if (!code)
        code = read_filter(program, &filter, &model);
    if (!code && settings_flag(&program->settings, OPTION_COMPARE))
        code = compare(program, &answer);
    else if (!code && settings_flag(&program->settings, OPTION_CURVE))
        code = draw(program, &filter, &answer);
    else if (!code && runs_show(wanted_form(&program->settings), &filter, columns_of(program), &answer,
                                &error) != LL_OK)
        code = program_fail(program, CONCERN_WORK, &error);
    if (!code && answer.failed) {
        say_error("out of memory");
        code = LEAVE_MEMORY;
    }
    if (!code)
        output_write(&program->output, text_string(&answer), answer.length);
    text_fini(&answer);
    text_fini(&model);
    return code;
}
