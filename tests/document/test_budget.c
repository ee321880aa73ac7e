/* Tests of document/budget: no plan overflows its context, every tree ends.
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/budget.h"

#include "unit.h"

/* Checks every call of a whole tree of merges against the context. */
static size_t check_plan(const struct budget_request *r, const struct budget *b, size_t windows)
{
    size_t fixed = r->prefix + r->suffix + BUDGET_GUARD, levels = 0, calls = 0, counted_calls;
    assert_true(b->output >= BUDGET_LEAST_OUTPUT);
    assert_true(b->fan_out >= 2);
    assert_true(fixed + r->label + b->window + b->output <= r->context);
    for (size_t children = windows; children > 1; levels++) {
        size_t groups = budget_groups(children, b->fan_out), next = 0;
        assert_true(groups < children);
        for (size_t g = 0; g < groups; g++) {
            size_t first, last;
            budget_group(children, groups, g, &first, &last);
            assert_int_equal(first, next);
            assert_true(last > first && last - first <= b->fan_out);
            assert_true(fixed + (last - first) * (b->output + r->label) + b->output <= r->context);
            calls += last - first > 1;
            next = last;
        }
        assert_int_equal(next, children);
        children = groups;
    }
    assert_int_equal(budget_levels(windows, b->fan_out, &counted_calls), levels);
    assert_int_equal(counted_calls, calls);
    return levels;
}

static void no_random_plan_overflows_its_context(void **state)
{
    (void)state;
    unit_seed();
    size_t planned = 0, refused = 0, deepest = 0;
    for (size_t round = 0; round < unit_rounds(20000) && round < 200000; round++) {
        struct budget_request r = {
            .context = 256 + unit_below(unit_below(2) ? 4096 : 130816),
            .prefix = unit_below(400),
            .suffix = unit_below(200),
            .label = 4 + unit_below(60),
            .wanted_output = 1 + unit_below(2000),
        };
        struct budget b;
        size_t needed;
        if (!budget_make(&r, &b, &needed)) {
            assert_true(needed > r.context);
            r.context = needed; /* what it asks for is enough */
            assert_true(budget_make(&r, &b, &needed));
            refused++;
        }
        size_t tokens = 1 + unit_below(unit_below(4) ? 60000 : 500000);
        size_t levels = check_plan(&r, &b, tokens / b.window + 1);
        deepest = levels > deepest ? levels : deepest;
        planned++;
    }
    print_message("# %zu plans, %zu first refused, deepest tree %zu levels\n", planned, refused, deepest);
    assert_true(planned >= 20000 && refused > 50 && deepest >= 5);
}

static void a_context_too_small_for_two_children_is_refused_with_the_number_needed(void **state)
{
    (void)state;
    struct budget_request r = {
        .context = 200, .prefix = 120, .suffix = 40, .label = 12, .wanted_output = 100};
    struct budget b;
    size_t needed = 0;
    assert_false(budget_make(&r, &b, &needed));
    assert_int_equal(needed, 120 + 40 + BUDGET_GUARD + 2 * 12 + 3 * BUDGET_LEAST_OUTPUT);
}

static void the_published_examples_come_out(void **state)
{
    (void)state;
    struct budget_request r = {
        .context = 2048, .prefix = 120, .suffix = 40, .label = 12, .wanted_output = 200};
    struct budget b;
    size_t needed, calls;
    assert_true(budget_make(&r, &b, &needed));
    assert_int_equal(b.output, 200);
    assert_int_equal(b.window, 2048 - 120 - 40 - BUDGET_GUARD - 200 - 12);
    assert_int_equal(budget_levels(519, b.fan_out, &calls), 4);
    assert_int_equal(519 + calls, 608); /* War and Peace at a context of 2048 */
    assert_int_equal(budget_levels(22, b.fan_out, &calls), 2);
    assert_int_equal(22 + calls, 27);
    assert_int_equal(budget_levels(1, b.fan_out, &calls), 0);
    assert_int_equal(calls, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_random_plan_overflows_its_context),
        cmocka_unit_test(a_context_too_small_for_two_children_is_refused_with_the_number_needed),
        cmocka_unit_test(the_published_examples_come_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
