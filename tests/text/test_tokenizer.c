/* Tokenizers from small and hostile vocabularies: what is refused, what is kept, what comes back.
 * SPDX-License-Identifier: Apache-2.0 */
#include "text/made_vocabulary.h"

/* ---- what is refused ------------------------------------------------------------------------ */

static void a_tokenizer_of_another_kind_is_named(void **state)
{
    (void)state;
    struct made made = bpe();
    made.model = "be\x1brt";
    refused(made, LL_UNSUPPORTED, "\"be^[rt\"");
    made.model = NULL;
    refused(made, LL_UNSUPPORTED, "no tokenizer");
}

static void an_unknown_pre_tokenizer_is_named(void **state)
{
    (void)state;
    struct made made = bpe();
    made.pre = "tomorrow-7b";
    refused(made, LL_UNSUPPORTED, "tomorrow-7b");
}

static void a_missing_pre_tokenizer_is_taken_as_default_and_noted(void **state)
{
    (void)state;
    struct made made = bpe(), named = bpe();
    made.pre = NULL;
    opens(&made);
    opens(&named);
    assert_string_equal(tokenizer_name(made.tokenizer), "bpe default");
    assert_non_null(tokenizer_note(made.tokenizer));
    assert_null(tokenizer_note(named.tokenizer));
    close_made(&made);
    close_made(&named);
}

static void an_empty_vocabulary_is_refused(void **state)
{
    (void)state;
    struct made made = bpe();
    made.count = made.kind_count = made.score_count = 0;
    refused(made, LL_FORMAT, "tokenizer.ggml.tokens");
}

static void arrays_of_another_length_are_refused(void **state)
{
    (void)state;
    struct made made = bpe();
    made.kind_count--;
    refused(made, LL_FORMAT, "token_type has 260");
    made = spm();
    made.score_count = 5;
    refused(made, LL_FORMAT, "scores has 5");
    made.score_count = 0;
    refused(made, LL_FORMAT, "needs tokenizer.ggml.scores");
}

static void arrays_of_another_element_type_are_refused(void **state)
{
    (void)state;
    struct made made = bpe();
    made.kinds_are_floats = true;
    refused(made, LL_FORMAT, "token_type");
}

static void a_score_that_is_no_number_is_refused(void **state)
{
    (void)state;
    struct made made = spm();
    made.scores[7] = NAN;
    refused(made, LL_FORMAT, "token 7");
}

static void a_kind_outside_the_list_is_refused(void **state)
{
    (void)state;
    struct made made = bpe();
    made.kinds[3] = 7;
    refused(made, LL_FORMAT, "token 3");
    made.kinds[3] = -1;
    refused(made, LL_FORMAT, "token 3");
}

static void special_ids_outside_the_vocabulary_are_refused(void **state)
{
    (void)state;
    static const char *const keys[] = {"bos_token_id", "eos_token_id", "unknown_token_id", "eot_token_id",
                                       "eom_token_id"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char key[64];
        struct made made = i % 2 ? spm() : bpe();
        snprintf(key, sizeof key, "tokenizer.ggml.%s", keys[i]);
        made.id_key = key;
        made.id = (uint32_t)made.count;
        refused(made, LL_FORMAT, key);
    }
}

static void byte_tokens_are_two_hexadecimal_digits_and_nothing_else(void **state)
{
    (void)state;
    static const char *const wrong[] = {"<0x-1>",  "<0x+1>", "<0x 1>", "<0x1>",
                                        "<0x001>", "<0xG0>", "<0X41>", "0x41>"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct made made = spm();
        add(&made, wrong[i], TOKEN_BYTE);
        refused(made, LL_FORMAT, "byte token");
    }
}

static void merges_must_name_two_tokens_that_make_a_third(void **state)
{
    (void)state;
    struct made made = bpe();
    made.merges[1] = "abc";
    refused(made, LL_FORMAT, "entry 1");
    made.merges[1] = "a zz";
    refused(made, LL_FORMAT, "entry 1");
    made.merges[1] = "a c";
    refused(made, LL_FORMAT, "entry 1");
    made.merge_count = 0;
    refused(made, LL_FORMAT, "needs tokenizer.ggml.merges");
}

