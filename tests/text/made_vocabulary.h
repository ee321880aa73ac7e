/* Small vocabularies that tests write, open as a tokenizer and try.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_TEXT_MADE_VOCABULARY_H
#define TESTS_TEXT_MADE_VOCABULARY_H

#include "text/vectors.h"

#include <math.h>

#include "formats/gguf_write.h"
#include "text/byte_letters.h"
#include "base/utf8.h"

/* ---- vocabularies --------------------------------------------------------------------------- */

enum { MOST = 300 };

struct made { /* a vocabulary under construction, then open */
    const char *model, *pre;
    char spellings[MOST][24];
    const char *merges[8];
    int32_t kinds[MOST];
    float scores[MOST];
    size_t count, merge_count, kind_count, score_count;
    bool kinds_are_floats;
    const void *table; /* of characters, of the unigram model */
    size_t table_size;
    const char *id_key, *flag_key; /* one more key each */
    uint32_t id;
    bool flag;
    struct strbuf bytes;
    struct gguf *gguf;
    struct tokenizer *tokenizer;
};

static inline void add(struct made *made, const char *spelling, int kind)
{
    size_t id = made->count++;
    snprintf(made->spellings[id], sizeof made->spellings[id], "%s", spelling);
    made->kinds[id] = kind;
    made->scores[id] = -(float)id;
    made->kind_count = made->score_count = made->count;
}

/* 256 bytes, "ab", "abc"; 258 <|im_end|> (control), 259 <tag> and 260 <tag>s (added). */
static inline struct made bpe(void)
{
    struct made made = {.model = "gpt2", .pre = "gpt-2", .merges = {"a b", "ab c"}, .merge_count = 2};
    for (int byte = 0; byte < 256; byte++) {
        char letter[5] = {0};
        byte_letters_write(&(char){(char)byte}, 1, letter);
        add(&made, letter, TOKEN_NORMAL);
    }
    add(&made, "ab", TOKEN_NORMAL);
    add(&made, "abc", TOKEN_NORMAL);
    add(&made, "<|im_end|>", TOKEN_CONTROL);
    add(&made, "<tag>", TOKEN_USER);
    add(&made, "<tag>s", TOKEN_USER);
    return made;
}

/* 0 <unk>, 1 <s>, 2 </s>, then 256 bytes, then pieces; BOS by spelling. */
static inline struct made spm(void)
{
    struct made made = {.model = "llama"};
    add(&made, "<unk>", TOKEN_UNKNOWN);
    add(&made, "<s>", TOKEN_CONTROL);
    add(&made, "</s>", TOKEN_CONTROL);
    for (int byte = 0; byte < 256; byte++) {
        char spelling[8];
        snprintf(spelling, sizeof spelling, "<0x%02X>", byte);
        add(&made, spelling, TOKEN_BYTE);
    }
    static const char *const pieces[] = {"\xE2\x96\x81",
                                         "a",
                                         "b",
                                         "c",
                                         "ab",
                                         "\xE2\x96\x81"
                                         "ab",
                                         "abc"};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        add(&made, pieces[i], TOKEN_NORMAL);
    return made;
}

/* The same for the unigram model: "abc" scores more than "ab" and "c". */
static inline struct made unigram(void)
{
    struct made made = spm();
    made.model = "t5";
    for (size_t i = 0; i < made.count; i++)
        made.scores[i] = -(float)(made.count - i);
    return made;
}

static inline void write_arrays(const struct made *made, struct gguf_writer *writer)
{
    const char *tokens[MOST];
    for (size_t i = 0; i < made->count; i++)
        tokens[i] = made->spellings[i];
    gguf_writer_texts(writer, "tokenizer.ggml.tokens", tokens, made->count);
    if (made->kinds_are_floats)
        gguf_writer_f32s(writer, "tokenizer.ggml.token_type", made->scores, made->kind_count);
    else if (made->kind_count)
        gguf_writer_i32s(writer, "tokenizer.ggml.token_type", made->kinds, made->kind_count);
    if (made->score_count)
        gguf_writer_f32s(writer, "tokenizer.ggml.scores", made->scores, made->score_count);
    if (made->table)
        gguf_writer_bytes(writer, "tokenizer.ggml.precompiled_charsmap", made->table, made->table_size);
    if (made->merge_count)
        gguf_writer_texts(writer, "tokenizer.ggml.merges", made->merges, made->merge_count);
}

