/* Reads the tests' vector files: lines of a word, a name and hexadecimal text or numbers.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_TEXT_VECTORS_H
#define TESTS_TEXT_VECTORS_H

#include "unit.h"

#include "base/error.h"
#include "base/strbuf.h"
#include "formats/gguf.h"
#include "text/tokenizer.h"

struct vectors { /* a file read whole; lines are cut off one by one */
    char *text, *rest;
};

static inline char *vectors_path(const char *name, char path[4096])
{
    const char *top = getenv("top_srcdir");
    snprintf(path, 4096, "%s/tests/text/vectors/%s", top ? top : ".", name);
    return path;
}

static inline struct strbuf vectors_bytes(const char *name)
{
    char path[4096], block[4096];
    struct strbuf bytes = {0};
    FILE *file = fopen(vectors_path(name, path), "rb");
    if (!file)
        fail_msg("cannot open %s", path);
    for (size_t got; (got = fread(block, 1, sizeof block, file)) > 0;)
        strbuf_append(&bytes, block, got);
    fclose(file);
    return bytes;
}

static inline struct vectors vectors_open(const char *name)
{
    struct strbuf bytes = vectors_bytes(name);
    struct vectors vectors = {bytes.text, bytes.text};
    assert_non_null(vectors.text);
    return vectors;
}

/* The next line that is no comment, NULL at the end. */
static inline char *vectors_line(struct vectors *vectors)
{
    while (*vectors->rest) {
        char *line = vectors->rest, *end = strchr(line, '\n');
        assert_non_null(end);
        *end = '\0';
        vectors->rest = end + 1;
        if (*line != '#')
            return line;
    }
    return NULL;
}

/* Text from hexadecimal; mem_free it. */
static inline char *vectors_hex(const char *hex, size_t *ret_length)
{
    struct strbuf text = {0};
    unsigned byte;
    for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
        strbuf_putc(&text, (char)byte);
    strbuf_putc(&text, '\0');
    *ret_length = text.length - 1;
    return text.text;
}

static inline struct token_list vectors_ids(const char *numbers)
{
    struct token_list list = {0};
    char *end;
    for (long id = strtol(numbers, &end, 10); end != numbers; id = strtol(numbers, &end, 10)) {
        assert_true(token_list_push(&list, (ll_token)id));
        numbers = end;
    }
    return list;
}

static inline bool same_ids(const struct token_list *a, const struct token_list *b)
{
    return a->count == b->count && (a->count == 0 || memcmp(a->ids, b->ids, a->count * sizeof *a->ids) == 0);
}

/* The printed bytes of ids, one after the other. */
static inline struct strbuf printed(const struct tokenizer *tokenizer, const struct token_list *ids)
{
    struct strbuf text = {0};
    strbuf_puts(&text, "");
    for (size_t i = 0; i < ids->count; i++) {
        size_t length;
        const char *piece = tokenizer_piece(tokenizer, ids->ids[i], &length);
        assert_non_null(piece);
        strbuf_append(&text, piece, length);
    }
    return text;
}

#endif
