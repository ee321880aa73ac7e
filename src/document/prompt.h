/* What the model is told: our own system line, the text first, the instruction last.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Everything before the text is equal in all requests, so its KV is computed once. Small models do best
 * with the text first (measured on SmolLM2-135M: instructions before the text fail). */
#ifndef DOCUMENT_PROMPT_H
#define DOCUMENT_PROMPT_H

#include "base/strbuf.h"
#include "document/llm.h"

enum prompt_kind { PROMPT_PART, PROMPT_MERGE, PROMPT_REFINE, PROMPT_ASK };

struct prompt {
    enum prompt_kind kind;
    const char *focus;    /* what the reader cares about, or NULL; PROMPT_ASK: the question */
    size_t words;         /* wanted length; 0: three sentences */
    const char *language; /* to write in; NULL: the text's */
};

extern const char prompt_system[];
/* The user message: the text, a blank line, the instruction. */
void prompt_user(const struct prompt *prompt, const char *text, size_t length, struct strbuf *out);
/* The instruction alone, for finding echoes of it. */
void prompt_instruction(const struct prompt *prompt, struct strbuf *out);
/* Appends the whole prompt's tokens. */
ll_status prompt_encode(const struct prompt *prompt, const struct llm *llm, const char *text, size_t length,
                        struct token_list *out, ll_error *error);

#endif
