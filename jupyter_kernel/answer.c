/* Answers to prompts: the conversation's next turn, streamed, kept as far as it came.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/human.h"
#include "jupyter_kernel/room.h"

enum { LEAST_ROOM = 16 };
static const double markdown_pause = 0.4; /* seconds between two states of an answer shown as Markdown */

/* ---- what the model is given ---- */

static bool no_memory(struct turn *turn)
{
    output_fail(turn->output, FAIL_MEMORY, "there is no memory for the conversation");
    return false;
}

/* Documents stand in the prefixes of messages, each after a line with its name. After a fusion the text
 * itself is gone, and what was said of it stands in the summary. */
static bool document_is_given(const struct conversation *conversation, const struct talk_document *document,
                              const char *heading)
{
    for (size_t i = 0; i < conversation->now.count; i++) {
        const struct conversation_message *message = conversation->now.messages[i];
        const char *at = strstr(message->text, heading);
        if ((message->fused && document->sent) || (at && (size_t)(at - message->text) < message->prefix))
            return true;
    }
    return false;
}

static void say_too_long(struct turn *turn, const char *path, size_t tokens)
{
    output_display(
        turn->output,
        bundle_line("%s has %s tokens, too many to talk about at once in a context of %s: the model "
                    "answers without it. %%%%ask and %%%%summarize read it in windows.",
                    path, human_count(tokens).text, human_count(talk_capacity(turn->talk)).text),
        NULL, false);
}

/* The documents that leave room for a question and an answer, and were not given yet. */
static bool add_documents(struct turn *turn, struct text *whole)
{
    struct talk *talk = turn->talk;
    struct text heading = {0};
    bool ok = true;
    for (size_t i = 0; i < talk->document_count && ok; i++) {
        size_t length, tokens = 0;
        const char *body = ll_document_text(talk->documents[i].document, &length);
        text_clear(&heading);
        text_printf(&heading, "%s:\n\n", talk->documents[i].path);
        if (document_is_given(&talk->conversation, &talk->documents[i], text_string(&heading)))
            continue;
        ok = talk_weigh(turn, talk->documents[i].document, &tokens);
        if (ok && tokens > talk_capacity(talk) / 4 * 3) {
            if (!talk->documents[i].told)
                say_too_long(turn, talk->documents[i].path, tokens);
            talk->documents[i].told = true;
        } else if (ok) {
            text_append(whole, text_string(&heading), heading.length);
            text_append(whole, body, length);
            text_puts(whole, "\n\n");
        }
    }
    text_fini(&heading);
    return ok;
}

static bool add_question(struct turn *turn, const char *prompt, size_t length)
{
    struct text whole = {0};
    bool ok = add_documents(turn, &whole);
    size_t prefix = whole.length;
    text_append(&whole, prompt, length);
    if (ok && (whole.failed || !conversation_keep(&turn->talk->conversation)))
        ok = no_memory(turn);
    if (ok &&
        !conversation_add(&turn->talk->conversation, "user", whole.bytes, whole.length, prefix, false)) {
        conversation_undo(&turn->talk->conversation);
        ok = no_memory(turn);
    }
    text_fini(&whole);
    return ok;
}

static bool encode(struct turn *turn, ll_token **ret_tokens, size_t *ret_count)
{
    struct conversation *conversation = &turn->talk->conversation;
    ll_error error = {0};
    if (conversation_tokens(conversation, turn->talk->model, conversation->now.count, true, ret_tokens,
                            ret_count, &error) == LL_OK)
        return true;
    output_fail_error(turn->output, FAIL_MODEL, &error);
    return false;
}

static bool refuse_full(struct turn *turn, size_t count)
{
    output_fail(
        turn->output, FAIL_CONTEXT,
        "with this prompt the conversation has %s tokens and the context holds %s; %%undo takes turns "
        "back, %%reset begins a new conversation, and %%%%summarize reads texts of any length",
        human_count(count).text, human_count(talk_capacity(turn->talk)).text);
    return false;
}

