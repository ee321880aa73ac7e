/* Tests of document/pages: running heads, page numbers, hyphens, ligatures, the page map.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/pages.h"

#include "unit.h"

struct cleaned {
    struct strbuf text;
    struct page_list pages;
};

static struct cleaned clean(const char *text, bool repair)
{
    struct cleaned c = {0};
    ll_error error;
    assert_int_equal(pages_clean(text, strlen(text), repair, NULL, &c.text, &c.pages, &error), LL_OK);
    assert_non_null(c.text.text);
    for (size_t i = 1; i < c.pages.count; i++)
        assert_true(c.pages.starts[i] >= c.pages.starts[i - 1] && c.pages.starts[i] <= c.text.length);
    return c;
}

static void drop(struct cleaned *c)
{
    strbuf_fini(&c->text);
    page_list_fini(&c->pages);
}

static void page_numbers_and_running_heads_are_left_out(void **state)
{
    (void)state;
    struct strbuf text = {0};
    for (int page = 1; page <= 8; page++)
        strbuf_printf(&text, "A History of Glass\n\nThe text of page number %d stands alone.\n\n- %d -\n\f",
                      page * 31, page);
    struct cleaned c = clean(text.text, true);
    assert_int_equal(c.pages.count, 8);
    assert_null(strstr(c.text.text, "- 2 -"));
    const char *first = strstr(c.text.text, "A History of Glass");
    assert_non_null(first); /* the first one may be the title */
    assert_null(strstr(first + 1, "A History of Glass"));
    assert_non_null(strstr(c.text.text, "number 248 stands"));
    drop(&c);
    strbuf_fini(&text);
}

static void chapter_headings_with_numbers_of_their_own_stay(void **state)
{
    (void)state;
    struct strbuf text = {0};
    for (int page = 1; page <= 9; page++)
        strbuf_printf(&text, "Chapter %d\n\nWords of a short chapter, quite different %d.\n\f", page * page,
                      page * 7919);
    struct cleaned c = clean(text.text, true);
    for (int page = 1; page <= 9; page++) {
        char heading[32];
        snprintf(heading, sizeof heading, "Chapter %d\n", page * page);
        assert_non_null(strstr(c.text.text, heading));
    }
    drop(&c);
    strbuf_fini(&text);
}

static void running_heads_of_one_chapter_are_left_out_after_its_first_page(void **state)
{
    (void)state;
    struct strbuf text = {0};
    for (int page = 0; page < 12; page++)
        strbuf_printf(&text, "%s\n\nBody text %d with its own words.\n\f",
                      page < 6 ? "The Furnace" : "The Mould", page * 911);
    struct cleaned c = clean(text.text, true);
    const char *first = strstr(c.text.text, "The Furnace"), *second = strstr(c.text.text, "The Mould");
    assert_true(first && second);
    assert_null(strstr(first + 1, "The Furnace"));
    assert_null(strstr(second + 1, "The Mould"));
    drop(&c);
    strbuf_fini(&text);
}

static void pages_that_say_nearly_the_same_keep_their_words(void **state)
{
    (void)state;
    struct strbuf text = {0};
    for (int page = 1; page <= 10; page++)
        strbuf_printf(&text,
                      "Page %d tells of keeper number %d.\n\nHe lived in the house of the lamp.\n\n%d\n\f",
                      page, page, page);
    struct cleaned c = clean(text.text, true);
    for (int page = 1; page <= 10; page++) {
        char line[64];
        snprintf(line, sizeof line, "keeper number %d.", page);
        assert_non_null(strstr(c.text.text, line));
    }
    size_t houses = 0;
    for (const char *at = c.text.text; (at = strstr(at, "house of the lamp")); at++)
        houses++;
    assert_int_equal(houses, 10);
    assert_null(strstr(c.text.text, "\n7\n"));
    drop(&c);
    strbuf_fini(&text);
}

static void a_word_broken_at_a_line_end_is_joined(void **state)
{
    (void)state;
    struct cleaned c = clean("The inter-\nnational law of the sea.\n\f", true);
    assert_string_equal(c.text.text, "The international\nlaw of the sea.\n");
    drop(&c);
}

