/* tokens: how many tokens documents are, or which.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "console/human.h"
#include "repl/documents.h"
#include "repl/json.h"
#include "repl/prompt.h"
#include "repl/verbs.h"

struct counted {
    ll_token *tokens;
    size_t count, bytes;
};

static void print_ids(struct output *output, const struct counted *counted)
{
    for (size_t i = 0; i < counted->count; i++)
        output_printf(output, "%s%d", i ? " " : "", counted->tokens[i]);
    output_puts(output, "\n");
}

static json_t *token_json(const ll_model *model, ll_token token)
{
    json_t *row = json_object();
    size_t length = 0;
    const char *bytes = ll_token_text(model, token, &length);
    json_put_count(row, "id", (uint64_t)token);
    json_put_text(row, "text", bytes, length);
    json_t *values = json_array(); /* the bytes themselves: a token may be part of a character */
    for (size_t i = 0; i < length; i++)
        json_array_append_new(values, json_integer((unsigned char)bytes[i]));
    json_object_set_new(row, "bytes", values);
    return row;
}

static void print_json(struct program *program, const struct work *work, const struct counted *counted)
{
    json_t *object = json_object(), *ids = json_array(), *rows = json_array();
    json_put_count(object, "count", counted->count);
    json_put_count(object, "bytes", counted->bytes);
    json_put_count(object, "trained_context", work->info.trained_context);
    json_put_string(object, "tokenizer", work->info.tokenizer);
    for (size_t i = 0; i < counted->count; i++) {
        json_array_append_new(ids, json_integer(counted->tokens[i]));
        json_array_append_new(rows, token_json(work->model, counted->tokens[i]));
    }
    json_object_set_new(object, "ids", ids);
    json_object_set_new(object, "tokens", rows);
    json_print(&program->output, object, JSON_INDENT(2));
}

static void print_count(struct program *program, const struct work *work, const struct counted *counted)
{
    size_t context = work->info.trained_context;
    output_printf(&program->output, "%s tokens, %s bytes (%.2f bytes a token); ",
                  human_count(counted->count).text, human_count(counted->bytes).text,
                  counted->count ? (double)counted->bytes / (double)counted->count : 0.0);
    if (counted->count < context)
        output_printf(&program->output, "fits the model's context of %s\n", human_count(context).text);
    else
        output_printf(&program->output, "%.1f times the model's context of %s\n",
                      context ? (double)counted->count / (double)context : 0.0, human_count(context).text);
}

int verb_tokens(struct program *program)
{
    const struct settings *settings = &program->settings;
    struct work work = {0};
    struct counted counted = {0};
    ll_document *document = NULL;
    int code = documents_open(program, (const char *const *)program->operands, (size_t)program->operand_count,
                              &document);
    if (!code)
        code = work_open(&work, program, NULL, WORK_METADATA);
    if (!code) {
        const char *text = ll_document_text(document, &counted.bytes);
        code =
            prompt_text_tokens(program, &work, text, counted.bytes, settings_flag(settings, OPTION_SPECIAL),
                               false, &counted.tokens, &counted.count);
    }
    if (!code && settings_flag(settings, OPTION_JSON))
        print_json(program, &work, &counted);
    else if (!code && settings_flag(settings, OPTION_IDS))
        print_ids(&program->output, &counted);
    else if (!code)
        print_count(program, &work, &counted);
    if (!code)
        code = documents_covered(document);
    free(counted.tokens);
    ll_document_close(document);
    work_close(&work, code);
    return code;
}
