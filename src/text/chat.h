/* Conversations by a model's own template: messages to token ids and to text.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The template's own markers become control tokens; what a person or document wrote is tokenised as
 * text, so "<|im_end|>" inside a message stays text, whatever the template does with it. */
#ifndef TEXT_CHAT_H
#define TEXT_CHAT_H

#include "text/template.h"
#include "text/tokenizer.h"

struct chat { /* immutable after chat_open: any thread */
    struct template *template; /* NULL: none, or not to be used */
    char name[32];             /* how the turns look: "chatml", "gemma" …, "other"; "none"; "unknown" */
    ll_error reason;           /* why a template is not used; status LL_OK: the file has none */
    bool folds_system;         /* the template takes no system message: it goes before the first user's */
    bool typed_content;        /* it wants content as a list of parts */
    bool starts;               /* the model wants BOS at the head */
    char bos[64], eos[64];     /* as they are spelt; "" without */
};

/* Compiles the file's template and tries it on two short messages. A template that cannot be used is no
 * error here: chat->reason says why. tokenizer must outlive the calls below, not chat. */
ll_status chat_open(const struct gguf *gguf, const struct tokenizer *tokenizer, struct chat *ret,
                    ll_error *error);
void chat_close(struct chat *chat);
/* Appends the ids. open_answer: ends with the opening of the assistant's turn. Exactly one BOS where the
 * model or its template asks for one. Roles: system, user, assistant, tool, developer; others are
 * LL_ARGUMENT, as are orders that the template refuses. LL_UNSUPPORTED without a usable template. */
ll_status chat_encode(const struct chat *chat, const struct tokenizer *tokenizer, const ll_message *messages,
                      size_t count, bool open_answer, struct token_list *out, ll_error *error);
/* The same as text for reading. */
ll_status chat_render(const struct chat *chat, const ll_message *messages, size_t count, bool open_answer,
                      struct strbuf *out, ll_error *error);

#endif
