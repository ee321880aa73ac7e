/* Tests of document/words, check, guard and claim: which generated sentences may stand.
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/check.h"
#include "document/claim.h"
#include "document/guard.h"
#include "document/toy_llm.h"
#include "readers/words.h"

static const char text[] =
    "In 1845 Anna Weber built a furnace in Lauscha with 12 pots. The glass workers paid her three "
    "thalers a month. Cobalt gives blue glass, and iron gives green glass.";
static const char instruction[] = "Summarize the text above in 3 sentences.";

static enum check_verdict judge(const char *sentence)
{
    struct checker checker = {0};
    float support;
    assert_true(check_load(&checker, text, strlen(text), instruction));
    enum check_verdict verdict = check_sentence(&checker, sentence, strlen(sentence), &support);
    assert_true(support >= 0.0f && support <= 1.0f);
    check_fini(&checker);
    return verdict;
}

static void a_sentence_made_of_the_texts_words_stands(void **state)
{
    (void)state;
    assert_int_equal(judge("Anna Weber built a furnace with 12 pots in 1845."), CHECK_GOOD);
    assert_int_equal(judge("Workers paid 3 thalers a month."), CHECK_GOOD); /* "three" in the text */
    assert_int_equal(judge("Iron gives green glass and cobalt gives blue."), CHECK_GOOD);
}

static void invented_numbers_and_names_do_not_stand(void **state)
{
    (void)state;
    assert_int_equal(judge("Anna Weber built a furnace with 13 pots in 1845."), CHECK_NUMBER);
    assert_int_equal(judge("Anna Weber built a furnace in 1854."), CHECK_NUMBER);
    assert_int_equal(judge("Anna Weber built five furnace pots in Lauscha."), CHECK_NUMBER);
    assert_int_equal(judge("Anna Weber built a furnace in Jena with iron glass."), CHECK_NAME);
}

static void a_verse_or_a_time_is_not_known_from_its_parts(void **state)
{
    (void)state;
    const char verses[] =
        "Chapter 3. 1 The bell rang for the keeper. 12 The keeper rowed to the island at 6:30.";
    struct checker checker = {0};
    float support;
    const char invented[] = "Chapter 3:12: The keeper rowed to the island.";
    const char known[] = "The keeper rowed to the island at 6:30.";
    assert_true(check_load(&checker, verses, strlen(verses), ""));
    assert_int_equal(check_sentence(&checker, invented, strlen(invented), &support), CHECK_NUMBER);
    assert_int_equal(check_sentence(&checker, known, strlen(known), &support), CHECK_GOOD);
    check_fini(&checker);
}

static void sentences_of_other_words_do_not_stand(void **state)
{
    (void)state;
    assert_int_equal(judge("The dragon guarded an ancient castle near the glass furnace."), CHECK_WORDS);
}

static void talk_about_the_text_or_the_assistant_does_not_stand(void **state)
{
    (void)state;
    assert_int_equal(judge("The text says that Anna Weber built a furnace."), CHECK_META);
    assert_int_equal(judge("Here is a furnace Anna Weber built in Lauscha."), CHECK_META);
    assert_int_equal(judge("This passage tells of glass workers, a furnace and blue glass."), CHECK_META);
}

static void echoes_short_bits_and_broken_lines_do_not_stand(void **state)
{
    (void)state;
    assert_int_equal(judge("Glass."), CHECK_SHORT);
    assert_int_not_equal(judge("Summarize the text above in 3 sentences."), CHECK_GOOD);
    assert_int_equal(judge("Cobalt gives (blue glass, and iron gives green glass."), CHECK_BROKEN);
    assert_int_equal(judge("and iron gives green glass to the furnace."), CHECK_BROKEN);
}

static void a_phrase_the_text_uses_itself_is_no_talk_about_it(void **state)
{
    (void)state;
    struct checker checker = {0};
    float support;
    const char own[] = "This document describes a furnace and how the furnace must be heated.";
    assert_true(check_load(&checker, own, strlen(own), instruction));
    const char *sentence = "This document describes how the furnace is heated.";
    assert_int_equal(check_sentence(&checker, sentence, strlen(sentence), &support), CHECK_GOOD);
    check_fini(&checker);
}