static void a_start_token_that_is_asked_for_must_be_named(void **state)
{
    (void)state;
    struct made made = bpe();
    made.flag_key = "tokenizer.ggml.add_bos_token";
    made.flag = true;
    refused(made, LL_FORMAT, "add_bos_token");
}

static void text_of_half_a_gigabyte_is_refused(void **state)
{
    (void)state;
    struct made made = bpe();
    struct token_list ids = {0};
    ll_error error;
    opens(&made);
    assert_int_equal(tokenizer_encode(made.tokenizer, "", (size_t)1 << 29, 0, &ids, &error), LL_ARGUMENT);
    close_made(&made);
}

/* ---- special tokens ------------------------------------------------------------------------- */

static void absent_ids_mean_none_in_byte_level_vocabularies(void **state)
{
    (void)state;
    struct made made = bpe();
    opens(&made);
    assert_int_equal(tokenizer_bos(made.tokenizer), -1);
    assert_int_equal(tokenizer_eos(made.tokenizer), -1);
    assert_false(tokenizer_adds_bos(made.tokenizer));
    gives(&made, "abc", TOKENIZE_START, "257");
    close_made(&made);
}

static void sentencepiece_finds_its_absent_ids_by_spelling(void **state)
{
    (void)state;
    struct made made = spm();
    opens(&made);
    assert_int_equal(tokenizer_bos(made.tokenizer), 1);
    assert_int_equal(tokenizer_eos(made.tokenizer), 2);
    gives(&made, "ab", TOKENIZE_START, "1 264");
    gives(&made, "ab", 0, "263");
    close_made(&made);
}

static void llama_bpe_adds_bos_when_the_file_does_not_say(void **state)
{
    (void)state;
    struct made made = bpe();
    made.pre = "llama-bpe";
    made.id_key = "tokenizer.ggml.bos_token_id";
    made.id = 258;
    opens(&made);
    assert_true(tokenizer_adds_bos(made.tokenizer));
    gives(&made, "abc", TOKENIZE_START, "258 257");
    gives(&made, "abc", 0, "257");
    gives(&made, "<|im_end|>abc", TOKENIZE_START | TOKENIZE_SPECIAL, "258 257");
    close_made(&made);
}

static void control_tokens_in_a_text_stay_text_unless_asked_for(void **state)
{
    (void)state;
    struct made made = bpe();
    opens(&made);
    struct token_list ids = encoded(&made, "abc<|im_end|>", 13, 0);
    for (size_t i = 0; i < ids.count; i++)
        assert_true(tokenizer_kind(made.tokenizer, ids.ids[i]) != TOKEN_CONTROL);
    token_list_fini(&ids);
    comes_back(made.tokenizer, "abc<|im_end|>", 13);
    gives(&made, "abc<|im_end|><|im_end|>ab", TOKENIZE_SPECIAL, "257 258 258 256");
    close_made(&made);
}

static void added_tokens_are_found_without_asking_longest_first(void **state)
{
    (void)state;
    struct made made = bpe();
    opens(&made);
    gives(&made, "ab<tag>abc<tag>s<tag>", 0, "256 259 257 260 259");
    gives(&made, "<<tag>", 0, "60 259");
    gives(&made, "<tag", 0, "60 116 97 103");
    close_made(&made);
}

static void merges_into_a_control_token_are_never_made(void **state)
{
    (void)state;
    struct made made = bpe();
    made.kinds[257] = TOKEN_CONTROL;
    opens(&made);
    gives(&made, "abc", 0, "256 99");
    gives(&made, "abc", TOKENIZE_SPECIAL, "257");
    close_made(&made);
}

