/* The filters of templates that work on lists.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/utf8.h"
#include "text/template_run.h"

#define FILTER(name)                                                                                         \
    static bool name(struct template_run *run, struct value self, const struct arguments *arguments,         \
                     struct value *ret)

static bool is_given(struct value value)
{
    return value.kind != VALUE_MISSING && value.kind != VALUE_NONE;
}

static bool new_list(struct template_run *run, bool tuple, struct value *ret)
{
    *ret = value_list(run->arena, tuple);
    return run_done(run);
}

/* "a.b.0" as jinja follows it; a number is an index. */
static bool follow(struct template_run *run, struct value from, struct value path, struct value *ret)
{
    *ret = from;
    if (path.kind == VALUE_INT)
        return run_item(run, from, path, ret);
    if (path.kind != VALUE_TEXT)
        return run_fail(run, LL_ARGUMENT, "the name of an attribute is needed, not a %s",
                        value_kind_name(path));
    for (size_t at = 0; at <= path.text->length;) {
        const char *dot =
            at < path.text->length ? memchr(path.text->bytes + at, '.', path.text->length - at) : NULL;
        size_t end = dot ? (size_t)(dot - path.text->bytes) : path.text->length;
        struct value part = value_slice(run->arena, path.text, at, end), number;
        if (!run_done(run) ||
            !run_native(run, text_method_find("isdigit"), part, &(struct arguments){0}, &number))
            return false;
        if (number.truth && !run_filter(run, "int", part, &(struct arguments){0}, &part))
            return false;
        if (!run_item(run, *ret, part, ret))
            return false;
        at = end + 1;
    }
    return true;
}

/* What items are compared by: an attribute, and no case unless asked for. */
struct key_rule {
    struct value attribute;
    bool case_sensitive;
};

static bool key_of(struct template_run *run, const struct key_rule *rule, struct value item,
                   struct value *ret)
{
    *ret = item;
    if (is_given(rule->attribute) && !follow(run, item, rule->attribute, ret))
        return false;
    if (ret->kind == VALUE_TEXT && !rule->case_sensitive)
        return text_case(run, ret->text, 'l', ret);
    return true;
}

/* ---- one item ---- */

FILTER(filter_first)
{
    const struct list *items;
    (void)arguments;
    if (!run_iterate(run, self, &items))
        return false;
    *ret = items->count ? items->items[0] : value_undefined("the first item of an empty list");
    return true;
}

FILTER(filter_last)
{
    const struct list *items;
    (void)arguments;
    if (!run_iterate(run, self, &items))
        return false;
    *ret = items->count ? items->items[items->count - 1] : value_undefined("the last item of an empty list");
    return true;
}

static bool extreme(struct template_run *run, struct value self, const struct arguments *arguments, int sign,
                    struct value *ret)
{
    struct key_rule rule = {arguments->at[1], value_truth(arguments->at[0])};
    const struct list *items;
    struct value best, key;
    int order;
    if (!run_iterate(run, self, &items))
        return false;
    *ret = value_undefined("the extreme of an empty list");
    for (size_t i = 0; i < items->count; i++) {
        if (!key_of(run, &rule, items->items[i], &key) || (i && !run_order(run, key, best, &order)))
            return false;
        if (i == 0 || order * sign > 0) {
            best = key;
            *ret = items->items[i];
        }
    }
    return run_spend(run, 64 * items->count);
}

FILTER(filter_min)
{
    return extreme(run, self, arguments, -1, ret);
}

FILTER(filter_max)
{
    return extreme(run, self, arguments, 1, ret);
}

FILTER(filter_sum)
{
    const struct list *items;
    *ret = arguments->at[1].kind == VALUE_MISSING ? value_int(0) : arguments->at[1];
    if (!run_iterate(run, self, &items))
        return false;
    for (size_t i = 0; i < items->count; i++) {
        struct value item = items->items[i];
        if ((is_given(arguments->at[0]) && !follow(run, item, arguments->at[0], &item)) ||
            !run_binary(run, '+', *ret, item, ret))
            return false;
    }
    return true;
}

