/* Template text to tokens: data, and what stands between the marks of tags and expressions.
 * SPDX-License-Identifier: Apache-2.0 */
#include "text/template_lex.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/utf8.h"
#include "text/template_escape.h"

enum { NEST_MAX = 200 };

struct lexer {
    struct arena *arena;
    struct template_fault *fault;
    const char *source;
    size_t length, at;
    int line;
    struct lexed *out;
    char nest[NEST_MAX]; /* open brackets of the tag */
    int depth;
};

/* ---- helpers ---- */

static bool fail(struct lexer *lexer, const char *what)
{
    return template_fail(lexer->fault, LL_FORMAT, lexer->line, "%s", what);
}

static bool no_room(struct lexer *lexer)
{
    return template_fail(lexer->fault, lexer->arena->over ? LL_FORMAT : LL_NOMEM, lexer->line,
                         "the template is too long to be read");
}

static bool looking_at(const struct lexer *lexer, size_t at, const char *text)
{
    size_t length = strlen(text);
    return at + length <= lexer->length && memcmp(lexer->source + at, text, length) == 0;
}

/* Moves on, counting lines. */
static void step_to(struct lexer *lexer, size_t at)
{
    for (; lexer->at < at; lexer->at++)
        lexer->line += lexer->source[lexer->at] == '\n';
}

static void skip_blank(struct lexer *lexer)
{
    step_to(lexer, lexer->at + text_skip_blank(lexer->source + lexer->at, lexer->length - lexer->at));
}

static bool push(struct lexer *lexer, struct lex_token token)
{
    struct lexed *out = lexer->out;
    token.line = lexer->line;
    if (out->count == out->capacity) {
        size_t capacity = out->capacity ? out->capacity * 2 : 64;
        struct lex_token *grown = arena_new(lexer->arena, capacity, sizeof *grown);
        if (!grown)
            return no_room(lexer);
        if (out->count)
            memcpy(grown, out->tokens, out->count * sizeof *grown);
        out->tokens = grown;
        out->capacity = capacity;
    }
    out->tokens[out->count++] = token;
    return true;
}

static bool push_data(struct lexer *lexer, size_t start, size_t end)
{
    if (end <= start)
        return true;
    return push(lexer,
                (struct lex_token){.type = LEX_DATA, .text = lexer->source + start, .length = end - start});
}

/* ---- outside of tags ---- */

/* Where data before a mark at `mark` ends, by the sign after the mark's two characters. */
static size_t data_end(const struct lexer *lexer, size_t start, size_t mark, bool strips_line)
{
    char sign = mark + 2 < lexer->length ? lexer->source[mark + 2] : '\0';
    if (sign == '-')
        return start + text_without_blank(lexer->source + start, mark - start);
    if (sign == '+' || !strips_line)
        return mark;
    size_t line = mark;
    while (line > start && lexer->source[line - 1] != '\n')
        line--;
    bool at_line_start = line > start || start == 0 || lexer->source[start - 1] == '\n';
    bool blank = text_skip_blank(lexer->source + line, mark - line) == mark - line;
    return at_line_start && blank ? line : mark;
}

/* Behind a closing mark at `at`: a sign, the mark, then what the sign or the mark takes with it. 0: no
 * closing mark here. */
static size_t after_close(const struct lexer *lexer, size_t at, const char *mark, bool takes_newline)
{
    char sign = at < lexer->length ? lexer->source[at] : '\0';
    size_t start = at + (sign == '-' || (sign == '+' && takes_newline));
    if (!looking_at(lexer, start, mark))
        return 0;
    size_t end = start + 2;
    if (sign == '-')
        end += text_skip_blank(lexer->source + end, lexer->length - end);
    else if (sign != '+' && takes_newline && end < lexer->length && lexer->source[end] == '\n')
        end++;
    return end;
}

static bool skip_comment(struct lexer *lexer)
{
    for (size_t at = lexer->at + 2; at < lexer->length; at++) {
        size_t end = after_close(lexer, at, "#}", true);
        if (end) {
            step_to(lexer, end);
            return true;
        }
    }
    return fail(lexer, "a comment {# is not closed");
}

