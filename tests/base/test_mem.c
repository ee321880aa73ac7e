/* Tests of base/mem and base/strbuf: products, growth, refused sizes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/mem.h"
#include "base/strbuf.h"

static void a_product_that_wraps_is_refused(void **state)
{
    uint64_t out = 7;
    (void)state;
    assert_false(mem_multiply(UINT64_MAX, 2, &out));
    assert_false(mem_multiply((uint64_t)1 << 32, (uint64_t)1 << 32, &out));
    assert_true(mem_multiply(UINT64_MAX, 1, &out));
    assert_true(out == UINT64_MAX);
    assert_true(mem_multiply(UINT64_MAX, 0, &out));
    assert_true(out == 0);
    assert_null(mem_new(SIZE_MAX / 2, 3));
    assert_null(mem_aligned(SIZE_MAX - 3, 64));
}

static void random_products_agree_with_128_bit_arithmetic(void **state)
{
    (void)state;
    for (size_t i = 0; i < unit_rounds(20000); i++) {
        uint64_t a = unit_random() >> unit_below(64), b = unit_random() >> unit_below(64), out = 0;
        unsigned __int128 product = (unsigned __int128)a * b, sum = (unsigned __int128)a + b;
        assert_int_equal(mem_multiply(a, b, &out), product <= UINT64_MAX);
        assert_true(out == (uint64_t)product);
        assert_int_equal(mem_add(a, b, &out), sum <= UINT64_MAX);
        assert_true(out == (uint64_t)sum);
    }
}

static void new_memory_is_zero_and_aligned_as_asked(void **state)
{
    (void)state;
    for (size_t alignment = 16; alignment <= 4096; alignment *= 2) {
        size_t bytes = unit_below(5000);
        unsigned char *memory = mem_aligned(bytes, alignment);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % alignment, 0);
        for (size_t i = 0; i < bytes; i++)
            assert_int_equal(memory[i], 0);
        mem_free(memory);
    }
    void *nothing = mem_new(0, 8);
    assert_non_null(nothing);
    mem_free(nothing);
    mem_free(NULL);
}

static void growth_keeps_items_and_a_refused_growth_changes_nothing(void **state)
{
    uint32_t *items = NULL;
    size_t capacity = 0;
    (void)state;
    for (uint32_t i = 0; i < 5000; i++) {
        assert_true(mem_grow((void **)&items, &capacity, i + 1, sizeof *items));
        items[i] = i;
    }
    assert_true(capacity >= 5000 && capacity < 20000);
    void *before = items;
    size_t capacity_before = capacity;
    assert_false(mem_grow((void **)&items, &capacity, SIZE_MAX, sizeof *items));
    assert_false(mem_grow((void **)&items, &capacity, SIZE_MAX / 4 + 1, sizeof *items));
    assert_ptr_equal(items, before);
    assert_int_equal(capacity, capacity_before);
    for (uint32_t i = 0; i < 5000; i++)
        assert_int_equal(items[i], i);
    mem_free(items);
}

static void a_strbuf_equals_the_bytes_appended_to_it(void **state)
{
    struct strbuf buf = {0};
    static char expected[1 << 16];
    size_t length = 0;
    (void)state;
    assert_string_equal(strbuf_text(&buf), "");
    while (length + 512 < sizeof expected) {
        char piece[300];
        size_t count = unit_below(sizeof piece);
        for (size_t i = 0; i < count; i++)
            piece[i] = (char)unit_random();
        strbuf_append(&buf, piece, count);
        memcpy(expected + length, piece, count);
        length += count;
        strbuf_printf(&buf, "%d|%s", 42, "x");
        memcpy(expected + length, "42|x", 4);
        length += 4;
    }
    assert_false(buf.failed);
    assert_int_equal(buf.length, length);
    assert_memory_equal(buf.text, expected, length);
    assert_int_equal(buf.text[length], '\0');
    strbuf_truncate(&buf, 10);
    strbuf_truncate(&buf, 20);
    assert_int_equal(buf.length, 10);
    size_t taken = 0;
    char *text = strbuf_take(&buf, &taken);
    assert_int_equal(taken, 10);
    assert_memory_equal(text, expected, 10);
    assert_null(buf.text);
    mem_free(text);
}

static void a_strbuf_remembers_that_an_append_was_refused(void **state)
{
    struct strbuf buf = {0};
    (void)state;
    strbuf_puts(&buf, "kept");
    strbuf_append(&buf, "", SIZE_MAX - 2);
    assert_true(buf.failed);
    strbuf_puts(&buf, "not appended");
    assert_string_equal(strbuf_text(&buf), "kept");
    assert_null(strbuf_take(&buf, NULL));
    strbuf_fini(&buf);
    char *empty = strbuf_take(&buf, NULL);
    assert_string_equal(empty, "");
    mem_free(empty);
}

int main(void)
{
    unit_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_product_that_wraps_is_refused),
        cmocka_unit_test(random_products_agree_with_128_bit_arithmetic),
        cmocka_unit_test(new_memory_is_zero_and_aligned_as_asked),
        cmocka_unit_test(growth_keeps_items_and_a_refused_growth_changes_nothing),
        cmocka_unit_test(a_strbuf_equals_the_bytes_appended_to_it),
        cmocka_unit_test(a_strbuf_remembers_that_an_append_was_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
