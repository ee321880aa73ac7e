/* The filters of templates that work on one value: text and numbers.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/utf8.h"
#include "text/template_run.h"

#define FILTER(name)                                                                                         \
    static bool name(struct template_run *run, struct value self, const struct arguments *arguments,         \
                     struct value *ret)

static bool is_given(struct value value)
{
    return value.kind != VALUE_MISSING && value.kind != VALUE_NONE;
}

static bool want_integer(struct template_run *run, struct value value, int64_t fallback, int64_t *ret)
{
    *ret = value.kind == VALUE_INT ? value.integer : value.kind == VALUE_BOOL ? value.truth : fallback;
    return value.kind == VALUE_INT || value.kind == VALUE_BOOL || !is_given(value) ||
           run_fail(run, LL_ARGUMENT, "an integer is needed, not a %s", value_kind_name(value));
}

/* ---- any value ---- */

FILTER(filter_default)
{
    bool use = self.kind == VALUE_UNDEFINED || (value_truth(arguments->at[1]) && !value_truth(self));
    *ret = !use ? self : arguments->at[0];
    if (ret->kind == VALUE_MISSING)
        *ret = value_text(run->arena, "", 0, false);
    return true;
}

FILTER(filter_string)
{
    (void)arguments;
    *ret = (struct value){.kind = VALUE_TEXT};
    return run_text(run, self, &ret->text);
}

FILTER(filter_safe)
{
    return filter_string(run, self, arguments, ret);
}

FILTER(filter_attr)
{
    const struct text *name;
    if (!run_text(run, arguments->at[0], &name))
        return false;
    return run_item(run, self, (struct value){.kind = VALUE_TEXT, .text = name}, ret);
}

FILTER(filter_length)
{
    (void)arguments;
    if (self.kind == VALUE_TEXT)
        *ret = value_int((int64_t)text_characters(self.text->bytes, self.text->length));
    else if (self.kind == VALUE_LIST)
        *ret = value_int((int64_t)self.list->count);
    else if (self.kind == VALUE_DICT)
        *ret = value_int((int64_t)self.dict->count);
    else if (self.kind == VALUE_UNDEFINED)
        *ret = value_int(0);
    else
        return run_fail(run, LL_ARGUMENT, "a %s has no length", value_kind_name(self));
    return run_spend(run, self.kind == VALUE_TEXT ? self.text->length : 0);
}

/* ---- text ---- */

static bool in_case(struct template_run *run, struct value self, char how, struct value *ret)
{
    const struct text *text;
    return run_text(run, self, &text) && text_case(run, text, how, ret);
}

FILTER(filter_lower)
{
    (void)arguments;
    return in_case(run, self, 'l', ret);
}

FILTER(filter_upper)
{
    (void)arguments;
    return in_case(run, self, 'u', ret);
}

FILTER(filter_capitalize)
{
    (void)arguments;
    return in_case(run, self, 'c', ret);
}

FILTER(filter_title)
{
    (void)arguments;
    return in_case(run, self, 'j', ret);
}

FILTER(filter_trim)
{
    const struct text *text, *set = NULL;
    if (!run_text(run, self, &text) || (is_given(arguments->at[0]) && !run_text(run, arguments->at[0], &set)))
        return false;
    return text_strip(run, text, set, true, true, ret);
}

FILTER(filter_replace)
{
    const struct text *text, *old, *new_text;
    int64_t most;
    return run_text(run, self, &text) && run_text(run, arguments->at[0], &old) &&
           run_text(run, arguments->at[1], &new_text) && want_integer(run, arguments->at[2], -1, &most) &&
           text_replace(run, text, old, new_text, most, ret);
}

FILTER(filter_escape)
{
    static const char special[] = "&<>'\"";
    static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
    struct text_builder builder = {.arena = run->arena};
    const struct text *text;
    (void)arguments;
    if (!run_text(run, self, &text) || !run_spend(run, 16 * text->length))
        return false;
    for (size_t i = 0; i < text->length; i++) {
        const char *found = text->bytes[i] ? strchr(special, text->bytes[i]) : NULL;
        if (found)
            builder_bytes(&builder, names[found - special], strlen(names[found - special]),
                          text_is_foreign(text, i));
        else
            builder_part(&builder, text, i, i + 1);
    }
    *ret = builder_value(&builder);
    return run_done(run);
}

