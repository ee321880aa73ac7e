/* Conversations by a model's own template: messages to token ids and to text.
 * SPDX-License-Identifier: Apache-2.0 */
#include "text/chat.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"

static const char where[] = "chat";

/* ---- opening -------------------------------------------------------------------------------- */

/* The spelling of a token; "" when there is none or it is too long to be one. */
static void copy_spelling(const struct tokenizer *tokenizer, ll_token id, char out[64])
{
    size_t length = 0;
    const char *spelling = id >= 0 ? tokenizer_spelling(tokenizer, id, &length) : NULL;
    length = spelling && length < 64 ? length : 0;
    if (length)
        memcpy(out, spelling, length);
    out[length] = '\0';
}

static bool holds(const struct template_output *output, const char *text)
{
    return strstr(strbuf_text(&output->text), text) != NULL;
}

/* The first of these marks in a rendered turn names the family's format. */
static const char *format_name(const struct template_output *output)
{
    static const char *const marks[][2] = {
        {"<|im_start|>", "chatml"},
        {"<start_of_turn>", "gemma"},
        {"<|start_header_id|>", "llama3"},
        {"<|start_of_role|>", "granite"},
        {"<\xEF\xBD\x9CUser\xEF\xBD\x9C>", "deepseek"},
        {"<|START_OF_TURN_TOKEN|>", "command-r"},
        {"[INST]", "mistral"},
        {"<|user|>", "phi"},
        {"### ", "alpaca"},
        {"USER:", "vicuna"},
    };
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (holds(output, marks[i][0]))
            return marks[i][1];
    return "other";
}

static struct template_input input_of(const struct chat *chat, const ll_message *messages, size_t count,
                                      bool open_answer)
{
    return (struct template_input){.messages = messages,
                                   .count = count,
                                   .open_answer = open_answer,
                                   .typed_content = chat->typed_content,
                                   .bos = chat->bos,
                                   .eos = chat->eos};
}

/* Renders the messages and looks whether all of what they say is in it. *status: LL_NOMEM or as it was. */
static bool shows(const struct chat *chat, const ll_message *messages, size_t count, char name[32],
                  ll_status *status)
{
    struct template_output output = {0};
    struct template_input input = input_of(chat, messages, count, true);
    ll_status rendered = template_render(chat->template, &input, &output, NULL);
    if (rendered == LL_NOMEM)
        *status = LL_NOMEM;
    if (rendered != LL_OK)
        return false;
    bool all = true;
    for (size_t i = 0; i < count; i++)
        all = all && holds(&output, messages[i].text);
    snprintf(name, 32, "%s", format_name(&output));
    template_output_fini(&output);
    return all;
}

/* Learns by trying what the template takes. Where even one plain message fails, using it says why. */
static ll_status try_template(struct chat *chat)
{
    static const ll_message probe[] = {{"system", "probe-of-system", 15}, {"user", "probe-of-user", 13}};
    ll_status status = LL_OK;
    snprintf(chat->name, sizeof chat->name, "other");
    for (int typed = 0; typed < 2 && status == LL_OK; typed++) {
        chat->typed_content = typed;
        if (shows(chat, probe, 2, chat->name, &status))
            return status;
        if (status == LL_OK && shows(chat, probe + 1, 1, chat->name, &status)) {
            chat->folds_system = true;
            return status;
        }
    }
    chat->typed_content = false;
    return status;
}

ll_status chat_open(const struct gguf *gguf, const struct tokenizer *tokenizer, struct chat *ret,
                    ll_error *error)
{
    struct gguf_text text;
    struct chat chat = {.name = "none"};
    LL_TRY(gguf_get_text(gguf, "tokenizer.chat_template", &text, error));
    copy_spelling(tokenizer, tokenizer_bos(tokenizer), chat.bos);
    copy_spelling(tokenizer, tokenizer_eos(tokenizer), chat.eos);
    chat.starts = tokenizer_bos(tokenizer) >= 0 && tokenizer_adds_bos(tokenizer);
    if (text.text && text.length > 0) {
        ll_status status = template_open(text.text, text.length, &chat.template, &chat.reason);
        chat.reason.status = status;
        if (status == LL_OK)
            status = try_template(&chat);
        else
            snprintf(chat.name, sizeof chat.name, "unknown");
        if (status == LL_NOMEM) {
            chat_close(&chat);
            return error_nomem(error, where, text.length);
        }
    }
    *ret = chat;
    return LL_OK;
}

void chat_close(struct chat *chat)
{
    template_close(chat->template);
    *chat = (struct chat){0};
}

/* ---- rendering ------------------------------------------------------------------------------ */

static bool has_role(const ll_message *message, const char *role)
{
    return strcmp(message->role, role) == 0;
}

static ll_status check(const struct chat *chat, const ll_message *messages, size_t count, ll_error *error)
{
    static const char *const roles[] = {"system", "user", "assistant", "tool", "developer"};
    if (!chat->template && chat->reason.status == LL_OK)
        return error_set(error, LL_UNSUPPORTED, where,
                         "the model file has no chat template; --raw gives it plain text");
    if (!chat->template)
        return error_set(error, LL_UNSUPPORTED, where,
                         "the model's chat template cannot be used (%.120s); --raw gives it plain text",
                         chat->reason.text);
    for (size_t i = 0; i < count; i++) {
        char shown[64];
        bool known = false;
        if (!messages[i].role || (!messages[i].text && messages[i].length))
            return error_set(error, LL_ARGUMENT, where, "message %zu has no role or no text", i);
        for (size_t k = 0; k < sizeof roles / sizeof *roles; k++)
            known = known || has_role(&messages[i], roles[k]);
        utf8_printable(messages[i].role, strlen(messages[i].role), shown, sizeof shown);
        if (!known)
            return error_set(error, LL_ARGUMENT, where,
                             "message %zu has the role \"%s\"; known are system, user, assistant, tool and "
                             "developer",
                             i, shown);
    }
    return LL_OK;
}