static void sentencepiece_text_never_becomes_control_or_byte_tokens(void **state)
{
    (void)state;
    struct made made = spm();
    opens(&made);
    comes_back(made.tokenizer, "<s></s><unk><0x41>", 18);
    gives(&made, "<s>ab", TOKENIZE_SPECIAL, "1 263");
    gives(&made, "<s>ab", TOKENIZE_SPECIAL | TOKENIZE_START, "1 263");
    close_made(&made);
}

static void unused_pieces_are_split_into_what_they_came_from(void **state)
{
    (void)state;
    struct made made = spm();
    add(&made, "abcc", TOKEN_NORMAL);
    made.kinds[263] = TOKEN_UNUSED; /* ab */
    made.kinds[265] = TOKEN_UNUSED; /* abc */
    opens(&made);
    gives(&made, "ab", 0, "260 261");
    gives(&made, "abc", 0, "260 261 262");
    gives(&made, "abcc", 0, "266");
    close_made(&made);
}

static void ends_are_known_by_key_and_by_spelling(void **state)
{
    (void)state;
    struct made made = bpe();
    made.id_key = "tokenizer.ggml.eot_token_id";
    made.id = 257;
    opens(&made);
    assert_true(tokenizer_is_end(made.tokenizer, 257));
    assert_true(tokenizer_is_end(made.tokenizer, 258));
    assert_false(tokenizer_is_end(made.tokenizer, 256));
    assert_false(tokenizer_is_end(made.tokenizer, -1));
    close_made(&made);
}

static void ids_out_of_range_have_no_piece(void **state)
{
    (void)state;
    struct made made = bpe();
    size_t length;
    opens(&made);
    assert_null(tokenizer_piece(made.tokenizer, -1, &length));
    assert_null(tokenizer_piece(made.tokenizer, (ll_token)made.count, &length));
    assert_null(tokenizer_spelling(made.tokenizer, INT32_MAX, &length));
    assert_non_null(tokenizer_piece(made.tokenizer, 258, &length));
    assert_int_equal(length, 0);
    assert_int_equal(tokenizer_find(made.tokenizer, "<|im_end|>", 10), 258);
    assert_int_equal(tokenizer_find(made.tokenizer, "<|im_end|", 9), -1);
    close_made(&made);
}

/* ---- round trips ---------------------------------------------------------------------------- */

static void any_bytes_come_back_from_byte_level_tokens(void **state)
{
    (void)state;
    static const char *const rules[] = {"gpt-2",   "smollm",     "llama-bpe",    "bloom",       "falcon",
                                        "default", "starcoder",  "deepseek-llm", "deepseek-v3", "tekken",
                                        "gpt-4o",  "bailingmoe", "viking"};
    for (size_t rule = 0; rule < sizeof rules / sizeof *rules; rule++) {
        struct made made = bpe();
        made.pre = rules[rule];
        any_bytes_come_back(&made, unit_rounds(400));
    }
}

static void any_bytes_come_back_from_sentencepiece_tokens(void **state)
{
    (void)state;
    struct made made = spm();
    any_bytes_come_back(&made, unit_rounds(1000));
}

static void bytes_that_no_token_spells_are_shown_as_broken(void **state)
{
    (void)state;
    struct made made = bpe();
    made.kinds[7] = TOKEN_CONTROL; /* byte 07 has no token for text now */
    made.kinds[0xFF] = TOKEN_CONTROL;
    opens(&made);
    gives(&made, "ab\x07", 0, "256 239 191 189");
    gives(&made, "ab\xFF", 0, "256 239 191 189");
    close_made(&made);
}

