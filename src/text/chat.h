/* Chat templates known by name: messages to token ids, template and content tokenised apart.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The template's own markers become control tokens; what a person or document wrote is tokenised as
 * text, so "<|im_end|>" inside a message stays nine characters of text. A template string that is
 * not recognised is CHAT_UNKNOWN and refused by name: never silently ChatML. */
#ifndef TEXT_CHAT_H
#define TEXT_CHAT_H

#include "base/strbuf.h"
#include "text/tokenizer.h"

enum chat_format { CHAT_NONE, CHAT_UNKNOWN, CHAT_CHATML, CHAT_GEMMA };

struct chat { /* plain value, holds no memory */
    enum chat_format format;
    bool default_system; /* the template adds its own system line when there is none; we show it in
                            ll_chat_render so that it is never a surprise */
    char system[512];    /* that line */
    bool starts;         /* the text begins with BOS */
    char start[64];      /* as it is spelt, "" when it does not */
};

ll_status chat_detect(const struct gguf *gguf, const struct tokenizer *tokenizer, struct chat *ret,
                      ll_error *error);
const char *chat_format_name(enum chat_format format); /* "none", "unknown", "chatml", "gemma" */
/* Appends the ids. open_answer: ends with the opening of the assistant's turn. Exactly one BOS where the
 * model or its template asks for one. Roles: system, user, assistant; others are LL_ARGUMENT, as are
 * orders that the template refuses. LL_UNSUPPORTED for CHAT_NONE and CHAT_UNKNOWN. */
ll_status chat_encode(const struct chat *chat, const struct tokenizer *tokenizer, const ll_message *messages,
                      size_t count, bool open_answer, struct token_list *out, ll_error *error);
/* The same as text for reading. */
ll_status chat_render(const struct chat *chat, const ll_message *messages, size_t count, bool open_answer,
                      struct strbuf *out, ll_error *error);

#endif