static void a_quotation_is_known_as_one(void **state)
{
    (void)state;
    struct checker checker = {0};
    assert_true(check_load(&checker, text, strlen(text), instruction));
    const char *quoted = "Cobalt gives blue glass, and iron\ngives green glass.",
               *own = "Iron gives green glass, cobalt gives blue glass.";
    assert_true(check_is_quoted(&checker, quoted, strlen(quoted)));
    assert_false(check_is_quoted(&checker, own, strlen(own)));
    check_fini(&checker);
}

static void a_claim_is_found_in_the_sentence_it_rests_on(void **state)
{
    (void)state;
    ll_document *d = NULL;
    ll_error error;
    size_t first, last;
    assert_int_equal(ll_document_from_text(text, strlen(text), NULL, &d, &error), LL_OK);
    const char *claim = "Iron makes green glass.";
    check_locate(d, 0, strlen(text), claim, strlen(claim), &first, &last);
    assert_int_equal(strncmp(text + first, "Cobalt gives", 12), 0);
    assert_int_equal(last, strlen(text));
    ll_document_close(d);
}

static void equal_sentences_repeat_each_other_and_different_ones_do_not(void **state)
{
    (void)state;
    const char *a = "The furnace is heated for ten hours before the glass is poured out.",
               *b = "The furnace is  heated for ten hours, before the glass is poured out!",
               *c = "Iron gives green glass to all.";
    assert_true(claim_repeats(a, strlen(a), b, strlen(b)));
    assert_false(claim_repeats(a, strlen(a), c, strlen(c)));
}

static void a_sentence_said_again_with_an_addition_overlaps(void **state)
{
    (void)state;
    const char *a = "You must inform recipients that you have created the source form.",
               *b = "This licence is kept, and you must inform recipients that you have created it all.";
    assert_false(claim_repeats(a, strlen(a), b, strlen(b)));
    assert_true(claim_overlaps(a, strlen(a), b, strlen(b)));
    assert_false(claim_overlaps(a, strlen(a), text, strlen(text)));
}

static void words_are_folded_and_stemmed(void **state)
{
    (void)state;
    struct word a = {0}, b = {0};
    struct words walk = words_of("Licences", 8);
    assert_true(words_next(&walk, &a));
    walk = words_of("licence,", 8);
    assert_true(words_next(&walk, &b));
    assert_int_equal(a.hash, b.hash);
    assert_true(a.exact != b.exact);
    assert_false(words_next(&walk, &b));
    assert_int_equal(words_count("3.14 is pi; don't well-known 日本", 36), 7);
}

/* ---- guard ----------------------------------------------------------------------------------- */

/* How many tokens pass before the guard stops, SIZE_MAX when it never does. */
static size_t tokens_until_stop(const char *output)
{
    struct toy toy = {0};
    struct llm llm = toy_llm(&toy, 1, 8192);
    struct token_list list = {0};
    struct guard guard = {0};
    size_t stopped = SIZE_MAX;
    assert_int_equal(toy_encode_text(NULL, output, strlen(output), &list, NULL), LL_OK);
    for (size_t i = 1; i <= list.count && stopped == SIZE_MAX; i++)
        if (guard_add(&guard, &llm, list.ids, i))
            stopped = i;
    token_list_fini(&list);
    guard_fini(&guard);
    return stopped;
}

static void a_loop_is_stopped_in_its_third_round_from_the_first_token_on(void **state)
{
    (void)state;
    assert_true(tokens_until_stop(" max max max max max max") <= 12);
    assert_true(tokens_until_stop("It is clear and clear and clear and clear and clear and clear") < 20);
}

static void a_repeated_sentence_is_stopped_whatever_its_length(void **state)
{
    (void)state;
    struct strbuf output = {0};
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 60; i++)
            strbuf_printf(&output, "%sword%d", i ? " " : "It has ", i * 7919);
        strbuf_puts(&output, ". ");
    }
    assert_true(tokens_until_stop(output.text) != SIZE_MAX);
    strbuf_fini(&output);
}

