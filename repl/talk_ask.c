/* Messages and answers: a turn from what was typed to what the conversation keeps.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "console/fusion.h"
#include "console/escape.h"
#include "console/human.h"
#include "repl/prompt.h"
#include "repl/say.h"
#include "repl/signals.h"
#include "repl/talk.h"

enum { LEAST_ROOM = 64 };

size_t talk_room(const struct talk *talk)
{
    return fusion_room(&talk->program->settings, work_capacity(talk->work));
}

static int no_memory(void)
{
    say_error("no memory for the message");
    return LEAVE_MEMORY;
}

size_t talk_compose(const struct talk *talk, const char *text, size_t length, struct text *out)
{
    for (size_t i = 0; i < talk->document_count; i++) {
        if (!talk->documents[i].fits || talk_given(talk, i))
            continue;
        size_t size;
        const char *body = ll_document_text(talk->documents[i].document, &size);
        text_printf(out, "%s:\n\n", talk->documents[i].name);
        text_append(out, body, size);
        text_puts(out, "\n\n");
    }
    size_t prefix = out->length;
    text_append(out, text, length);
    return prefix;
}

static int add_question(struct talk *talk, const char *text, size_t length)
{
    struct text whole = {0};
    size_t prefix = talk_compose(talk, text, length, &whole);
    bool ok = !whole.failed &&
              conversation_add(&talk->conversation, "user", text_string(&whole), whole.length, prefix, false);
    text_fini(&whole);
    return ok ? LEAVE_OK : no_memory();
}

static int encode(struct talk *talk, ll_token **ret_tokens, size_t *ret_count)
{
    ll_error error = {0};
    ll_status status = conversation_tokens(&talk->conversation, talk->work->model,
                                           talk->conversation.now.count, true, ret_tokens, ret_count, &error);
    if (status == LL_UNSUPPORTED) {
        say_error("%s; `longleaf run --raw` continues a text without a template", error.text);
        return LEAVE_USAGE;
    }
    return status == LL_OK ? LEAVE_OK : program_fail(talk->program, CONCERN_WORK, &error);
}

static int refuse_full(size_t count, size_t capacity)
{
    say_error(
        "with this message the conversation has %s tokens and the context holds %s; /reset begins a new one",
        human_count(count).text, human_count(capacity).text);
    return LEAVE_UNCOVERED;
}

/* The tokens of the conversation, after its oldest part has become a summary where that is needed. */
static int fit(struct talk *talk, ll_token **tokens, size_t *count)
{
    size_t capacity = work_capacity(talk->work);
    int code = encode(talk, tokens, count);
    if (code || *count + talk_room(talk) <= capacity)
        return code;
    free(*tokens);
    *tokens = NULL;
    code = talk_make_room(talk, capacity - talk_room(talk));
    if (!code)
        code = encode(talk, tokens, count);
    if (!code && *count + LEAST_ROOM / 4 > capacity)
        code = refuse_full(*count, capacity);
    return code;
}

/* ---- answers ---- */

static void warn_nearly_full(struct talk *talk)
{
    size_t capacity = work_capacity(talk->work), position = ll_session_position(talk->work->session);
    bool nearly = position * 10 >= capacity * 9;
    if (nearly && !talk->warned)
        say_note("the context is %s full (%s of %s tokens); what is oldest will become a summary when it "
                 "is needed",
                 human_share((double)position / (double)capacity).text, human_count(position).text,
                 human_count(capacity).text);
    talk->warned = nearly;
}

static void say_finish(struct talk *talk, const struct answer *answer)
{
    if (answer->finish == LL_FINISH_CANCELLED)
        say_aside("[stopped; the text so far is kept, and /continue goes on]");
    else if (answer->circled)
        say_note(
            "the answer went in a circle and was ended; /params repeat-penalty 1.1 and /retry often help, "
            "/continue goes on");
    else if (answer->finish == LL_FINISH_CONTEXT)
        say_note("the context of %s tokens is full; /continue makes room and goes on",
                 human_count(work_capacity(talk->work)).text);
    else if (answer->finish == LL_FINISH_LENGTH)
        say_aside("[%s, the most that was asked for; /continue goes on]",
                  human_things(answer->generated, "token").text);
    warn_nearly_full(talk);
}

