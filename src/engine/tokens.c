/* Text to tokens and back for the public API.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "engine/model.h"

/* Rule 7 of the header: copies what fits only when all of it fits or cap is 0. */
static ll_status give_tokens(const struct token_list *list, ll_token *out, size_t cap, size_t *ret_count,
                             ll_error *error)
{
    if (cap != 0 && list->count > cap)
        return error_set(error, LL_ARGUMENT, "tokens", "room for %zu tokens, %zu are needed", cap,
                         list->count);
    if (cap != 0 && list->count)
        memcpy(out, list->ids, list->count * sizeof *out);
    *ret_count = list->count;
    return LL_OK;
}

static ll_status give_text(const struct strbuf *text, char *out, size_t cap, size_t *ret_length,
                           ll_error *error)
{
    if (text->failed)
        return error_nomem(error, "tokens", text->length);
    if (cap != 0 && text->length > cap)
        return error_set(error, LL_ARGUMENT, "tokens", "room for %zu bytes, %zu are needed", cap,
                         text->length);
    if (cap != 0 && text->length)
        memcpy(out, text->text, text->length);
    *ret_length = text->length;
    return LL_OK;
}

ll_status ll_tokenize(const ll_model *model, const char *text, size_t length, bool special, bool add_start,
                      ll_token *out, size_t cap, size_t *ret_count, ll_error *error)
{
    struct token_list list = {0};
    unsigned flags = (special ? TOKENIZE_SPECIAL : 0) | (add_start ? TOKENIZE_START : 0);
    ll_status status = tokenizer_encode(model_tokenizer(model), text, length, flags, &list, error);
    if (status == LL_OK)
        status = give_tokens(&list, out, cap, ret_count, error);
    token_list_fini(&list);
    return status;
}

ll_status ll_detokenize(const ll_model *model, const ll_token *tokens, size_t count, char *out, size_t cap,
                        size_t *ret_length, ll_error *error)
{
    struct strbuf text = {0};
    for (size_t i = 0; i < count; i++) {
        size_t length;
        const char *piece = tokenizer_piece(model_tokenizer(model), tokens[i], &length);
        if (!piece) {
            strbuf_fini(&text);
            return error_set(error, LL_ARGUMENT, "tokens", "token %d at index %zu is outside the vocabulary",
                             (int)tokens[i], i);
        }
        strbuf_append(&text, piece, length);
    }
    ll_status status = give_text(&text, out, cap, ret_length, error);
    strbuf_fini(&text);
    return status;
}

const char *ll_token_text(const ll_model *model, ll_token token, size_t *ret_length)
{
    return tokenizer_piece(model_tokenizer(model), token, ret_length);
}

bool ll_token_is_end(const ll_model *model, ll_token token)
{
    return tokenizer_is_end(model_tokenizer(model), token);
}

ll_status ll_chat_render(const ll_model *model, const ll_message *messages, size_t count, bool open_answer,
                         char *out, size_t cap, size_t *ret_length, ll_error *error)
{
    struct strbuf text = {0};
    ll_status status = chat_render(model_chat(model), messages, count, open_answer, &text, error);
    if (status == LL_OK)
        status = give_text(&text, out, cap, ret_length, error);
    strbuf_fini(&text);
    return status;
}

ll_status ll_chat_tokens(const ll_model *model, const ll_message *messages, size_t count, bool open_answer,
                         ll_token *out, size_t cap, size_t *ret_count, ll_error *error)
{
    struct token_list list = {0};
    ll_status status =
        chat_encode(model_chat(model), model_tokenizer(model), messages, count, open_answer, &list, error);
    if (status == LL_OK)
        status = give_tokens(&list, out, cap, ret_count, error);
    token_list_fini(&list);
    return status;
}