/* Behind each line end but the last: `with`, unless the line is blank. */
static void indent_lines(struct text_builder *builder, const struct text *text, const struct text *with,
                         bool first, bool blank)
{
    size_t start = 0;
    while (start <= text->length && !builder->arena->failed) {
        const char *end =
            start < text->length ? memchr(text->bytes + start, '\n', text->length - start) : NULL;
        size_t stop = end ? (size_t)(end - text->bytes) : text->length;
        bool wanted = start == 0 ? first : blank || stop > start;
        if (wanted && (stop > start || start == 0 || blank))
            builder_text(builder, with);
        builder_part(builder, text, start, end ? stop + 1 : stop);
        start = stop + 1;
    }
}

FILTER(filter_indent)
{
    struct text_builder builder = {.arena = run->arena}, spaces = {.arena = run->arena};
    const struct text *text, *with;
    struct value width = arguments->at[0], made;
    if (!run_text(run, self, &text) || !run_spend(run, 16 * text->length))
        return false;
    int64_t count = width.kind == VALUE_INT ? width.integer : 4;
    if (count < 0 || count > 1000)
        return run_fail(run, LL_ARGUMENT, "indent: the width must be 0 to 1000");
    for (int64_t i = 0; i < count; i++)
        builder_puts(&spaces, " ");
    made = width.kind == VALUE_TEXT ? width : builder_value(&spaces);
    if (!run_text(run, made, &with))
        return false;
    indent_lines(&builder, text, with, value_truth(arguments->at[1]), value_truth(arguments->at[2]));
    *ret = builder_value(&builder);
    return run_done(run);
}

FILTER(filter_center)
{
    struct text_builder builder = {.arena = run->arena};
    const struct text *text;
    int64_t width;
    if (!run_text(run, self, &text) || !want_integer(run, arguments->at[0], 80, &width))
        return false;
    int64_t pad = width - (int64_t)text_characters(text->bytes, text->length);
    if (pad > 10000)
        return run_fail(run, LL_ARGUMENT, "center: the width must be below 10000");
    int64_t left = pad > 0 ? pad / 2 + (pad & width & 1) : 0;
    for (int64_t i = 0; i < left; i++)
        builder_puts(&builder, " ");
    builder_text(&builder, text);
    for (int64_t i = left; i < pad; i++)
        builder_puts(&builder, " ");
    *ret = builder_value(&builder);
    return run_done(run);
}

FILTER(filter_wordcount)
{
    const struct text *text;
    size_t step;
    int64_t count = 0;
    bool inside = false;
    (void)arguments;
    if (!run_text(run, self, &text) || !run_spend(run, text->length))
        return false;
    for (size_t at = 0; at < text->length; at += step) {
        int32_t code = utf8_decode(text->bytes + at, text->length - at, &step);
        struct value letter = value_slice(run->arena, text, at, at + step), word;
        if (!run_done(run) ||
            !run_native(run, text_method_find("isalnum"), letter, &(struct arguments){0}, &word))
            return false;
        bool is = word.truth || code == '_';
        count += is && !inside;
        inside = is;
    }
    *ret = value_int(count);
    return true;
}

/* ---- numbers ---- */

/* Text as a number, blanks around it allowed; false: it is none. */
static bool read_number(const struct text *text, int base, bool real, struct value *ret)
{
    char copy[64];
    size_t start = text_skip_blank(text->bytes, text->length);
    size_t length = text_without_blank(text->bytes + start, text->length - start);
    char *end;
    if (length == 0 || length >= sizeof copy)
        return false;
    memcpy(copy, text->bytes + start, length);
    copy[length] = '\0';
    if (strlen(copy) != length || strpbrk(copy, "xXpP"))
        return false;
    errno = 0;
    if (real)
        *ret = value_float(number_parse(copy, &end));
    else
        *ret = value_int(strtoll(copy, &end, base));
    return *end == '\0' && (real || errno == 0);
}