/* Generates after the tokens. before: the text that the answer continues. */
static int answer_tokens(struct talk *talk, const ll_token *tokens, size_t count, const char *before)
{
    struct program *program = talk->program;
    struct answer answer;
    struct text whole = {0};
    answer_init(&answer, program, talk->work, true, false);
    talk->why.count = 0;
    talk_compute(talk);
    if (!settings_flag(&program->settings, OPTION_NO_LOOP_GUARD))
        answer_guard(&answer);
    answer.why = &talk->why;
    answer.seed_shift = talk->retries;
    program->output.prose = true;
    int code = answer_make(&answer, talk->work, tokens, count,
                           (size_t)settings_count(&program->settings, OPTION_MAX_TOKENS, SIZE_MAX));
    output_end_line(&program->output);
    program->output.prose = false;
    if (!code && answer.finish == LL_FINISH_CANCELLED && !answer.text.length && !*before) {
        say_aside("[stopped before an answer began; the message is taken back]");
        code = program_interrupted();
    } else if (!code) {
        bool partial = answer.finish == LL_FINISH_CANCELLED || answer.finish == LL_FINISH_CONTEXT;
        text_puts(&whole, before);
        text_append(&whole, text_string(&answer.text), answer.text.length);
        if (whole.failed || !conversation_add(&talk->conversation, "assistant", text_string(&whole),
                                              whole.length, 0, partial))
            code = no_memory();
        else if (*before && !answer.text.length && answer.finish == LL_FINISH_END)
            say_aside("[the answer had come to its end: the model adds nothing to it]");
        else
            say_finish(talk, &answer);
    }
    bool stopped = answer.finish == LL_FINISH_CANCELLED;
    bool kept = !code;
    text_fini(&whole);
    answer_fini(&answer);
    return kept && stopped ? -program_interrupted() : code;
}

static void mark_sent(struct talk *talk)
{
    for (size_t i = 0; i < talk->document_count; i++)
        talk->documents[i].sent = talk->documents[i].sent || talk_given(talk, i);
}

/* A turn after the state before it was kept. A failure takes it back; a stopped answer stays. */
static int take_turn(struct talk *talk, const char *text, size_t length)
{
    ll_token *tokens = NULL;
    size_t count = 0;
    int code = add_question(talk, text, length);
    if (!code)
        code = fit(talk, &tokens, &count);
    if (!code)
        code = answer_tokens(talk, tokens, count, "");
    free(tokens);
    if (code > 0) {
        conversation_undo(&talk->conversation);
        talk_settle(talk);
    } else {
        mark_sent(talk);
    }
    talk_keep_safe(talk);
    return code < 0 ? -code : code;
}

/* ---- long messages ---- */

/* What was typed around the pasted texts. */
static void instruction_of(const struct talk_message *message, struct text *out)
{
    const char *at = text_string(&message->shown);
    while (*at) {
        size_t part = strcspn(at, "[");
        text_append(out, at, part);
        at += part;
        const char *end = *at ? strpbrk(at, "]\n") : NULL;
        if (end && *end == ']' && (strstr(at, " tokens") < end || strstr(at, " bytes") < end))
            at = end + 1;
        else if (*at)
            text_putc(out, *at++);
    }
}

static size_t trim(const char **text, size_t length)
{
    while (length && strchr(" \t\n", **text)) {
        (*text)++;
        length--;
    }
    while (length && strchr(" \t\n", (*text)[length - 1]))
        length--;
    return length;
}

/* A message that no context holds is a document: attached, and read in windows. */
static int route(struct talk *talk, const struct talk_message *message, size_t tokens)
{
    struct text instruction = {0}, name = {0};
    instruction_of(message, &instruction);
    const char *words = text_string(&instruction);
    size_t length = trim(&words, instruction.length);
    bool asked = length && length < message->text.length / 2;
    text_printf(&name, "pasted text %zu", talk->document_count + 1);
    say_note("the message has %s tokens and the context holds %s: it is attached as “%s” and read in windows",
             human_count(tokens).text, human_count(work_capacity(talk->work)).text, text_string(&name));
    int code = talk_attach_text(talk, text_string(&name), message->text.bytes, message->text.length);
    struct text focus = {0};
    text_append(&focus, words, asked ? length : 0);
    if (!code && strchr(text_string(&focus), '?')) {
        code = talk_question(talk, text_string(&focus), talk->document_count - 1);
    } else if (!code) {
        const struct talk_document *last = &talk->documents[talk->document_count - 1];
        code = talk_sum(talk, last->name, last->document, focus.length ? text_string(&focus) : NULL);
    }
    text_fini(&focus);
    text_fini(&instruction);
    text_fini(&name);
    return code;
}

static int count_tokens(struct talk *talk, const char *text, size_t length, size_t *ret)
{
    ll_error error = {0};
    if (ll_tokenize(talk->work->model, text, length, false, false, NULL, 0, ret, &error) != LL_OK)
        return program_fail(talk->program, CONCERN_WORK, &error);
    return LEAVE_OK;
}

