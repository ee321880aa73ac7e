/* SentencePiece's unigram model: best cuts, tables of characters, hostile files.
 * SPDX-License-Identifier: Apache-2.0 */
#include "text/made_vocabulary.h"

static void damaged_tables_of_characters_are_refused(void **state)
{
    (void)state;
    static const unsigned char sound[] = {4, 0, 0, 0, 0, 0, 0, 0, 'a', 0};
    struct made made = unigram();
    unsigned char bytes[10 + 300];
    made.table = bytes;
    for (size_t size = 1; size <= sizeof sound; size++) {
        memcpy(bytes, sound, sizeof sound);
        made.table_size = size;
        if (size < sizeof sound)
            refused(made, LL_FORMAT, "damaged");
    }
    opens(&made);
    close_made(&made);
    made = unigram();
    made.table = bytes;
    made.table_size = sizeof sound;
    for (int claimed = 0; claimed < 256; claimed++)
        if (claimed != 4) {
            bytes[0] = (unsigned char)claimed;
            refused(made, LL_FORMAT, "damaged");
        }
    memcpy(bytes, (const unsigned char[]){4, 0, 0, 0xFF}, 4);
    refused(made, LL_FORMAT, "damaged");
    memcpy(bytes, sound, sizeof sound);
    memset(bytes + 8, 'a', 301);
    bytes[8 + 301] = 0;
    made.table_size = sizeof bytes;
    refused(made, LL_FORMAT, "more than 255");
}

static void a_table_of_characters_must_be_bytes(void **state)
{
    (void)state;
    struct made made = unigram();
    struct gguf_writer *writer = gguf_writer_new();
    ll_error error;
    gguf_writer_text(writer, "tokenizer.ggml.model", "t5");
    write_arrays(&made, writer);
    gguf_writer_i32s(writer, "tokenizer.ggml.precompiled_charsmap", (const int32_t[]){4, 0, 0}, 3);
    gguf_writer_finish(writer, &made.bytes);
    gguf_writer_free(writer);
    assert_int_equal(gguf_open_memory(made.bytes.text, made.bytes.length, &made.gguf, NULL), LL_OK);
    assert_int_equal(tokenizer_open(made.gguf, &made.tokenizer, &error), LL_FORMAT);
    assert_non_null(strstr(error.text, "no array of bytes"));
    close_made(&made);
}

/* Units that point anywhere, in circles and at each other: every text still ends, inside the tables. */
static void whatever_a_table_of_characters_says_a_text_ends(void **state)
{
    (void)state;
    enum { UNITS = 64, TEXTS = 40, SIZE = 4 + 4 * UNITS + TEXTS };
    unsigned char bytes[SIZE] = {UNITS * 4 & 255, UNITS * 4 >> 8};
    for (size_t round = 0; round < unit_rounds(300); round++) {
        for (size_t i = 4; i < SIZE; i++)
            bytes[i] = (unsigned char)unit_random();
        for (size_t unit = 0; unit < UNITS; unit++) { /* most of them near, with a byte that texts have */
            uint32_t made = (uint32_t)unit_below(UNITS) << 10 | (uint32_t)unit_below(2) << 8 |
                            (uint32_t) "ab \xC3"[unit_below(4)] % 256;
            if (unit_below(4))
                memcpy(bytes + 4 + unit * 4, &made, 4);
        }
        bytes[SIZE - 1] = 0;
        struct made made = unigram();
        made.table = bytes;
        made.table_size = SIZE;
        opens(&made);
        char text[160];
        struct token_list ids = encoded(&made, text, random_bytes(text, sizeof text), TOKENIZE_START);
        token_list_fini(&ids);
        close_made(&made);
    }
}

/* The score of the best cut, from the definition: over all pieces that end at each place. */
static double best_score(const struct made *made, const char *text, size_t length)
{
    double best[64] = {0};
    assert_true(length < 64);
    for (size_t end = 1; end <= length; end++) {
        best[end] = -1e300;
        for (size_t id = 259; id < made->count; id++) {
            size_t size = strlen(made->spellings[id]);
            if (size <= end && memcmp(text + end - size, made->spellings[id], size) == 0 &&
                best[end - size] + made->scores[id] > best[end])
                best[end] = best[end - size] + made->scores[id];
        }
    }
    return best[length];
}

