/* Chat templates known by name: messages to token ids, template and content tokenised apart.
 * SPDX-License-Identifier: Apache-2.0 */
#include "text/chat.h"

#include <string.h>

#include "base/error.h"
#include "base/utf8.h"

#define TEMPLATE_MAX 65536 /* published ones are below 32 KiB; longer ones are not searched */

static const char where[] = "chat";

struct marks {
    const char *open, *close;
};

static const struct marks marks_of[] = {
    [CHAT_CHATML] = {"<|im_start|>", "<|im_end|>"},
    [CHAT_GEMMA] = {"<start_of_turn>", "<end_of_turn>"},
};

const char *chat_format_name(enum chat_format format)
{
    static const char *const names[] = {"none", "unknown", "chatml", "gemma"};
    return names[format];
}

/* ---- detection ------------------------------------------------------------------------------ */

static const char *text_find(struct gguf_text text, const char *wanted)
{
    size_t length = strlen(wanted);
    for (size_t at = 0; at + length <= text.length; at++)
        if (memcmp(text.text + at, wanted, length) == 0)
            return text.text + at;
    return NULL;
}

static struct gguf_text text_from(struct gguf_text text, const char *start)
{
    return (struct gguf_text){start, text.length - (size_t)(start - text.text)};
}

static bool is_mark(const struct tokenizer *tokenizer, const char *spelling)
{
    ll_token id = tokenizer_find(tokenizer, spelling, strlen(spelling));
    return id >= 0 &&
           (tokenizer_kind(tokenizer, id) == TOKEN_CONTROL || tokenizer_kind(tokenizer, id) == TOKEN_USER);
}

/* A newline as it stands in a template: itself or a backslash and n. Returns its length, 0 for none. */
static size_t newline_length(struct gguf_text text)
{
    if (text.length >= 1 && text.text[0] == '\n')
        return 1;
    return text.length >= 2 && text.text[0] == '\\' && text.text[1] == 'n' ? 2 : 0;
}

/* Every role goes through one expression: '<|im_start|>' + message['role'] (or message.role). */
static bool writes_any_role(struct gguf_text text)
{
    static const char *const forms[] = {"message['role']", "message[\"role\"]", "message.role"};
    const char *mark;
    while ((mark = text_find(text, "<|im_start|>")) != NULL) {
        text = text_from(text, mark + strlen("<|im_start|>"));
        while (text.length && strchr("'\" +~", text.text[0]))
            text = text_from(text, text.text + 1);
        for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
            if (text.length >= strlen(forms[i]) && memcmp(text.text, forms[i], strlen(forms[i])) == 0)
                return true;
    }
    return false;
}

/* What would make the text differ from plain ChatML, though the marks are the same. */
static bool is_plain(struct gguf_text text)
{
    static const char *const foreign[] = {
        "think",  "reasoning", "| trim",  "|trim",           ".strip",
        "lstrip", "rstrip",    "|length", "raise_exception", "<|start_header_id|>",
        "[INST]", "<|user|>"};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (text_find(text, foreign[i]))
            return false;
    return true;
}

/* A system line that the template writes itself: everything up to the closing mark is literal. */
static bool read_default_system(struct gguf_text text, struct chat *chat)
{
    static const char head[] = "<|im_start|>system";
    const char *at;
    while ((at = text_find(text, head)) != NULL) {
        text = text_from(text, at + strlen(head));
        size_t newline = newline_length(text);
        const char *end = text_find(text, "<|im_end|>");
        if (!newline || !end)
            continue;
        struct gguf_text line = {text.text + newline, (size_t)(end - text.text) - newline};
        if (memchr(line.text, '\'', line.length) || memchr(line.text, '"', line.length) ||
            memchr(line.text, '{', line.length) || memchr(line.text, '\\', line.length))
            continue; /* an expression, not a literal */
        if (line.length >= sizeof chat->system)
            return false;
        memcpy(chat->system, line.text, line.length);
        chat->system[line.length] = '\0';
        chat->default_system = true;
        return true;
    }
    return true;
}

static bool has_marks(const struct tokenizer *tokenizer, struct gguf_text text, enum chat_format format)
{
    const struct marks *marks = &marks_of[format];
    return text_find(text, marks->open) && text_find(text, marks->close) && is_mark(tokenizer, marks->open) &&
           is_mark(tokenizer, marks->close);
}

static enum chat_format detect(const struct tokenizer *tokenizer, struct gguf_text text, struct chat *chat)
{
    if (text.length > TEMPLATE_MAX)
        return CHAT_UNKNOWN;
    if (has_marks(tokenizer, text, CHAT_CHATML))
        return writes_any_role(text) && is_plain(text) && read_default_system(text, chat) ? CHAT_CHATML
                                                                                          : CHAT_UNKNOWN;
    if (has_marks(tokenizer, text, CHAT_GEMMA) && text_find(text, "model") && text_find(text, "trim"))
        return CHAT_GEMMA;
    return CHAT_UNKNOWN;
}