/* Behind "{% name %}" at `at`, with any signs; 0: something else. */
static size_t after_word(const struct lexer *lexer, size_t at, const char *word, bool takes_newline)
{
    size_t i = at + 2;
    if (!looking_at(lexer, at, "{%"))
        return 0;
    if (i < lexer->length && (lexer->source[i] == '-' || lexer->source[i] == '+'))
        i++;
    i += text_skip_blank(lexer->source + i, lexer->length - i);
    if (!looking_at(lexer, i, word))
        return 0;
    i += strlen(word);
    i += text_skip_blank(lexer->source + i, lexer->length - i);
    size_t end = after_close(lexer, i, "%}", takes_newline);
    if (!end && !takes_newline && looking_at(lexer, i, "%}"))
        end = i + 2;
    return end;
}

static bool lex_raw(struct lexer *lexer, size_t start)
{
    for (size_t at = start; at < lexer->length; at++) {
        size_t end = after_word(lexer, at, "endraw", true);
        if (!end)
            continue;
        if (!push_data(lexer, start, data_end(lexer, start, at, true)))
            return false;
        step_to(lexer, end);
        return true;
    }
    return fail(lexer, "{% raw %} is not closed by {% endraw %}");
}

/* ---- inside of tags ---- */

static bool lex_number(struct lexer *lexer)
{
    char digits[64];
    size_t count = 0, at = lexer->at;
    bool real = false;
    for (; at < lexer->length && count < sizeof digits - 1; at++) {
        char c = lexer->source[at], next = at + 1 < lexer->length ? lexer->source[at + 1] : '\0';
        if (c == '_' && next >= '0' && next <= '9')
            continue;
        bool point = c == '.' && !real && next >= '0' && next <= '9';
        bool power = (c == 'e' || c == 'E') && count && !strpbrk((digits[count] = '\0', digits), "eE") &&
                     ((next >= '0' && next <= '9') || next == '-' || next == '+');
        if (!(c >= '0' && c <= '9') && !point && !power)
            break;
        real = real || point || power;
        digits[count++] = c;
        if (power && (next == '-' || next == '+')) {
            digits[count++] = next;
            at++;
        }
    }
    digits[count] = '\0';
    if (count > 40)
        return fail(lexer, "a number is too long");
    struct lex_token token = {.type = real ? LEX_FLOAT : LEX_INTEGER};
    if (!real && count > 18)
        return fail(lexer, "an integer does not fit in 64 bits");
    token.real = number_parse(digits, NULL);
    token.integer = real ? 0 : strtoll(digits, NULL, 10);
    if (!push(lexer, token))
        return false;
    step_to(lexer, at);
    return true;
}

static bool is_name_byte(char c, bool first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80 ||
           (!first && c >= '0' && c <= '9');
}

static bool lex_name(struct lexer *lexer)
{
    size_t end = lexer->at;
    while (end < lexer->length && is_name_byte(lexer->source[end], false))
        end++;
    size_t length = end - lexer->at;
    char *name = arena_new(lexer->arena, length + 1, 1);
    if (!name)
        return no_room(lexer);
    memcpy(name, lexer->source + lexer->at, length);
    if (!push(lexer, (struct lex_token){.type = LEX_NAME, .text = name, .length = length}))
        return false;
    step_to(lexer, end);
    return true;
}

static bool lex_text(struct lexer *lexer)
{
    char quote = lexer->source[lexer->at];
    size_t start = lexer->at + 1, end = start;
    while (end < lexer->length && lexer->source[end] != quote)
        end += lexer->source[end] == '\\' ? 2 : 1;
    if (end >= lexer->length)
        return fail(lexer, "a string is not closed");
    struct lex_token token = {.type = LEX_TEXT};
    char *bytes = arena_new(lexer->arena, end - start + 1, 1);
    if (!bytes)
        return no_room(lexer);
    if (!template_unescape(lexer->source + start, end - start, bytes, &token.length))
        return fail(lexer, "a string has a broken escape");
    token.text = bytes;
    if (!push(lexer, token))
        return false;
    step_to(lexer, end + 1);
    return true;
}

