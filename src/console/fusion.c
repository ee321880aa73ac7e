/* When a conversation outgrows its context: the oldest part of it becomes a summary.
 * SPDX-License-Identifier: Apache-2.0 */
#include "console/fusion.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_WORDS = 40, MOST_WORDS = 300, USUAL_ROOM = 512 };

size_t fusion_room(const struct settings *settings, size_t capacity)
{
    size_t wanted = (size_t)settings_count(settings, OPTION_MAX_TOKENS, USUAL_ROOM), most = capacity / 4;
    wanted = wanted < USUAL_ROOM ? wanted : USUAL_ROOM;
    return wanted < most ? wanted : most;
}

/* Of all messages from the first-th on. */
static size_t tokens_of(const struct conversation *conversation, const ll_model *model, size_t first)
{
    struct conversation rest = {.system = conversation->system};
    rest.now.messages = conversation->now.messages + first;
    rest.now.count = conversation->now.count - first;
    ll_token *tokens = NULL;
    size_t count = (size_t)-1;
    if (conversation_tokens(&rest, model, rest.now.count, true, &tokens, &count, NULL) != LL_OK)
        count = (size_t)-1;
    free(tokens);
    return count;
}

size_t fusion_count(const struct conversation *conversation, const ll_model *model, size_t wanted)
{
    const struct conversation_state *now = &conversation->now;
    size_t last = now->count, first;
    while (last && strcmp(now->messages[last - 1]->role, "user") != 0)
        last--;
    for (first = 2; first + 1 < last; first += 2)
        if (strcmp(now->messages[first]->role, "user") == 0 &&
            tokens_of(conversation, model, first) <= wanted / 2)
            break;
    return last && first < last ? first : last ? last - 1 : 0;
}

void fusion_text(const struct conversation *conversation, size_t count, struct text *out)
{
    for (size_t i = 0; i < count; i++) {
        const struct conversation_message *message = conversation->now.messages[i];
        text_puts(out, strcmp(message->role, "user") == 0 ? "The user said: " : "The answer was: ");
        text_append(out, message->text, message->length);
        text_puts(out, "\n\n");
    }
}

size_t fusion_words(size_t capacity)
{
    size_t words = capacity / 12;
    return words > MOST_WORDS ? MOST_WORDS : words < LEAST_WORDS ? LEAST_WORDS : words;
}
