/* Tests of base/number, and of all who read numbers, in a program whose locale writes a decimal comma.
 * SPDX-License-Identifier: Apache-2.0 */
#include <locale.h>

#include "base/number.h"
#include "text/template.h"
#include "unit.h"

static char scratch[64];

/* A locale made here, since few machines have one ready. */
static int enter(void **state)
{
    (void)state;
    if (unit_enter_scratch(scratch) != 0)
        return -1;
    if (system("localedef -i de_DE -f UTF-8 \"$PWD/de_DE.UTF-8\" > /dev/null 2>&1") != 0)
        print_message("# localedef made no locale\n");
    char here[256];
    if (!getcwd(here, sizeof here) || setenv("LOCPATH", here, 1) != 0)
        return -1;
    return 0;
}

static int leave(void **state)
{
    (void)state;
    setlocale(LC_ALL, "C");
    unit_leave_scratch(scratch);
    return 0;
}

static void need_comma(void)
{
    if (!setlocale(LC_ALL, "de_DE.UTF-8") || strcmp(localeconv()->decimal_point, ",") != 0)
        skip();
    assert_true(strtod("1.5", NULL) == 1.0); /* what this is all about */
}

static void numbers_have_a_decimal_point_whatever_the_locale(void **state)
{
    (void)state;
    char text[40], *end;
    need_comma();
    assert_true(number_parse("1.5e1x", &end) == 15.0);
    assert_string_equal(end, "x");
    assert_int_equal(number_print(text, sizeof text, "%.3f", 2.125), 5);
    assert_string_equal(text, "2.125");
    assert_string_equal(localeconv()->decimal_point, ","); /* the caller keeps its own */
}

static void templates_read_and_write_decimal_points_whatever_the_locale(void **state)
{
    (void)state;
    static const char source[] = "{{ 1.5 + 0.25 }} {{ '2.5'|float }} {{ 3.14159|round(2) }}";
    struct template *template = NULL;
    struct template_input input = {0};
    struct template_output out = {0};
    ll_error error = {0};
    need_comma();
    assert_int_equal(template_open(source, strlen(source), &template, &error), LL_OK);
    assert_int_equal(template_render(template, &input, &out, &error), LL_OK);
    assert_string_equal(strbuf_text(&out.text), "1.75 2.5 3.14");
    template_output_fini(&out);
    template_close(template);
}

static void expect_text(const char *name, const char *bytes, const char *part, const char *missing)
{
    ll_document *d = NULL;
    ll_error error = {0};
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_true(fputs(bytes, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(ll_document_open(&name, 1, NULL, NULL, &d, &error), LL_OK);
    if (!strstr(ll_document_text(d, NULL), part) || strstr(ll_document_text(d, NULL), missing))
        fail_msg("%.300s", ll_document_text(d, NULL));
    ll_document_close(d);
}

static void documents_are_read_alike_whatever_the_locale(void **state)
{
    (void)state;
    need_comma();
    expect_text("a.html", "<html><body><p>seen</p><p style='opacity:0.01'>unseen</p></body></html>", "seen",
                "unseen");
    struct strbuf table = {0};
    strbuf_puts(&table, "town,size\n");
    for (int i = 0; i < 6000; i++)
        strbuf_printf(&table, "Ulm and more,%d.%d\n", i % 90, i % 10);
    assert_true(table.length > 65536);
    expect_text("a.csv", strbuf_text(&table), "numbers from 0.0 to 89.9", "numbers from 0.0 to 89.0");
    strbuf_fini(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_have_a_decimal_point_whatever_the_locale),
        cmocka_unit_test(templates_read_and_write_decimal_points_whatever_the_locale),
        cmocka_unit_test(documents_are_read_alike_whatever_the_locale),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
