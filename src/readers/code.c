/* Source code: as it is, with a section for each function, class or type that begins at the margin.
 * SPDX-License-Identifier: Apache-2.0
 *
 * No grammar of any language: a definition is a line at the left margin that begins with a word of
 * definition, or looks like the head of a C function. */
#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "readers/blob.h"
#include "readers/reader.h"

enum { LONGEST_HEAD = 200 };

static bool starts_with_word(const char *line, size_t length, const char *word)
{
    size_t n = strlen(word);
    return length > n && memcmp(line, word, n) == 0 && (line[n] == ' ' || line[n] == '\t');
}

static size_t skip_word(const char *line, size_t length, const char *word)
{
    size_t n = strlen(word);
    return starts_with_word(line, length, word) ? n + strspn(line + n, " \t") : 0;
}

/* Words that come before those of definition, in any order. */
static size_t skip_qualifiers(const char *line, size_t length)
{
    static const char *const words[] = {"pub",      "export",  "default", "public", "private",  "protected",
                                        "static",   "final",   "async",   "unsafe", "abstract", "open",
                                        "internal", "sealed",  "const",   "inline", "extern",   "override",
                                        "data",     "suspend", "local"};
    size_t at = 0, step = 1;
    while (step) {
        step = 0;
        if (length - at > 4 && memcmp(line + at, "pub(", 4) == 0) {
            const char *close = memchr(line + at, ')', length - at);
            step = close ? (size_t)(close - line) + 1 - at : 0;
            step += step ? strspn(line + at + step, " \t") : 0;
        }
        for (size_t i = 0; i < sizeof words / sizeof words[0] && !step; i++)
            step = skip_word(line + at, length - at, words[i]);
        at += step;
    }
    return at;
}

static bool is_word_of_definition(const char *line, size_t length)
{
    static const char *const words[] = {"def",      "class",     "func", "function",  "fn",     "impl",
                                        "trait",    "enum",      "mod",  "interface", "type",   "namespace",
                                        "module",   "object",    "sub",  "proc",      "struct", "record",
                                        "protocol", "extension", "fun"};
    size_t at = skip_qualifiers(line, length);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (starts_with_word(line + at, length - at, words[i]))
            return true;
    return false;
}

/* "name() {" of a shell, "type name(arguments" of C with its body behind: no ";" at the end. */
static bool is_function_head(const char *line, size_t length, const char *next, size_t next_length)
{
    const char *paren = memchr(line, '(', length);
    if (!paren || paren == line || (!isalpha((unsigned char)line[0]) && line[0] != '_'))
        return false;
    char before = paren[-1], last = line[length - 1];
    static const char *const others[] = {"if",   "for", "while", "switch", "return",
                                         "else", "do",  "case",  "typedef"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strncmp(line, others[i], strlen(others[i])) == 0 &&
            !isalnum((unsigned char)line[strlen(others[i])]) && line[strlen(others[i])] != '_')
            return false;
    if ((!isalnum((unsigned char)before) && before != '_') || last == ';' || memchr(line, '=', length))
        return false;
    bool two_words = memchr(line, ' ', (size_t)(paren - line)) != NULL;
    bool body = last == '{' || (next_length && next[0] == '{') || (two_words && last == ',');
    return body && (two_words || (length > 3 && strchr("{)", last)));
}

/* The head of a definition without its "{" and ":". */
static size_t head_length(const char *line, size_t length)
{
    size_t end = length < LONGEST_HEAD ? length : LONGEST_HEAD;
    while (end && strchr(" \t{:,", line[end - 1]))
        end--;
    while (end && ((unsigned char)line[end] & 0xC0) == 0x80)
        end--;
    return end ? end : length;
}

static ll_status mark_definitions(struct input *input)
{
    struct reading *reading = input->reading;
    const char *text = strbuf_text(&reading->text);
    size_t length = reading->text.length, first = 0;
    for (size_t at = 0, end, below; at < length; at = end + 1) {
        const char *newline = memchr(text + at, '\n', length - at);
        end = newline ? (size_t)(newline - text) : length;
        newline = end + 1 < length ? memchr(text + end + 1, '\n', length - end - 1) : NULL;
        below = end + 1 < length ? (newline ? (size_t)(newline - text) : length) - end - 1 : 0;
        size_t line = end - at;
        if (line < 4 || isspace((unsigned char)text[at]) ||
            !(is_word_of_definition(text + at, line) ||
              is_function_head(text + at, line, text + end + (below > 0), below)))
            continue;
        struct reading_mark body = {first, at ? at - 1 : 0, MARK_CODE, 0, 0, 0};
        struct reading_mark head = {at, end, MARK_HEADING, 1, at, at + head_length(text + at, line)};
        if ((at > first && !reading_mark(reading, &body)) || !reading_mark(reading, &head))
            return error_nomem(input->error, "code", length);
        first = end + 1;
    }
    struct reading_mark rest = {first, length, MARK_CODE, 0, 0, 0};
    return first < length && !reading_mark(reading, &rest) ? error_nomem(input->error, "code", length)
                                                           : LL_OK;
}

ll_status read_code(struct input *input)
{
    LL_TRY(read_text(input));
    input->reading->kind = KIND_CODE;
    if (input->reading->pages.count)
        return LL_OK;
    return mark_definitions(input);
}
