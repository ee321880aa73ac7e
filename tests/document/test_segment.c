/* Tests of document/segment, sentence, heading and outline: what a reader would call a heading or a sentence.
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/document.h"
#include "document/sentence.h"
#include "unit.h"

static ll_document *open_text(const char *text, const char *kind)
{
    ll_document *document = NULL;
    ll_error error = {0};
    ll_document_options options;
    ll_document_options_init(&options);
    options.kind = kind;
    if (ll_document_from_text(text, strlen(text), &options, &document, &error) != LL_OK)
        fail_msg("%s", error.text);
    return document;
}

/* Sentences of prose, joined with bars. */
static void expect_sentences(const char *text, const char *wanted)
{
    ll_document *d = open_text(text, "text");
    struct strbuf got = {0};
    for (size_t i = 0; i < d->sentence_count; i++) {
        if (i)
            strbuf_putc(&got, '|');
        strbuf_append(&got, d->text.text + d->sentences[i].first,
                      d->sentences[i].last - d->sentences[i].first);
    }
    assert_string_equal(strbuf_text(&got), wanted);
    strbuf_fini(&got);
    ll_document_close(d);
}

static void sentences_end_at_terminators_before_capitals(void **state)
{
    (void)state;
    expect_sentences("It rains. We stay! Why? Because.", "It rains.|We stay!|Why?|Because.");
    expect_sentences("He said \"Go.\" She went.", "He said \"Go.\"|She went.");
    expect_sentences("It ended... nobody knew. True.", "It ended... nobody knew.|True.");
}

static void abbreviations_initials_and_numbers_do_not_end_sentences(void **state)
{
    (void)state;
    expect_sentences("Mr. Smith met Dr. J. R. Jones at 3.15 p.m. on Feb. 3. They left.",
                     "Mr. Smith met Dr. J. R. Jones at 3.15 p.m. on Feb. 3.|They left.");
    expect_sentences("See Fig. 3 and Sec. 4. Version 2.0 is out.",
                     "See Fig. 3 and Sec. 4.|Version 2.0 is out.");
    expect_sentences("Fruit, e.g. Apples, is good. Yes.", "Fruit, e.g. Apples, is good.|Yes.");
}

static void wide_stops_end_sentences_without_a_blank(void **state)
{
    (void)state;
    expect_sentences("今日は雨です。明日は晴れます！本当？", "今日は雨です。|明日は晴れます！|本当？");
}

static void list_items_are_sentences(void **state)
{
    (void)state;
    expect_sentences("Bring:\n- water\n- bread and salt\n2) shoes",
                     "Bring:|- water|- bread and salt|2) shoes");
}

/* Wrapped prose, verses and Markdown's soft line ends are no lists. */
static void each_line_of_a_plain_list_is_a_sentence(void **state)
{
    (void)state;
    expect_sentences("Rent April 900 euros\nRent May 950 euros\nWater 80 euros",
                     "Rent April 900 euros|Rent May 950 euros|Water 80 euros");
    expect_sentences("From: Anna\nTo: Bert\n\nThe kiln is\nBuilt of brick.",
                     "From: Anna|To: Bert|The kiln is\nBuilt of brick.");
    expect_sentences("A furnace that is never let out\nand burns for years",
                     "A furnace that is never let out\nand burns for years");
    expect_sentences("The sea is calm to-night,\nThe tide is full",
                     "The sea is calm to-night,\nThe tide is full");
}

static void a_sentence_without_end_is_cut_at_whole_characters(void **state)
{
    (void)state;
    struct strbuf text = {0};
    for (int i = 0; i < 3000; i++)
        strbuf_puts(&text, i % 3 ? "e\xCC\x81" : "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7");
    ll_document *d = open_text(text.text, "text");
    assert_true(d->sentence_count > 10);
    for (size_t i = 0; i < d->sentence_count; i++) {
        const struct doc_sentence *s = &d->sentences[i];
        assert_true(s->last - s->first <= SENTENCE_MAX);
        assert_true(i == 0 || s->first == d->sentences[i - 1].last);
        assert_false(memcmp(d->text.text + s->first, "\xCC\x81", 2) == 0);     /* no accent torn off */
        assert_false(memcmp(d->text.text + s->first, "\xE2\x80\x8D", 3) == 0); /* no joiner torn off */
    }
    ll_document_close(d);
    strbuf_fini(&text);
}

