/* Operators of the template language: arithmetic, order, membership.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text/template_run.h"

static bool refuse(struct template_run *run, const char *op, struct value a, struct value b)
{
    if (a.kind == VALUE_UNDEFINED || b.kind == VALUE_UNDEFINED) {
        const char *name = a.kind == VALUE_UNDEFINED ? a.name : b.name;
        return run_fail(run, LL_ARGUMENT, "%.60s is undefined, so \"%s\" has nothing to work on",
                        name ? name : "a value", op);
    }
    return run_fail(run, LL_ARGUMENT, "\"%s\" does not work on %s and %s", op, value_kind_name(a),
                    value_kind_name(b));
}

/* ---- arithmetic ---- */

static bool integers(struct template_run *run, int op, int64_t a, int64_t b, struct value *ret)
{
    int64_t result = 0;
    bool wrong = false;
    if (op == '+')
        wrong = __builtin_add_overflow(a, b, &result);
    else if (op == '-')
        wrong = __builtin_sub_overflow(a, b, &result);
    else if (op == '*')
        wrong = __builtin_mul_overflow(a, b, &result);
    else if (b == 0)
        return run_fail(run, LL_ARGUMENT, "a division by zero");
    else if (b == -1) /* the one quotient that may not fit */
        wrong = op != '%' && __builtin_sub_overflow(0, a, &result);
    else {
        int64_t rest = a % b;
        int64_t fix = rest != 0 && (rest < 0) != (b < 0);
        result = op == '%' ? rest + fix * b : a / b - fix;
    }
    if (wrong)
        return run_fail(run, LL_ARGUMENT, "an integer does not fit in 64 bits");
    *ret = value_int(result);
    return true;
}

static bool power(struct template_run *run, struct value a, struct value b, struct value *ret)
{
    if (a.kind == VALUE_FLOAT || b.kind == VALUE_FLOAT || (b.kind == VALUE_INT && b.integer < 0)) {
        *ret = value_float(pow(value_real(a), value_real(b)));
        return true;
    }
    int64_t base = a.kind == VALUE_INT ? a.integer : a.truth,
            left = b.kind == VALUE_INT ? b.integer : b.truth;
    *ret = value_int(1);
    if (base == 0 || base == 1 || base == -1)
        left = left ? 2 - left % 2 : 0;
    for (; left > 0; left--)
        if (!integers(run, '*', ret->integer, base, ret))
            return false;
    return true;
}

static bool numbers(struct template_run *run, int op, struct value a, struct value b, struct value *ret)
{
    if (op == LEX_PAIR('*', '*'))
        return power(run, a, b, ret);
    bool whole = a.kind != VALUE_FLOAT && b.kind != VALUE_FLOAT;
    if (whole && op != '/')
        return integers(run, op, a.kind == VALUE_INT ? a.integer : a.truth,
                        b.kind == VALUE_INT ? b.integer : b.truth, ret);
    double x = value_real(a), y = value_real(b);
    if (y == 0.0 && (op == '/' || op == '%' || op == LEX_PAIR('/', '/')))
        return run_fail(run, LL_ARGUMENT, "a division by zero");
    double rest = op == '%' ? fmod(x, y) : 0.0;
    *ret = value_float(op == '+'   ? x + y
                       : op == '-' ? x - y
                       : op == '*' ? x * y
                       : op == '/' ? x / y
                       : op == '%' ? rest + (rest != 0.0 && (rest < 0) != (y < 0) ? y : 0.0)
                                   : floor(x / y));
    return true;
}

static bool concatenate(struct template_run *run, struct value a, struct value b, struct value *ret)
{
    struct text_builder builder = {.arena = run->arena};
    const struct text *left, *right;
    if (!run_text(run, a, &left) || !run_text(run, b, &right) ||
        !run_spend(run, left->length + right->length))
        return false;
    builder_text(&builder, left);
    builder_text(&builder, right);
    *ret = builder_value(&builder);
    return run_done(run);
}

static bool join_lists(struct template_run *run, const struct list *a, const struct list *b,
                       struct value *ret)
{
    *ret = value_list(run->arena, a->tuple);
    for (size_t i = 0; !run->arena->failed && i < a->count + b->count; i++)
        list_push(run->arena, ret->list, i < a->count ? a->items[i] : b->items[i - a->count]);
    return run_done(run) && run_spend(run, 16 * (a->count + b->count));
}

static bool repeat(struct template_run *run, struct value what, struct value times, struct value *ret)
{
    int64_t count = times.kind == VALUE_INT ? times.integer : times.truth;
    struct text_builder builder = {.arena = run->arena};
    *ret = what.kind == VALUE_LIST ? value_list(run->arena, what.list->tuple) : value_undefined(NULL);
    for (; count > 0 && !run->arena->failed; count--) {
        if (!run_spend(run, what.kind == VALUE_TEXT ? what.text->length : 16 * what.list->count))
            return false;
        if (what.kind == VALUE_TEXT)
            builder_text(&builder, what.text);
        for (size_t i = 0; what.kind == VALUE_LIST && i < what.list->count && !run->arena->failed; i++)
            list_push(run->arena, ret->list, what.list->items[i]);
    }
    if (what.kind == VALUE_TEXT)
        *ret = builder_value(&builder);
    return run_done(run);
}

