/* Functions that templates may call by name, and the methods of lists, mappings and loops.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <time.h>

#include "base/utf8.h"
#include "text/template_run.h"

const struct native *native_find(const struct native *natives, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(natives[i].name, name) == 0)
            return &natives[i];
    return NULL;
}

#define FIND(table, name) native_find(table, sizeof(table) / sizeof *(table), name)

/* ---- functions ---- */

enum { RANGE_MAX = 100000 };

static bool whole_number(struct template_run *run, struct value value, int64_t *ret)
{
    if (value.kind != VALUE_INT && value.kind != VALUE_BOOL)
        return run_fail(run, LL_ARGUMENT, "an integer is needed, not a %s", value_kind_name(value));
    *ret = value.kind == VALUE_INT ? value.integer : value.truth;
    return true;
}

static bool function_range(struct template_run *run, struct value self, const struct arguments *arguments,
                           struct value *ret)
{
    int64_t start = 0, stop = 0, step = 1;
    (void)self;
    if (!whole_number(run, arguments->at[0], &stop))
        return false;
    if (arguments->at[1].kind != VALUE_MISSING) {
        start = stop;
        if (!whole_number(run, arguments->at[1], &stop))
            return false;
    }
    if (arguments->at[2].kind != VALUE_MISSING && !whole_number(run, arguments->at[2], &step))
        return false;
    if (step == 0)
        return run_fail(run, LL_ARGUMENT, "range() has the step 0");
    *ret = value_list(run->arena, false);
    for (int64_t i = start; !run->arena->failed && (step > 0 ? i < stop : i > stop);) {
        if (ret->list->count == RANGE_MAX)
            return run_fail(run, LL_ARGUMENT, "range() has more than %d numbers", RANGE_MAX);
        list_push(run->arena, ret->list, value_int(i));
        if (!run_spend(run, 0) || __builtin_add_overflow(i, step, &i))
            break;
    }
    return run_done(run);
}

static bool make_mapping(struct template_run *run, const struct arguments *arguments, struct value *ret)
{
    *ret = value_dict(run->arena);
    if (ret->kind != VALUE_DICT)
        return run_done(run);
    if (arguments->count > 1 || (arguments->count == 1 && arguments->items[0].kind != VALUE_DICT))
        return run_fail(run, LL_ARGUMENT, "a mapping or names with values are needed");
    for (size_t i = 0; arguments->count && i < arguments->items[0].dict->count; i++)
        dict_set(run->arena, ret->dict, arguments->items[0].dict->keys[i],
                 arguments->items[0].dict->values[i], &run->steps);
    for (size_t i = 0; i < arguments->named_count && !run->arena->failed; i++)
        dict_put(run->arena, ret->dict, arguments->names[i], arguments->named[i]);
    return run_done(run);
}

static bool function_dict(struct template_run *run, struct value self, const struct arguments *arguments,
                          struct value *ret)
{
    (void)self;
    return make_mapping(run, arguments, ret);
}

static bool function_namespace(struct template_run *run, struct value self, const struct arguments *arguments,
                               struct value *ret)
{
    (void)self;
    if (!make_mapping(run, arguments, ret))
        return false;
    ret->kind = VALUE_SPACE;
    return true;
}

static bool function_raise(struct template_run *run, struct value self, const struct arguments *arguments,
                           struct value *ret)
{
    const struct text *text;
    char shown[160];
    (void)self;
    (void)ret;
    if (!run_text(run, arguments->at[0], &text))
        return false;
    utf8_printable(text->bytes, text->length, shown, sizeof shown);
    return run_fail(run, LL_ARGUMENT, "the template refuses these messages: %s", shown);
}

static bool function_strftime(struct template_run *run, struct value self, const struct arguments *arguments,
                              struct value *ret)
{
    char format[128], out[512];
    time_t now = time(NULL);
    struct tm local;
    (void)self;
    if (arguments->at[0].kind != VALUE_TEXT || arguments->at[0].text->length >= sizeof format)
        return run_fail(run, LL_ARGUMENT, "strftime_now() needs a format of fewer than %zu bytes",
                        sizeof format);
    memcpy(format, arguments->at[0].text->bytes, arguments->at[0].text->length);
    format[arguments->at[0].text->length] = '\0';
    size_t length = format[0] && localtime_r(&now, &local) ? strftime(out, sizeof out, format, &local) : 0;
    char *copy = arena_new(run->arena, length + 1, 1);
    if (!copy)
        return run_done(run);
    memcpy(copy, out, length);
    *ret = value_text(run->arena, copy, length, false);
    return run_done(run);
}

const struct native *function_find(const char *name)
{
    static const struct native natives[] = {
        {"range", "start stop step", 1, function_range},
        {"namespace", "*", 0, function_namespace},
        {"dict", "*", 0, function_dict},
        {"raise_exception", "message", 1, function_raise},
        {"strftime_now", "format", 1, function_strftime},
    };
    return FIND(natives, name);
}

