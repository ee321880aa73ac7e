/* sum: a summary of documents of any length, its outline and what it covers.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "repl/documents.h"
#include "repl/say.h"
#include "repl/summing.h"
#include "repl/verbs.h"
#include "repl/work.h"

static void print_lines(const struct summing *summing, struct output *output)
{
    for (size_t i = 0; i < ll_summary_node_count(summing->summary); i++) {
        json_t *line = summing_node_json(summing, i);
        json_put_string(line, "type", "part");
        json_print(output, line, JSON_COMPACT);
    }
    json_t *line = summing_json(summing, false);
    json_put_string(line, "type", "summary");
    json_print(output, line, JSON_COMPACT);
}

static void print_plan(const struct summing *summing, struct program *program)
{
    bool json = settings_flag(&program->settings, OPTION_JSON);
    if (program->streams_json || json)
        json_print(&program->output, summing_plan_json(summing), json ? JSON_INDENT(2) : JSON_COMPACT);
    else
        summing_print_plan(summing, &program->output);
}

enum form { FORM_TEXT, FORM_MARKDOWN, FORM_HTML }; /* as option.c lists them */

static bool ends_with(const char *name, const char *ending)
{
    size_t length = strlen(name), tail = strlen(ending);
    return length > tail && strcmp(name + length - tail, ending) == 0;
}

static enum form wanted_form(const struct program *program)
{
    const char *path = settings_text(&program->settings, OPTION_OUTPUT);
    if (settings_given(&program->settings, OPTION_FORMAT))
        return (enum form)settings_count(&program->settings, OPTION_FORMAT, FORM_TEXT);
    if (path && (ends_with(path, ".html") || ends_with(path, ".htm")))
        return FORM_HTML;
    return path && (ends_with(path, ".md") || ends_with(path, ".markdown")) ? FORM_MARKDOWN : FORM_TEXT;
}

static void print_summary(const struct summing *summing, struct program *program)
{
    if (program->streams_json)
        print_lines(summing, &program->output);
    else if (settings_flag(&program->settings, OPTION_JSON))
        json_print(&program->output, summing_json(summing, true), JSON_INDENT(2));
    else if (wanted_form(program) == FORM_MARKDOWN)
        summing_print_markdown(summing, &program->output);
    else if (wanted_form(program) == FORM_HTML)
        summing_print_html(summing, &program->output);
    else
        summing_print(summing, &program->output);
    if (settings_flag(&program->settings, OPTION_TRACE))
        summing_trace(summing);
}

static int sum_document(struct program *program, const ll_document *document, struct work *work)
{
    struct summing summing = {0};
    int code = summing_plan(&summing, program, document, work->model,
                            work->model ? text_string(&work->label) : NULL);
    if (!code && settings_flag(&program->settings, OPTION_PLAN)) {
        code = summing_predict(&summing, program);
        if (!code)
            print_plan(&summing, program);
    } else if (!code) {
        code = summing_make(&summing, program);
        if (!code) {
            print_summary(&summing, program);
            if (!summing_complete(&summing)) {
                say_note("the summary does not rest on the whole document; the coverage line says how much "
                         "was read");
                code = LEAVE_UNCOVERED;
            }
        }
    }
    summing_fini(&summing);
    return code;
}

int verb_sum(struct program *program)
{
    struct work work = {0};
    ll_document *document = NULL;
    bool needs_model =
        settings_count(&program->settings, OPTION_METHOD, LL_METHOD_AUTO) != LL_METHOD_EXTRACTIVE;
    int code = documents_open(program, (const char *const *)program->operands, (size_t)program->operand_count,
                              &document);
    if (!code && needs_model)
        code = work_open(&work, program, NULL, WORK_MODEL);
    if (!code)
        code = sum_document(program, document, &work);
    ll_document_close(document);
    work_close(&work, code);
    return code;
}
