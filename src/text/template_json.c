/* JSON and template values: the tojson filter, and values out of JSON text.
 * SPDX-License-Identifier: Apache-2.0 */
#include "text/template_json.h"

#include <jansson.h>
#include <string.h>

#include "base/utf8.h"

enum { JSON_DEPTH = 60 };

/* ---- out ---- */

struct style {
    int indent; /* -1: one line */
    bool sorted, ascii;
    const struct text *between, *after_key; /* NULL: as usual */
};

static void put_line(struct text_builder *builder, const struct style *style, int depth)
{
    if (style->indent < 0)
        return;
    builder_puts(builder, "\n");
    for (int i = 0; i < depth * style->indent; i++)
        builder_puts(builder, " ");
}

static void put_unit(struct text_builder *builder, unsigned unit, bool foreign)
{
    static const char digits[] = "0123456789abcdef";
    char shown[6] = {'\\',
                     'u',
                     digits[unit >> 12 & 15],
                     digits[unit >> 8 & 15],
                     digits[unit >> 4 & 15],
                     digits[unit & 15]};
    builder_bytes(builder, shown, 6, foreign);
}

static void put_character(struct text_builder *builder, const struct text *text, size_t at, size_t step,
                          int32_t code, bool ascii)
{
    static const char special[] = "\"\\\n\r\t\b\f", letters[] = "\"\\nrtbf";
    const char *found = code > 0 && code < 128 ? strchr(special, code) : NULL;
    bool foreign = text_is_foreign(text, at);
    if (found) {
        builder_bytes(builder, (char[]){'\\', letters[found - special]}, 2, foreign);
    } else if (code >= 0 && (code < 32 || (ascii && code > 126 && code < 0x10000))) {
        put_unit(builder, (unsigned)code, foreign);
    } else if (ascii && code >= 0x10000) {
        put_unit(builder, 0xD800u + (((unsigned)code - 0x10000u) >> 10), foreign);
        put_unit(builder, 0xDC00u + (((unsigned)code - 0x10000u) & 0x3FF), foreign);
    } else
        builder_part(builder, text, at, at + step);
}

static void put_text(struct text_builder *builder, const struct text *text, const struct style *style)
{
    size_t step;
    builder_puts(builder, "\"");
    for (size_t at = 0; at < text->length && !builder->arena->failed; at += step) {
        int32_t code = utf8_decode(text->bytes + at, text->length - at, &step);
        put_character(builder, text, at, step, code, style->ascii);
    }
    builder_puts(builder, "\"");
}

static bool put(struct template_run *run, struct text_builder *builder, struct value value,
                const struct style *style, int depth);

static void put_between(struct text_builder *builder, const struct style *style)
{
    if (style->between)
        builder_text(builder, style->between);
    else
        builder_puts(builder, style->indent >= 0 ? "," : ", ");
}

static bool put_list(struct template_run *run, struct text_builder *builder, const struct list *list,
                     const struct style *style, int depth)
{
    builder_puts(builder, "[");
    for (size_t i = 0; i < list->count; i++) {
        if (i)
            put_between(builder, style);
        put_line(builder, style, depth + 1);
        if (!put(run, builder, list->items[i], style, depth + 1))
            return false;
    }
    if (list->count)
        put_line(builder, style, depth);
    builder_puts(builder, "]");
    return true;
}

