/* Executes the statements of templates.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "text/template_run.h"

enum flow { FLOW_ON, FLOW_BREAK, FLOW_CONTINUE };

static bool execute(struct template_run *run, const struct node *first, enum flow *flow);

/* ---- scopes and captured text ---- */

static bool push_frame(struct template_run *run, struct frame *outer)
{
    struct frame *frame = arena_new(run->arena, 1, sizeof *frame);
    if (!frame)
        return run_done(run);
    frame->outer = outer;
    run->frame = frame;
    return true;
}

/* Runs a body in a scope of its own and gives its text. */
static bool capture(struct template_run *run, const struct node *first, struct value *ret)
{
    struct text_builder builder = {.arena = run->arena}, *before = run->out;
    struct frame *frame = run->frame;
    enum flow flow = FLOW_ON;
    run->out = &builder;
    bool done = push_frame(run, frame) && execute(run, first, &flow);
    run->out = before;
    run->frame = frame;
    *ret = builder_value(&builder);
    return done && run_done(run);
}

static bool captured_through(struct template_run *run, const struct node *node, struct value *ret)
{
    struct value text, before = run->captured;
    if (!capture(run, node->first, &text))
        return false;
    run->captured = text;
    bool done = run_evaluate(run, node->b, ret);
    run->captured = before;
    return done;
}

static bool print(struct template_run *run, struct value value)
{
    const struct text *text;
    if (!run_text(run, value, &text) || !run_spend(run, text->length))
        return false;
    builder_text(run->out, text);
    return run_done(run);
}

/* ---- loops ---- */

static bool run_for_items(struct template_run *run, struct loop_state *loop, enum flow *flow)
{
    struct frame *frame = run->frame;
    struct value self = {.kind = VALUE_LOOP, .loop = loop};
    bool done = true;
    for (loop->index = 0; done && loop->index < loop->items->count; loop->index++) {
        enum flow inner = FLOW_ON;
        done = push_frame(run, frame) && run_assign(run, loop->node->a, loop->items->items[loop->index]) &&
               run_define(run, "loop", self) && run_spend(run, 0) && execute(run, loop->node->first, &inner);
        if (inner == FLOW_BREAK)
            break;
    }
    run->frame = frame;
    *flow = FLOW_ON;
    return done;
}

/* The items that a loop's `if` lets through. */
static bool choose(struct template_run *run, const struct node *node, const struct list *items,
                   const struct list **ret)
{
    struct frame *frame = run->frame;
    struct value chosen = value_list(run->arena, false);
    bool done = chosen.kind == VALUE_LIST;
    for (size_t i = 0; done && i < items->count; i++) {
        struct value truth;
        done = push_frame(run, frame) && run_assign(run, node->a, items->items[i]) &&
               run_evaluate(run, node->c, &truth);
        if (done && value_truth(truth))
            done = list_push(run->arena, chosen.list, items->items[i]);
    }
    run->frame = frame;
    *ret = chosen.list;
    return run_done(run) && done;
}

static bool run_for(struct template_run *run, const struct node *node, struct value over, int depth)
{
    const struct list *items;
    struct frame *frame = run->frame;
    enum flow flow = FLOW_ON;
    struct loop_state *loop = arena_new(run->arena, 1, sizeof *loop);
    run->line = node->line;
    if (!loop || !run_iterate(run, over, &items) || (node->c && !choose(run, node, items, &items)))
        return run_done(run);
    *loop = (struct loop_state){.node = node, .frame = frame, .items = items, .depth = depth};
    if (items->count)
        return run_for_items(run, loop, &flow);
    bool done = push_frame(run, frame) && execute(run, node->otherwise, &flow);
    run->frame = frame;
    return done;
}

bool run_loop_again(struct template_run *run, struct loop_state *loop, struct value items, struct value *ret)
{
    struct text_builder builder = {.arena = run->arena}, *before = run->out;
    struct frame *frame = run->frame;
    if (!loop->node->op)
        return run_fail(run, LL_ARGUMENT, "loop() is called in a loop that is not recursive");
    run->out = &builder;
    run->frame = loop->frame;
    bool done = run_for(run, loop->node, items, loop->depth + 1);
    run->out = before;
    run->frame = frame;
    *ret = builder_value(&builder);
    return done && run_done(run);
}

/* ---- macros ---- */

static bool make_macro(struct template_run *run, const struct node *node, struct value *ret)
{
    struct callable *macro = arena_new(run->arena, 1, sizeof *macro);
    if (!macro)
        return run_done(run);
    macro->macro = node;
    macro->frame = run->frame;
    *ret = (struct value){.kind = VALUE_CALL, .call = macro};
    return true;
}

static const struct value *named_argument(const struct arguments *arguments, const char *name)
{
    for (size_t i = 0; i < arguments->named_count; i++)
        if (strcmp(arguments->names[i], name) == 0)
            return &arguments->named[i];
    return NULL;
}

static bool has_parameter(const struct node *macro, const char *name)
{
    for (const struct node *at = macro->parameters; at; at = at->next)
        if (strcmp(at->text, name) == 0)
            return true;
    return strcmp(name, "caller") == 0;
}