static inline ll_status open_made(struct made *made, ll_error *error)
{
    struct gguf_writer *writer = gguf_writer_new();
    assert_non_null(writer);
    gguf_writer_text(writer, "general.architecture", "none");
    if (made->model)
        gguf_writer_text(writer, "tokenizer.ggml.model", made->model);
    if (made->pre)
        gguf_writer_text(writer, "tokenizer.ggml.pre", made->pre);
    write_arrays(made, writer);
    if (made->id_key)
        gguf_writer_u32(writer, made->id_key, made->id);
    if (made->flag_key)
        gguf_writer_bool(writer, made->flag_key, made->flag);
    gguf_writer_finish(writer, &made->bytes);
    gguf_writer_free(writer);
    if (gguf_open_memory(made->bytes.text, made->bytes.length, &made->gguf, error) != LL_OK)
        fail_msg("%s", error->text);
    return tokenizer_open(made->gguf, &made->tokenizer, error);
}

static inline void close_made(struct made *made)
{
    tokenizer_close(made->tokenizer);
    gguf_close(made->gguf);
    strbuf_fini(&made->bytes);
}

static inline void opens(struct made *made)
{
    ll_error error;
    if (open_made(made, &error) != LL_OK)
        fail_msg("%s", error.text);
}

static inline void refused(struct made made, ll_status status, const char *words)
{
    ll_error error = {.text = ""};
    assert_int_equal(open_made(&made, &error), status);
    if (!strstr(error.text, words))
        fail_msg("\"%s\" does not say \"%s\"", error.text, words);
    close_made(&made);
}

static inline struct token_list encoded(const struct made *made, const char *text, size_t length,
                                        unsigned flags)
{
    struct token_list ids = {0};
    assert_int_equal(tokenizer_encode(made->tokenizer, text, length, flags, &ids, NULL), LL_OK);
    return ids;
}

static inline void gives(const struct made *made, const char *text, unsigned flags, const char *numbers)
{
    struct token_list got = encoded(made, text, strlen(text), flags), wanted = vectors_ids(numbers);
    if (!same_ids(&got, &wanted)) {
        for (size_t i = 0; i < got.count; i++)
            print_message("# got %d\n", got.ids[i]);
        fail_msg("\"%s\" gives other ids than %s", text, numbers);
    }
    token_list_fini(&got);
    token_list_fini(&wanted);
}

static inline void comes_back(const struct tokenizer *tokenizer, const char *text, size_t length)
{
    struct token_list ids = {0};
    assert_int_equal(tokenizer_encode(tokenizer, text, length, 0, &ids, NULL), LL_OK);
    struct strbuf back = printed(tokenizer, &ids);
    assert_int_equal(back.length, length);
    assert_memory_equal(back.text, text, length);
    strbuf_fini(&back);
    token_list_fini(&ids);
}

static inline size_t random_bytes(char *text, size_t most)
{
    static const char *const parts[] = {" ",
                                        "  ",
                                        "\n",
                                        "\t",
                                        "a",
                                        "ab",
                                        "abc",
                                        "'s",
                                        "12",
                                        "<tag>",
                                        "<|im_end|>",
                                        "\xC3\xA9",
                                        "e\xCC\x81",
                                        "\xE6\xBC\xA2",
                                        "\xF0\x9F\x91\x8D",
                                        "\xE2\x80\x8D",
                                        "\xF0\x9F",
                                        "\x80",
                                        "\xFF",
                                        "\xED\xA0\x80",
                                        "\xEF\xBB\xBF",
                                        "\xC2\x85"};
    size_t used = 0, wanted = unit_below(most - 16);
    while (used < wanted) {
        if (unit_below(5) == 0) {
            text[used++] = (char)unit_random();
            continue;
        }
        const char *part = parts[unit_below(sizeof parts / sizeof *parts)];
        memcpy(text + used, part, strlen(part));
        used += strlen(part);
    }
    return used;
}

static inline void any_bytes_come_back(struct made *made, size_t rounds)
{
    opens(made);
    for (size_t round = 0; round < rounds; round++) {
        char text[160];
        size_t length = random_bytes(text, sizeof text);
        comes_back(made->tokenizer, text, length);
    }
    close_made(made);
}

#endif