/* The order of the keys: as they are, or by their bytes. */
static bool key_order(struct template_run *run, const struct dict *dict, bool sorted, size_t **ret)
{
    size_t *order = *ret = arena_new(run->arena, dict->count + 1, sizeof *order);
    if (!order || !run_spend(run, sorted ? dict->count * dict->count : dict->count))
        return run_done(run) && order;
    for (size_t i = 0; i < dict->count; i++) {
        size_t at = i;
        for (int less = -1; sorted && at > 0; at--) {
            if (!run_order(run, dict->keys[i], dict->keys[order[at - 1]], &less))
                return false;
            if (less >= 0)
                break;
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
    return true;
}

static bool put_dict(struct template_run *run, struct text_builder *builder, const struct dict *dict,
                     const struct style *style, int depth)
{
    size_t *order;
    if (!key_order(run, dict, style->sorted, &order))
        return false;
    builder_puts(builder, "{");
    for (size_t i = 0; i < dict->count; i++) {
        const struct text *key;
        struct value name = dict->keys[order[i]];
        if (i)
            put_between(builder, style);
        put_line(builder, style, depth + 1);
        if (name.kind == VALUE_TEXT)
            put_text(builder, name.text, style);
        else { /* numbers and words become strings */
            struct text_builder inner = {.arena = run->arena};
            if (!put(run, &inner, name, style, depth + 1))
                return false;
            struct value made = builder_value(&inner);
            if (!run_text(run, made, &key))
                return false;
            put_text(builder, key, style);
        }
        if (style->after_key)
            builder_text(builder, style->after_key);
        else
            builder_puts(builder, ": ");
        if (!put(run, builder, dict->values[order[i]], style, depth + 1))
            return false;
    }
    if (dict->count)
        put_line(builder, style, depth);
    builder_puts(builder, "}");
    return true;
}

static bool put(struct template_run *run, struct text_builder *builder, struct value value,
                const struct style *style, int depth)
{
    if (depth > JSON_DEPTH)
        return run_fail(run, LL_ARGUMENT, "tojson: the value is nested too deeply");
    if (!run_spend(run, value.kind == VALUE_TEXT ? 16 * value.text->length : 64))
        return false;
    switch (value.kind) {
    case VALUE_NONE:
        builder_puts(builder, "null");
        return true;
    case VALUE_BOOL:
        builder_puts(builder, value.truth ? "true" : "false");
        return true;
    case VALUE_INT:
    case VALUE_FLOAT:
        return builder_repr(builder, value, 0) || run_done(run);
    case VALUE_TEXT:
        put_text(builder, value.text, style);
        return true;
    case VALUE_LIST:
        return put_list(run, builder, value.list, style, depth);
    case VALUE_DICT:
        return put_dict(run, builder, value.dict, style, depth);
    default:
        return run_fail(run, LL_ARGUMENT, "tojson: %s %.60s cannot be written as JSON",
                        value.kind == VALUE_UNDEFINED ? "the undefined" : "a",
                        value.kind == VALUE_UNDEFINED && value.name ? value.name : value_kind_name(value));
    }
}

static bool read_style(struct template_run *run, const struct arguments *arguments, struct style *ret)
{
    struct value ascii = arguments->at[0], indent = arguments->at[1], marks = arguments->at[2];
    *ret = (struct style){.indent = -1, .ascii = value_truth(ascii), .sorted = value_truth(arguments->at[3])};
    if (indent.kind == VALUE_INT && indent.integer >= 0 && indent.integer <= 16)
        ret->indent = (int)indent.integer;
    else if (indent.kind != VALUE_MISSING && indent.kind != VALUE_NONE)
        return run_fail(run, LL_UNSUPPORTED, "tojson: an indent must be a number up to 16");
    if (marks.kind == VALUE_MISSING || marks.kind == VALUE_NONE)
        return true;
    if (marks.kind != VALUE_LIST || marks.list->count != 2 || marks.list->items[0].kind != VALUE_TEXT ||
        marks.list->items[1].kind != VALUE_TEXT)
        return run_fail(run, LL_ARGUMENT, "tojson: separators must be two strings");
    ret->between = marks.list->items[0].text;
    ret->after_key = marks.list->items[1].text;
    return true;
}

bool filter_tojson(struct template_run *run, struct value self, const struct arguments *arguments,
                   struct value *ret)
{
    struct text_builder builder = {.arena = run->arena};
    struct style style;
    if (!read_style(run, arguments, &style) || !put(run, &builder, self, &style, 0))
        return false;
    *ret = builder_value(&builder);
    return run_done(run);
}

/* ---- in ---- */

static struct value from_text(struct arena *arena, const char *bytes, size_t length)
{
    char *copy = arena_new(arena, length + 1, 1);
    if (!copy)
        return (struct value){.kind = VALUE_MISSING};
    memcpy(copy, bytes, length);
    return value_text(arena, copy, length, true);
}

static struct value from_json(struct arena *arena, const json_t *json)
{
    struct value made;
    const char *key;
    size_t index, length;
    uint64_t plenty = UINT64_MAX; /* keys are texts, compared at once */
    json_t *item;
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        made = value_dict(arena);
        json_object_keylen_foreach((json_t *)(uintptr_t)json, key, length, item)
        {
            if (made.kind != VALUE_DICT || arena->failed)
                break;
            dict_set(arena, made.dict, from_text(arena, key, length), from_json(arena, item), &plenty);
        }
        return made;
    case JSON_ARRAY:
        made = value_list(arena, false);
        json_array_foreach(json, index, item)
        {
            if (made.kind != VALUE_LIST || arena->failed)
                break;
            list_push(arena, made.list, from_json(arena, item));
        }
        return made;
    case JSON_STRING:
        return from_text(arena, json_string_value(json), json_string_length(json));
    case JSON_INTEGER:
        return value_int(json_integer_value(json));
    case JSON_REAL:
        return value_float(json_real_value(json));
    case JSON_NULL:
        return value_none();
    default:
        return value_bool(json_is_true(json));
    }
}

struct value template_from_json(struct arena *arena, const char *bytes, size_t length)
{
    json_t *json = json_loadb(bytes, length, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    if (!json)
        return (struct value){.kind = VALUE_MISSING};
    struct value made = from_json(arena, json);
    json_decref(json);
    return made;
}