static void bullets_and_numbers_before_a_sentence_are_told_from_its_words(void **state)
{
    (void)state;
    static const char *const same[] = {
        "Words here.",     "- Words here.",  "  * Words here.",         "3.2.1. Words here.",
        "(a) Words here.", "2) Words here.", "\xE2\x80\xA2 Words here."};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        assert_string_equal(same[i] + sentence_marker(same[i], strlen(same[i])), "Words here.");
    assert_int_equal(sentence_marker("1984 was a year.", 16), 0);
    assert_int_equal(sentence_marker("3.14 is near pi.", 16), 0);
    assert_int_equal(sentence_marker("(We left.)", 10), 0);
}

struct wanted {
    int level;
    const char *title;
};

static void expect_sections(const char *text, const char *kind, const struct wanted *wanted, size_t count)
{
    ll_document *d = open_text(text, kind);
    ll_document_info info;
    ll_section section, root;
    assert_int_equal(ll_document_get_info(d, &info), LL_OK);
    for (size_t i = 0; i < info.sections && i < count; i++) {
        assert_int_equal(ll_document_get_section(d, i, &section), LL_OK);
        assert_string_equal(section.title, wanted[i].title);
        assert_int_equal(section.level, wanted[i].level);
    }
    assert_int_equal(info.sections, count);
    assert_int_equal(ll_document_get_section(d, 0, &root), LL_OK);
    assert_int_equal(root.first_byte, 0);
    assert_int_equal(root.last_byte, info.bytes);
    assert_int_equal(ll_document_get_section(d, info.sections, &section), LL_NOT_FOUND);
    ll_document_close(d);
}

static void markdown_headings_nest_by_their_marks(void **state)
{
    (void)state;
    const struct wanted wanted[] = {{1, "Glass"}, {2, "Sand"}, {3, "Where it lies"}, {2, "Fire"}};
    expect_sections(
        "# Glass\n\nIntro.\n\n## Sand\nText.\n### Where it lies ###\nText.\n\nFire\n----\n\nText.\n", NULL,
        wanted, 4);
}

static void marks_inside_a_fence_are_no_headings(void **state)
{
    (void)state;
    const struct wanted wanted[] = {{1, "Guide"}, {2, "Use"}};
    expect_sections("# Guide\n\nHi.\n\n## Use\n\n```\n# not a heading\n\n## nor this\n```\n\nEnd.\n", NULL,
                    wanted, 2);
}

static void an_unclosed_fence_does_not_swallow_the_headings_after_it(void **state)
{
    (void)state;
    const struct wanted wanted[] = {{1, "Guide"}, {2, "One"}, {2, "Two"}};
    expect_sections("# Guide\n\n## One\n\n```\ncode\n\n## Two\n\nEnd.\n", NULL, wanted, 3);
}

static void numbered_and_capital_headings_of_plain_text_are_found(void **state)
{
    (void)state;
    const struct wanted wanted[] = {
        {1, "THE GLASS RULES"}, {2, "1. Terms"}, {3, "1.1. The Furnace"}, {2, "2. Duties of the Blower."}};
    expect_sections(
        "                THE GLASS RULES\n\nAll follow them.\n\n1. Terms\n\nText one.\n\n1.1. The Furnace\n\n"
        "Text two.\n\n  2. Duties of the Blower.\n\nText three.\n",
        NULL, wanted, 4);
}

static void chapters_of_a_book_are_found_with_their_titles(void **state)
{
    (void)state;
    const struct wanted wanted[] = {
        {1, "the text given"}, {2, "CHAPTER I. Down the Well"}, {2, "CHAPTER II. The Pool"}};
    expect_sections(
        "CHAPTER I.\nDown the Well\n\nShe fell. It was deep.\n\nCHAPTER II.\nThe Pool\n\nShe swam.\n", NULL,
        wanted, 3);
}

static void underlined_titles_of_plain_text_are_headings(void **state)
{
    (void)state;
    const struct wanted wanted[] = {{1, "Glass Licence"}, {2, "1. Grants"}, {3, "1.1. Use"}, {2, "2. End"}};
    expect_sections("Glass Licence\n=============\n\n1. Grants\n---------\n\n1.1. Use\n\nText.\n\n2. "
                    "End\n------\n\nText.\n",
                    NULL, wanted, 4);
}