static bool track_bracket(struct lexer *lexer, char c)
{
    if (strchr("([{", c)) {
        if (lexer->depth == NEST_MAX)
            return fail(lexer, "brackets are nested too deeply");
        lexer->nest[lexer->depth++] = c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (strchr(")]}", c)) {
        if (lexer->depth == 0 || lexer->nest[lexer->depth - 1] != c)
            return fail(lexer, "a bracket is closed that was not opened");
        lexer->depth--;
    }
    return true;
}

static bool lex_operator(struct lexer *lexer)
{
    static const char pairs[][3] = {"==", "!=", "<=", ">=", "//", "**"};
    struct lex_token token = {.type = LEX_OPERATOR, .op = (unsigned char)lexer->source[lexer->at]};
    size_t length = 1;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (looking_at(lexer, lexer->at, pairs[i])) {
            token.op = LEX_PAIR(pairs[i][0], pairs[i][1]);
            length = 2;
        }
    if (length == 1 && !strchr("+-*/%~()[]{}<>=.:|,", token.op))
        return template_fail(lexer->fault, LL_FORMAT, lexer->line, "the character \"%c\" has no meaning here",
                             token.op >= 32 && token.op < 127 ? token.op : '?');
    if (length == 1 && !track_bracket(lexer, (char)token.op))
        return false;
    if (!push(lexer, token))
        return false;
    step_to(lexer, lexer->at + length);
    return true;
}

static bool lex_one(struct lexer *lexer)
{
    char c = lexer->source[lexer->at];
    if (c >= '0' && c <= '9')
        return lex_number(lexer);
    if (is_name_byte(c, true))
        return lex_name(lexer);
    if (c == '\'' || c == '"')
        return lex_text(lexer);
    return c != '\0' ? lex_operator(lexer) : fail(lexer, "a zero byte has no meaning here");
}

static bool lex_inside(struct lexer *lexer, bool tag)
{
    const char *mark = tag ? "%}" : "}}";
    if (!push(lexer, (struct lex_token){.type = tag ? LEX_TAG_OPEN : LEX_PRINT_OPEN}))
        return false;
    step_to(lexer, lexer->at + 2);
    if (lexer->at < lexer->length && (lexer->source[lexer->at] == '-' || lexer->source[lexer->at] == '+'))
        step_to(lexer, lexer->at + 1);
    for (lexer->depth = 0;;) {
        skip_blank(lexer);
        if (lexer->at >= lexer->length)
            return fail(lexer, tag ? "a tag {% is not closed" : "an expression {{ is not closed");
        size_t end = lexer->depth == 0 ? after_close(lexer, lexer->at, mark, tag) : 0;
        if (end) {
            if (!push(lexer, (struct lex_token){.type = tag ? LEX_TAG_CLOSE : LEX_PRINT_CLOSE}))
                return false;
            step_to(lexer, end);
            return true;
        }
        if (!lex_one(lexer))
            return false;
    }
}

/* ---- the whole ---- */

static size_t next_mark(const struct lexer *lexer)
{
    for (size_t at = lexer->at; at + 1 < lexer->length; at++)
        if (lexer->source[at] == '{' && strchr("{%#", lexer->source[at + 1]) && lexer->source[at + 1])
            return at;
    return lexer->length;
}

static bool lex_all(struct lexer *lexer)
{
    while (lexer->at < lexer->length) {
        size_t mark = next_mark(lexer), start = lexer->at;
        if (mark == lexer->length)
            return push_data(lexer, start, mark);
        char kind = lexer->source[mark + 1];
        if (!push_data(lexer, start, data_end(lexer, start, mark, kind != '{')))
            return false;
        step_to(lexer, mark);
        size_t raw = kind == '%' ? after_word(lexer, mark, "raw", false) : 0;
        if (raw)
            step_to(lexer, raw);
        if (raw ? !lex_raw(lexer, raw) : kind == '#' ? !skip_comment(lexer) : !lex_inside(lexer, kind == '%'))
            return false;
    }
    return true;
}

/* Line ends become "\n", and one at the very end goes. */
static char *normalise(struct arena *arena, const char *source, size_t length, size_t *ret_length)
{
    char *copy = arena_new(arena, length + 1, 1);
    size_t used = 0;
    if (!copy)
        return NULL;
    for (size_t i = 0; i < length; i++) {
        if (source[i] == '\r' && i + 1 < length && source[i + 1] == '\n')
            continue;
        copy[used++] = source[i] == '\r' ? '\n' : source[i];
    }
    *ret_length = used && copy[used - 1] == '\n' ? used - 1 : used;
    return copy;
}

bool template_lex(struct arena *arena, struct template_fault *fault, const char *source, size_t length,
                  struct lexed *ret)
{
    struct lexer lexer = {.arena = arena, .fault = fault, .line = 1, .out = ret};
    lexer.source = normalise(arena, source, length, &lexer.length);
    if (!lexer.source)
        return no_room(&lexer);
    return lex_all(&lexer) && push(&lexer, (struct lex_token){.type = LEX_END});
}
