/* Tests of document/figures and document/proof: numbers and names must stand in the sentences that are cited.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "document/figures.h"
#include "document/proof.h"
#include "unit.h"

/* ---- numbers ---------------------------------------------------------------------------------- */

static uint64_t only_key(const char *text)
{
    struct figure figures[4];
    size_t count = figures_list(text, strlen(text), figures, 4);
    if (count != 1)
        fail_msg("%zu numbers in “%s”", count, text);
    return figures[0].key;
}

static void a_number_is_the_same_in_digits_and_in_words(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"twelve", "12"},
        {"Twenty-five", "25"},
        {"twenty five", "25"},
        {"one hundred", "100"},
        {"two hundred and five", "205"},
        {"three thousand four hundred", "3,400"},
        {"3 million", "3,000,000"},
        {"3.5 million", "3500000"},
        {"nineteen eighty-four", "1984"},
        {"a dozen", "12"},
        {"the 3rd", "the third"},
        {"1,200", "1200"},
        {"07", "seven"},
        {"two thousand", "2000"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (only_key(pairs[i][0]) != only_key(pairs[i][1]))
            fail_msg("“%s” is not “%s”", pairs[i][0], pairs[i][1]);
}

static void random_numbers_are_known_in_words(void **state)
{
    (void)state;
    static const char *const small[] = {"zero",    "one",     "two",       "three",    "four",
                                        "five",    "six",     "seven",     "eight",    "nine",
                                        "ten",     "eleven",  "twelve",    "thirteen", "fourteen",
                                        "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
    static const char *const tens[] = {"",      "",      "twenty",  "thirty", "forty",
                                       "fifty", "sixty", "seventy", "eighty", "ninety"};
    unit_seed();
    for (size_t round = 0; round < unit_rounds(400); round++) {
        size_t n = 20 + unit_below(9979), rest = n % 100;
        char words[120] = "", digits[20];
        size_t used = 0;
        if (n >= 1000)
            used += (size_t)snprintf(words + used, sizeof words - used, "%s thousand ", small[n / 1000]);
        if (n / 100 % 10)
            used += (size_t)snprintf(words + used, sizeof words - used, "%s hundred ", small[n / 100 % 10]);
        if (rest && n >= 100 && unit_below(2))
            used += (size_t)snprintf(words + used, sizeof words - used, "and ");
        if (rest >= 20)
            used += (size_t)snprintf(words + used, sizeof words - used, rest % 10 ? "%s-%s" : "%s",
                                     tens[rest / 10], small[rest % 10]);
        else if (rest)
            snprintf(words + used, sizeof words - used, "%s", small[rest]);
        snprintf(digits, sizeof digits, "%zu", n);
        if (only_key(words) != only_key(digits))
            fail_msg("“%s” is not %s", words, digits);
    }
}

static void different_numbers_stay_apart(void **state)
{
    (void)state;
    assert_true(only_key("12") != only_key("13"));
    assert_true(only_key("6:30") != only_key("630"));
    assert_true(only_key("3 million") != only_key("3"));
    struct figure figures[8];
    assert_int_equal(figures_list("two, three and 20 five", 22, figures, 8), 4);
    assert_int_equal(figures_list("SHA256 of 1-64", 14, figures, 8), 3);
    assert_int_equal(figures_list("one of them", 11, figures, 8), 1);
    assert_true(figures[0].weak);
    assert_int_equal(figures_list("no number here", 14, figures, 8), 0);
}

/* ---- proof ------------------------------------------------------------------------------------ */

static const char minutes[] =
    "Present were Maria Lund, Peter Osei and twelve other members. The club decided to spend 340 pounds on a "
    "new "
    "greenhouse. Peter Osei will order the glass from Brandt and Sons before 20 May.\n\n"
    "Maria Lund reported that the plant sale brought in 812 pounds, which is 95 pounds more than last year. "
    "The money "
    "goes to the school garden. She thanked the 40 workers of the bakery.\n";

static bool borne(const char *claim, struct proof *ret)
{
    ll_document *d = NULL;
    ll_error error = {0};
    if (ll_document_from_text(minutes, sizeof minutes - 1, NULL, &d, &error) != LL_OK)
        fail_msg("%s", error.text);
    proof_find(d, 0, sizeof minutes - 1, claim, strlen(claim), false, ret);
    ll_document_close(d);
    return ret->borne;
}

static void a_claim_is_borne_out_by_the_sentences_it_cites(void **state)
{
    (void)state;
    static const char *const true_ones[] = {
        "The club will spend 340 pounds on a greenhouse.",
        "The plant sale brought in 812 pounds.",
        "There were 12 other members present.",
        "Peter Osei orders glass from Brandt before 20 May.",
        "Maria Lund thanked the forty workers of the bakery.", /* "She" in the sentence itself */
    };
    struct proof proof;
    for (size_t i = 0; i < sizeof true_ones / sizeof true_ones[0]; i++)
        if (!borne(true_ones[i], &proof))
            fail_msg("“%s”: “%.*s” is not found", true_ones[i],
                     (int)(proof.absent_last - proof.absent_first),
                     true_ones[i] + proof.absent_first);
}

static void a_number_of_another_sentence_bears_nothing_out(void **state)
{
    (void)state;
    static const struct {
        const char *claim, *absent;
    } false_ones[] = {
        {"The club decided to spend 95 pounds more than last year.", "95"},
        {"The club decided to spend 812 pounds on a new greenhouse.", "812"},
        {"The plant sale brought in 95 pounds.", "95"},
        {"The plant sale brought in ninety-five pounds.", "ninety-five"},
        {"There were 40 other members present.", "40"},
        {"Present were thirteen other members.", "thirteen"},
    };
    struct proof proof;
    for (size_t i = 0; i < sizeof false_ones / sizeof false_ones[0]; i++) {
        const char *claim = false_ones[i].claim;
        if (borne(claim, &proof))
            fail_msg("“%s” is taken for true", claim);
        assert_int_equal(proof.absent_last - proof.absent_first, strlen(false_ones[i].absent));
        assert_memory_equal(claim + proof.absent_first, false_ones[i].absent, strlen(false_ones[i].absent));
    }
}

static void a_name_of_another_sentence_bears_nothing_out(void **state)
{
    (void)state;
    struct proof proof;
    assert_false(borne("The greenhouse glass is ordered by Maria Lund.", &proof));
    assert_false(borne("The plant sale of Peter Osei brought in 812 pounds.", &proof));
    assert_true(borne("The plant sale of Maria Lund brought in 812 pounds.", &proof));
}

static void a_text_cited_as_a_whole_is_held_against_its_claim(void **state)
{
    (void)state;
    const char *text = "Anna Weber built a furnace with twelve pots in 1845.";
    size_t first, last;
    assert_true(proof_holds(text, strlen(text), "The furnace of Weber had 12 pots.", 33, &first, &last));
    assert_false(proof_holds(text, strlen(text), "The furnace of Weber had 13 pots.", 33, &first, &last));
    assert_int_equal(last - first, 2);
    assert_false(proof_holds(text, strlen(text), "The furnace of Merlin had 12 pots.", 34, &first, &last));
    assert_int_equal(last - first, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_is_the_same_in_digits_and_in_words),
        cmocka_unit_test(random_numbers_are_known_in_words),
        cmocka_unit_test(different_numbers_stay_apart),
        cmocka_unit_test(a_claim_is_borne_out_by_the_sentences_it_cites),
        cmocka_unit_test(a_number_of_another_sentence_bears_nothing_out),
        cmocka_unit_test(a_name_of_another_sentence_bears_nothing_out),
        cmocka_unit_test(a_text_cited_as_a_whole_is_held_against_its_claim),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