ll_status chat_detect(const struct gguf *gguf, const struct tokenizer *tokenizer, struct chat *ret,
                      ll_error *error)
{
    struct gguf_text text;
    struct chat chat = {.format = CHAT_NONE};
    LL_TRY(gguf_get_text(gguf, "tokenizer.chat_template", &text, error));
    if (text.text)
        chat.format = detect(tokenizer, text, &chat);
    chat.starts = tokenizer_bos(tokenizer) >= 0 &&
                  (tokenizer_adds_bos(tokenizer) || (text.text && text_find(text, "bos_token")));
    if (chat.starts) {
        size_t length;
        const char *spelling = tokenizer_spelling(tokenizer, tokenizer_bos(tokenizer), &length);
        chat.starts = length < sizeof chat.start;
        if (chat.starts)
            memcpy(chat.start, spelling, length);
    }
    *ret = chat;
    return LL_OK;
}

/* ---- turns ---------------------------------------------------------------------------------- */

/* Where the parts of a conversation go: ids or text for reading. */
struct sink {
    const struct tokenizer *tokenizer; /* with out: ids */
    struct token_list *out;
    struct strbuf *text; /* else text */
    struct strbuf plain; /* text since the last mark, not yet tokenised */
};

static ll_status flush(struct sink *sink, ll_error *error)
{
    if (sink->plain.failed)
        return error_nomem(error, where, sink->plain.length);
    ll_status status = LL_OK;
    if (sink->text)
        strbuf_append(sink->text, strbuf_text(&sink->plain), sink->plain.length);
    else
        status = tokenizer_encode(sink->tokenizer, strbuf_text(&sink->plain), sink->plain.length, 0,
                                  sink->out, error);
    strbuf_clear(&sink->plain);
    return status;
}

static ll_status put_mark(struct sink *sink, const char *spelling, ll_error *error)
{
    LL_TRY(flush(sink, error));
    if (sink->text) {
        strbuf_puts(sink->text, spelling);
        return LL_OK;
    }
    ll_token id = tokenizer_find(sink->tokenizer, spelling, strlen(spelling));
    if (id < 0)
        return error_set(error, LL_STATE, where, "the vocabulary has no token \"%s\"", spelling);
    return token_list_push(sink->out, id) ? LL_OK : error_nomem(error, where, sink->out->count * sizeof id);
}

static ll_status put_turn(struct sink *sink, const struct marks *marks, const char *role,
                          struct gguf_text before, struct gguf_text content, ll_error *error)
{
    LL_TRY(put_mark(sink, marks->open, error));
    strbuf_puts(&sink->plain, role);
    strbuf_putc(&sink->plain, '\n');
    strbuf_append(&sink->plain, before.text, before.length);
    strbuf_append(&sink->plain, content.text, content.length);
    LL_TRY(put_mark(sink, marks->close, error));
    strbuf_putc(&sink->plain, '\n');
    return LL_OK;
}

static ll_status put_opening(struct sink *sink, const struct marks *marks, const char *role, ll_error *error)
{
    LL_TRY(put_mark(sink, marks->open, error));
    strbuf_puts(&sink->plain, role);
    strbuf_putc(&sink->plain, '\n');
    return LL_OK;
}

static struct gguf_text content_of(const ll_message *message)
{
    return (struct gguf_text){message->text, message->length};
}

static bool has_role(const ll_message *message, const char *role)
{
    return strcmp(message->role, role) == 0;
}

/* ---- ChatML --------------------------------------------------------------------------------- */

static ll_status put_chatml(const struct chat *chat, const ll_message *messages, size_t count,
                            bool open_answer, struct sink *sink, ll_error *error)
{
    const struct marks *marks = &marks_of[CHAT_CHATML];
    struct gguf_text nothing = {"", 0}, line = {chat->system, strlen(chat->system)};
    if (chat->default_system && count && !has_role(&messages[0], "system"))
        LL_TRY(put_turn(sink, marks, "system", nothing, line, error));
    for (size_t i = 0; i < count; i++)
        LL_TRY(put_turn(sink, marks, messages[i].role, nothing, content_of(&messages[i]), error));
    return open_answer ? put_opening(sink, marks, "assistant", error) : LL_OK;
}

/* ---- Gemma ---------------------------------------------------------------------------------- */

