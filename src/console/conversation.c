/* A conversation: its messages, what undo and marks return to, and its forms on disk.
 * SPDX-License-Identifier: Apache-2.0 */
#include "console/conversation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- states ---- */

static void message_release(struct conversation_message *message)
{
    if (--message->holders)
        return;
    free(message->text);
    free(message);
}

static void state_fini(struct conversation_state *state)
{
    for (size_t i = 0; i < state->count; i++)
        message_release(state->messages[i]);
    free(state->messages);
    *state = (struct conversation_state){0};
}

static bool state_copy(const struct conversation_state *state, struct conversation_state *ret)
{
    struct conversation_message **messages = calloc(state->count + 1, sizeof *messages);
    if (!messages)
        return false;
    for (size_t i = 0; i < state->count; i++) {
        messages[i] = state->messages[i];
        messages[i]->holders++;
    }
    *ret = (struct conversation_state){messages, state->count};
    return true;
}

static struct conversation_message *message_new(const char *role, const char *text, size_t length)
{
    struct conversation_message *message = calloc(1, sizeof *message);
    char *copy = malloc(length + 1);
    if (!message || !copy) {
        free(message);
        free(copy);
        return NULL;
    }
    if (length)
        memcpy(copy, text, length);
    copy[length] = '\0';
    *message = (struct conversation_message){.text = copy, .length = length};
    snprintf(message->role, sizeof message->role, "%s", role);
    return message;
}

static bool state_push(struct conversation_state *state, struct conversation_message *message)
{
    struct conversation_message **messages = realloc(state->messages, (state->count + 2) * sizeof *messages);
    if (!messages)
        return false;
    state->messages = messages;
    messages[state->count++] = message;
    message->holders++;
    return true;
}

void conversation_fini(struct conversation *c)
{
    state_fini(&c->now);
    for (size_t i = 0; i < c->past_count; i++)
        state_fini(&c->past[i]);
    for (size_t i = 0; i < c->mark_count; i++) {
        free(c->marks[i].name);
        state_fini(&c->marks[i].state);
    }
    free(c->past);
    free(c->marks);
    free(c->system);
    *c = (struct conversation){0};
}

bool conversation_set_system(struct conversation *c, const char *text)
{
    char *copy = text ? strdup(text) : NULL;
    if (text && !copy)
        return false;
    free(c->system);
    c->system = copy;
    return true;
}

/* ---- turns ---- */

bool conversation_keep(struct conversation *c)
{
    struct conversation_state *past = realloc(c->past, (c->past_count + 1) * sizeof *past);
    if (!past)
        return false;
    c->past = past;
    if (!state_copy(&c->now, &past[c->past_count]))
        return false;
    c->past_count++;
    return true;
}

bool conversation_add(struct conversation *c, const char *role, const char *text, size_t length,
                      size_t prefix, bool partial)
{
    struct conversation_message *message = message_new(role, text, length);
    if (!message)
        return false;
    message->prefix = prefix;
    message->partial = partial;
    if (state_push(&c->now, message))
        return true;
    message->holders = 1;
    message_release(message);
    return false;
}

bool conversation_undo(struct conversation *c)
{
    if (!c->past_count)
        return false;
    state_fini(&c->now);
    c->now = c->past[--c->past_count];
    return true;
}

void conversation_drop_last(struct conversation *c)
{
    if (c->now.count)
        message_release(c->now.messages[--c->now.count]);
}

bool conversation_reset(struct conversation *c)
{
    if (!c->now.count)
        return true;
    if (!conversation_keep(c))
        return false;
    state_fini(&c->now);
    return true;
}

/* The message after the fused part, with the part's summary before its own text. */
static struct conversation_message *fused_message(const struct conversation_message *next,
                                                  const char *summary)
{
    struct text whole = {0};
    text_printf(&whole, "What was said before, in short:\n\n%s\n\n", summary);
    size_t prefix = whole.length;
    text_append(&whole, next->text, next->length);
    struct conversation_message *message =
        whole.failed ? NULL : message_new(next->role, whole.bytes, whole.length);
    text_fini(&whole);
    if (message) {
        message->prefix = prefix + next->prefix;
        message->fused = true;
    }
    return message;
}

bool conversation_fuse(struct conversation *c, size_t count, const char *summary)
{
    if (!count || count >= c->now.count)
        return false;
    struct conversation_state state = {0};
    struct conversation_message *first = fused_message(c->now.messages[count], summary);
    bool ok = first && state_push(&state, first);
    for (size_t i = count + 1; ok && i < c->now.count; i++)
        ok = state_push(&state, c->now.messages[i]);
    if (!ok) {
        if (first && !first->holders) {
            first->holders = 1;
            message_release(first);
        }
        state_fini(&state);
        return false;
    }
    state_fini(&c->now);
    c->now = state;
    return true;
}

