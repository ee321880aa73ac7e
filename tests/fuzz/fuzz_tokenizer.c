/* Fuzz harness of text/: any vocabulary and any text are refused or tokenised without losing the way.
 * SPDX-License-Identifier: Apache-2.0
 *
 * An input that begins with "GGUF" is a model file whose last 200 bytes are also the text. Any other one is
 * lines: a letter (s and u for SentencePiece's two, b for byte level) with the name of a pre-tokenizer;
 * "K SPELLING" for a token of kind K, 1 to 6; "m LEFT RIGHT" for a merge; "x HEX" for the unigram model's
 * table of characters; after a line "." comes the text. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "formats/gguf_write.h"
#include "fuzz/fuzz.h"
#include "text/byte_letters.h"
#include "text/chat.h"
#include "text/stream.h"

enum { LINES_MAX = 600, TEXT_MAX = 4096 };

/* ---- a file from lines ----------------------------------------------------------------------- */

struct lines {
    char *copy; /* lines end in NUL */
    const char *rule, *text;
    size_t text_length;
    const char *tokens[LINES_MAX], *merges[LINES_MAX];
    int32_t kinds[LINES_MAX];
    float scores[LINES_MAX];
    char letters[256][4];
    struct strbuf table;
    size_t count, merge_count;
};

static void add_token(struct lines *lines, const char *spelling, int kind)
{
    if (lines->count == LINES_MAX)
        return;
    lines->tokens[lines->count] = spelling;
    lines->kinds[lines->count] = kind;
    lines->scores[lines->count] = -(float)(lines->count / 2);
    lines->count++;
}

static void read_table(struct lines *lines, const char *hex)
{
    unsigned byte;
    for (; sscanf(hex, "%2x", &byte) == 1 && hex[1]; hex += 2)
        strbuf_putc(&lines->table, (char)byte);
}

static void read_line(struct lines *lines, const char *line)
{
    if (line[0] == 'm' && line[1] == ' ' && lines->merge_count < LINES_MAX)
        lines->merges[lines->merge_count++] = line + 2;
    else if (line[0] >= '0' && line[0] <= '7' && line[1] == ' ')
        add_token(lines, line + 2, line[0] - '0');
    else if (line[0] == 'x' && line[1] == ' ')
        read_table(lines, line + 2);
}

/* Half of the byte-level vocabularies spell every byte, so that texts can be held to come back. */
static void add_bytes(struct lines *lines)
{
    for (int byte = 0; byte < 256; byte++) {
        char *letter = lines->letters[byte];
        letter[byte_letters_write(&(char){(char)byte}, 1, letter)] = '\0';
        add_token(lines, letter, 1);
    }
}

static void read_lines(struct lines *lines, const uint8_t *data, size_t size)
{
    lines->copy = mem_copy_text((const char *)data, size);
    fuzz_require(lines->copy);
    char *at = lines->copy, *end = at + size;
    lines->rule = lines->text = "";
    for (bool first = true; at < end; first = false) {
        char *stop = memchr(at, '\n', (size_t)(end - at));
        if (stop)
            *stop = '\0';
        if (first)
            lines->rule = at;
        else if (strcmp(at, ".") == 0 && stop) {
            lines->text = stop + 1;
            lines->text_length = (size_t)(end - lines->text);
            break;
        } else
            read_line(lines, at);
        if (first && lines->rule[0] == 'B')
            add_bytes(lines);
        at = stop ? stop + 1 : end;
    }
}

static void write_file(const struct lines *lines, struct strbuf *out)
{
    struct gguf_writer *writer = gguf_writer_new();
    fuzz_require(writer);
    char kind = lines->rule[0];
    gguf_writer_text(writer, "general.architecture", "none");
    gguf_writer_text(writer, "tokenizer.ggml.model", kind == 's' ? "llama" : kind == 'u' ? "t5" : "gpt2");
    if (lines->rule[0] && lines->rule[1])
        gguf_writer_text(writer, "tokenizer.ggml.pre", lines->rule + 1);
    gguf_writer_texts(writer, "tokenizer.ggml.tokens", lines->tokens, lines->count);
    gguf_writer_i32s(writer, "tokenizer.ggml.token_type", lines->kinds, lines->count);
    gguf_writer_f32s(writer, "tokenizer.ggml.scores", lines->scores, lines->count);
    if (lines->table.length > 0)
        gguf_writer_bytes(writer, "tokenizer.ggml.precompiled_charsmap", lines->table.text,
                          lines->table.length);
    gguf_writer_bool(writer, "tokenizer.ggml.add_space_prefix", lines->count % 2);
    gguf_writer_bool(writer, "tokenizer.ggml.remove_extra_whitespaces", kind == 'u' && lines->count % 3 == 0);
    gguf_writer_texts(writer, "tokenizer.ggml.merges", lines->merges, lines->merge_count);
    gguf_writer_text(writer, "tokenizer.chat_template", lines->text_length ? lines->text : "");
    gguf_writer_finish(writer, out);
    gguf_writer_free(writer);
}

/* ---- properties ------------------------------------------------------------------------------ */