static void list_items_and_sentences_are_no_headings(void **state)
{
    (void)state;
    const struct wanted wanted[] = {{1, "the text given"}};
    expect_sections(
        "We went out and it was a long day for all of us there.\n\n1. Press the red button twice.\n\n2. "
        "Wait until the lamp goes out, then open the door.\n\nIT WAS LATE, SO WE LEFT.\n\nGood.\n",
        NULL, wanted, 1);
}

static void a_contents_list_makes_no_sections(void **state)
{
    (void)state;
    struct strbuf text = {0};
    strbuf_puts(&text, "A long book about glass and nothing else in the world, in parts.\n\n");
    for (int i = 1; i <= 12; i++)
        strbuf_printf(&text, "CHAPTER %d\n\n", i);
    for (int i = 1; i <= 12; i++)
        strbuf_printf(&text, "CHAPTER %d\n\nThe body of this chapter.\n\n", i);
    ll_document *d = open_text(text.text, NULL);
    assert_int_equal(d->section_count, 13);
    size_t contents = 0;
    for (size_t i = 0; i < d->paragraph_count; i++)
        contents += d->paragraphs[i].kind == PARAGRAPH_CONTENTS;
    assert_int_equal(contents, 12);
    ll_document_close(d);
    strbuf_fini(&text);
}

static void every_span_lies_in_the_text_and_in_order(void **state)
{
    (void)state;
    static const char *const bits[] = {"Word ",        "end. ",     "\n", "\n\n", "# T\n",  "```\n",
                                       "1. Head\n\n",  "TITLE\n\n", "é",  "。",   "- it\n", "===\n",
                                       "CHAPTER IV\n", "\f",        "x",  "( ",   "\"",     " ...\n"};
    unit_seed();
    for (size_t round = 0; round < unit_rounds(300); round++) {
        struct strbuf text = {0};
        strbuf_puts(&text, "a");
        for (size_t i = unit_below(200); i > 0; i--)
            strbuf_puts(&text, bits[unit_below(sizeof bits / sizeof bits[0])]);
        ll_document *d = open_text(text.text, unit_below(2) ? NULL : "markdown");
        size_t at = 0;
        for (size_t i = 0; i < d->sentence_count; i++) {
            const struct doc_sentence *s = &d->sentences[i];
            const struct doc_paragraph *p = &d->paragraphs[s->paragraph];
            for (; at < s->first; at++)
                assert_non_null(strchr(" \t\n", d->text.text[at])); /* only blanks stand between sentences */
            assert_true(s->last > s->first && s->first >= p->first && s->last <= p->last);
            const struct doc_section *section = &d->sections[p->section];
            assert_true(section->first <= s->first && s->last <= section->last);
            at = s->last;
        }
        for (; at < d->text.length; at++)
            assert_non_null(strchr(" \t\n", d->text.text[at]));
        ll_document_close(d);
        strbuf_fini(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentences_end_at_terminators_before_capitals),
        cmocka_unit_test(abbreviations_initials_and_numbers_do_not_end_sentences),
        cmocka_unit_test(wide_stops_end_sentences_without_a_blank),
        cmocka_unit_test(list_items_are_sentences),
        cmocka_unit_test(each_line_of_a_plain_list_is_a_sentence),
        cmocka_unit_test(a_sentence_without_end_is_cut_at_whole_characters),
        cmocka_unit_test(bullets_and_numbers_before_a_sentence_are_told_from_its_words),
        cmocka_unit_test(markdown_headings_nest_by_their_marks),
        cmocka_unit_test(marks_inside_a_fence_are_no_headings),
        cmocka_unit_test(an_unclosed_fence_does_not_swallow_the_headings_after_it),
        cmocka_unit_test(numbered_and_capital_headings_of_plain_text_are_found),
        cmocka_unit_test(chapters_of_a_book_are_found_with_their_titles),
        cmocka_unit_test(underlined_titles_of_plain_text_are_headings),
        cmocka_unit_test(list_items_and_sentences_are_no_headings),
        cmocka_unit_test(a_contents_list_makes_no_sections),
        cmocka_unit_test(every_span_lies_in_the_text_and_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
