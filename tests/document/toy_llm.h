/* A deterministic toy in the place of a language model: tokens of up to three bytes, scripted answers.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DOCUMENT_TOY_LLM_H
#define DOCUMENT_TOY_LLM_H

#include <string.h>

#include "base/cancel.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "document/llm.h"
#include "unit.h"

struct toy {
    /* Writes the answer to a prompt; called once for each request. */
    void (*answer)(struct toy *toy, const char *prompt, struct strbuf *out);
    char pieces[64][4];
    size_t piece_next;
    size_t calls, longest_prompt, largest_context, shared_least;
    ll_cancel *cancel_at_call; /* raised when `cancel_after` calls have been made */
    size_t cancel_after;
};

/* A token is its length and its bytes: pieces begin anew at each blank, so counts add up at blanks. */
static inline ll_status toy_encode_text(void *self, const char *text, size_t length, struct token_list *out,
                                        ll_error *error)
{
    (void)self;
    (void)error;
    for (size_t at = 0; at < length;) {
        size_t size = 1;
        while (size < 3 && at + size < length && text[at + size] != ' ' && text[at + size] != '\n')
            size++;
        ll_token token = (ll_token)size << 24;
        for (size_t i = 0; i < size; i++)
            token |= (ll_token)(unsigned char)text[at + i] << (8 * i);
        if (!token_list_push(out, token))
            return LL_NOMEM;
        at += size;
    }
    return LL_OK;
}

static inline ll_status toy_encode_chat(void *self, const char *system, const char *user, size_t user_length,
                                        struct token_list *out, ll_error *error)
{
    (void)toy_encode_text(self, system, strlen(system), out, error);
    (void)toy_encode_text(self, "\n##user\n", 8, out, error);
    (void)toy_encode_text(self, user, user_length, out, error);
    return toy_encode_text(self, "\n##answer\n", 10, out, error);
}

static inline const char *toy_piece(void *self, ll_token token, size_t *ret_length)
{
    struct toy *toy = self;
    char *piece = toy->pieces[toy->piece_next++ % 64];
    *ret_length = (size_t)(token >> 24);
    for (size_t i = 0; i < *ret_length; i++)
        piece[i] = (char)(token >> (8 * i));
    return piece;
}

static inline void toy_generate(struct toy *toy, const struct batch_options *options, size_t request,
                                const struct token_list *answer, size_t max_tokens,
                                struct batch_output *output)
{
    output->tokens = mem_new(answer->count + 1, sizeof *output->tokens);
    output->finish = LL_FINISH_END;
    (void)toy;
    for (size_t k = 0; k < answer->count; k++) {
        if (k == max_tokens) {
            output->finish = LL_FINISH_LENGTH;
            break;
        }
        output->tokens[output->count++] = answer->ids[k];
        if (options->on_token &&
            options->on_token(options->user, request, output->tokens, output->count) == LL_STOP) {
            output->finish = LL_FINISH_CALLER;
            output->stopped_by_guard = true;
            break;
        }
    }
}

static inline ll_status toy_run(void *self, const struct batch_options *options,
                                const struct batch_request *requests, size_t count, const ll_run *run,
                                struct batch_output *outputs, ll_error *error)
{
    struct toy *toy = self;
    for (size_t i = 0; i < count; i++) {
        struct strbuf prompt = {0}, text = {0};
        struct token_list answer = {0};
        assert_true(requests[i].count + requests[i].max_tokens <= options->context);
        for (size_t k = 0; k < requests[i].count; k++) {
            size_t length;
            const char *piece = toy_piece(toy, requests[i].tokens[k], &length);
            strbuf_append(&prompt, piece, length);
            if (k < options->shared)
                assert_int_equal(requests[i].tokens[k], requests[0].tokens[k]);
        }
        toy->answer(toy, strbuf_text(&prompt), &text);
        (void)toy_encode_text(toy, strbuf_text(&text), text.length, &answer, error);
        toy_generate(toy, options, i, &answer, requests[i].max_tokens, &outputs[i]);
        toy->calls++;
        toy->longest_prompt =
            requests[i].count > toy->longest_prompt ? requests[i].count : toy->longest_prompt;
        toy->largest_context =
            options->context > toy->largest_context ? options->context : toy->largest_context;
        if (count > 1 && (options->shared < toy->shared_least || toy->shared_least == 0))
            toy->shared_least = options->shared;
        if (toy->cancel_at_call && toy->calls == toy->cancel_after)
            ll_cancel_request(toy->cancel_at_call);
        if (options->on_done)
            options->on_done(options->user, i);
        strbuf_fini(&prompt);
        strbuf_fini(&text);
        token_list_fini(&answer);
        if (run && cancel_requested(run->cancel)) {
            if (error) {
                *error = (ll_error){.status = LL_CANCELLED};
                strcpy(error->text, "cancelled");
            }
            return LL_CANCELLED;
        }
    }
    return LL_OK;
}

static inline uint64_t toy_cache_bytes(void *self, size_t context, size_t width, ll_dtype cache_type)
{
    (void)self;
    (void)cache_type;
    return (uint64_t)context * width * 4;
}

static inline ll_status toy_identify(void *self, unsigned char *ret, ll_error *error)
{
    (void)self;
    (void)error;
    memset(ret, 7, 32);
    return LL_OK;
}

static inline struct llm toy_llm(struct toy *toy, uint64_t parameters, size_t context)
{
    return (struct llm){.self = toy,
                        .parameters = parameters,
                        .context = context,
                        .chat = true,
                        .encode_text = toy_encode_text,
                        .encode_chat = toy_encode_chat,
                        .piece = toy_piece,
                        .run = toy_run,
                        .identify = toy_identify,
                        .cache_bytes = toy_cache_bytes};
}

/* The document's part of a prompt: between the user mark and the instruction. */
static inline const char *toy_text_of(const char *prompt, size_t *ret_length)
{
    const char *user = strstr(prompt, "##user\n");
    assert_non_null(user);
    user += 7;
    const char *end = user + strlen(user);
    for (const char *at = user; (at = strstr(at, "\n\n")) != NULL; at += 2)
        end = at;
    *ret_length = (size_t)(end - user);
    return user;
}

#endif