FILTER(filter_int)
{
    int64_t base;
    struct value real = self;
    if (!want_integer(run, arguments->at[1], 10, &base))
        return false;
    if (base < 2 || base > 36)
        return run_fail(run, LL_ARGUMENT, "int: the base must be 2 to 36");
    if (self.kind == VALUE_TEXT && read_number(self.text, (int)base, false, ret))
        return true;
    bool is = self.kind == VALUE_TEXT ? read_number(self.text, 10, true, &real) : value_is_number(self);
    if (is && self.kind != VALUE_FLOAT && self.kind != VALUE_TEXT)
        *ret = value_int(self.kind == VALUE_INT ? self.integer : self.truth);
    else if (is && fabs(value_real(real)) < 9e18)
        *ret = value_int((int64_t)value_real(real));
    else
        *ret = arguments->at[0].kind == VALUE_MISSING ? value_int(0) : arguments->at[0];
    return true;
}

FILTER(filter_float)
{
    (void)run;
    if (value_is_number(self))
        *ret = value_float(value_real(self));
    else if (self.kind != VALUE_TEXT || !read_number(self.text, 10, true, ret))
        *ret = arguments->at[0].kind == VALUE_MISSING ? value_float(0.0) : arguments->at[0];
    return true;
}

FILTER(filter_abs)
{
    (void)arguments;
    if (!value_is_number(self))
        return run_fail(run, LL_ARGUMENT, "abs: a number is needed, not a %s", value_kind_name(self));
    *ret = self;
    return value_real(self) >= 0 || run_binary(run, '*', self, value_int(-1), ret);
}

FILTER(filter_round)
{
    int64_t digits;
    const struct text *how = NULL;
    char shown[400];
    if (!value_is_number(self))
        return run_fail(run, LL_ARGUMENT, "round: a number is needed, not a %s", value_kind_name(self));
    if (!want_integer(run, arguments->at[0], 0, &digits) ||
        (arguments->at[1].kind != VALUE_MISSING && !run_text(run, arguments->at[1], &how)))
        return false;
    if (digits < 0 || digits > 15)
        return run_fail(run, LL_UNSUPPORTED, "round: 0 to 15 digits are supported");
    double scale = pow(10.0, (double)digits), real = value_real(self);
    if (how && (text_equals(how, "ceil") || text_equals(how, "floor"))) {
        *ret = value_float((text_equals(how, "ceil") ? ceil(real * scale) : floor(real * scale)) / scale);
        return true;
    }
    *ret = self;
    if (self.kind != VALUE_FLOAT || !isfinite(real))
        return true;
    number_print(shown, sizeof shown, "%.*f", (int)digits, real);
    *ret = value_float(number_parse(shown, NULL));
    return true;
}

/* ---- the table ---- */

const struct native *filter_find(const char *name)
{
    static const struct native natives[] = {
        {"default", "default_value boolean", 0, filter_default},
        {"d", "default_value boolean", 0, filter_default},
        {"string", "", 0, filter_string},
        {"safe", "", 0, filter_safe},
        {"attr", "name", 1, filter_attr},
        {"length", "", 0, filter_length},
        {"count", "", 0, filter_length},
        {"lower", "", 0, filter_lower},
        {"upper", "", 0, filter_upper},
        {"capitalize", "", 0, filter_capitalize},
        {"title", "", 0, filter_title},
        {"trim", "chars", 0, filter_trim},
        {"replace", "old new count", 2, filter_replace},
        {"escape", "", 0, filter_escape},
        {"e", "", 0, filter_escape},
        {"indent", "width first blank", 0, filter_indent},
        {"center", "width", 0, filter_center},
        {"wordcount", "", 0, filter_wordcount},
        {"int", "default base", 0, filter_int},
        {"float", "default", 0, filter_float},
        {"abs", "", 0, filter_abs},
        {"round", "precision method", 0, filter_round},
        {"tojson", "ensure_ascii indent separators sort_keys", 0, filter_tojson},
    };
    return native_find(natives, sizeof natives / sizeof *natives, name);
}

bool run_filter(struct template_run *run, const char *name, struct value subject,
                const struct arguments *arguments, struct value *ret)
{
    const struct native *native = filter_find(name);
    if (!native)
        native = list_filter_find(name);
    if (!native)
        return run_fail(run, LL_UNSUPPORTED, "the filter \"%.60s\" is not supported", name);
    return run_native(run, native, subject, arguments, ret);
}