/* What Python's str.strip takes off, which Jinja's trim filter is. */
static bool is_blank(int32_t code)
{
    return (code >= 9 && code <= 13) || (code >= 0x1C && code <= 0x20) || code == 0x85 || code == 0xA0 ||
           code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 ||
           code == 0x202F || code == 0x205F || code == 0x3000;
}

static struct gguf_text trimmed(struct gguf_text text)
{
    size_t step, end = 0;
    while (text.length && is_blank(utf8_decode(text.text, text.length, &step)))
        text = text_from(text, text.text + step);
    for (size_t at = 0; at < text.length; at += step)
        if (!is_blank(utf8_decode(text.text + at, text.length - at, &step)))
            end = at + step;
    text.length = end;
    return text;
}

static ll_status put_gemma(const ll_message *messages, size_t count, bool open_answer, struct sink *sink,
                           ll_error *error)
{
    const struct marks *marks = &marks_of[CHAT_GEMMA];
    struct strbuf system = {0};
    ll_status status = LL_OK;
    size_t first = count && has_role(&messages[0], "system");
    if (first) {
        strbuf_append(&system, messages[0].text, messages[0].length);
        strbuf_puts(&system, "\n\n");
    }
    for (size_t i = first; i < count; i++) {
        bool user = has_role(&messages[i], "user");
        if (has_role(&messages[i], "system") || user != ((i - first) % 2 == 0)) {
            status = error_set(error, LL_ARGUMENT, where,
                               "message %zu is of role \"%s\"; this model's turns alternate, user first", i,
                               messages[i].role);
            goto done;
        }
        struct gguf_text before = {strbuf_text(&system), i == first ? system.length : 0};
        LL_TRY_GOTO(
            put_turn(sink, marks, user ? "user" : "model", before, trimmed(content_of(&messages[i])), error),
            done);
    }
    if (open_answer)
        status = put_opening(sink, marks, "model", error);
done:
    if (status == LL_OK && system.failed)
        status = error_nomem(error, where, system.length);
    strbuf_fini(&system);
    return status;
}

/* ---- face ----------------------------------------------------------------------------------- */

static ll_status check(const struct chat *chat, const ll_message *messages, size_t count, ll_error *error)
{
    if (chat->format == CHAT_NONE)
        return error_set(error, LL_UNSUPPORTED, where,
                         "the model file has no chat template; --raw gives it plain text");
    if (chat->format == CHAT_UNKNOWN)
        return error_set(
            error, LL_UNSUPPORTED, where,
            "the model's chat template is not one this version knows; --raw gives it plain text");
    for (size_t i = 0; i < count; i++) {
        if (!messages[i].role || (!messages[i].text && messages[i].length))
            return error_set(error, LL_ARGUMENT, where, "message %zu has no role or no text", i);
        if (!has_role(&messages[i], "system") && !has_role(&messages[i], "user") &&
            !has_role(&messages[i], "assistant")) {
            char shown[64];
            utf8_printable(messages[i].role, strlen(messages[i].role), shown, sizeof shown);
            return error_set(error, LL_ARGUMENT, where,
                             "message %zu has the role \"%s\"; known are system, user and assistant", i,
                             shown);
        }
    }
    return LL_OK;
}

static ll_status put_all(const struct chat *chat, const ll_message *messages, size_t count, bool open_answer,
                         struct sink *sink, ll_error *error)
{
    if (chat->format == CHAT_GEMMA)
        LL_TRY(put_gemma(messages, count, open_answer, sink, error));
    else
        LL_TRY(put_chatml(chat, messages, count, open_answer, sink, error));
    return flush(sink, error);
}

ll_status chat_encode(const struct chat *chat, const struct tokenizer *tokenizer, const ll_message *messages,
                      size_t count, bool open_answer, struct token_list *out, ll_error *error)
{
    struct sink sink = {.tokenizer = tokenizer, .out = out};
    size_t before = out->count;
    LL_TRY(check(chat, messages, count, error));
    if (chat->starts && !token_list_push(out, tokenizer_bos(tokenizer)))
        return error_nomem(error, where, sizeof *out->ids);
    ll_status status = put_all(chat, messages, count, open_answer, &sink, error);
    strbuf_fini(&sink.plain);
    if (status != LL_OK)
        out->count = before;
    return status;
}

ll_status chat_render(const struct chat *chat, const ll_message *messages, size_t count, bool open_answer,
                      struct strbuf *out, ll_error *error)
{
    struct sink sink = {.text = out};
    LL_TRY(check(chat, messages, count, error));
    strbuf_puts(out, chat->start);
    ll_status status = put_all(chat, messages, count, open_answer, &sink, error);
    strbuf_fini(&sink.plain);
    if (status == LL_OK && out->failed)
        return error_nomem(error, where, out->length);
    return status;
}