static void stream_all(const struct tokenizer *tokenizer, const struct token_list *ids)
{
    static const char *const stop[] = {"<|im_end|>", "\n\n"};
    struct text_stream stream;
    text_stream_init(&stream, stop, 2);
    for (size_t i = 0; i < ids->count; i++) {
        size_t length;
        const char *piece = tokenizer_piece(tokenizer, ids->ids[i], &length);
        fuzz_require(piece);
        text_stream_push(&stream, piece, length);
        fuzz_require(utf8_valid(strbuf_text(&stream.out), stream.out.length));
    }
    text_stream_finish(&stream);
    fuzz_require(utf8_valid(strbuf_text(&stream.out), stream.out.length));
    text_stream_fini(&stream);
}

static bool comes_back(const struct tokenizer *tokenizer, const struct token_list *ids, const char *text,
                       size_t length)
{
    size_t at = 0;
    for (size_t i = 0; i < ids->count; i++) {
        size_t size;
        const char *piece = tokenizer_piece(tokenizer, ids->ids[i], &size);
        if (size > length - at || memcmp(piece, text + at, size) != 0)
            return false;
        at += size;
    }
    return at == length;
}

static void encode(const struct tokenizer *tokenizer, const char *text, size_t length, unsigned flags,
                   bool whole)
{
    struct token_list ids = {0};
    fuzz_require(tokenizer_encode(tokenizer, text, length, flags, &ids, NULL) == LL_OK);
    for (size_t i = 0; i < ids.count; i++) {
        fuzz_require(ids.ids[i] >= 0 && (size_t)ids.ids[i] < tokenizer_size(tokenizer));
        if (!flags)
            fuzz_require(tokenizer_kind(tokenizer, ids.ids[i]) != TOKEN_CONTROL);
    }
    if (!flags && whole)
        fuzz_require(comes_back(tokenizer, &ids, text, length));
    stream_all(tokenizer, &ids);
    token_list_fini(&ids);
}

static void chat(const struct gguf *gguf, const struct tokenizer *tokenizer, const char *text, size_t length)
{
    struct chat found;
    struct token_list ids = {0};
    struct strbuf shown = {0};
    ll_message messages[] = {{"user", text, length}, {"assistant", text, length}};
    if (chat_open(gguf, tokenizer, &found, NULL) == LL_OK) {
        (void)chat_encode(&found, tokenizer, messages, 2, true, &ids, NULL);
        (void)chat_render(&found, messages, 2, true, &shown, NULL);
        chat_close(&found);
    }
    strbuf_fini(&shown);
    token_list_fini(&ids);
}

static void use(const struct gguf *gguf, const char *text, size_t length, bool whole)
{
    struct tokenizer *tokenizer = NULL;
    ll_error error = {.text = ""};
    ll_status status = tokenizer_open(gguf, &tokenizer, &error);
    if (status != LL_OK) {
        fuzz_require(!tokenizer && error.text[0] && (status == LL_FORMAT || status == LL_UNSUPPORTED));
        return;
    }
    length = length < TEXT_MAX ? length : TEXT_MAX;
    for (unsigned flags = 0; flags < 4; flags++)
        encode(tokenizer, text, length, flags, whole);
    chat(gguf, tokenizer, text, length);
    tokenizer_close(tokenizer);
}

static void fuzz_file(const uint8_t *data, size_t size)
{
    struct gguf *gguf = NULL;
    size_t tail = size < 200 ? size : 200;
    if (gguf_open_memory(data, size, &gguf, NULL) != LL_OK)
        return;
    use(gguf, (const char *)data + size - tail, tail, false);
    gguf_close(gguf);
}

static bool composes(const char *rule)
{
    return strstr(rule, "qwen2") || strstr(rule, "mpt") || strstr(rule, "olmo") || strstr(rule, "command-r");
}

static bool is_ascii(const char *text)
{
    while (*text && !(*text & 0x80))
        text++;
    return !*text;
}

/* A user's token (4) is spelt as it stands: where it holds a byte's letter, and a merge makes it, what comes
 * back is the letter. */
static bool spells_bytes(const struct lines *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        if (lines->kinds[i] == 2 || lines->kinds[i] == 5 ||
            (lines->kinds[i] == 4 && !is_ascii(lines->tokens[i])))
            return false;
    return lines->rule[0] == 'B' && !composes(lines->rule + 1);
}

static void fuzz_lines(const uint8_t *data, size_t size)
{
    struct lines *lines = mem_new(1, sizeof *lines);
    struct strbuf file = {0};
    struct gguf *gguf = NULL;
    fuzz_require(lines);
    read_lines(lines, data, size);
    write_file(lines, &file);
    if (gguf_open_memory(file.text, file.length, &gguf, NULL) == LL_OK)
        use(gguf, lines->text, lines->text_length, spells_bytes(lines));
    gguf_close(gguf);
    strbuf_fini(&file);
    strbuf_fini(&lines->table);
    mem_free(lines->copy);
    mem_free(lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size >= 4 && memcmp(data, "GGUF", 4) == 0)
        fuzz_file(data, size);
    else
        fuzz_lines(data, size);
    return 0;
}