static bool is_whole(struct value value)
{
    return value.kind == VALUE_INT || value.kind == VALUE_BOOL;
}

bool run_binary(struct template_run *run, int op, struct value a, struct value b, struct value *ret)
{
    char name[3] = {(char)(op > 255 ? op >> 8 : op), op > 255 ? (char)(op & 255) : '\0', '\0'};
    bool a_repeats = a.kind == VALUE_TEXT || a.kind == VALUE_LIST;
    bool b_repeats = b.kind == VALUE_TEXT || b.kind == VALUE_LIST;
    if (op == '~')
        return concatenate(run, a, b, ret);
    if (value_is_number(a) && value_is_number(b))
        return numbers(run, op, a, b, ret);
    if (op == '+' && a.kind == VALUE_TEXT && b.kind == VALUE_TEXT)
        return concatenate(run, a, b, ret);
    if (op == '+' && a.kind == VALUE_LIST && b.kind == VALUE_LIST && a.list->tuple == b.list->tuple)
        return join_lists(run, a.list, b.list, ret);
    if (op == '*' && a_repeats && is_whole(b))
        return repeat(run, a, b, ret);
    if (op == '*' && b_repeats && is_whole(a))
        return repeat(run, b, a, ret);
    if (op == '%' && a.kind == VALUE_TEXT)
        return run_fail(run, LL_UNSUPPORTED, "formatting a string by \"%%\" is not supported");
    return refuse(run, name, a, b);
}

/* ---- order and membership ---- */

bool run_order(struct template_run *run, struct value a, struct value b, int *ret)
{
    if (value_is_number(a) && value_is_number(b)) {
        double x = value_real(a), y = value_real(b);
        *ret = a.kind == VALUE_INT && b.kind == VALUE_INT ? (a.integer > b.integer) - (a.integer < b.integer)
                                                          : (x > y) - (x < y);
        return true;
    }
    if (a.kind == VALUE_TEXT && b.kind == VALUE_TEXT) { /* bytes of UTF-8 sort as code points do */
        size_t length = a.text->length < b.text->length ? a.text->length : b.text->length;
        int order = length ? memcmp(a.text->bytes, b.text->bytes, length) : 0;
        *ret = order ? (order > 0) - (order < 0)
                     : (a.text->length > b.text->length) - (a.text->length < b.text->length);
        return run_spend(run, length);
    }
    if (a.kind != VALUE_LIST || b.kind != VALUE_LIST || ++run->depth > PARSE_DEPTH)
        return refuse(run, "<", a, b);
    if (!run_spend(run, 64 * a.list->count))
        return false;
    size_t i = 0;
    for (*ret = 0; *ret == 0 && i < a.list->count && i < b.list->count; i++)
        if (!run_order(run, a.list->items[i], b.list->items[i], ret))
            return false;
    if (*ret == 0)
        *ret = (a.list->count > b.list->count) - (a.list->count < b.list->count);
    run->depth--;
    return true;
}

static bool contains(struct template_run *run, struct value item, struct value box, bool *ret)
{
    *ret = false;
    switch (box.kind) {
    case VALUE_UNDEFINED:
        return true;
    case VALUE_DICT:
        *ret = dict_find(box.dict, item, &run->steps) != NULL;
        return run_spend(run, box.dict->count);
    case VALUE_LIST:
        for (size_t i = 0; i < box.list->count && !*ret; i++)
            *ret = value_equals(box.list->items[i], item, &run->steps);
        return run_spend(run, box.list->count);
    case VALUE_TEXT:
        if (item.kind != VALUE_TEXT)
            return refuse(run, "in", item, box);
        *ret = bytes_find(box.text->bytes, box.text->length, item.text->bytes, item.text->length) != NULL;
        return run_spend(run, box.text->length);
    default:
        return refuse(run, "in", item, box);
    }
}

bool run_compare(struct template_run *run, int op, struct value a, struct value b, bool *ret)
{
    int order;
    if (op == OP_IN || op == OP_NOT_IN) {
        if (!contains(run, a, b, ret))
            return false;
        *ret = *ret == (op == OP_IN);
        return true;
    }
    if (op == LEX_PAIR('=', '=') || op == LEX_PAIR('!', '=')) {
        *ret = value_equals(a, b, &run->steps) == (op == LEX_PAIR('=', '='));
        return run_spend(run, a.kind == VALUE_TEXT ? a.text->length / 16 : 16);
    }
    if (!run_order(run, a, b, &order))
        return false;
    *ret = op == '<' ? order < 0 : op == '>' ? order > 0 : op == LEX_PAIR('<', '=') ? order <= 0 : order >= 0;
    return true;
}