const struct conversation_message *conversation_last(const struct conversation *c, const char *role)
{
    for (size_t i = c->now.count; i > 0; i--)
        if (strcmp(c->now.messages[i - 1]->role, role) == 0)
            return c->now.messages[i - 1];
    return NULL;
}

const char *conversation_typed(const struct conversation_message *message, size_t *ret_length)
{
    *ret_length = message->length - message->prefix;
    return message->text + message->prefix;
}

/* ---- marks ---- */

const struct conversation_mark *conversation_find_mark(const struct conversation *c, const char *name)
{
    for (size_t i = 0; i < c->mark_count; i++)
        if (strcmp(c->marks[i].name, name) == 0)
            return &c->marks[i];
    return NULL;
}

bool conversation_mark(struct conversation *c, const char *name)
{
    struct conversation_state state;
    if (!state_copy(&c->now, &state))
        return false;
    const struct conversation_mark *old = conversation_find_mark(c, name);
    if (old) {
        struct conversation_mark *mark = &c->marks[old - c->marks];
        state_fini(&mark->state);
        mark->state = state;
        return true;
    }
    struct conversation_mark *marks = realloc(c->marks, (c->mark_count + 1) * sizeof *marks);
    char *copy = strdup(name);
    if (marks)
        c->marks = marks;
    if (!marks || !copy) {
        free(copy);
        state_fini(&state);
        return false;
    }
    marks[c->mark_count++] = (struct conversation_mark){copy, state};
    return true;
}

bool conversation_back(struct conversation *c, const struct conversation_mark *mark)
{
    struct conversation_state state;
    if (!state_copy(&mark->state, &state))
        return false;
    if (!conversation_keep(c)) {
        state_fini(&state);
        return false;
    }
    state_fini(&c->now);
    c->now = state;
    return true;
}

/* ---- for the model ---- */

static ll_message *messages_for(const struct conversation *c, size_t count, size_t *ret_count)
{
    ll_message *messages = calloc(count + 1, sizeof *messages);
    size_t used = 0;
    if (!messages)
        return NULL;
    if (c->system)
        messages[used++] = (ll_message){"system", c->system, strlen(c->system)};
    for (size_t i = 0; i < count && i < c->now.count; i++) {
        const struct conversation_message *message = c->now.messages[i];
        messages[used++] = (ll_message){message->role, message->text, message->length};
    }
    *ret_count = used;
    return messages;
}

static ll_status no_memory(ll_error *error)
{
    if (error) {
        *error = (ll_error){.status = LL_NOMEM, .offset = -1, .where = "conversation"};
        snprintf(error->text, sizeof error->text, "there is no memory for the conversation");
    }
    return LL_NOMEM;
}

ll_status conversation_tokens(const struct conversation *c, const ll_model *model, size_t count, bool open,
                              ll_token **ret_tokens, size_t *ret_count, ll_error *error)
{
    size_t used = 0, needed = 0;
    ll_token *tokens = NULL;
    ll_message *messages = messages_for(c, count, &used);
    if (!messages)
        return no_memory(error);
    ll_status status = ll_chat_tokens(model, messages, used, open, NULL, 0, &needed, error);
    if (status == LL_OK) {
        tokens = calloc(needed + 1, sizeof *tokens);
        status = tokens ? ll_chat_tokens(model, messages, used, open, tokens, needed + 1, ret_count, error)
                        : no_memory(error);
    }
    free(messages);
    if (status != LL_OK) {
        free(tokens);
        return status;
    }
    *ret_tokens = tokens;
    return LL_OK;
}

ll_status conversation_render(const struct conversation *c, const ll_model *model, size_t count, bool open,
                              struct text *out, ll_error *error)
{
    size_t used = 0, needed = 0, length = 0;
    char *bytes = NULL;
    ll_message *messages = messages_for(c, count, &used);
    if (!messages)
        return no_memory(error);
    ll_status status = ll_chat_render(model, messages, used, open, NULL, 0, &needed, error);
    if (status == LL_OK) {
        bytes = malloc(needed + 1);
        status = bytes ? ll_chat_render(model, messages, used, open, bytes, needed + 1, &length, error)
                       : no_memory(error);
    }
    if (status == LL_OK)
        text_append(out, bytes, length);
    free(bytes);
    free(messages);
    return status;
}
