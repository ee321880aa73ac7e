/* Tiny but whole vocabularies: byte-level BPE and SentencePiece, with control tokens and chat templates.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "toy/toy_model.h"

enum { NORMAL = 1, UNKNOWN, CONTROL, USER, UNUSED, BYTE, TOKENS_MAX = 300000, SPELLING_MAX = 24 };

struct list { /* tokens as they are gathered */
    char (*spellings)[SPELLING_MAX];
    const char **texts;
    int32_t *kinds;
    float *scores;
    int count, capacity;
};

static const char chatml[] =
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + "
    "'<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% "
    "endif %}";
static const char gemma[] =
    "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'assistant' %}{% set role = "
    "'model' %}"
    "{% else %}{% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '\\n' + "
    "message['content'] | trim + '<end_of_turn>\\n' }}{% endfor %}{% if add_generation_prompt %}"
    "{{ '<start_of_turn>model\\n' }}{% endif %}";
static const char strange[] = "{% include 'turns' %}{{ messages[0]['content'] }}";

/* Pairs of token spellings, in order of rank; G stands for the letter of the space (U+0120). */
static const char *const merges[][2] = {
    {"G", "t"},   {"G", "a"},   {"i", "n"},   {"h", "e"},    {"r", "e"},  {"o", "n"},
    {"e", "r"},   {"Gt", "he"}, {"a", "t"},   {"G", "s"},    {"G", "o"},  {"e", "n"},
    {"i", "t"},   {"i", "s"},   {"o", "r"},   {"a", "n"},    {"G", "w"},  {"a", "l"},
    {"in", "g"},  {"Ga", "n"},  {"e", "s"},   {"G", "f"},    {"o", "u"},  {"G", "p"},
    {"Go", "f"},  {"e", "d"},   {"Gan", "d"}, {"Gt", "o"},   {"l", "l"},  {"G", "G"},
    {"GG", "GG"}, {"l", "o"},   {"he", "ll"}, {"hell", "o"}, {"w", "or"}, {"l", "d"},
};
static const char *const pieces[] = {
    /* SPM: every longer piece is a pair of earlier ones; _ is U+2581 */
    "_t", "he", "_a", "in",  "re",   "on",  "_the", "er",  "at", "_s", "nd",   "_w",    "or",  "es",
    "ll", "_o", "is", "ing", "_and", "_of", "_to",  "_in", "ou", "ed", "hell", "hello", "wor", "ld",
};

static bool list_init(struct list *list)
{
    list->capacity = TOKENS_MAX;
    list->spellings = mem_new(TOKENS_MAX, sizeof *list->spellings);
    list->texts = mem_new(TOKENS_MAX, sizeof *list->texts);
    list->kinds = mem_new(TOKENS_MAX, sizeof *list->kinds);
    list->scores = mem_new(TOKENS_MAX, sizeof *list->scores);
    return list->spellings && list->texts && list->kinds && list->scores;
}

static void list_fini(struct list *list)
{
    mem_free(list->spellings);
    mem_free(list->texts);
    mem_free(list->kinds);
    mem_free(list->scores);
}

static void add(struct list *list, const char *spelling, int kind)
{
    int id = list->count++;
    snprintf(list->spellings[id], SPELLING_MAX, "%s", spelling);
    list->texts[id] = list->spellings[id];
    list->kinds[id] = kind;
    list->scores[id] = kind == NORMAL ? -(float)id : 0.0f;
}

/* Replaces each `mark` by the letter `code`. */
static void spell(const char *from, char mark, int32_t code, char out[SPELLING_MAX])
{
    size_t at = 0;
    for (; *from && at < SPELLING_MAX - 5; from++) {
        if (*from == mark)
            at += utf8_encode(code, out + at);
        else
            out[at++] = *from;
    }
    out[at] = '\0';
}

/* GPT-2's letter of a byte: itself when printable in Latin-1, else one from U+0100 on. */
static int32_t byte_letter(int byte)
{
    int32_t next = 256;
    for (int b = 0; b < 256; b++) {
        bool plain = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
        if (b == byte)
            return plain ? b : next;
        next += !plain;
    }
    return -1;
}

static void fill_up(struct list *list, int tokens)
{
    char spelling[SPELLING_MAX];
    while (list->count < tokens && list->count < list->capacity) {
        snprintf(spelling, sizeof spelling, "[PAD%d]", list->count);
        add(list, spelling, UNUSED);
    }
}

