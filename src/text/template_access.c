/* How templates reach into values: attributes, items, slices, what loops go over.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/utf8.h"
#include "text/template_run.h"

static bool refuse_undefined(struct template_run *run, struct value object, const char *name)
{
    return run_fail(run, LL_ARGUMENT, "%.60s is undefined and has no \"%.60s\"",
                    object.name ? object.name : "a value", name);
}

/* ---- loop.… ---- */

static bool loop_attribute(struct template_run *run, struct loop_state *loop, const char *name,
                           struct value *ret)
{
    size_t count = loop->items->count, index = loop->index;
    const struct {
        const char *name;
        int64_t number;
    } numbers[] = {{"index", (int64_t)index + 1},
                   {"index0", (int64_t)index},
                   {"revindex", (int64_t)(count - index)},
                   {"revindex0", (int64_t)(count - index) - 1},
                   {"length", (int64_t)count},
                   {"depth", loop->depth + 1},
                   {"depth0", loop->depth}};
    (void)run;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(name, numbers[i].name) == 0) {
            *ret = value_int(numbers[i].number);
            return true;
        }
    if (strcmp(name, "first") == 0 || strcmp(name, "last") == 0)
        *ret = value_bool(name[0] == 'f' ? index == 0 : index + 1 == count);
    else if (strcmp(name, "previtem") == 0)
        *ret = index > 0 ? loop->items->items[index - 1] : value_undefined("there is no previous item: it");
    else if (strcmp(name, "nextitem") == 0)
        *ret =
            index + 1 < count ? loop->items->items[index + 1] : value_undefined("there is no next item: it");
    else
        return false;
    return true;
}

/* ---- attributes and items ---- */

static bool bind_method(struct template_run *run, const struct native *native, struct value self,
                        struct value *ret)
{
    struct callable *call = arena_new(run->arena, 1, sizeof *call);
    if (!call)
        return run_done(run);
    call->native = native;
    call->self = self;
    *ret = (struct value){.kind = VALUE_CALL, .call = call};
    return true;
}

static const struct native *find_method(struct value object, const char *name)
{
    return object.kind == VALUE_TEXT ? text_method_find(name) : container_method_find(object, name);
}

bool run_attribute(struct template_run *run, struct value object, const char *name, struct value *ret)
{
    if (object.kind == VALUE_UNDEFINED)
        return refuse_undefined(run, object, name);
    if (object.kind == VALUE_LOOP && loop_attribute(run, object.loop, name, ret))
        return true;
    if (object.kind == VALUE_SPACE) {
        const struct value *found = dict_get(object.dict, name);
        *ret = found ? *found : value_undefined(name);
        return true;
    }
    const struct native *method = find_method(object, name);
    if (method)
        return bind_method(run, method, object, ret);
    const struct value *found = object.kind == VALUE_DICT ? dict_get(object.dict, name) : NULL;
    *ret = found ? *found : value_undefined(name);
    return run_spend(run, object.kind == VALUE_DICT ? object.dict->count : 1);
}

static bool character_at(struct template_run *run, const struct text *text, int64_t index, struct value *ret)
{
    int64_t count = index < 0 ? (int64_t)text_characters(text->bytes, text->length) : 0;
    size_t step;
    *ret = value_undefined("an item out of range");
    if (!run_spend(run, text->length) || index + count < 0)
        return run->fault.status == LL_OK;
    size_t at = text_offset(text->bytes, text->length, (size_t)(index + count));
    if (at == text->length)
        return true;
    (void)utf8_decode(text->bytes + at, text->length - at, &step);
    *ret = value_slice(run->arena, text, at, at + step);
    return run_done(run);
}

bool run_item(struct template_run *run, struct value object, struct value key, struct value *ret)
{
    const struct text *name;
    if (object.kind == VALUE_UNDEFINED)
        return run_text(run, key, &name) && refuse_undefined(run, object, "item");
    if (object.kind == VALUE_DICT) {
        const struct value *found = dict_find(object.dict, key, &run->steps);
        if (found) {
            *ret = *found;
            return run_spend(run, object.dict->count);
        }
    }
    bool whole = key.kind == VALUE_INT || key.kind == VALUE_BOOL;
    int64_t index = key.kind == VALUE_INT ? key.integer : key.kind == VALUE_BOOL && key.truth;
    if (object.kind == VALUE_LIST && whole) {
        index += index < 0 ? (int64_t)object.list->count : 0;
        bool inside = index >= 0 && (uint64_t)index < object.list->count;
        *ret = inside ? object.list->items[index] : value_undefined("an item out of range");
        return true;
    }
    if (object.kind == VALUE_TEXT && whole)
        return character_at(run, object.text, index, ret);
    *ret = value_undefined("an item that is not there");
    if (key.kind != VALUE_TEXT || memchr(key.text->bytes, 0, key.text->length))
        return true;
    struct text_builder builder = {.arena = run->arena};
    builder_bytes(&builder, key.text->bytes, key.text->length, false);
    builder_bytes(&builder, "", 1, false);
    if (!run_done(run))
        return false;
    if (object.kind != VALUE_DICT)
        return run_attribute(run, object, builder.bytes, ret);
    const struct native *method = container_method_find(object, builder.bytes);
    *ret = value_undefined(builder.bytes);
    return method ? bind_method(run, method, object, ret) : true;
}