/* The tokens of the conversation, after its oldest part has become a summary where that is needed. */
static bool fit(struct turn *turn, ll_token **ret_tokens, size_t *ret_count)
{
    if (!encode(turn, ret_tokens, ret_count))
        return false;
    if (!room_lacks(turn->talk, *ret_count))
        return true;
    free(*ret_tokens);
    *ret_tokens = NULL;
    if (!room_make(turn) || !encode(turn, ret_tokens, ret_count))
        return false;
    if (*ret_count + LEAST_ROOM <= talk_capacity(turn->talk))
        return true;
    free(*ret_tokens);
    *ret_tokens = NULL;
    return refuse_full(turn, *ret_count);
}

/* ---- generation ---- */

/* Past the end of the context: the beginning and the last half of the timeline, computed anew. */
static bool slide(struct turn *turn)
{
    size_t count, capacity = talk_capacity(turn->talk), first = capacity / 64, last = capacity / 2;
    const ll_token *tokens = ll_session_tokens(turn->talk->session, &count);
    ll_token *kept = calloc(first + last + 1, sizeof *kept);
    ll_run run = turn_run(turn);
    ll_error error = {0};
    if (!kept)
        return no_memory(turn);
    memcpy(kept, tokens, first * sizeof *kept);
    memcpy(kept + first, tokens + count - last, last * sizeof *kept);
    ll_status status = ll_session_sync(turn->talk->session, kept, first + last, &run, &error);
    free(kept);
    gauge_note(&turn->gauge, "past the context: the beginning and the latest half of it are kept");
    if (status != LL_OK)
        output_fail_error(turn->output, FAIL_WORK, &error);
    return status == LL_OK;
}

static bool generate(struct turn *turn, ll_finish *ret)
{
    struct talk *talk = turn->talk;
    ll_sampling sampling = talk_sampling(talk);
    size_t limit = (size_t)settings_count(&talk->settings, OPTION_MAX_TOKENS, SIZE_MAX);
    ll_run run = turn_run(turn);
    ll_error error = {0};
    *ret = LL_FINISH_LENGTH;
    while (turn->tokens < limit) {
        ll_status status = ll_generate(talk->session, &sampling, limit - turn->tokens, &run, ret, &error);
        if (status == LL_CANCELLED)
            *ret = LL_FINISH_CANCELLED;
        else if (status != LL_OK) {
            output_fail_error(turn->output, FAIL_WORK, &error);
            return false;
        }
        /* Only text without an end may outgrow the context: an answer would lose its question. */
        if (*ret != LL_FINISH_CONTEXT || !talk->ignore_end || talk_capacity(talk) < 64)
            return true;
        if (!slide(turn))
            return turn->text.length > 0;
    }
    return true;
}

static bool compute(struct turn *turn, const ll_token *tokens, size_t count, ll_finish *ret)
{
    ll_run run = turn_run(turn);
    ll_error error = {0};
    ll_status status = ll_session_sync(turn->talk->session, tokens, count, &run, &error);
    if (status == LL_OK)
        return generate(turn, ret);
    *ret = LL_FINISH_CANCELLED;
    if (status != LL_CANCELLED)
        output_fail_error(turn->output, FAIL_WORK, &error);
    return status == LL_CANCELLED;
}

/* ---- the end of an answer ---- */

static void show_markdown(struct turn *turn)
{
    struct text safe = {0};
    char id[96];
    json_t *bundle = bundle_new(text_string(&turn->text), turn->text.length);
    /* What the model writes is Markdown, but no HTML and no picture from elsewhere. */
    for (size_t i = 0; i < turn->text.length; i++) {
        char c = turn->text.bytes[i];
        if (c == '<')
            text_puts(&safe, "&lt;");
        else if (c == '!' && turn->text.bytes[i + 1] == '[')
            text_puts(&safe, "\\!");
        else
            text_putc(&safe, c);
    }
    bundle_add(bundle, "text/markdown", &safe);
    text_fini(&safe);
    snprintf(id, sizeof id, "answer-%.60s", turn->output->request->id);
    output_display(turn->output, bundle, id, turn->shown > 0);
    turn->shown = human_clock();
}

void turn_show(struct turn *turn, const char *bytes, size_t length)
{
    if (!turn->talk->markdown)
        output_stream(turn->output, "stdout", bytes, length);
    else if (human_clock() - turn->shown > markdown_pause)
        show_markdown(turn);
}