/* The system message before the first user's, for templates that know no system role. */
static ll_status render_folded(const struct chat *chat, const ll_message *messages, size_t count,
                               bool open_answer, struct template_output *out, ll_error *error)
{
    struct strbuf text = {0};
    ll_message *rest = mem_new(count, sizeof *rest);
    if (!rest)
        return error_nomem(error, where, count * sizeof *rest);
    strbuf_append(&text, messages[0].text, messages[0].length);
    strbuf_puts(&text, "\n\n");
    strbuf_append(&text, messages[1].text, messages[1].length);
    memcpy(rest, messages + 1, (count - 1) * sizeof *rest);
    rest[0].text = strbuf_text(&text);
    rest[0].length = text.length;
    struct template_input input = input_of(chat, rest, count - 1, open_answer);
    ll_status status = text.failed ? error_nomem(error, where, text.length)
                                   : template_render(chat->template, &input, out, error);
    strbuf_fini(&text);
    mem_free(rest);
    return status;
}

static ll_status render(const struct chat *chat, const ll_message *messages, size_t count, bool open_answer,
                        struct template_output *out, ll_error *error)
{
    LL_TRY(check(chat, messages, count, error));
    bool system = count > 1 && has_role(&messages[0], "system") && has_role(&messages[1], "user");
    if (chat->folds_system && system)
        return render_folded(chat, messages, count, open_answer, out, error);
    struct template_input input = input_of(chat, messages, count, open_answer);
    return template_render(chat->template, &input, out, error);
}

/* The template wrote BOS itself: its length, else 0. */
static size_t leading_bos(const struct chat *chat, const struct template_output *output)
{
    size_t length = strlen(chat->bos);
    bool own = output->foreign_count == 0 || output->foreign[0].start >= length;
    return length && own && strncmp(strbuf_text(&output->text), chat->bos, length) == 0 ? length : 0;
}

ll_status chat_render(const struct chat *chat, const ll_message *messages, size_t count, bool open_answer,
                      struct strbuf *out, ll_error *error)
{
    struct template_output output = {0};
    LL_TRY(render(chat, messages, count, open_answer, &output, error));
    if (chat->starts && !leading_bos(chat, &output))
        strbuf_puts(out, chat->bos);
    strbuf_append(out, strbuf_text(&output.text), output.text.length);
    template_output_fini(&output);
    return out->failed ? error_nomem(error, where, out->length) : LL_OK;
}

/* ---- tokens --------------------------------------------------------------------------------- */

struct encoder {
    const struct tokenizer *tokenizer;
    const char *text;
    size_t plain; /* start of what is not yet tokenised */
    struct token_list *out;
    ll_error *error;
};

static ll_status put_plain(struct encoder *encoder, size_t end)
{
    return tokenizer_encode(encoder->tokenizer, encoder->text + encoder->plain, end - encoder->plain,
                            TOKENIZE_SPACE, encoder->out, encoder->error);
}

/* Control tokens between start and end, all of it the template's; the text around them waits. */
static ll_status put_controls(struct encoder *encoder, size_t start, size_t end)
{
    size_t at, length;
    ll_token id;
    while ((id = tokenizer_next_control(encoder->tokenizer, encoder->text, end, start, &at, &length)) >= 0) {
        LL_TRY(put_plain(encoder, at));
        if (!token_list_push(encoder->out, id))
            return error_nomem(encoder->error, where, sizeof id);
        encoder->plain = start = at + length;
    }
    return LL_OK;
}

static ll_status put_all(struct encoder *encoder, const struct template_output *output)
{
    size_t start = encoder->plain;
    for (size_t i = 0; i < output->foreign_count; i++) {
        LL_TRY(put_controls(encoder, start, output->foreign[i].start));
        start = output->foreign[i].end;
    }
    LL_TRY(put_controls(encoder, start, output->text.length));
    return put_plain(encoder, output->text.length);
}

ll_status chat_encode(const struct chat *chat, const struct tokenizer *tokenizer, const ll_message *messages,
                      size_t count, bool open_answer, struct token_list *out, ll_error *error)
{
    struct template_output output = {0};
    size_t before = out->count;
    LL_TRY(render(chat, messages, count, open_answer, &output, error));
    struct encoder encoder = {
        .tokenizer = tokenizer, .text = strbuf_text(&output.text), .out = out, .error = error};
    encoder.plain = leading_bos(chat, &output);
    ll_status status = LL_OK;
    if ((chat->starts || encoder.plain) && !token_list_push(out, tokenizer_bos(tokenizer)))
        status = error_nomem(error, where, sizeof *out->ids);
    if (status == LL_OK)
        status = put_all(&encoder, &output);
    if (status != LL_OK)
        out->count = before;
    template_output_fini(&output);
    return status;
}
