/* What the model is told: our own system line, the text first, the instruction last.
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/prompt.h"

#include <string.h>

#include "base/error.h"

const char prompt_system[] = "You summarize texts in plain words and add nothing of your own.";
static const char asking_system[] =
    "You answer questions from the text you are given and add nothing of your own.";

static void put_length(const struct prompt *prompt, struct strbuf *out)
{
    if (prompt->words)
        strbuf_printf(out, " in about %zu words.", prompt->words);
    else
        strbuf_puts(out, " in 3 sentences, with the names and numbers that matter.");
}

void prompt_instruction(const struct prompt *prompt, struct strbuf *out)
{
    switch (prompt->kind) {
    case PROMPT_PART:
        strbuf_puts(out, "Summarize the text above");
        put_length(prompt, out);
        break;
    case PROMPT_ASK:
        strbuf_printf(
            out, "Question: %s\nAnswer the question in one short sentence, with the words of the text above.",
            prompt->focus);
        return;
    case PROMPT_MERGE:
        strbuf_puts(
            out,
            "The notes above summarize consecutive parts of one document. Write one summary of all of them");
        put_length(prompt, out);
        strbuf_puts(out, " Keep their order, and keep names and numbers.");
        break;
    case PROMPT_REFINE:
        strbuf_puts(
            out,
            "Above are a summary of a document so far and its next part. Write the summary of both together");
        put_length(prompt, out);
        strbuf_puts(out, " Keep the order, and keep names and numbers.");
        break;
    }
    if (prompt->language)
        strbuf_printf(out, " Write in %s.", prompt->language);
    if (prompt->focus && *prompt->focus)
        strbuf_printf(out, " Give most room to what it says about: %s", prompt->focus);
}

void prompt_user(const struct prompt *prompt, const char *text, size_t length, struct strbuf *out)
{
    strbuf_append(out, text, length);
    strbuf_puts(out, "\n\n");
    prompt_instruction(prompt, out);
}

ll_status prompt_encode(const struct prompt *prompt, const struct llm *llm, const char *text, size_t length,
                        struct token_list *out, ll_error *error)
{
    struct strbuf user = {0};
    prompt_user(prompt, text, length, &user);
    ll_status status =
        user.failed ? error_nomem(error, "summary", length)
                    : llm->encode_chat(llm->self, prompt->kind == PROMPT_ASK ? asking_system : prompt_system,
                                       user.text, user.length, out, error);
    strbuf_fini(&user);
    return status;
}
