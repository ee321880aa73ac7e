/* Template text to tokens: data, and what stands between the marks of tags and expressions.
 * SPDX-License-Identifier: Apache-2.0
 *
 * White space is handled as published templates expect: the newline after a block tag goes, and so do
 * blanks between the start of a line and a block tag. */
#ifndef TEXT_TEMPLATE_LEX_H
#define TEXT_TEMPLATE_LEX_H

#include "text/template_fault.h"
#include "text/template_value.h"

enum token_type {
    LEX_END,
    LEX_DATA,
    LEX_PRINT_OPEN,
    LEX_PRINT_CLOSE,
    LEX_TAG_OPEN,
    LEX_TAG_CLOSE,
    LEX_NAME,
    LEX_TEXT,
    LEX_INTEGER,
    LEX_FLOAT,
    LEX_OPERATOR,
};

/* Operators are their characters: '+', or LEX_PAIR('=', '='). */
#define LEX_PAIR(a, b) ((a) << 8 | (b))

struct lex_token {
    enum token_type type;
    int line;
    int op;
    const char *text; /* LEX_NAME: NUL-terminated; LEX_TEXT: unescaped */
    size_t length;
    int64_t integer;
    double real;
};

struct lexed {
    struct lex_token *tokens; /* the last is LEX_END */
    size_t count, capacity;
};

/* LL_FORMAT on what is no template. All in the arena. */
bool template_lex(struct arena *arena, struct template_fault *fault, const char *source, size_t length,
                  struct lexed *ret);

#endif