/* ---- slices ---- */

static bool read_bound(struct template_run *run, struct value bound, int64_t fallback, int64_t *ret)
{
    *ret = fallback;
    if (bound.kind == VALUE_MISSING || bound.kind == VALUE_NONE)
        return true;
    if (bound.kind != VALUE_INT && bound.kind != VALUE_BOOL)
        return run_fail(run, LL_ARGUMENT, "a slice needs integers, not a %s", value_kind_name(bound));
    *ret = bound.kind == VALUE_INT ? bound.integer : bound.truth;
    return true;
}

/* Python's rules: negative bounds count from the end, all are cut to what is there. */
static int64_t cut_bound(int64_t bound, int64_t count, int64_t least, int64_t most)
{
    if (bound < 0)
        bound = bound < -count ? -1 : bound + count;
    return bound < least ? least : bound > most ? most : bound;
}

static bool take_slice(struct template_run *run, const struct list *items, bool text, int64_t start,
                       int64_t stop, int64_t step, struct value *ret)
{
    struct text_builder builder = {.arena = run->arena};
    *ret = value_list(run->arena, items->tuple);
    for (int64_t i = start; !run->arena->failed && (step > 0 ? i < stop : i > stop);) {
        if (text)
            builder_text(&builder, items->items[i].text);
        else
            list_push(run->arena, ret->list, items->items[i]);
        if (__builtin_add_overflow(i, step, &i))
            break;
    }
    if (text)
        *ret = builder_value(&builder);
    return run_done(run);
}

bool run_slice(struct template_run *run, struct value object, const struct value bounds[3], struct value *ret)
{
    int64_t start, stop, step;
    if (object.kind == VALUE_UNDEFINED)
        return refuse_undefined(run, object, "slice");
    if (object.kind != VALUE_LIST && object.kind != VALUE_TEXT)
        return run_fail(run, LL_ARGUMENT, "a %s cannot be sliced", value_kind_name(object));
    if (!read_bound(run, bounds[2], 1, &step))
        return false;
    if (step == 0)
        return run_fail(run, LL_ARGUMENT, "a slice has the step 0");
    bool text = object.kind == VALUE_TEXT;
    int64_t count = text ? (int64_t)text_characters(object.text->bytes, object.text->length)
                         : (int64_t)object.list->count;
    bool down = step < 0;
    if (!read_bound(run, bounds[0], down ? count - 1 : 0, &start) ||
        !read_bound(run, bounds[1], down ? -1 - count : count, &stop))
        return false;
    start = cut_bound(start, count, down ? -1 : 0, down ? count - 1 : count);
    stop = cut_bound(stop, count, down ? -1 : 0, down ? count - 1 : count);
    if (!run_spend(run, (size_t)count))
        return false;
    if (text && step == 1) {
        size_t from = text_offset(object.text->bytes, object.text->length, (size_t)start);
        size_t size = stop > start ? text_offset(object.text->bytes + from, object.text->length - from,
                                                 (size_t)(stop - start))
                                   : 0;
        *ret = value_slice(run->arena, object.text, from, from + size);
        return run_done(run);
    }
    const struct list *items;
    return run_iterate(run, object, &items) && take_slice(run, items, text, start, stop, step, ret);
}

/* ---- iteration ---- */

static bool characters_of(struct template_run *run, const struct text *text, struct list *list)
{
    size_t step;
    for (size_t at = 0; at < text->length && !run->arena->failed; at += step) {
        (void)utf8_decode(text->bytes + at, text->length - at, &step);
        list_push(run->arena, list, value_slice(run->arena, text, at, at + step));
    }
    return run_done(run) && run_spend(run, 16 * text->length);
}

bool run_iterate(struct template_run *run, struct value value, const struct list **ret)
{
    if (value.kind == VALUE_LIST) {
        *ret = value.list;
        return true;
    }
    struct value made = value_list(run->arena, false);
    if (made.kind != VALUE_LIST)
        return run_done(run);
    *ret = made.list;
    if (value.kind == VALUE_UNDEFINED)
        return true;
    if (value.kind == VALUE_TEXT)
        return characters_of(run, value.text, made.list);
    if (value.kind != VALUE_DICT)
        return run_fail(run, LL_ARGUMENT, "a %s has no items to go over", value_kind_name(value));
    for (size_t i = 0; i < value.dict->count; i++)
        list_push(run->arena, made.list, value.dict->keys[i]);
    return run_done(run);
}

bool run_text(struct template_run *run, struct value value, const struct text **ret)
{
    if (value.kind == VALUE_TEXT) {
        *ret = value.text;
        return true;
    }
    struct text_builder builder = {.arena = run->arena};
    if (!builder_value_text(&builder, value) && !run->arena->failed)
        return run_fail(run, LL_ARGUMENT, "a value is nested too deeply to be printed");
    struct value text = builder_value(&builder);
    *ret = text.text;
    return run_done(run);
}
