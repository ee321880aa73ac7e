/* Evaluates the expressions of templates.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "text/template_run.h"

/* ---- limits ---- */

bool run_fail(struct template_run *run, ll_status status, const char *format, ...)
{
    char text[200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return template_fail(&run->fault, status, run->line, "%s", text);
}

bool run_done(struct template_run *run)
{
    if (run->arena->failed)
        return run->arena->over ? run_fail(run, LL_ARGUMENT, "the template uses more than %zu MiB of memory",
                                           run->arena->limit >> 20)
                                : run_fail(run, LL_NOMEM, "not enough memory to render the template");
    return run->fault.status == LL_OK;
}

bool run_spend(struct template_run *run, size_t bytes)
{
    uint64_t steps = 1 + bytes / 64;
    if (steps > run->steps)
        return run_fail(run, LL_ARGUMENT, "the template takes too many steps");
    run->steps -= steps;
    return run_done(run);
}

/* ---- names ---- */

bool run_define(struct template_run *run, const char *name, struct value value)
{
    for (struct variable *at = run->frame->first; at; at = at->next)
        if (strcmp(at->name, name) == 0) {
            at->value = value;
            return true;
        }
    struct variable *variable = arena_new(run->arena, 1, sizeof *variable);
    if (!variable)
        return run_done(run);
    *variable = (struct variable){name, value, run->frame->first};
    run->frame->first = variable;
    return true;
}

struct value run_look_up(struct template_run *run, const char *name)
{
    for (const struct frame *frame = run->frame; frame; frame = frame->outer)
        for (const struct variable *at = frame->first; at; at = at->next)
            if (strcmp(at->name, name) == 0)
                return at->value;
    const struct native *native = function_find(name);
    struct callable *call = native ? arena_new(run->arena, 1, sizeof *call) : NULL;
    if (!call)
        return value_undefined(name);
    call->native = native;
    return (struct value){.kind = VALUE_CALL, .call = call};
}

static bool assign_attribute(struct template_run *run, const struct node *target, struct value value)
{
    struct value space = run_look_up(run, target->a->text);
    if (space.kind != VALUE_SPACE)
        return run_fail(run, LL_ARGUMENT, "%.60s is no namespace, so its attributes cannot be set",
                        target->a->text);
    dict_put(run->arena, space.dict, target->text, value);
    return run_done(run) && run_spend(run, space.dict->count);
}

bool run_assign(struct template_run *run, const struct node *target, struct value value)
{
    const struct list *items;
    size_t i = 0;
    if (target->kind == NODE_NAME)
        return run_define(run, target->text, value);
    if (target->kind == NODE_ATTRIBUTE)
        return assign_attribute(run, target, value);
    if (!run_iterate(run, value, &items))
        return false;
    for (const struct node *name = target->first; name; name = name->next, i++) {
        if (i == items->count)
            return run_fail(run, LL_ARGUMENT, "%zu values are too few to unpack", items->count);
        if (!run_assign(run, name, items->items[i]))
            return false;
    }
    return i == items->count || run_fail(run, LL_ARGUMENT, "%zu values are too many to unpack", items->count);
}

/* ---- calls ---- */

/* Puts what was given by name into the slots of the parameters. */
static bool name_slot(const char *parameters, const char *name, size_t *ret)
{
    size_t length = strlen(name), slot = 0;
    for (const char *at = parameters; *at; slot++) {
        size_t word = strcspn(at, " ");
        if (word == length && memcmp(at, name, length) == 0) {
            *ret = slot;
            return true;
        }
        at += word + (at[word] == ' ');
    }
    return false;
}

static size_t count_words(const char *text)
{
    size_t count = *text != '\0';
    for (; *text; text++)
        count += *text == ' ';
    return count;
}

bool run_native(struct template_run *run, const struct native *native, struct value self,
                const struct arguments *arguments, struct value *ret)
{
    struct arguments placed = *arguments;
    if (strcmp(native->parameters, "*") == 0)
        return native->call(run, self, &placed, ret) && run_done(run);
    if (arguments->count > count_words(native->parameters))
        return run_fail(run, LL_ARGUMENT, "\"%s\" takes %zu arguments, not %zu", native->name,
                        count_words(native->parameters), arguments->count);
    for (size_t i = 0; i < ARGUMENTS_MAX; i++)
        placed.at[i] = i < arguments->count ? arguments->items[i] : (struct value){.kind = VALUE_MISSING};
    for (size_t i = 0; i < arguments->named_count; i++) {
        size_t slot;
        if (!name_slot(native->parameters, arguments->names[i], &slot))
            return run_fail(run, LL_UNSUPPORTED, "\"%s\" does not know the argument \"%.60s\"", native->name,
                            arguments->names[i]);
        placed.at[slot] = arguments->named[i];
    }
    for (size_t i = 0; i < native->required; i++)
        if (placed.at[i].kind == VALUE_MISSING)
            return run_fail(run, LL_ARGUMENT, "\"%s\" needs %zu arguments", native->name, native->required);
    return native->call(run, self, &placed, ret) && run_done(run);
}

bool run_call(struct template_run *run, struct value callee, const struct arguments *arguments,
              struct value *ret)
{
    if (callee.kind == VALUE_UNDEFINED)
        return run_fail(run, LL_UNSUPPORTED, "the function or method \"%.60s\" is not known",
                        callee.name ? callee.name : "?");
    if (callee.kind == VALUE_LOOP)
        return arguments->count == 1
                   ? run_loop_again(run, callee.loop, arguments->items[0], ret)
                   : run_fail(run, LL_ARGUMENT, "loop() takes one argument, the items to go over");
    if (callee.kind != VALUE_CALL)
        return run_fail(run, LL_ARGUMENT, "a %s cannot be called", value_kind_name(callee));
    if (callee.call->native)
        return run_native(run, callee.call->native, callee.call->self, arguments, ret);
    return run_macro(run, callee.call, arguments, ret);
}

static bool evaluate_arguments(struct template_run *run, const struct node *first, struct arguments *ret)
{
    *ret = (struct arguments){0};
    if (!first)
        return true;
    size_t count = 0;
    for (const struct node *at = first; at; at = at->next)
        count++;
    struct value *items = arena_new(run->arena, 2 * count, sizeof *items), *named = items + count;
    const char **names = arena_new(run->arena, count, sizeof *names);
    if (!items || !names)
        return run_done(run);
    for (const struct node *at = first; at; at = at->next) {
        bool keyword = at->kind == NODE_KEYWORD;
        struct value *slot = keyword ? &named[ret->named_count] : &items[ret->count];
        if (!run_evaluate(run, keyword ? at->a : at, slot))
            return false;
        if (keyword)
            names[ret->named_count++] = at->text;
        else
            ret->count++;
    }
    ret->items = items;
    ret->named = named;
    ret->names = names;
    return true;
}

static bool evaluate_call(struct template_run *run, const struct node *node, struct value *ret)
{
    struct value callee;
    struct arguments arguments;
    if (!run_evaluate(run, node->a, &callee) || !evaluate_arguments(run, node->first, &arguments))
        return false;
    run->line = node->line;
    return run_call(run, callee, &arguments, ret);
}

static bool evaluate_filter(struct template_run *run, const struct node *node, struct value *ret)
{
    struct value subject;
    struct arguments arguments;
    if (!run_evaluate(run, node->a, &subject) || !evaluate_arguments(run, node->first, &arguments))
        return false;
    run->line = node->line;
    return run_filter(run, node->text, subject, &arguments, ret);
}

static bool evaluate_test(struct template_run *run, const struct node *node, struct value *ret)
{
    struct value subject;
    struct arguments arguments;
    bool truth;
    if (!run_evaluate(run, node->a, &subject) || !evaluate_arguments(run, node->first, &arguments))
        return false;
    run->line = node->line;
    if (!run_test(run, node->text, subject, &arguments, &truth))
        return false;
    *ret = value_bool(truth);
    return true;
}

/* ---- the other nodes ---- */

static bool evaluate_list(struct template_run *run, const struct node *node, struct value *ret)
{
    *ret = value_list(run->arena, node->kind == NODE_TUPLE);
    if (ret->kind != VALUE_LIST)
        return run_done(run);
    for (const struct node *at = node->first; at; at = at->next) {
        struct value item;
        if (!run_evaluate(run, at, &item) || !list_push(run->arena, ret->list, item))
            return run_done(run);
    }
    return true;
}

static bool evaluate_dict(struct template_run *run, const struct node *node, struct value *ret)
{
    *ret = value_dict(run->arena);
    if (ret->kind != VALUE_DICT)
        return run_done(run);
    for (const struct node *at = node->first; at; at = at->next) {
        struct value key, value;
        if (!run_evaluate(run, at->a, &key) || !run_evaluate(run, at->b, &value) ||
            !dict_set(run->arena, ret->dict, key, value, &run->steps))
            return run_done(run);
    }
    return true;
}

static bool evaluate_slice(struct template_run *run, const struct node *node, struct value *ret)
{
    struct value object, bounds[3] = {{0}, {0}, {0}};
    const struct node *parts[] = {node->b, node->c, node->d};
    if (!run_evaluate(run, node->a, &object))
        return false;
    for (int i = 0; i < 3; i++)
        if (parts[i] && !run_evaluate(run, parts[i], &bounds[i]))
            return false;
    run->line = node->line;
    return run_slice(run, object, bounds, ret);
}

static bool evaluate_compare(struct template_run *run, const struct node *node, struct value *ret)
{
    struct value left, right;
    bool truth = true;
    if (!run_evaluate(run, node->a, &left))
        return false;
    for (const struct node *at = node->first; at && truth; at = at->next) {
        if (!run_evaluate(run, at->a, &right))
            return false;
        run->line = at->line;
        if (!run_compare(run, at->op, left, right, &truth))
            return false;
        left = right;
    }
    *ret = value_bool(truth);
    return true;
}

static bool evaluate_sign(struct template_run *run, const struct node *node, struct value *ret)
{
    if (!run_evaluate(run, node->a, ret))
        return false;
    run->line = node->line;
    if (!value_is_number(*ret))
        return run_fail(run, LL_ARGUMENT, "a sign does not work on a %s", value_kind_name(*ret));
    return node->kind == NODE_PLUS || run_binary(run, '*', *ret, value_int(-1), ret);
}

static bool evaluate_two(struct template_run *run, const struct node *node, struct value *ret)
{
    struct value a, b;
    if (!run_evaluate(run, node->a, &a) || !run_evaluate(run, node->b, &b))
        return false;
    run->line = node->line;
    return node->kind == NODE_ITEM ? run_item(run, a, b, ret) : run_binary(run, node->op, a, b, ret);
}

static bool evaluate_choice(struct template_run *run, const struct node *node, struct value *ret)
{
    struct value condition;
    if (!run_evaluate(run, node->a, &condition))
        return false;
    if (value_truth(condition))
        return run_evaluate(run, node->b, ret);
    *ret = value_undefined("a choice without else");
    return node->c ? run_evaluate(run, node->c, ret) : true;
}

static bool evaluate_one(struct template_run *run, const struct node *node, struct value *ret)
{
    struct value object;
    switch (node->kind) {
    case NODE_CONSTANT:
        *ret = node->constant;
        return true;
    case NODE_CAPTURED:
        *ret = run->captured;
        return true;
    case NODE_NAME:
        *ret = run_look_up(run, node->text);
        return true;
    case NODE_LIST:
    case NODE_TUPLE:
        return evaluate_list(run, node, ret);
    case NODE_DICT:
        return evaluate_dict(run, node, ret);
    case NODE_ATTRIBUTE:
        return run_evaluate(run, node->a, &object) && (run->line = node->line, true) &&
               run_attribute(run, object, node->text, ret);
    case NODE_SLICE:
        return evaluate_slice(run, node, ret);
    case NODE_CALL:
        return evaluate_call(run, node, ret);
    case NODE_FILTER:
        return evaluate_filter(run, node, ret);
    case NODE_TEST:
        return evaluate_test(run, node, ret);
    case NODE_NOT:
        if (!run_evaluate(run, node->a, &object))
            return false;
        *ret = value_bool(!value_truth(object));
        return true;
    case NODE_NEGATE:
    case NODE_PLUS:
        return evaluate_sign(run, node, ret);
    case NODE_AND:
    case NODE_OR:
        if (!run_evaluate(run, node->a, ret))
            return false;
        return value_truth(*ret) == (node->kind == NODE_OR) || run_evaluate(run, node->b, ret);
    case NODE_CHOICE:
        return evaluate_choice(run, node, ret);
    case NODE_COMPARE:
        return evaluate_compare(run, node, ret);
    case NODE_ITEM:
    case NODE_BINARY:
        return evaluate_two(run, node, ret);
    default:
        return run_fail(run, LL_INTERNAL, "a statement where an expression belongs");
    }
}

bool run_evaluate(struct template_run *run, const struct node *node, struct value *ret)
{
    if (++run->depth > TEMPLATE_DEPTH) {
        run->line = node->line;
        return run_fail(run, LL_ARGUMENT, "the template calls itself too deeply");
    }
    bool done = run_spend(run, 0) && evaluate_one(run, node, ret) && run_done(run);
    run->depth--;
    return done;
}
