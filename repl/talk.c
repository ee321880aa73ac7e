/* A conversation: its messages, the documents attached to it, and one answer at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/talk.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "console/human.h"
#include "repl/answer.h"
#include "repl/documents.h"
#include "repl/prompt.h"
#include "repl/say.h"
#include "repl/signals.h"

static void message_drop(struct talk *talk)
{
    free(talk->messages[--talk->message_count].text);
}

void talk_reset(struct talk *talk)
{
    while (talk->message_count)
        message_drop(talk);
    talk->given = 0;
}

void talk_fini(struct talk *talk)
{
    talk_reset(talk);
    free(talk->messages);
    for (size_t i = 0; i < talk->document_count; i++) {
        free(talk->documents[i].name);
        ll_document_close(talk->documents[i].document);
    }
    free(talk->documents);
    *talk = (struct talk){0};
}

/* ---- documents ---- */

static int document_weigh(struct talk *talk, struct talk_document *document)
{
    size_t length;
    const char *text = ll_document_text(document->document, &length);
    ll_token *tokens = NULL;
    int code =
        prompt_text_tokens(talk->program, talk->work, text, length, false, false, &tokens, &document->tokens);
    free(tokens);
    /* Room must be left for a question and an answer: a quarter of the context. */
    document->fits = document->tokens <= work_capacity(talk->work) / 4 * 3;
    return code;
}

static int document_keep(struct talk *talk, struct talk_document *document, const char *path)
{
    struct talk_document *documents =
        realloc(talk->documents, (talk->document_count + 1) * sizeof *documents);
    if (documents)
        talk->documents = documents;
    document->name = documents ? strdup(path) : NULL;
    if (!document->name) {
        say_error("no memory to keep %s", path);
        return LEAVE_MEMORY;
    }
    talk->documents[talk->document_count++] = *document;
    return LEAVE_OK;
}

int talk_attach(struct talk *talk, const char *path)
{
    struct talk_document document = {0};
    int code = documents_open(talk->program, &path, 1, &document.document);
    if (!code)
        code = document_weigh(talk, &document);
    if (!code)
        code = document_keep(talk, &document, path);
    if (code) {
        ll_document_close(document.document);
        return code;
    }
    if (document.fits)
        say_aside("%s is attached: %s tokens", path, human_count(document.tokens).text);
    else
        say_note("%s has %s tokens, too many to talk about at once in a context of %s; /sum summarises it",
                 path, human_count(document.tokens).text, human_count(work_capacity(talk->work)).text);
    return LEAVE_OK;
}

/* ---- messages ---- */

static bool message_add(struct talk *talk, const char *role, const struct text *text)
{
    struct talk_message *messages = realloc(talk->messages, (talk->message_count + 1) * sizeof *messages);
    char *copy = malloc(text->length + 1);
    if (messages)
        talk->messages = messages;
    if (!messages || !copy || text->failed) {
        free(copy);
        say_error("no memory for the message");
        return false;
    }
    memcpy(copy, text_string(text), text->length);
    copy[text->length] = '\0';
    messages[talk->message_count++] = (struct talk_message){role, copy, text->length};
    return true;
}

/* The texts of documents that came since the last message, then what was typed: small models follow
 * best what stands last. */
static bool add_question(struct talk *talk, const char *text, size_t length)
{
    struct text whole = {0};
    for (size_t i = talk->given; i < talk->document_count; i++) {
        if (!talk->documents[i].fits)
            continue;
        size_t size;
        const char *body = ll_document_text(talk->documents[i].document, &size);
        text_printf(&whole, "%s:\n\n", talk->documents[i].name);
        text_append(&whole, body, size);
        text_puts(&whole, "\n\n");
    }
    text_append(&whole, text, length);
    bool ok = message_add(talk, "user", &whole);
    text_fini(&whole);
    return ok;
}

static int encode(const struct talk *talk, ll_token **ret_tokens, size_t *ret_count)
{
    const char *system = settings_text(&talk->program->settings, OPTION_SYSTEM);
    ll_message *messages = calloc(talk->message_count + 1, sizeof *messages);
    size_t count = 0;
    if (!messages) {
        say_error("no memory for the conversation");
        return LEAVE_MEMORY;
    }
    if (system)
        messages[count++] = (ll_message){"system", system, strlen(system)};
    for (size_t i = 0; i < talk->message_count; i++)
        messages[count++] =
            (ll_message){talk->messages[i].role, talk->messages[i].text, talk->messages[i].length};
    int code = prompt_chat_tokens(talk->program, talk->work, messages, count, ret_tokens, ret_count);
    free(messages);
    return code;
}

static int refuse_full(size_t count, size_t capacity)
{
    say_error(
        "with this message the conversation has %s tokens and the context holds %s; /reset begins a new one",
        human_count(count).text, human_count(capacity).text);
    return LEAVE_UNCOVERED;
}

static void keep_answer(struct talk *talk, const struct answer *answer)
{
    if (!message_add(talk, "assistant", &answer->text))
        message_drop(talk);
    output_end_line(&talk->program->output);
    if (answer->finish == LL_FINISH_CANCELLED)
        say_aside("[stopped; the text so far is kept]");
    else if (answer->finish == LL_FINISH_CONTEXT)
        say_note("the context of %s tokens is full; /reset begins a new conversation",
                 human_count(work_capacity(talk->work)).text);
}

int talk_ask(struct talk *talk, const char *text, size_t length)
{
    ll_token *tokens = NULL;
    size_t count = 0, capacity = work_capacity(talk->work);
    if (!add_question(talk, text, length))
        return LEAVE_MEMORY;
    int code = encode(talk, &tokens, &count);
    if (!code && count >= capacity)
        code = refuse_full(count, capacity);
    struct answer answer;
    answer_init(&answer, talk->program, talk->work, true, false);
    if (!code)
        code = answer_make(&answer, talk->work, tokens, count,
                           (size_t)settings_count(&talk->program->settings, OPTION_MAX_TOKENS, SIZE_MAX));
    if (!code && answer.finish == LL_FINISH_CANCELLED && !answer.text.length) {
        say_aside("[stopped before an answer began; the message is taken back]");
        code = program_interrupted();
    }
    if (code) {
        message_drop(talk);
    } else {
        talk->given = talk->document_count;
        keep_answer(talk, &answer);
        code = answer.finish == LL_FINISH_CANCELLED ? program_interrupted() : LEAVE_OK;
    }
    answer_fini(&answer);
    free(tokens);
    return code;
}