static void end_text(struct turn *turn)
{
    if (!turn->text.length)
        return;
    if (turn->talk->markdown)
        show_markdown(turn);
    else if (turn->text.bytes[turn->text.length - 1] != '\n')
        output_stream(turn->output, "stdout", "\n", 1);
}

static bool say_stopped(struct turn *turn)
{
    output_fail(
        turn->output, FAIL_INTERRUPT,
        "stopped after %s tokens; the text so far is kept as a partial answer (%%continue goes on with "
        "it, %%undo takes the turn back), and the cache holds %s tokens",
        human_count(turn->tokens).text, human_count(ll_session_position(turn->talk->session)).text);
    return false;
}

static void warn_nearly_full(struct turn *turn)
{
    size_t position = ll_session_position(turn->talk->session);
    bool nearly = position * 10 >= talk_capacity(turn->talk) * 9;
    if (nearly && !turn->talk->warned)
        gauge_note(&turn->gauge,
                   "the context is nearly full; what is oldest will become a summary when it is needed");
    turn->talk->warned = nearly;
}

static void mark_sent(struct talk *talk)
{
    for (size_t i = 0; i < talk->document_count; i++) {
        struct text heading = {0};
        text_printf(&heading, "%s:\n\n", talk->documents[i].path);
        if (!heading.failed &&
            document_is_given(&talk->conversation, &talk->documents[i], text_string(&heading)))
            talk->documents[i].sent = true;
        text_fini(&heading);
    }
}

/* Generates from the tokens and adds the answer, which begins with `before`. False: the turn is undone, or
 * it was stopped and its part is kept. */
static bool finish_turn(struct turn *turn, ll_token *tokens, size_t count, const struct text *before)
{
    struct conversation *conversation = &turn->talk->conversation;
    ll_finish finish = LL_FINISH_LENGTH;
    turn->streams = true;
    turn->asked = human_clock();
    gauge_count_anew(&turn->gauge); /* those of a summary before it are no part of the answer */
    bool ok = compute(turn, tokens, count, &finish);
    turn->streams = false;
    free(tokens);
    end_text(turn);
    bool stopped = finish == LL_FINISH_CANCELLED;
    if (ok && stopped && !turn->text.length) {
        output_fail(turn->output, FAIL_INTERRUPT,
                    "stopped before an answer began; the prompt is taken back, and the cache holds %s tokens",
                    human_count(ll_session_position(turn->talk->session)).text);
        ok = false;
    }
    struct text whole = {0};
    if (before)
        text_append(&whole, text_string(before), before->length);
    text_append(&whole, text_string(&turn->text), turn->text.length);
    bool partial = stopped || finish == LL_FINISH_LENGTH || finish == LL_FINISH_CONTEXT;
    if (ok && (whole.failed ||
               !conversation_add(conversation, "assistant", text_string(&whole), whole.length, 0, partial)))
        ok = no_memory(turn);
    text_fini(&whole);
    talk_record(turn);
    if (!ok)
        conversation_undo(conversation);
    else
        mark_sent(turn->talk);
    if (ok && finish == LL_FINISH_CONTEXT)
        gauge_note(&turn->gauge, "the context is full; %continue makes room and goes on");
    else if (ok)
        warn_nearly_full(turn);
    return ok && (!stopped || say_stopped(turn));
}

/* ---- turns ---- */

static bool count_tokens(struct turn *turn, const char *text, size_t length, size_t *ret)
{
    ll_error error = {0};
    if (ll_tokenize(turn->talk->model, text, length, false, false, NULL, 0, ret, &error) == LL_OK)
        return true;
    output_fail_error(turn->output, FAIL_WORK, &error);
    return false;
}