FILTER(filter_join)
{
    struct text_builder builder = {.arena = run->arena};
    const struct list *items;
    const struct text *between = NULL, *text;
    if (!run_iterate(run, self, &items) ||
        (arguments->at[0].kind != VALUE_MISSING && !run_text(run, arguments->at[0], &between)))
        return false;
    for (size_t i = 0; i < items->count; i++) {
        struct value item = items->items[i];
        if ((is_given(arguments->at[1]) && !follow(run, item, arguments->at[1], &item)) ||
            !run_text(run, item, &text) || !run_spend(run, text->length))
            return false;
        if (i && between)
            builder_text(&builder, between);
        builder_text(&builder, text);
    }
    *ret = builder_value(&builder);
    return run_done(run);
}

/* ---- choosing and mapping ---- */

/* The first `drop` arguments gone. */
static struct arguments without(const struct arguments *arguments, size_t drop)
{
    struct arguments rest = *arguments;
    if (drop > 0) /* there may be none at all */
        rest.items += drop;
    rest.count -= drop;
    return rest;
}

static bool name_of(struct template_run *run, struct value value, char out[64])
{
    if (value.kind != VALUE_TEXT || value.text->length >= 64)
        return run_fail(run, LL_ARGUMENT, "the name of a filter or test is needed");
    memcpy(out, value.text->bytes, value.text->length);
    out[value.text->length] = '\0';
    return true;
}

static bool choose(struct template_run *run, struct value self, const struct arguments *arguments,
                   bool attribute, bool wanted, struct value *ret)
{
    const struct list *items;
    char name[64] = "";
    if (attribute && arguments->count == 0)
        return run_fail(run, LL_ARGUMENT, "the name of an attribute is needed");
    struct arguments rest = without(arguments, attribute);
    if (rest.count) {
        if (!name_of(run, rest.items[0], name))
            return false;
        rest = without(&rest, 1);
    }
    if (!run_iterate(run, self, &items) || !new_list(run, false, ret))
        return false;
    for (size_t i = 0; i < items->count && run_done(run); i++) {
        struct value item = items->items[i];
        bool truth;
        if (attribute && !follow(run, item, arguments->items[0], &item))
            return false;
        truth = value_truth(item);
        if (name[0] && !run_test(run, name, item, &rest, &truth))
            return false;
        if (truth == wanted)
            list_push(run->arena, ret->list, items->items[i]);
        if (!run_spend(run, 0))
            return false;
    }
    return run_done(run);
}

FILTER(filter_select)
{
    return choose(run, self, arguments, false, true, ret);
}

FILTER(filter_reject)
{
    return choose(run, self, arguments, false, false, ret);
}

FILTER(filter_selectattr)
{
    return choose(run, self, arguments, true, true, ret);
}

FILTER(filter_rejectattr)
{
    return choose(run, self, arguments, true, false, ret);
}

static const struct value *named(const struct arguments *arguments, const char *name)
{
    for (size_t i = 0; i < arguments->named_count; i++)
        if (strcmp(arguments->names[i], name) == 0)
            return &arguments->named[i];
    return NULL;
}

FILTER(filter_map)
{
    const struct value *attribute = named(arguments, "attribute"), *fallback = named(arguments, "default");
    const struct list *items;
    char name[64];
    if (!attribute && (arguments->count == 0 || !name_of(run, arguments->items[0], name)))
        return run_fail(run, LL_ARGUMENT, "map needs the name of a filter or attribute=");
    struct arguments rest = attribute ? *arguments : without(arguments, 1);
    if (!run_iterate(run, self, &items) || !new_list(run, false, ret))
        return false;
    for (size_t i = 0; i < items->count && run_done(run); i++) {
        struct value made;
        if (attribute ? !follow(run, items->items[i], *attribute, &made)
                      : !run_filter(run, name, items->items[i], &rest, &made))
            return false;
        if (made.kind == VALUE_UNDEFINED && attribute && fallback)
            made = *fallback;
        list_push(run->arena, ret->list, made);
        if (!run_spend(run, 0))
            return false;
    }
    return run_done(run);
}