int talk_ask(struct talk *talk, const struct talk_message *message)
{
    size_t tokens = 0, capacity = work_capacity(talk->work);
    const char *text = text_string(&message->text);
    int code = count_tokens(talk, text, message->text.length, &tokens);
    if (code)
        return code;
    talk->retries = 0;
    if (tokens + talk_room(talk) + LEAST_ROOM / 4 > capacity)
        return route(talk, message, tokens);
    return conversation_keep(&talk->conversation) ? take_turn(talk, text, message->text.length) : no_memory();
}

/* ---- the last turn again ---- */

int talk_retry(struct talk *talk, const char *changed)
{
    struct conversation *c = &talk->conversation;
    const struct conversation_message *last = conversation_last(c, "user");
    struct text typed = {0};
    size_t length = 0;
    if (!last) {
        say_error("there is no message yet to ask again");
        return LEAVE_USAGE;
    }
    const char *text = conversation_typed(last, &length);
    if (changed)
        text_puts(&typed, changed);
    else
        text_append(&typed, text, length);
    if (!changed && !settings_number(&talk->program->settings, OPTION_TEMP))
        say_aside("(the temperature is 0, so the answer will be the same; /params temp 0.7 lets it vary)");
    if (typed.failed || !conversation_keep(c)) {
        text_fini(&typed);
        return no_memory();
    }
    while (c->now.count && c->now.messages[c->now.count - 1] != last)
        conversation_drop_last(c);
    conversation_drop_last(c);
    talk->retries = changed ? 0 : talk->retries + 1;
    int code = take_turn(talk, text_string(&typed), typed.length);
    text_fini(&typed);
    return code;
}

/* The very tokens that were generated, while the session still holds them: the text's own tokens may be
 * others, and the answer would go on otherwise than if it had not been stopped. NULL: it holds them no more.
 */
static const ll_token *said_tokens(struct talk *talk, const char *before, const ll_token *prompt,
                                   size_t prompt_count, size_t *ret_count)
{
    size_t count = 0, length = 0, wanted = strlen(before);
    const ll_token *held = ll_session_tokens(talk->work->session, &count);
    if (count <= prompt_count || memcmp(held, prompt, prompt_count * sizeof *held) != 0)
        return NULL;
    held += prompt_count;
    count -= prompt_count;
    while (count && ll_token_is_end(talk->work->model, held[count - 1]))
        count--;
    struct text shown = {0};
    char *text = NULL;
    bool same = count && ll_detokenize(talk->work->model, held, count, NULL, 0, &length, NULL) == LL_OK &&
                (text = malloc(length + 1)) &&
                ll_detokenize(talk->work->model, held, count, text, length, &length, NULL) == LL_OK;
    if (same)
        escape_repair(&shown, text, length); /* bytes that are no character were shown so */
    same = same && shown.length == wanted && memcmp(text_string(&shown), before, wanted) == 0;
    text_fini(&shown);
    free(text);
    *ret_count = count;
    return same ? held : NULL;
}

static int continue_tokens(struct talk *talk, const char *before, ll_token **tokens, size_t *count)
{
    ll_token *prompt = NULL, *said = NULL;
    const ll_token *held = NULL;
    size_t prompt_count = 0, said_count = 0;
    int code = fit(talk, &prompt, &prompt_count);
    if (!code)
        held = said_tokens(talk, before, prompt, prompt_count, &said_count);
    if (!code && !held)
        code = prompt_text_tokens(talk->program, talk->work, before, strlen(before), false, false, &said,
                                  &said_count);
    *tokens = code ? NULL : calloc(prompt_count + said_count + 1, sizeof **tokens);
    if (!code && !*tokens)
        code = no_memory();
    if (!code) {
        memcpy(*tokens, prompt, prompt_count * sizeof *prompt);
        memcpy(*tokens + prompt_count, held ? held : said, said_count * sizeof *said);
        *count = prompt_count + said_count;
    }
    free(prompt);
    free(said);
    return code;
}

int talk_continue(struct talk *talk)
{
    struct conversation *c = &talk->conversation;
    ll_token *tokens = NULL;
    size_t count = 0;
    if (!c->now.count || strcmp(c->now.messages[c->now.count - 1]->role, "assistant") != 0) {
        say_error("there is no answer yet to go on with");
        return LEAVE_USAGE;
    }
    struct text before = {0};
    text_puts(&before, c->now.messages[c->now.count - 1]->text);
    if (before.failed || !conversation_keep(c)) {
        text_fini(&before);
        return no_memory();
    }
    conversation_drop_last(c);
    int code = continue_tokens(talk, text_string(&before), &tokens, &count);
    if (!code && count + LEAST_ROOM / 4 > work_capacity(talk->work))
        code = refuse_full(count, work_capacity(talk->work));
    if (!code)
        code = answer_tokens(talk, tokens, count, text_string(&before));
    if (code > 0)
        conversation_undo(c);
    talk_keep_safe(talk);
    free(tokens);
    text_fini(&before);
    return code < 0 ? -code : code;
}