/* ---- methods of mappings, lists and loops ---- */

static bool dict_items(struct template_run *run, struct value self, const struct arguments *arguments,
                       struct value *ret)
{
    (void)arguments;
    *ret = value_list(run->arena, false);
    for (size_t i = 0; i < self.dict->count && !run->arena->failed; i++) {
        struct value pair = value_list(run->arena, true);
        if (pair.kind == VALUE_LIST && list_push(run->arena, pair.list, self.dict->keys[i]) &&
            list_push(run->arena, pair.list, self.dict->values[i]))
            list_push(run->arena, ret->list, pair);
    }
    return run_spend(run, 64 * self.dict->count);
}

static bool dict_part(struct template_run *run, const struct dict *dict, const struct value *items,
                      struct value *ret)
{
    *ret = value_list(run->arena, false);
    for (size_t i = 0; i < dict->count && !run->arena->failed; i++)
        list_push(run->arena, ret->list, items[i]);
    return run_spend(run, 64 * dict->count);
}

static bool dict_keys(struct template_run *run, struct value self, const struct arguments *arguments,
                      struct value *ret)
{
    (void)arguments;
    return dict_part(run, self.dict, self.dict->keys, ret);
}

static bool dict_values(struct template_run *run, struct value self, const struct arguments *arguments,
                        struct value *ret)
{
    (void)arguments;
    return dict_part(run, self.dict, self.dict->values, ret);
}

static bool dict_read(struct template_run *run, struct value self, const struct arguments *arguments,
                      struct value *ret)
{
    const struct value *found = dict_find(self.dict, arguments->at[0], &run->steps);
    *ret = found ? *found : arguments->at[1].kind != VALUE_MISSING ? arguments->at[1] : value_none();
    return run_spend(run, self.dict->count);
}

static bool list_count(struct template_run *run, struct value self, const struct arguments *arguments,
                       struct value *ret)
{
    int64_t count = 0;
    for (size_t i = 0; i < self.list->count; i++)
        count += value_equals(self.list->items[i], arguments->at[0], &run->steps);
    *ret = value_int(count);
    return run_spend(run, 64 * self.list->count);
}

static bool list_index(struct template_run *run, struct value self, const struct arguments *arguments,
                       struct value *ret)
{
    for (size_t i = 0; i < self.list->count; i++)
        if (value_equals(self.list->items[i], arguments->at[0], &run->steps)) {
            *ret = value_int((int64_t)i);
            return run_spend(run, 64 * i);
        }
    return run_fail(run, LL_ARGUMENT, "index(): the value is not in the list");
}

static bool no_change(struct template_run *run, struct value self, const struct arguments *arguments,
                      struct value *ret)
{
    (void)arguments;
    (void)ret;
    return run_fail(run, LL_UNSUPPORTED, "templates may not change a %s (append, pop, update …)",
                    value_kind_name(self));
}

static bool loop_cycle(struct template_run *run, struct value self, const struct arguments *arguments,
                       struct value *ret)
{
    if (arguments->count == 0)
        return run_fail(run, LL_ARGUMENT, "loop.cycle() needs values");
    *ret = arguments->items[self.loop->index % arguments->count];
    return true;
}

static bool loop_changed(struct template_run *run, struct value self, const struct arguments *arguments,
                         struct value *ret)
{
    struct value now = value_list(run->arena, true);
    for (size_t i = 0; i < arguments->count && !run->arena->failed; i++)
        list_push(run->arena, now.list, arguments->items[i]);
    if (!run_done(run))
        return false;
    *ret = value_bool(self.loop->changed.kind == VALUE_MISSING ||
                      !value_equals(self.loop->changed, now, &run->steps));
    self.loop->changed = now;
    return true;
}

const struct native *container_method_find(struct value value, const char *name)
{
    static const struct native of_dicts[] = {
        {"items", "", 0, dict_items},   {"keys", "", 0, dict_keys},
        {"values", "", 0, dict_values}, {"get", "key default", 1, dict_read},
        {"pop", "*", 0, no_change},     {"update", "*", 0, no_change},
        {"clear", "*", 0, no_change},   {"setdefault", "*", 0, no_change},
    };
    static const struct native of_lists[] = {
        {"count", "value", 1, list_count}, {"index", "value", 1, list_index}, {"append", "*", 0, no_change},
        {"extend", "*", 0, no_change},     {"insert", "*", 0, no_change},     {"pop", "*", 0, no_change},
        {"remove", "*", 0, no_change},     {"reverse", "*", 0, no_change},    {"sort", "*", 0, no_change},
    };
    static const struct native of_loops[] = {
        {"cycle", "*", 0, loop_cycle},
        {"changed", "*", 0, loop_changed},
    };
    return value.kind == VALUE_DICT   ? FIND(of_dicts, name)
           : value.kind == VALUE_LIST ? FIND(of_lists, name)
           : value.kind == VALUE_LOOP ? FIND(of_loops, name)
                                      : NULL;
}