/* ---- order ---- */

struct keyed {
    struct value key, item;
};

/* Merges two sorted runs; equal ones stay in order. */
static bool merge(struct template_run *run, struct keyed *from, size_t middle, size_t count, bool reverse,
                  struct keyed *to)
{
    size_t a = 0, b = middle;
    for (size_t i = 0; i < count; i++) {
        int order = 0;
        if (a < middle && b < count && !run_order(run, from[a].key, from[b].key, &order))
            return false;
        bool first = b == count || (a < middle && (reverse ? order >= 0 : order <= 0));
        to[i] = from[first ? a++ : b++];
    }
    memcpy(from, to, count * sizeof *to);
    return run_spend(run, 64 * count);
}

static bool sort_keyed(struct template_run *run, struct keyed *items, size_t count, bool reverse,
                       struct keyed *room)
{
    return count < 2 || (sort_keyed(run, items, count / 2, reverse, room) &&
                         sort_keyed(run, items + count / 2, count - count / 2, reverse, room) &&
                         merge(run, items, count / 2, count, reverse, room));
}

static bool sort_list(struct template_run *run, const struct list *items, const struct key_rule *rule,
                      bool reverse, struct value *ret)
{
    struct keyed *keyed = arena_new(run->arena, 2 * items->count + 1, sizeof *keyed);
    if (!keyed || !new_list(run, false, ret))
        return run_done(run);
    for (size_t i = 0; i < items->count; i++) {
        keyed[i].item = items->items[i];
        if (!key_of(run, rule, items->items[i], &keyed[i].key))
            return false;
    }
    if (!sort_keyed(run, keyed, items->count, reverse, keyed + items->count))
        return false;
    for (size_t i = 0; i < items->count && !run->arena->failed; i++)
        list_push(run->arena, ret->list, keyed[i].item);
    return run_done(run);
}

FILTER(filter_sort)
{
    struct key_rule rule = {arguments->at[2], value_truth(arguments->at[1])};
    const struct list *items;
    return run_iterate(run, self, &items) && sort_list(run, items, &rule, value_truth(arguments->at[0]), ret);
}

FILTER(filter_dictsort)
{
    const struct text *by = NULL;
    struct value pairs;
    if (self.kind != VALUE_DICT)
        return run_fail(run, LL_ARGUMENT, "dictsort needs a mapping, not a %s", value_kind_name(self));
    if ((is_given(arguments->at[1]) && !run_text(run, arguments->at[1], &by)) ||
        !run_native(run, container_method_find(self, "items"), self, &(struct arguments){0}, &pairs))
        return false;
    struct key_rule rule = {value_int(by && text_equals(by, "value")), value_truth(arguments->at[0])};
    return sort_list(run, pairs.list, &rule, value_truth(arguments->at[2]), ret);
}

FILTER(filter_groupby)
{
    struct key_rule rule = {arguments->at[0], value_truth(arguments->at[2])};
    const struct list *items;
    struct value sorted, group = {0}, last = {0}, key, shown;
    if (!run_iterate(run, self, &items) || !sort_list(run, items, &rule, false, &sorted) ||
        !new_list(run, false, ret))
        return false;
    for (size_t i = 0; i < sorted.list->count && run_done(run); i++) {
        struct value item = sorted.list->items[i];
        if (!key_of(run, &rule, item, &key) || !follow(run, item, rule.attribute, &shown))
            return false;
        if (i == 0 || !value_equals(key, last, &run->steps)) {
            struct value pair;
            if (!new_list(run, true, &pair) || !new_list(run, false, &group))
                return false;
            list_push(run->arena, pair.list, shown);
            list_push(run->arena, pair.list, group);
            list_push(run->arena, ret->list, pair);
        }
        last = key;
        list_push(run->arena, group.list, item);
    }
    return run_done(run);
}