/* Rules that backtrack, and merges that rescan, would take hours here. */
static void very_long_words_come_back_in_linear_time(void **state)
{
    (void)state;
    static const char fills[] = "_ a7\n\xFF'";
    enum { LENGTH = 100000 };
    static const char *const rules[] = {"smollm", "llama-bpe", "bloom", "default", "mpt"};
    char *text = malloc(LENGTH + 1);
    assert_non_null(text);
    for (size_t rule = 0; rule < sizeof rules / sizeof *rules; rule++) {
        struct made made = bpe();
        made.pre = rules[rule];
        opens(&made);
        for (size_t i = 0; i + 1 < sizeof fills; i++) {
            memset(text, fills[i], LENGTH);
            text[LENGTH] = 'x';
            comes_back(made.tokenizer, text, LENGTH + 1);
        }
        close_made(&made);
    }
    for (int kind = 0; kind < 2; kind++) {
        struct made made = kind ? unigram() : spm();
        for (int size = 2; kind && size < 20;
             size++) { /* no place in a row of a's that no piece reaches over */
            char row[24] = {0};
            memset(row, 'a', (size_t)size);
            add(&made, row, TOKEN_NORMAL);
        }
        opens(&made);
        for (size_t i = 0; i + 1 < sizeof fills; i++) {
            memset(text, fills[i], LENGTH);
            comes_back(made.tokenizer, text, LENGTH);
        }
        close_made(&made);
    }
    free(text);
}

static void a_long_run_of_combining_marks_is_composed_in_linear_time(void **state)
{
    (void)state;
    struct made made = bpe();
    struct strbuf text = {0};
    made.pre = "mpt";
    opens(&made);
    for (int i = 0; i < 50000; i++)
        strbuf_puts(&text, i % 2 ? "\xCC\x81" : "\xCC\xA3"); /* classes 230 and 220: each pair out of order */
    struct token_list ids = encoded(&made, text.text, text.length, 0);
    assert_int_equal(ids.count, text.length);
    token_list_fini(&ids);
    strbuf_fini(&text);
    gives(&made, "e\xCC\x81", 0, "195 169");
    close_made(&made);
}

static int seed(void **state)
{
    (void)state;
    unit_seed();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tokenizer_of_another_kind_is_named),
        cmocka_unit_test(an_unknown_pre_tokenizer_is_named),
        cmocka_unit_test(a_missing_pre_tokenizer_is_taken_as_default_and_noted),
        cmocka_unit_test(an_empty_vocabulary_is_refused),
        cmocka_unit_test(arrays_of_another_length_are_refused),
        cmocka_unit_test(arrays_of_another_element_type_are_refused),
        cmocka_unit_test(a_score_that_is_no_number_is_refused),
        cmocka_unit_test(a_kind_outside_the_list_is_refused),
        cmocka_unit_test(special_ids_outside_the_vocabulary_are_refused),
        cmocka_unit_test(byte_tokens_are_two_hexadecimal_digits_and_nothing_else),
        cmocka_unit_test(merges_must_name_two_tokens_that_make_a_third),
        cmocka_unit_test(a_start_token_that_is_asked_for_must_be_named),
        cmocka_unit_test(text_of_half_a_gigabyte_is_refused),
        cmocka_unit_test(absent_ids_mean_none_in_byte_level_vocabularies),
        cmocka_unit_test(sentencepiece_finds_its_absent_ids_by_spelling),
        cmocka_unit_test(llama_bpe_adds_bos_when_the_file_does_not_say),
        cmocka_unit_test(control_tokens_in_a_text_stay_text_unless_asked_for),
        cmocka_unit_test(added_tokens_are_found_without_asking_longest_first),
        cmocka_unit_test(merges_into_a_control_token_are_never_made),
        cmocka_unit_test(sentencepiece_text_never_becomes_control_or_byte_tokens),
        cmocka_unit_test(unused_pieces_are_split_into_what_they_came_from),
        cmocka_unit_test(ends_are_known_by_key_and_by_spelling),
        cmocka_unit_test(ids_out_of_range_have_no_piece),
        cmocka_unit_test(any_bytes_come_back_from_byte_level_tokens),
        cmocka_unit_test(any_bytes_come_back_from_sentencepiece_tokens),
        cmocka_unit_test(bytes_that_no_token_spells_are_shown_as_broken),
        cmocka_unit_test(very_long_words_come_back_in_linear_time),
        cmocka_unit_test(a_long_run_of_combining_marks_is_composed_in_linear_time),
    };
    return cmocka_run_group_tests_name("tokenizer", tests, seed, NULL);
}
