/* ask: answers to questions from documents, with the sentences they stand in.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/asking.h"
#include "repl/documents.h"
#include "repl/say.h"
#include "repl/verbs.h"
#include "repl/work.h"

/* The worst of several questions decides: not read whole, then not found. */
static int answer_one(struct program *program, const ll_document *document, struct work *work,
                      const char *question, size_t number)
{
    struct asking asking = {.document = document,
                            .question = question,
                            .model_name = work->model ? text_string(&work->label) : NULL};
    ll_document_get_info(document, &asking.document_info);
    int code = asking_make(&asking, program, work->model);
    if (!code) {
        if (settings_flag(&program->settings, OPTION_JSON)) {
            json_print(&program->output, asking_json(&asking), JSON_INDENT(2));
        } else {
            if (number)
                output_puts(&program->output, "\n");
            if (program->settings.values[OPTION_QUESTION].item_count > 1)
                output_printf(&program->output, "%s\n", question);
            asking_print(&asking, &program->output);
        }
        if (settings_flag(&program->settings, OPTION_TRACE))
            asking_trace(&asking);
        code = !asking.info.found ? LEAVE_ABSENT : LEAVE_OK;
        output_flush(&program->output);
    }
    ll_answer_free(asking.answer);
    return code;
}

static int answer_all(struct program *program, const ll_document *document, struct work *work)
{
    const struct setting *questions = &program->settings.values[OPTION_QUESTION];
    int worst = LEAVE_OK;
    size_t absent = 0;
    for (size_t i = 0; i < questions->item_count; i++) {
        int code = answer_one(program, document, work, questions->items[i], i);
        if (code != LEAVE_OK && code != LEAVE_ABSENT)
            return code;
        worst = code ? code : worst;
        absent += code == LEAVE_ABSENT;
    }
    if (absent && questions->item_count > 1)
        say_note("%zu of %zu questions found no answer in the document%s: exit status %d", absent,
                 questions->item_count, program->operand_count > 1 ? "s" : "", (int)LEAVE_ABSENT);
    int covered = documents_covered(document);
    return covered ? covered : worst;
}

int verb_ask(struct program *program)
{
    struct work work = {0};
    ll_document *document = NULL;
    if (!program->settings.values[OPTION_QUESTION].item_count) {
        say_error("ask what? Give the question with -q TEXT");
        return LEAVE_USAGE;
    }
    bool needs_model =
        settings_count(&program->settings, OPTION_METHOD, LL_METHOD_AUTO) != LL_METHOD_EXTRACTIVE;
    int code = documents_open(program, (const char *const *)program->operands, (size_t)program->operand_count,
                              &document);
    if (!code && needs_model)
        code = work_open(&work, program, NULL, WORK_MODEL);
    if (!code)
        code = answer_all(program, document, &work);
    ll_document_close(document);
    work_close(&work, code);
    return code;
}