bool talk_ask(struct turn *turn, const char *prompt, size_t length, json_t **ret)
{
    ll_token *tokens = NULL;
    size_t count = 0;
    turn->talk->retries = 0;
    gauge_show(&turn->gauge);
    if (!talk_open_model(turn) || !count_tokens(turn, prompt, length, &count))
        return false;
    if (room_lacks(turn->talk, count))
        return room_route(turn, prompt, length, count, ret);
    if (!add_question(turn, prompt, length))
        return false;
    if (!fit(turn, &tokens, &count)) {
        conversation_undo(&turn->talk->conversation);
        return false;
    }
    return finish_turn(turn, tokens, count, NULL);
}

static bool last_is_answer(const struct conversation *conversation)
{
    return conversation->now.count &&
           strcmp(conversation->now.messages[conversation->now.count - 1]->role, "assistant") == 0;
}

bool talk_retry(struct turn *turn)
{
    struct conversation *conversation = &turn->talk->conversation;
    ll_token *tokens = NULL;
    size_t count = 0;
    if (!last_is_answer(conversation)) {
        output_fail(turn->output, FAIL_USAGE, "there is no answer yet that could be made anew");
        return false;
    }
    gauge_show(&turn->gauge);
    if (!talk_open_model(turn))
        return false;
    if (!conversation_keep(conversation))
        return no_memory(turn);
    conversation_drop_last(conversation);
    turn->talk->retries++;
    if (!fit(turn, &tokens, &count)) {
        conversation_undo(conversation);
        return false;
    }
    return finish_turn(turn, tokens, count, NULL);
}

/* The tokens up to the answer's beginning, then the answer's own, without an end of turn. */
static bool encode_open(struct turn *turn, const struct text *before, ll_token **ret_tokens,
                        size_t *ret_count)
{
    ll_token *tokens = NULL;
    size_t count = 0, more = 0;
    ll_error error = {0};
    const ll_model *model = turn->talk->model;
    if (!fit(turn, &tokens, &count))
        return false;
    ll_status status =
        ll_tokenize(model, text_string(before), before->length, false, false, NULL, 0, &more, &error);
    ll_token *all = status == LL_OK ? realloc(tokens, (count + more + 1) * sizeof *all) : NULL;
    if (all)
        status = ll_tokenize(model, text_string(before), before->length, false, false, all + count, more + 1,
                             &more, &error);
    if (!all || status != LL_OK) {
        if (status != LL_OK)
            output_fail_error(turn->output, FAIL_WORK, &error);
        else
            no_memory(turn);
        free(all ? all : tokens);
        return false;
    }
    *ret_tokens = all;
    *ret_count = count + more;
    if (*ret_count + LEAST_ROOM <= talk_capacity(turn->talk))
        return true;
    free(all);
    return refuse_full(turn, *ret_count);
}

bool talk_continue(struct turn *turn)
{
    struct conversation *conversation = &turn->talk->conversation;
    struct text before = {0};
    ll_token *tokens = NULL;
    size_t count = 0;
    if (!last_is_answer(conversation)) {
        output_fail(turn->output, FAIL_USAGE, "there is no answer yet that could be gone on with");
        return false;
    }
    gauge_show(&turn->gauge);
    if (!talk_open_model(turn))
        return false;
    const struct conversation_message *last = conversation->now.messages[conversation->now.count - 1];
    text_append(&before, last->text, last->length);
    if (before.failed || !conversation_keep(conversation)) {
        text_fini(&before);
        return no_memory(turn);
    }
    conversation_drop_last(conversation);
    bool ok = encode_open(turn, &before, &tokens, &count);
    if (!ok)
        conversation_undo(conversation);
    ok = ok && finish_turn(turn, tokens, count, &before);
    text_fini(&before);
    return ok;
}

bool talk_preview(struct turn *turn, const char *prompt, size_t length, struct text *ret, size_t *ret_tokens)
{
    struct conversation *conversation = &turn->talk->conversation;
    ll_token *tokens = NULL;
    ll_error error = {0};
    if (!talk_open_model(turn) || !add_question(turn, prompt, length))
        return false;
    bool ok = encode(turn, &tokens, ret_tokens);
    if (ok && conversation_render(conversation, turn->talk->model, conversation->now.count, true, ret,
                                  &error) != LL_OK) {
        output_fail_error(turn->output, FAIL_MODEL, &error);
        ok = false;
    }
    free(tokens);
    conversation_undo(conversation);
    return ok;
}