static void common_keys(struct gguf_writer *writer, const char *model, const struct list *list)
{
    gguf_writer_text(writer, "tokenizer.ggml.model", model);
    gguf_writer_texts(writer, "tokenizer.ggml.tokens", list->texts, (size_t)list->count);
    gguf_writer_i32s(writer, "tokenizer.ggml.token_type", list->kinds, (size_t)list->count);
}

static void bpe_keys(const struct toy_model *toy, struct gguf_writer *writer, struct list *list)
{
    enum { MERGES = sizeof merges / sizeof merges[0] };
    static const char *const controls[] = {"<|endoftext|>", "<|im_start|>", "<|im_end|>"};
    char lines[MERGES][2 * SPELLING_MAX], left[SPELLING_MAX], right[SPELLING_MAX];
    const char *texts[MERGES];
    for (int i = 0; i < 3; i++)
        add(list, controls[i], CONTROL);
    for (int byte = 0; byte < 256; byte++) {
        left[utf8_encode(byte_letter(byte), left)] = '\0';
        add(list, left, NORMAL);
    }
    for (int i = 0; i < MERGES; i++) {
        spell(merges[i][0], 'G', 0x120, left);
        spell(merges[i][1], 'G', 0x120, right);
        snprintf(lines[i], sizeof lines[i], "%s%s", left, right);
        add(list, lines[i], NORMAL);
        snprintf(lines[i], sizeof lines[i], "%s %s", left, right);
        texts[i] = lines[i];
    }
    fill_up(list, toy->tokens);
    common_keys(writer, "gpt2", list);
    gguf_writer_text(writer, "tokenizer.ggml.pre", toy->pre);
    gguf_writer_texts(writer, "tokenizer.ggml.merges", texts, MERGES);
    gguf_writer_u32(writer, "tokenizer.ggml.bos_token_id", 1);
    gguf_writer_u32(writer, "tokenizer.ggml.eos_token_id", 2);
    gguf_writer_u32(writer, "tokenizer.ggml.unknown_token_id", 0);
    gguf_writer_u32(writer, "tokenizer.ggml.padding_token_id", 2);
    gguf_writer_bool(writer, "tokenizer.ggml.add_bos_token", false);
}

static void spm_keys(const struct toy_model *toy, struct gguf_writer *writer, struct list *list)
{
    static const char *const controls[] = {"<pad>", "<eos>",           "<bos>",
                                           "<unk>", "<start_of_turn>", "<end_of_turn>"};
    char spelling[SPELLING_MAX];
    for (int i = 0; i < 6; i++)
        add(list, controls[i], i == 3 ? UNKNOWN : CONTROL);
    for (int byte = 0; byte < 256; byte++) {
        snprintf(spelling, sizeof spelling, "<0x%02X>", (unsigned)byte);
        add(list, spelling, BYTE);
    }
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        spell(pieces[i], '_', 0x2581, spelling);
        add(list, spelling, NORMAL);
    }
    add(list, "\xE2\x96\x81", NORMAL);
    for (char c = 33; c < 127; c++)
        add(list, (const char[]){c, '\0'}, NORMAL);
    fill_up(list, toy->tokens);
    common_keys(writer, "llama", list);
    gguf_writer_f32s(writer, "tokenizer.ggml.scores", list->scores, (size_t)list->count);
    gguf_writer_u32(writer, "tokenizer.ggml.bos_token_id", 2);
    gguf_writer_u32(writer, "tokenizer.ggml.eos_token_id", 1);
    gguf_writer_u32(writer, "tokenizer.ggml.unknown_token_id", 3);
    gguf_writer_u32(writer, "tokenizer.ggml.padding_token_id", 0);
    gguf_writer_bool(writer, "tokenizer.ggml.add_bos_token", true);
    gguf_writer_bool(writer, "tokenizer.ggml.add_eos_token", false);
    gguf_writer_bool(writer, "tokenizer.ggml.add_space_prefix", false);
}

int toy_vocabulary_write(const struct toy_model *toy, struct gguf_writer *writer)
{
    static const char *const templates[] = {NULL, chatml, gemma, strange};
    struct list list = {0};
    int count = 0;
    if (toy->tokens <= TOKENS_MAX && list_init(&list)) {
        if (toy->vocabulary == TOY_BPE)
            bpe_keys(toy, writer, &list);
        else
            spm_keys(toy, writer, &list);
        if (templates[toy->chat])
            gguf_writer_text(writer, "tokenizer.chat_template", templates[toy->chat]);
        count = list.count;
    }
    list_fini(&list);
    return count;
}