static bool bind_parameters(struct template_run *run, const struct node *macro,
                            const struct arguments *arguments)
{
    size_t i = 0;
    for (const struct node *at = macro->parameters; at; at = at->next, i++) {
        const struct value *named = named_argument(arguments, at->text);
        struct value value = i < arguments->count ? arguments->items[i]
                             : named              ? *named
                                                  : value_undefined(at->text);
        if (i >= arguments->count && !named && at->a && !run_evaluate(run, at->a, &value))
            return false;
        if (!run_define(run, at->text, value))
            return false;
    }
    if (arguments->count > i)
        return run_fail(run, LL_ARGUMENT, "the macro \"%.60s\" takes %zu arguments, not %zu", macro->text, i,
                        arguments->count);
    for (size_t n = 0; n < arguments->named_count; n++)
        if (!has_parameter(macro, arguments->names[n]))
            return run_fail(run, LL_ARGUMENT, "the macro \"%.60s\" has no parameter \"%.60s\"", macro->text,
                            arguments->names[n]);
    const struct value *caller = named_argument(arguments, "caller");
    return caller && !(macro->kind == NODE_CALL_BLOCK) ? run_define(run, "caller", *caller) : true;
}

bool run_macro(struct template_run *run, const struct callable *macro, const struct arguments *arguments,
               struct value *ret)
{
    struct text_builder builder = {.arena = run->arena}, *before = run->out;
    struct frame *frame = run->frame;
    enum flow flow = FLOW_ON;
    run->out = &builder;
    bool done = push_frame(run, macro->frame) && bind_parameters(run, macro->macro, arguments) &&
                execute(run, macro->macro->first, &flow);
    run->out = before;
    run->frame = frame;
    *ret = builder_value(&builder);
    return done && run_done(run);
}

/* {% call f(x) %}…{% endcall %}: f gets the block as its caller(). */
static bool run_call_block(struct template_run *run, const struct node *node)
{
    struct value result;
    struct frame *frame = run->frame;
    struct node *call = arena_new(run->arena, 1, sizeof *call);
    struct node *keyword = arena_new(run->arena, 1, sizeof *keyword);
    struct node *constant = arena_new(run->arena, 1, sizeof *constant);
    if (!call || !keyword || !constant)
        return run_done(run);
    constant->kind = NODE_CONSTANT;
    if (!make_macro(run, node, &constant->constant))
        return false;
    *keyword = (struct node){.kind = NODE_KEYWORD, .text = "caller", .a = constant, .next = node->a->first};
    *call = *node->a;
    call->first = keyword;
    bool done = run_evaluate(run, call, &result) && print(run, result);
    run->frame = frame;
    return done;
}

/* ---- statements ---- */

static bool run_with(struct template_run *run, const struct node *node, enum flow *flow)
{
    struct frame *outer = run->frame, *inner;
    bool done = push_frame(run, outer);
    inner = run->frame;
    for (const struct node *set = node->parameters; done && set; set = set->next) {
        struct value value;
        run->frame = outer; /* values do not see each other */
        done = run_evaluate(run, set->b, &value);
        run->frame = inner;
        done = done && run_assign(run, set->a, value);
    }
    done = done && execute(run, node->first, flow);
    run->frame = outer;
    return done;
}

static bool run_if(struct template_run *run, const struct node *node, enum flow *flow)
{
    struct value truth;
    return run_evaluate(run, node->a, &truth) &&
           execute(run, value_truth(truth) ? node->first : node->otherwise, flow);
}

static bool execute_one(struct template_run *run, const struct node *node, enum flow *flow)
{
    struct value value;
    switch (node->kind) {
    case NODE_DATA:
        return print(run, node->constant);
    case NODE_PRINT:
        return run_evaluate(run, node->a, &value) && print(run, value);
    case NODE_IF:
        return run_if(run, node, flow);
    case NODE_FOR:
        return run_evaluate(run, node->b, &value) && run_for(run, node, value, 0);
    case NODE_SET:
        return run_evaluate(run, node->b, &value) && run_assign(run, node->a, value);
    case NODE_SET_BLOCK:
        return captured_through(run, node, &value) && run_assign(run, node->a, value);
    case NODE_FILTER_BLOCK:
        return captured_through(run, node, &value) && print(run, value);
    case NODE_MACRO:
        return make_macro(run, node, &value) && run_define(run, node->text, value);
    case NODE_CALL_BLOCK:
        return run_call_block(run, node);
    case NODE_WITH:
        return run_with(run, node, flow);
    case NODE_GROUP:
        return execute(run, node->first, flow);
    case NODE_BREAK:
    case NODE_CONTINUE:
        *flow = node->kind == NODE_BREAK ? FLOW_BREAK : FLOW_CONTINUE;
        return true;
    default:
        return run_fail(run, LL_INTERNAL, "an expression where a statement belongs");
    }
}

static bool execute(struct template_run *run, const struct node *first, enum flow *flow)
{
    if (++run->depth > TEMPLATE_DEPTH)
        return run_fail(run, LL_ARGUMENT, "the template calls itself too deeply");
    for (const struct node *node = first; node && *flow == FLOW_ON; node = node->next) {
        run->line = node->line;
        if (!run_spend(run, 0) || !execute_one(run, node, flow))
            return false;
    }
    run->depth--;
    return true;
}

bool run_statements(struct template_run *run, const struct node *first)
{
    enum flow flow = FLOW_ON;
    return execute(run, first, &flow);
}
