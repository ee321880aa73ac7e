/* Template values as text: what {{ value }} prints, as Python would.
 * SPDX-License-Identifier: Apache-2.0 */
#include "text/template_value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "base/number.h"
#include "base/utf8.h"

enum { PRINT_DEPTH = 60 };

/* Python's repr: the fewest digits that read back as the same number. */
static void put_float(struct text_builder *builder, double real)
{
    char text[40];
    if (isnan(real) || isinf(real)) {
        builder_puts(builder, isnan(real) ? "nan" : real > 0 ? "inf" : "-inf");
        return;
    }
    int digits = 1;
    for (; digits < 17; digits++) {
        number_print(text, sizeof text, "%.*e", digits - 1, real);
        if (number_parse(text, NULL) == real)
            break;
    }
    number_print(text, sizeof text, "%.*e", digits - 1, real);
    int exponent = atoi(strchr(text, 'e') + 1);
    if (exponent >= -4 && exponent < 16) {
        int decimals = digits - 1 - exponent;
        number_print(text, sizeof text, "%.*f", decimals > 1 ? decimals : 1, real);
    }
    builder_puts(builder, text);
}

static void put_escaped(struct text_builder *builder, const struct text *text, size_t at, size_t step,
                        int32_t code)
{
    char shown[16];
    if (code == UTF8_BAD)
        snprintf(shown, sizeof shown, "\\x%02x", (unsigned char)text->bytes[at]);
    else
        snprintf(shown, sizeof shown,
                 code < 0x100     ? "\\x%02x"
                 : code < 0x10000 ? "\\u%04x"
                                  : "\\U%08x",
                 (unsigned)code);
    (void)step;
    builder_bytes(builder, shown, strlen(shown), text_is_foreign(text, at));
}

static bool is_printable(int32_t code)
{
    if (code < 0)
        return false;
    switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return false;
    case UTF8PROC_CATEGORY_ZS:
        return code == ' ';
    default:
        return true;
    }
}

static void put_quoted(struct text_builder *builder, const struct text *text)
{
    bool has_single = text->length && memchr(text->bytes, '\'', text->length);
    bool has_double = text->length && memchr(text->bytes, '"', text->length);
    char quote = has_single && !has_double ? '"' : '\'';
    size_t step;
    builder_bytes(builder, &quote, 1, false);
    for (size_t at = 0; at < text->length; at += step) {
        int32_t code = utf8_decode(text->bytes + at, text->length - at, &step);
        const char *known = code == '\n' ? "\\n" : code == '\r' ? "\\r" : code == '\t' ? "\\t" : NULL;
        if (known)
            builder_bytes(builder, known, 2, text_is_foreign(text, at));
        else if (code == '\\' || code == quote) {
            builder_bytes(builder, "\\", 1, text_is_foreign(text, at));
            builder_part(builder, text, at, at + step);
        } else if (is_printable(code))
            builder_part(builder, text, at, at + step);
        else
            put_escaped(builder, text, at, step, code);
    }
    builder_bytes(builder, &quote, 1, false);
}

static bool put_list(struct text_builder *builder, const struct list *list, int depth)
{
    builder_puts(builder, list->tuple ? "(" : "[");
    for (size_t i = 0; i < list->count; i++) {
        if (i)
            builder_puts(builder, ", ");
        if (!builder_repr(builder, list->items[i], depth + 1))
            return false;
    }
    builder_puts(builder, list->tuple ? list->count == 1 ? ",)" : ")" : "]");
    return true;
}

static bool put_dict(struct text_builder *builder, const struct dict *dict, int depth)
{
    builder_puts(builder, "{");
    for (size_t i = 0; i < dict->count; i++) {
        if (i)
            builder_puts(builder, ", ");
        if (!builder_repr(builder, dict->keys[i], depth + 1))
            return false;
        builder_puts(builder, ": ");
        if (!builder_repr(builder, dict->values[i], depth + 1))
            return false;
    }
    builder_puts(builder, "}");
    return true;
}

bool builder_repr(struct text_builder *builder, struct value value, int depth)
{
    char number[32];
    if (depth > PRINT_DEPTH || builder->arena->failed)
        return false;
    switch (value.kind) {
    case VALUE_NONE:
        builder_puts(builder, "None");
        return true;
    case VALUE_BOOL:
        builder_puts(builder, value.truth ? "True" : "False");
        return true;
    case VALUE_INT:
        snprintf(number, sizeof number, "%lld", (long long)value.integer);
        builder_puts(builder, number);
        return true;
    case VALUE_FLOAT:
        put_float(builder, value.real);
        return true;
    case VALUE_TEXT:
        put_quoted(builder, value.text);
        return true;
    case VALUE_LIST:
        return put_list(builder, value.list, depth);
    case VALUE_DICT:
        return put_dict(builder, value.dict, depth);
    case VALUE_UNDEFINED:
        builder_puts(builder, "Undefined");
        return true;
    default:
        builder_puts(builder, "<");
        builder_puts(builder, value_kind_name(value));
        builder_puts(builder, ">");
        return true;
    }
}

bool builder_value_text(struct text_builder *builder, struct value value)
{
    if (value.kind == VALUE_UNDEFINED)
        return true;
    if (value.kind != VALUE_TEXT)
        return builder_repr(builder, value, 0);
    builder_text(builder, value.text);
    return true;
}
