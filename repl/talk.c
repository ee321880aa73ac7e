/* A conversation with a model: documents attached, messages asked, one piece of work at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/talk.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "console/human.h"
#include "repl/documents.h"
#include "repl/prompt.h"
#include "repl/say.h"

static void look_at_device(struct talk *talk)
{
    ll_device_info device;
    talk->on_device = talk->work->engine && ll_engine_get_device(talk->work->engine, 0, &device) == LL_OK &&
                      device.kind != LL_CPU;
}

void talk_init(struct talk *talk, struct program *program, struct work *work)
{
    *talk = (struct talk){.program = program, .work = work, .standing = SIZE_MAX};
    pthread_mutex_init(&talk->gauge, NULL);
    look_at_device(talk);
    const char *system = settings_text(&program->settings, OPTION_SYSTEM);
    if (system)
        conversation_set_system(&talk->conversation, system);
}

void talk_fini(struct talk *talk)
{
    conversation_fini(&talk->conversation);
    summing_fini(&talk->summing);
    ll_document_close(talk->summed);
    ll_document_close(talk->together);
    for (size_t i = 0; i < talk->document_count; i++) {
        free(talk->documents[i].name);
        ll_document_close(talk->documents[i].document);
    }
    free(talk->documents);
    text_fini(&talk->summed_name);
    text_fini(&talk->saved);
    pthread_mutex_destroy(&talk->gauge);
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
    ll_document_close(talk->together);
    talk->together = NULL;
    return LEAVE_OK;
}

static int attach(struct talk *talk, struct talk_document *document, const char *name, bool speaks)
{
    int code = document_weigh(talk, document);
    if (!code)
        code = document_keep(talk, document, name);
    if (code)
        ll_document_close(document->document);
    if (code || !speaks)
        return code;
    if (document->fits)
        say_aside("%s is attached: %s", name, human_things(document->tokens, "token").text);
    else
        say_note("%s has %s tokens, too many to talk about at once in a context of %s; /ask asks it, /sum "
                 "summarises it",
                 name, human_count(document->tokens).text, human_count(work_capacity(talk->work)).text);
    return code;
}

int talk_attach(struct talk *talk, const char *path)
{
    struct talk_document document = {0};
    int code = documents_open(talk->program, &path, 1, &document.document);
    return code ? code : attach(talk, &document, path, true);
}

int talk_attach_text(struct talk *talk, const char *name, const char *text, size_t length)
{
    struct talk_document document = {0};
    ll_error error = {0};
    if (ll_document_from_text(text, length, NULL, &document.document, &error) != LL_OK)
        return program_fail(talk->program, CONCERN_DOCUMENT, &error);
    return attach(talk, &document, name, false);
}

/* After a fusion the text itself is gone, and what was said of it stands in the summary. */
bool talk_given(const struct talk *talk, size_t index)
{
    const struct talk_document *document = &talk->documents[index];
    const struct conversation_state *now = &talk->conversation.now;
    size_t length;
    const char *body = ll_document_text(document->document, &length);
    for (size_t i = 0; i < now->count; i++) {
        const struct conversation_message *message = now->messages[i];
        const char *at = message->text;
        if (message->fused && document->sent)
            return true;
        for (size_t left = message->prefix; length && left >= length;) {
            const char *found = memchr(at, body[0], left - length + 1);
            if (!found)
                break;
            if (memcmp(found, body, length) == 0)
                return true;
            left -= (size_t)(found + 1 - at);
            at = found + 1;
        }
    }
    return false;
}

/* ---- the model ---- */

int talk_change_model(struct talk *talk, const char *name)
{
    struct work work;
    int code = work_open(&work, talk->program, name, WORK_SESSION);
    if (code) {
        work_close(&work, code);
        return code;
    }
    summing_fini(&talk->summing);
    talk->summing = (struct summing){0};
    pthread_mutex_lock(&talk->gauge);
    struct work old = *talk->work;
    *talk->work = work;
    pthread_mutex_unlock(&talk->gauge);
    work_close(&old, LEAVE_OK);
    look_at_device(talk);
    talk->why.count = 0;
    for (size_t i = 0; i < talk->document_count && !code; i++)
        code = document_weigh(talk, &talk->documents[i]);
    return code;
}

void talk_settle(struct talk *talk)
{
    ll_token *tokens = NULL;
    size_t count = 0;
    if (talk->conversation.now.count &&
        conversation_tokens(&talk->conversation, talk->work->model, talk->conversation.now.count, false,
                            &tokens, &count, NULL) != LL_OK)
        count = SIZE_MAX;
    free(tokens);
    pthread_mutex_lock(&talk->gauge);
    talk->standing = count;
    pthread_mutex_unlock(&talk->gauge);
}

void talk_compute(struct talk *talk)
{
    pthread_mutex_lock(&talk->gauge);
    talk->standing = SIZE_MAX;
    pthread_mutex_unlock(&talk->gauge);
}

bool talk_gauge(struct talk *talk, ll_session_stats *stats, ll_memory *memory)
{
    if (pthread_mutex_trylock(&talk->gauge) != 0)
        return false;
    bool known = talk->work->session && ll_session_get_stats(talk->work->session, stats) == LL_OK &&
                 ll_engine_get_memory(talk->work->engine, 0, memory) == LL_OK;
    if (known && talk->standing < stats->position)
        stats->position = talk->standing;
    pthread_mutex_unlock(&talk->gauge);
    return known;
}
