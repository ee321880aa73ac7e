/* When a conversation outgrows its context: the oldest part of it becomes a summary.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONSOLE_FUSION_H
#define CONSOLE_FUSION_H

#include "console/conversation.h"
#include "console/settings.h"

/* Tokens that the next answer should find room for in a context of so many. */
size_t fusion_room(const struct settings *settings, size_t capacity);
/* How many of the oldest messages must go so that the rest takes half of the wanted tokens at most, and the
 * last message of the user's stays in any case. 0: none can go. */
size_t fusion_count(const struct conversation *conversation, const ll_model *model, size_t wanted);
/* What was said in them, for a summary. */
void fusion_text(const struct conversation *conversation, size_t count, struct text *out);
/* The words that their summary should have in a context of so many tokens. */
size_t fusion_words(size_t capacity);

#endif