static void a_text_is_cut_into_the_pieces_that_score_most(void **state)
{
    (void)state;
    for (size_t round = 0; round < unit_rounds(200); round++) {
        struct made made = unigram();
        made.count = 259; /* the special ones and the bytes */
        for (int letter = 'a'; letter <= 'c'; letter++)
            add(&made, (char[]){(char)letter, 0}, TOKEN_NORMAL);
        while (made.count < 290) {
            char piece[8] = {0};
            for (size_t i = 0, size = 2 + unit_below(5); i < size; i++)
                piece[i] = (char)('a' + unit_below(3));
            add(&made, piece, TOKEN_NORMAL);
        }
        for (size_t i = 259; i < made.count; i++) {
            made.scores[i] = -(float)unit_below(1000) / 64;
            for (size_t j = 259; j < i; j++) /* of pieces spelt alike the first counts */
                if (strcmp(made.spellings[j], made.spellings[i]) == 0)
                    made.scores[i] = made.scores[j];
        }
        opens(&made);
        char text[63];
        size_t length = 1 + unit_below(60);
        for (size_t i = 0; i < length; i++)
            text[i] = (char)('a' + unit_below(3));
        struct token_list ids = encoded(&made, text, length, 0);
        struct strbuf back = printed(made.tokenizer, &ids);
        double score = 0.0;
        for (size_t i = 0; i < ids.count; i++)
            score += made.scores[ids.ids[i]];
        assert_int_equal(back.length, length);
        assert_memory_equal(back.text, text, length);
        assert_true(score == best_score(&made, text, length)); /* sixty-fourths: sums are exact */
        strbuf_fini(&back);
        token_list_fini(&ids);
        close_made(&made);
    }
}

static void a_text_behind_a_control_token_begins_anew(void **state)
{
    (void)state;
    struct made made = unigram();
    made.flag_key = "tokenizer.ggml.add_space_prefix";
    made.flag = true;
    opens(&made); /* 259 the mark, 260 a, 263 ab, 264 the mark and ab */
    gives(&made, "ab", TOKENIZE_START, "264");
    gives(&made, "ab", 0, "263");
    gives(&made, "ab</s>ab", TOKENIZE_START | TOKENIZE_SPECIAL, "264 2 264");
    gives(&made, "</s>ab", TOKENIZE_START | TOKENIZE_SPECIAL, "2 264");
    gives(&made, "", TOKENIZE_START, "");
    close_made(&made);
}

static void a_score_without_end_is_refused_by_the_unigram_model(void **state)
{
    (void)state;
    struct made made = unigram();
    made.scores[260] = INFINITY;
    refused(made, LL_FORMAT, "score of token 260");
    made.score_count = 3;
    refused(made, LL_FORMAT, "tokenizer.ggml.scores has 3");
    made.score_count = 0;
    refused(made, LL_FORMAT, "needs tokenizer.ggml.scores");
}

static void any_bytes_come_back_from_unigram_pieces(void **state)
{
    (void)state;
    struct made made = unigram();
    any_bytes_come_back(&made, unit_rounds(1000));
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
        cmocka_unit_test(damaged_tables_of_characters_are_refused),
        cmocka_unit_test(a_table_of_characters_must_be_bytes),
        cmocka_unit_test(whatever_a_table_of_characters_says_a_text_ends),
        cmocka_unit_test(a_text_is_cut_into_the_pieces_that_score_most),
        cmocka_unit_test(a_text_behind_a_control_token_begins_anew),
        cmocka_unit_test(a_score_without_end_is_refused_by_the_unigram_model),
        cmocka_unit_test(any_bytes_come_back_from_unigram_pieces),
    };
    return cmocka_run_group_tests_name("unigram", tests, seed, NULL);
}
