/* Finds control and user-defined tokens spelt in a text, leftmost and longest first.
 * SPDX-License-Identifier: Apache-2.0 */
#include "text/added.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

#define SPELLING_MAX 255

static int by_bytes(const void *a, const void *b)
{
    const struct added_token *left = a, *right = b;
    int order = mem_compare(left->text, left->length, right->text, right->length);
    return order ? order : (left->id > right->id) - (left->id < right->id);
}

/* Control tokens print nothing, so they are searched by spelling; the others as they print. */
static bool searched_text(const struct vocab *vocab, size_t id, struct gguf_text *ret)
{
    bool control = vocab->kinds[id] == TOKEN_CONTROL;
    if (!control && vocab->kinds[id] != TOKEN_USER)
        return false;
    *ret = control ? vocab_spelling(vocab, (ll_token)id) : vocab_piece(vocab, (ll_token)id);
    return ret->length > 0 && ret->length <= SPELLING_MAX;
}

static void index_first_bytes(struct added *added)
{
    size_t at = 0;
    for (int byte = 0; byte < 256; byte++) {
        added->first[byte] = at;
        while (at < added->count && (unsigned char)added->tokens[at].text[0] == byte)
            at++;
    }
    added->first[256] = at;
}

ll_status added_open(const struct vocab *vocab, struct added *ret, ll_error *error)
{
    size_t capacity = 0;
    struct gguf_text text;
    *ret = (struct added){0};
    for (size_t i = 0; i < vocab->count; i++) {
        if (!searched_text(vocab, i, &text))
            continue;
        if (!mem_grow((void **)&ret->tokens, &capacity, ret->count + 1, sizeof *ret->tokens)) {
            added_fini(ret);
            return error_nomem(error, "tokenizer", (ret->count + 1) * sizeof *ret->tokens);
        }
        ret->tokens[ret->count++] = (struct added_token){text.text, (uint32_t)text.length, (ll_token)i,
                                                         vocab->kinds[i] == TOKEN_CONTROL};
    }
    if (ret->count)
        qsort(ret->tokens, ret->count, sizeof *ret->tokens, by_bytes);
    index_first_bytes(ret);
    return LL_OK;
}

void added_fini(struct added *added)
{
    mem_free(added->tokens);
    *added = (struct added){0};
}

/* Of tokens [low, high), which agree in their first `depth` bytes, those whose next byte is below `byte`
 * come first (a token that ends there before all): where they stop. */
static size_t lower_bound(const struct added *added, size_t low, size_t high, size_t depth, int byte)
{
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct added_token *token = &added->tokens[middle];
        if (token->length <= depth || (unsigned char)token->text[depth] < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct added_token *longest_at(const struct added *added, const char *text, size_t length,
                                            bool control)
{
    const struct added_token *best = NULL;
    size_t low = added->first[(unsigned char)text[0]], high = added->first[(unsigned char)text[0] + 1];
    for (size_t depth = 1; low < high; depth++) {
        for (; low < high && added->tokens[low].length == depth; low++)
            if ((control || !added->tokens[low].control) && (!best || best->length < depth))
                best = &added->tokens[low];
        if (depth == length)
            break;
        int byte = (unsigned char)text[depth];
        low = lower_bound(added, low, high, depth, byte);
        high = lower_bound(added, low, high, depth, byte + 1);
    }
    return best;
}

const struct added_token *added_next(const struct added *added, const char *text, size_t length, size_t from,
                                     bool control, size_t *ret_at)
{
    if (added->count == 0)
        return NULL;
    for (size_t at = from; at < length; at++) {
        unsigned char byte = (unsigned char)text[at];
        if (added->first[byte] == added->first[byte + 1])
            continue;
        const struct added_token *found = longest_at(added, text + at, length - at, control);
        if (found) {
            *ret_at = at;
            return found;
        }
    }
    return NULL;
}
