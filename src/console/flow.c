/* Words into rows of a width: wrapping by display columns, with Markdown's inline styles.
 * SPDX-License-Identifier: Apache-2.0 */
#include "console/flow.h"

#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "console/escape.h"

#define STYLES_OFF "\033[0m"

struct writer {
    const struct flow *flow;
    const char *source;
    size_t length, at;
    struct text *out;
    struct text word; /* what is not placed in a row yet */
    size_t word_columns, word_begin, column, rows;
    unsigned style, word_style; /* now, and where the word began */
    size_t spaces;              /* before the word */
    struct flow_place *places;
    size_t cap;
};

const char *flow_sequence(unsigned style, char sequence[24])
{
    size_t at = 0;
    static const struct {
        unsigned style;
        const char *code;
    } codes[] = {
        {FLOW_BOLD, "1"}, {FLOW_DIM, "2"}, {FLOW_ITALIC, "3"}, {FLOW_STRIKE, "9"}, {FLOW_CODE, "36"}};
    sequence[0] = '\0';
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (style & codes[i].style)
            at += (size_t)snprintf(sequence + at, 24 - at, "%s%s", at ? ";" : "\033[", codes[i].code);
    if (at)
        snprintf(sequence + at, 24 - at, "m");
    return sequence;
}

/* Bytes and columns of the character at a place; a combining one has no columns of its own. */
static size_t character(const char *bytes, size_t length, size_t *ret_columns)
{
    unsigned code = 0;
    size_t size = escape_character(bytes, length, &code);
    int width = size ? wcwidth((wchar_t)code) : 1;
    *ret_columns = width > 0 ? (size_t)width : 0;
    return size ? size : 1;
}

size_t flow_columns(const char *row, size_t length)
{
    size_t columns = 0, width;
    for (size_t at = 0; at < length;) {
        if (row[at] == '\033') {
            while (at < length && row[at] != 'm')
                at++;
            at++;
            continue;
        }
        at += character(row + at, length - at, &width);
        columns += width;
    }
    return columns;
}

/* ---- rows ---- */

static void put_style(struct writer *w, struct text *out, unsigned style)
{
    char sequence[24];
    if (w->flow->styled)
        text_puts(out, flow_sequence(style, sequence));
}

static void begin_row(struct writer *w)
{
    const char *indent = w->rows ? w->flow->rest : w->flow->first;
    if (w->rows < w->cap)
        w->places[w->rows] = (struct flow_place){w->word_begin, w->word_style};
    text_puts(w->out, indent);
    w->column = flow_columns(indent, strlen(indent));
    put_style(w, w->out, w->word_style);
    w->rows++;
    w->spaces = 0;
}

static void end_row(struct writer *w, unsigned style)
{
    text_puts(w->out, w->flow->styled && style ? STYLES_OFF "\n" : "\n");
}

static void place_word(struct writer *w)
{
    size_t wanted = w->word_columns + w->spaces;
    if (!w->word.length)
        return;
    if (w->word_columns && w->column + wanted > w->flow->columns) {
        end_row(w, w->word_style);
        begin_row(w);
    }
    for (; w->spaces; w->spaces--, w->column++)
        text_putc(w->out, ' ');
    text_append(w->out, w->word.bytes, w->word.length);
    w->column += w->word_columns;
    text_clear(&w->word);
    w->word_columns = 0;
    w->spaces = 0;
}

static void start_word(struct writer *w)
{
    if (w->word.length)
        return;
    w->word_begin = w->at;
    w->word_style = w->style;
}

/* ---- inline marks ---- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           (unsigned char)c >= 0x80;
}

static char byte_at(const struct writer *w, size_t at)
{
    return at < w->length ? w->source[at] : ' ';
}

/* Whether the mark at a place may close its style. */
static bool closes(const struct writer *w, size_t at, size_t size)
{
    char mark = w->source[at];
    if (mark == '`')
        return true;
    return at && !is_space(w->source[at - 1]) && (mark != '_' || !is_word(byte_at(w, at + size)));
}

/* A mark that nothing closes is a character like any other. */
static bool closed_later(const struct writer *w, size_t size)
{
    char mark = w->source[w->at];
    for (size_t at = w->at + size; at + size <= w->length; at++) {
        if (w->source[at] != mark || (size == 2 && w->source[at + 1] != mark))
            continue;
        if (size == 1 && mark != '`' && byte_at(w, at + 1) == mark)
            at++;
        else if (at > w->at + size && closes(w, at, size))
            return true;
    }
    return false;
}

/* Whether a mark of so many bytes may open or close its style here. */
static bool may_turn(const struct writer *w, size_t size, unsigned style)
{
    char before = w->at ? w->source[w->at - 1] : ' ', after = byte_at(w, w->at + size);
    if (w->style & style)
        return closes(w, w->at, size);
    if (style != FLOW_CODE && (is_space(after) || (style == FLOW_ITALIC && is_word(before))))
        return false;
    if (w->source[w->at] == '_' && is_word(before))
        return false;
    return closed_later(w, size);
}

static size_t mark_at(const struct writer *w, unsigned *ret_style)
{
    const char *s = w->source + w->at;
    size_t left = w->length - w->at;
    if (*s == '`') {
        *ret_style = FLOW_CODE;
        return 1;
    }
    if (w->style & FLOW_CODE)
        return 0;
    if (left >= 2 && (*s == '*' || *s == '_' || *s == '~') && s[1] == *s) {
        *ret_style = *s == '~' ? FLOW_STRIKE : FLOW_BOLD;
        return 2;
    }
    *ret_style = FLOW_ITALIC;
    return *s == '*' || *s == '_' ? 1 : 0;
}

static bool turn_style(struct writer *w)
{
    unsigned style;
    size_t size = w->flow->styled ? mark_at(w, &style) : 0;
    if (!size || !may_turn(w, size, style))
        return false;
    start_word(w);
    w->style ^= style;
    if (!(w->style & style))
        text_puts(&w->word, STYLES_OFF);
    put_style(w, &w->word, w->style);
    w->at += size;
    return true;
}

/* ---- characters ---- */

static void take_character(struct writer *w)
{
    size_t columns, size;
    if (w->flow->styled && w->source[w->at] == '\\' && w->at + 1 < w->length &&
        strchr("*_`~#|\\", w->source[w->at + 1]))
        w->at++;
    size = character(w->source + w->at, w->length - w->at, &columns);
    /* A row may break before and after a wide character, and inside a word longer than a row. */
    if (columns == 2 || w->word_columns + columns > w->flow->columns - strlen(w->flow->rest))
        place_word(w);
    start_word(w);
    text_append(&w->word, w->source + w->at, size);
    w->word_columns += columns;
    w->at += size;
    if (columns == 2)
        place_word(w);
}

size_t flow_rows(const struct flow *flow, const char *source, size_t length, struct text *out,
                 struct flow_place *places, size_t cap)
{
    struct writer w = {.flow = flow,
                       .source = source,
                       .length = length,
                       .out = out,
                       .style = flow->style,
                       .word_style = flow->style,
                       .places = places,
                       .cap = cap};
    begin_row(&w);
    while (w.at < length) {
        if (is_space(source[w.at])) {
            place_word(&w);
            w.spaces += w.rows == 1 || w.column > flow_columns(flow->rest, strlen(flow->rest));
            w.at++;
        } else if (!turn_style(&w)) {
            take_character(&w);
        }
    }
    place_word(&w);
    end_row(&w, w.style);
    text_fini(&w.word);
    return w.rows;
}
