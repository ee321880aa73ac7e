/* The tests of templates: {{ x is … }}.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "text/template_run.h"

enum test {
    TEST_DEFINED,
    TEST_UNDEFINED,
    TEST_NONE,
    TEST_BOOLEAN,
    TEST_TRUE,
    TEST_FALSE,
    TEST_INTEGER,
    TEST_FLOAT,
    TEST_NUMBER,
    TEST_STRING,
    TEST_MAPPING,
    TEST_SEQUENCE,
    TEST_ITERABLE,
    TEST_CALLABLE,
    TEST_LOWER,
    TEST_UPPER,
    TEST_ODD,
    TEST_EVEN,
    TEST_DIVISIBLE,
    TEST_EQUAL,
    TEST_UNEQUAL,
    TEST_LESS,
    TEST_GREATER,
    TEST_MOST,
    TEST_LEAST,
    TEST_IN,
    TEST_SAME,
    TEST_FILTER,
    TEST_TEST
};

static const struct {
    const char *name;
    enum test test;
    bool two; /* needs an argument */
} tests[] = {
    {"defined", TEST_DEFINED, false},
    {"undefined", TEST_UNDEFINED, false},
    {"none", TEST_NONE, false},
    {"boolean", TEST_BOOLEAN, false},
    {"true", TEST_TRUE, false},
    {"false", TEST_FALSE, false},
    {"integer", TEST_INTEGER, false},
    {"float", TEST_FLOAT, false},
    {"number", TEST_NUMBER, false},
    {"string", TEST_STRING, false},
    {"mapping", TEST_MAPPING, false},
    {"sequence", TEST_SEQUENCE, false},
    {"iterable", TEST_ITERABLE, false},
    {"callable", TEST_CALLABLE, false},
    {"lower", TEST_LOWER, false},
    {"upper", TEST_UPPER, false},
    {"odd", TEST_ODD, false},
    {"even", TEST_EVEN, false},
    {"divisibleby", TEST_DIVISIBLE, true},
    {"eq", TEST_EQUAL, true},
    {"equalto", TEST_EQUAL, true},
    {"==", TEST_EQUAL, true},
    {"ne", TEST_UNEQUAL, true},
    {"!=", TEST_UNEQUAL, true},
    {"lt", TEST_LESS, true},
    {"lessthan", TEST_LESS, true},
    {"<", TEST_LESS, true},
    {"gt", TEST_GREATER, true},
    {"greaterthan", TEST_GREATER, true},
    {">", TEST_GREATER, true},
    {"le", TEST_MOST, true},
    {"<=", TEST_MOST, true},
    {"ge", TEST_LEAST, true},
    {">=", TEST_LEAST, true},
    {"in", TEST_IN, true},
    {"sameas", TEST_SAME, true},
    {"filter", TEST_FILTER, false},
    {"test", TEST_TEST, false},
};

static size_t find_test(const char *name)
{
    size_t i = 0;
    while (i < sizeof tests / sizeof *tests && strcmp(tests[i].name, name) != 0)
        i++;
    return i;
}

static bool is_sequence(struct value value)
{
    return value.kind == VALUE_TEXT || value.kind == VALUE_LIST || value.kind == VALUE_DICT ||
           value.kind == VALUE_UNDEFINED;
}

static bool of_kind(enum test test, struct value value)
{
    switch (test) {
    case TEST_DEFINED:
        return value.kind != VALUE_UNDEFINED;
    case TEST_UNDEFINED:
        return value.kind == VALUE_UNDEFINED;
    case TEST_NONE:
        return value.kind == VALUE_NONE;
    case TEST_BOOLEAN:
        return value.kind == VALUE_BOOL;
    case TEST_TRUE:
    case TEST_FALSE:
        return value.kind == VALUE_BOOL && value.truth == (test == TEST_TRUE);
    case TEST_INTEGER:
        return value.kind == VALUE_INT;
    case TEST_FLOAT:
        return value.kind == VALUE_FLOAT;
    case TEST_NUMBER:
        return value_is_number(value);
    case TEST_STRING:
        return value.kind == VALUE_TEXT;
    case TEST_MAPPING:
        return value.kind == VALUE_DICT;
    case TEST_CALLABLE:
        return value.kind == VALUE_CALL || value.kind == VALUE_UNDEFINED; /* as in Python */
    default:
        return is_sequence(value);
    }
}

static bool test_text(struct template_run *run, struct value subject, const char *method, bool *ret)
{
    struct value text = {.kind = VALUE_TEXT}, answer;
    if (!run_text(run, subject, &text.text) ||
        !run_native(run, text_method_find(method), text, &(struct arguments){0}, &answer))
        return false;
    *ret = answer.truth;
    return true;
}

static bool test_remainder(struct template_run *run, struct value subject, int64_t by, int64_t rest,
                           bool *ret)
{
    struct value answer;
    if (!value_is_number(subject) || !run_binary(run, '%', subject, value_int(by), &answer))
        return run_fail(run, LL_ARGUMENT, "a number is needed, not a %s", value_kind_name(subject));
    *ret = value_real(answer) == (double)rest;
    return true;
}

static bool is_known(struct value name, bool filter)
{
    char copy[64];
    if (name.kind != VALUE_TEXT || name.text->length >= sizeof copy)
        return false;
    memcpy(copy, name.text->bytes, name.text->length);
    copy[name.text->length] = '\0';
    return filter ? filter_find(copy) || list_filter_find(copy)
                  : find_test(copy) < sizeof tests / sizeof *tests;
}

static bool test_two(struct template_run *run, enum test test, struct value a, struct value b, bool *ret)
{
    static const int ops[] = {[TEST_EQUAL] = LEX_PAIR('=', '='),
                              [TEST_UNEQUAL] = LEX_PAIR('!', '='),
                              [TEST_LESS] = '<',
                              [TEST_GREATER] = '>',
                              [TEST_MOST] = LEX_PAIR('<', '='),
                              [TEST_LEAST] = LEX_PAIR('>', '='),
                              [TEST_IN] = OP_IN};
    if (test == TEST_SAME) {
        *ret = a.kind == b.kind && value_equals(a, b, &run->steps);
        return true;
    }
    if (test == TEST_DIVISIBLE)
        return b.kind == VALUE_INT ? test_remainder(run, a, b.integer, 0, ret)
                                   : run_fail(run, LL_ARGUMENT, "\"divisibleby\" needs an integer");
    return run_compare(run, ops[test], a, b, ret);
}

bool run_test(struct template_run *run, const char *name, struct value subject,
              const struct arguments *arguments, bool *ret)
{
    size_t i = find_test(name);
    if (i == sizeof tests / sizeof *tests)
        return run_fail(run, LL_UNSUPPORTED, "the test \"%.60s\" is not supported", name);
    if (arguments->count != tests[i].two || arguments->named_count)
        return run_fail(run, LL_ARGUMENT, "the test \"%s\" takes %d arguments", name, tests[i].two);
    enum test test = tests[i].test;
    if (tests[i].two)
        return test_two(run, test, subject, arguments->items[0], ret);
    if (test == TEST_LOWER || test == TEST_UPPER)
        return test_text(run, subject, test == TEST_LOWER ? "islower" : "isupper", ret);
    if (test == TEST_ODD || test == TEST_EVEN)
        return test_remainder(run, subject, 2, test == TEST_ODD, ret);
    if (test == TEST_FILTER || test == TEST_TEST)
        *ret = is_known(subject, test == TEST_FILTER);
    else
        *ret = of_kind(test, subject);
    return true;
}
