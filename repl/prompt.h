/* Where the prompt of run comes from, and how it becomes tokens.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPL_PROMPT_H
#define REPL_PROMPT_H

#include "repl/work.h"

struct prompt {
    struct text text;
    ll_token *tokens;
    size_t count;
};

void prompt_fini(struct prompt *prompt);
/* Reads -p, -f, standard input or --tokens. LEAVE_OK or an exit code, said. */
int prompt_read(struct prompt *prompt, struct program *program);
/* Tokens of the text: through the chat template, or raw. */
int prompt_encode(struct prompt *prompt, struct program *program, const struct work *work);
/* Two calls, one result: the messages through the model's template; answer: an answer's turn opens. */
int prompt_chat_tokens(struct program *program, const struct work *work, const ll_message *messages,
                       size_t count, ll_token **ret_tokens, size_t *ret_count);
/* The tokens of plain text. start: with the start token that the model's rule asks for. */
int prompt_text_tokens(struct program *program, const struct work *work, const char *text, size_t length,
                       bool special, bool start, ll_token **ret_tokens, size_t *ret_count);

#endif