FILTER(filter_unique)
{
    struct key_rule rule = {arguments->at[1], value_truth(arguments->at[0])};
    const struct list *items;
    struct value seen, key;
    if (!run_iterate(run, self, &items) || !new_list(run, false, ret) || !new_list(run, false, &seen))
        return false;
    for (size_t i = 0; i < items->count && run_done(run); i++) {
        bool known = false;
        if (!key_of(run, &rule, items->items[i], &key) || !run_spend(run, 64 * seen.list->count))
            return false;
        for (size_t k = 0; k < seen.list->count && !known; k++)
            known = value_equals(seen.list->items[k], key, &run->steps);
        if (!known && list_push(run->arena, seen.list, key))
            list_push(run->arena, ret->list, items->items[i]);
    }
    return run_done(run);
}

FILTER(filter_reverse)
{
    struct text_builder builder = {.arena = run->arena};
    const struct list *items;
    (void)arguments;
    if (!run_iterate(run, self, &items) || !new_list(run, false, ret))
        return false;
    for (size_t i = items->count; i > 0 && !run->arena->failed; i--)
        if (self.kind == VALUE_TEXT)
            builder_text(&builder, items->items[i - 1].text);
        else
            list_push(run->arena, ret->list, items->items[i - 1]);
    if (self.kind == VALUE_TEXT)
        *ret = builder_value(&builder);
    return run_done(run);
}

/* ---- shapes ---- */

FILTER(filter_list)
{
    const struct list *items;
    (void)arguments;
    if (!run_iterate(run, self, &items) || !new_list(run, false, ret))
        return false;
    for (size_t i = 0; i < items->count && !run->arena->failed; i++)
        list_push(run->arena, ret->list, items->items[i]);
    return run_spend(run, 64 * items->count);
}

FILTER(filter_items)
{
    (void)arguments;
    if (self.kind == VALUE_UNDEFINED)
        return new_list(run, false, ret);
    if (self.kind != VALUE_DICT)
        return run_fail(run, LL_ARGUMENT, "items needs a mapping, not a %s", value_kind_name(self));
    return run_native(run, container_method_find(self, "items"), self, &(struct arguments){0}, ret);
}

FILTER(filter_batch)
{
    const struct list *items;
    struct value size = arguments->at[0], group = {0};
    if (size.kind != VALUE_INT || size.integer < 1 || size.integer > 100000)
        return run_fail(run, LL_ARGUMENT, "batch needs a size from 1 to 100000");
    if (!run_iterate(run, self, &items) || !new_list(run, false, ret))
        return false;
    for (size_t i = 0; i < items->count && run_done(run); i++) {
        if (i % (size_t)size.integer == 0) {
            if (!new_list(run, false, &group))
                return false;
            list_push(run->arena, ret->list, group);
        }
        list_push(run->arena, group.list, items->items[i]);
    }
    bool fills = is_given(arguments->at[1]) && group.kind == VALUE_LIST;
    while (fills && group.list->count < (size_t)size.integer && !run->arena->failed)
        list_push(run->arena, group.list, arguments->at[1]);
    return run_done(run);
}

const struct native *list_filter_find(const char *name)
{
    static const struct native natives[] = {
        {"first", "", 0, filter_first},
        {"last", "", 0, filter_last},
        {"min", "case_sensitive attribute", 0, filter_min},
        {"max", "case_sensitive attribute", 0, filter_max},
        {"sum", "attribute start", 0, filter_sum},
        {"join", "d attribute", 0, filter_join},
        {"select", "*", 0, filter_select},
        {"reject", "*", 0, filter_reject},
        {"selectattr", "*", 0, filter_selectattr},
        {"rejectattr", "*", 0, filter_rejectattr},
        {"map", "*", 0, filter_map},
        {"sort", "reverse case_sensitive attribute", 0, filter_sort},
        {"dictsort", "case_sensitive by reverse", 0, filter_dictsort},
        {"groupby", "attribute default case_sensitive", 1, filter_groupby},
        {"unique", "case_sensitive attribute", 0, filter_unique},
        {"reverse", "", 0, filter_reverse},
        {"list", "", 0, filter_list},
        {"items", "", 0, filter_items},
        {"batch", "linecount fill_with", 1, filter_batch},
    };
    return native_find(natives, sizeof natives / sizeof *natives, name);
}