static void numbers_and_ordinary_prose_pass(void **state)
{
    (void)state;
    assert_int_equal(tokens_until_stop("They paid 1000000 thalers for 3,000 pots ... and left."), SIZE_MAX);
    assert_int_equal(tokens_until_stop(text), SIZE_MAX);
    assert_int_equal(tokens_until_stop("GNU LZ77 is in GNU LZ77 code, and the GNU LZ77 name is kept."),
                     SIZE_MAX);
}

static void a_sentence_that_says_the_same_twice_is_broken(void **state)
{
    (void)state;
    static const char source[] =
        "A product is a consumer product when it is used at home, regardless of its other uses.";
    struct checker checker = {0};
    float support;
    assert_true(check_load(&checker, source, strlen(source), ""));
    const char *twice = "A product is a consumer product but also a consumer product at home.";
    assert_int_equal(check_sentence(&checker, twice, strlen(twice), &support), CHECK_BROKEN);
    const char *once = "A product is a consumer product when used at home.";
    assert_int_equal(check_sentence(&checker, once, strlen(once), &support), CHECK_GOOD);
    check_fini(&checker);
}

static void a_claim_must_rest_on_one_place_and_deny_what_it_denies(void **state)
{
    (void)state;
    static const char denied[] =
        "You may not charge a fee for the licence or for any right granted under it.";
    static const char allowed[] = "You may charge a fee for each copy that you convey to others.";
    const char *claim = "You may charge a fee for the licence.",
               *not = "You may not charge a fee for each copy.";
    assert_false(check_rests_on(denied, strlen(denied), claim, strlen(claim)));
    assert_true(check_rests_on(allowed, strlen(allowed), "You may charge a fee for each copy.", 35));
    assert_false(check_rests_on(allowed, strlen(allowed), not, strlen(not )));
    const char *mixed = "The patent holder conveys warranty damages to the installation.";
    assert_false(check_rests_on(allowed, strlen(allowed), mixed, strlen(mixed)));
}

/* All words but one are right, and it is the one that the sentence speaks of. */
static void a_claim_must_speak_of_what_its_text_speaks_of(void **state)
{
    (void)state;
    static const char stated[] =
        "A larger work is one that combines covered software with other material in a separate file.";
    const char *right = "A larger work combines covered software with other material in a separate file.",
               *wrong = "This document combines covered software with other material in a separate file.";
    assert_true(check_rests_on(stated, strlen(stated), right, strlen(right)));
    assert_false(check_rests_on(stated, strlen(stated), wrong, strlen(wrong)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sentence_made_of_the_texts_words_stands),
        cmocka_unit_test(invented_numbers_and_names_do_not_stand),
        cmocka_unit_test(a_verse_or_a_time_is_not_known_from_its_parts),
        cmocka_unit_test(sentences_of_other_words_do_not_stand),
        cmocka_unit_test(talk_about_the_text_or_the_assistant_does_not_stand),
        cmocka_unit_test(echoes_short_bits_and_broken_lines_do_not_stand),
        cmocka_unit_test(a_phrase_the_text_uses_itself_is_no_talk_about_it),
        cmocka_unit_test(a_quotation_is_known_as_one),
        cmocka_unit_test(a_claim_is_found_in_the_sentence_it_rests_on),
        cmocka_unit_test(equal_sentences_repeat_each_other_and_different_ones_do_not),
        cmocka_unit_test(a_sentence_said_again_with_an_addition_overlaps),
        cmocka_unit_test(words_are_folded_and_stemmed),
        cmocka_unit_test(a_loop_is_stopped_in_its_third_round_from_the_first_token_on),
        cmocka_unit_test(a_repeated_sentence_is_stopped_whatever_its_length),
        cmocka_unit_test(numbers_and_ordinary_prose_pass),
        cmocka_unit_test(a_sentence_that_says_the_same_twice_is_broken),
        cmocka_unit_test(a_claim_must_speak_of_what_its_text_speaks_of),
        cmocka_unit_test(a_claim_must_rest_on_one_place_and_deny_what_it_denies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