static void a_real_hyphen_stays_when_the_word_stands_elsewhere_with_it(void **state)
{
    (void)state;
    struct cleaned c = clean("A well-known rule.\n\nIt is a well-\nknown rule, they say.\n\f", true);
    assert_non_null(strstr(c.text.text, "a well-known\nrule, they say."));
    drop(&c);
}

static void a_real_hyphen_stays_between_two_words_of_the_document(void **state)
{
    (void)state;
    struct cleaned c =
        clean("The login must work. Any shell will do.\n\nStart a login-\nshell now.\n\f", true);
    assert_non_null(strstr(c.text.text, "login-shell\nnow."));
    drop(&c);
}

static void a_capital_after_a_hyphen_is_no_broken_word(void **state)
{
    (void)state;
    struct cleaned c = clean("They met Anna-\nMaria there.\n\f", true);
    assert_non_null(strstr(c.text.text, "Anna-\nMaria"));
    drop(&c);
}

static void a_word_broken_over_two_pages_is_joined_under_the_footer(void **state)
{
    (void)state;
    struct cleaned c =
        clean("One furn-\n\n7\n\face with fire.\n\n8\n\fMore here.\n\n9\n\fEnd.\n\n10\n\f", true);
    assert_non_null(strstr(c.text.text, "One furnace\nwith fire."));
    assert_int_equal(c.pages.count, 4);
    assert_true(memcmp(c.text.text + c.pages.starts[1], "with", 4) == 0);
    drop(&c);
}

static void a_sentence_that_runs_over_a_page_stays_one_paragraph(void **state)
{
    (void)state;
    struct cleaned c = clean("The glass is heated until\n\fit glows.\n\fThe End follows.\n\f", true);
    assert_non_null(strstr(c.text.text, "heated until\nit glows."));
    assert_non_null(strstr(c.text.text, "it glows.\n\nThe End"));
    assert_true(memcmp(c.text.text + c.pages.starts[1], "it glows", 8) == 0);
    assert_true(memcmp(c.text.text + c.pages.starts[2], "The End", 7) == 0);
    drop(&c);
}

static void ligatures_are_spelt_out_and_soft_hyphens_go(void **state)
{
    (void)state;
    struct cleaned c = clean("The \xEF\xAC\x81rst o\xEF\xAC\x83"
                             "ce, a hy\xC2\xADphen and soft\xC2\xAD\nware.\n\f",
                             true);
    assert_non_null(strstr(c.text.text, "The first office, a hyphen and software."));
    drop(&c);
}

static void blank_pages_are_counted_as_pages(void **state)
{
    (void)state;
    struct cleaned c = clean("One.\n\f\f\fFour.\n\f\f", true);
    assert_int_equal(c.pages.count, 5);
    assert_int_equal(c.pages.letters[1], 0);
    assert_true(memcmp(c.text.text + c.pages.starts[3], "Four.", 5) == 0);
    drop(&c);
}

static void text_with_form_feeds_keeps_its_hyphens(void **state)
{
    (void)state;
    struct cleaned c = clean("Use inter-\nnal words.\n\fMore.\n\f", false);
    assert_non_null(strstr(c.text.text, "inter-\nnal"));
    drop(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(page_numbers_and_running_heads_are_left_out),
        cmocka_unit_test(chapter_headings_with_numbers_of_their_own_stay),
        cmocka_unit_test(running_heads_of_one_chapter_are_left_out_after_its_first_page),
        cmocka_unit_test(pages_that_say_nearly_the_same_keep_their_words),
        cmocka_unit_test(a_word_broken_at_a_line_end_is_joined),
        cmocka_unit_test(a_real_hyphen_stays_when_the_word_stands_elsewhere_with_it),
        cmocka_unit_test(a_real_hyphen_stays_between_two_words_of_the_document),
        cmocka_unit_test(a_capital_after_a_hyphen_is_no_broken_word),
        cmocka_unit_test(a_word_broken_over_two_pages_is_joined_under_the_footer),
        cmocka_unit_test(a_sentence_that_runs_over_a_page_stays_one_paragraph),
        cmocka_unit_test(ligatures_are_spelt_out_and_soft_hyphens_go),
        cmocka_unit_test(blank_pages_are_counted_as_pages),
        cmocka_unit_test(text_with_form_feeds_keeps_its_hyphens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
