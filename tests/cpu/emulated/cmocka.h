/* The part of cmocka that tests/cpu uses, for programs of another processor.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CPU_EMULATED_CMOCKA_H
#define TESTS_CPU_EMULATED_CMOCKA_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*run)(void **state);
};

/* The first failure ends the program: the case that failed is the one that was not reported. */
#define fail_msg(...) (printf("# %s:%d: ", __FILE__, __LINE__), printf(__VA_ARGS__), printf("\n"), exit(1))
#define assert_true(c) ((c) ? (void)0 : fail_msg("not so: %s", #c))
#define assert_false(c) assert_true(!(c))
#define assert_non_null(p) assert_true((p) != NULL)
#define assert_null(p) assert_true((p) == NULL)
#define assert_int_equal(a, b) \
    ((a) == (b) ? (void)0 : fail_msg("%s is %lld, not %lld", #a, (long long)(a), (long long)(b)))
#define assert_memory_equal(a, b, n) assert_true(memcmp(a, b, n) == 0)
#define assert_memory_not_equal(a, b, n) assert_true(memcmp(a, b, n) != 0)
#define print_message(...) printf(__VA_ARGS__)
#define skip() return
#define cmocka_unit_test(f) {#f, f}
#define cmocka_run_group_tests_name(name, tests, setup, teardown) \
    emulated_run(tests, sizeof(tests) / sizeof *(tests))

static inline int emulated_run(const struct CMUnitTest *tests, size_t count)
{
    const char *only = getenv("LL_ONLY"); /* part of the names of the cases to run; empty: all */
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < count; i++) {
        if (only && !strstr(tests[i].name, only))
            continue;
        tests[i].run(NULL);
        printf("ok %zu - %s\n", i + 1, tests[i].name);
    }
    printf("1..%zu\n", count);
    return 0;
}

#endif
