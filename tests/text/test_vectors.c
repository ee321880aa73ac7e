/* Token ids against the tokenizers and sentencepiece libraries, on hard text.
 * SPDX-License-Identifier: Apache-2.0 */
#include "text/vectors.h"

#include "text/chat.h"

/* ---- files ---------------------------------------------------------------------------------- */

struct opened {
    struct strbuf bytes;
    struct gguf *gguf;
    struct tokenizer *tokenizer;
};

/* bpe.gguf names the rule "gpt-2"; here it names another. */
static void set_rule(struct strbuf *bytes, const char *rule)
{
    static const char key[] = "tokenizer.ggml.pre";
    char *at = bytes->text;
    while (memcmp(at, key, sizeof key - 1) != 0)
        assert_true(++at + sizeof key < bytes->text + bytes->length);
    at += sizeof key - 1 + 4;
    uint64_t old, length = strlen(rule);
    memcpy(&old, at, 8);
    struct strbuf made = {0};
    strbuf_append(&made, bytes->text, (size_t)(at - bytes->text));
    strbuf_append(&made, (const char *)&length, 8);
    strbuf_puts(&made, rule);
    at += 8 + old;
    strbuf_append(&made, at, (size_t)(bytes->text + bytes->length - at));
    strbuf_fini(bytes);
    *bytes = made;
}

static struct opened open_vocabulary(const char *name, const char *rule)
{
    ll_error error;
    struct opened opened = {.bytes = vectors_bytes(name)};
    if (rule)
        set_rule(&opened.bytes, rule);
    if (gguf_open_memory(opened.bytes.text, opened.bytes.length, &opened.gguf, &error) != LL_OK ||
        tokenizer_open(opened.gguf, &opened.tokenizer, &error) != LL_OK)
        fail_msg("%s: %s", name, error.text);
    return opened;
}

static void close_vocabulary(struct opened *opened)
{
    tokenizer_close(opened->tokenizer);
    gguf_close(opened->gguf);
    strbuf_fini(&opened->bytes);
}

/* ---- comparing ------------------------------------------------------------------------------ */

static void check_text(const struct tokenizer *tokenizer, const char *text, size_t length, unsigned flags,
                       const char *numbers)
{
    struct token_list wanted = vectors_ids(numbers), got = {0};
    ll_error error;
    assert_int_equal(tokenizer_encode(tokenizer, text, length, flags, &got, &error), LL_OK);
    if (!same_ids(&wanted, &got)) {
        print_message("# text: %.200s\n# wanted:", text);
        for (size_t i = 0; i < wanted.count; i++)
            print_message(" %d", wanted.ids[i]);
        print_message("\n# got:");
        for (size_t i = 0; i < got.count; i++)
            print_message(" %d", got.ids[i]);
        print_message("\n");
        fail_msg("%s gives other ids", tokenizer_name(tokenizer));
    }
    token_list_fini(&wanted);
    token_list_fini(&got);
}

/* Every "ids RULE:" line of a file that is of this rule; returns how many. */
static size_t check_rule(const struct tokenizer *tokenizer, const char *file, const char *rule,
                         unsigned flags)
{
    struct vectors vectors = vectors_open(file);
    char *text = NULL, *line, head[64];
    size_t length = 0, checked = 0;
    snprintf(head, sizeof head, "ids %s:", rule);
    while ((line = vectors_line(&vectors)) != NULL) {
        if (strncmp(line, "text ", 5) == 0) {
            free(text);
            text = vectors_hex(line + 5, &length);
        } else if (strncmp(line, head, strlen(head)) == 0) {
            check_text(tokenizer, text, length, flags, line + strlen(head));
            checked++;
        }
    }
    free(text);
    free(vectors.text);
    return checked;
}

static void check_bpe(const char *rule)
{
    struct opened opened = open_vocabulary("bpe.gguf", rule);
    assert_true(check_rule(opened.tokenizer, "bpe.txt", rule, TOKENIZE_SPECIAL) > 100);
    close_vocabulary(&opened);
}

static void check_marks(const char *name, const char *rule)
{
    char gguf[64], text[64];
    snprintf(gguf, sizeof gguf, "%s.gguf", name);
    snprintf(text, sizeof text, "%s.txt", name);
    struct opened opened = open_vocabulary(gguf, NULL);
    assert_true(check_rule(opened.tokenizer, text, rule, TOKENIZE_START) > 90);
    close_vocabulary(&opened);
}

#define RULE_TEST(function, rule)                                                                            \
    static void function(void **state)                                                                       \
    {                                                                                                        \
        (void)state;                                                                                         \
        check_bpe(rule);                                                                                     \
    }
RULE_TEST(bloom_words_are_cut_as_the_tokenizers_library_cuts_them, "bloom")
RULE_TEST(falcon_words_are_cut_as_the_tokenizers_library_cuts_them, "falcon")
RULE_TEST(gpt_2_words_are_cut_as_the_tokenizers_library_cuts_them, "gpt-2")
RULE_TEST(llama_bpe_takes_whole_words_before_merges, "llama-bpe")
RULE_TEST(mpt_text_is_composed_first, "mpt")
RULE_TEST(olmo_text_is_composed_first, "olmo")
RULE_TEST(qwen2_text_is_composed_first_and_digits_stand_alone, "qwen2")
RULE_TEST(refact_digits_stand_alone, "refact")
RULE_TEST(smollm_digits_stand_alone, "smollm")
RULE_TEST(starcoder_digits_stand_alone, "starcoder")
RULE_TEST(bailing_runs_of_marks_are_taken_whole, "bailingmoe")
RULE_TEST(deepseek_coder_words_are_cut_in_five_steps, "deepseek-coder")
RULE_TEST(deepseek_v3_kana_and_han_stand_apart, "deepseek-v3")
RULE_TEST(gpt_4o_words_begin_with_capitals, "gpt-4o")
RULE_TEST(qwen35_marks_stay_with_their_letters, "qwen35")
RULE_TEST(seed_coder_marks_end_before_new_lines, "seed-coder")
RULE_TEST(tekken_takes_whole_words_and_single_digits, "tekken")

static void sentencepiece_with_byte_fallback_gives_its_librarys_ids(void **state)
{
    (void)state;
    check_marks("spm-bytes", "spm");
}

static void sentencepiece_without_bytes_gives_one_unknown_a_run_and_trims_spaces(void **state)
{
    (void)state;
    check_marks("spm-unknown", "spm");
}

static void sentencepiece_with_pieces_across_words_gives_its_librarys_ids(void **state)
{
    (void)state;
    check_marks("spm-across", "spm");
}

static void unigram_with_byte_fallback_gives_its_librarys_ids(void **state)
{
    (void)state;
    check_marks("unigram-bytes", "unigram");
}

static void unigram_changes_characters_by_its_table_and_trims_spaces(void **state)
{
    (void)state;
    check_marks("unigram-table", "unigram");
}

static void unigram_with_pieces_across_words_gives_its_librarys_ids(void **state)
{
    (void)state;
    check_marks("unigram-across", "unigram");
}

/* ---- the default model ---------------------------------------------------------------------- */

static struct opened open_default(void)
{
    struct opened opened = {0};
    const char *path = unit_default_model();
    ll_error error;
    if (!path)
        skip();
    if (gguf_open(path, &opened.gguf, &error) != LL_OK ||
        tokenizer_open(opened.gguf, &opened.tokenizer, &error) != LL_OK)
        fail_msg("%s", error.text);
    return opened;
}

static void the_default_model_gives_the_ids_of_the_tokenizers_library(void **state)
{
    (void)state;
    struct opened opened = open_default();
    assert_string_equal(tokenizer_name(opened.tokenizer), "bpe smollm");
    assert_true(check_rule(opened.tokenizer, "default.txt", "smollm", TOKENIZE_SPECIAL) > 100);
    close_vocabulary(&opened);
}

struct conversation {
    ll_message messages[16];
    size_t count;
};

static void add_message(struct conversation *conversation, char *line)
{
    char *space = strchr(line, ' ');
    assert_non_null(space);
    *space = '\0';
    ll_message *message = &conversation->messages[conversation->count++];
    message->role = line;
    message->text = vectors_hex(space + 1, &message->length);
}

static void drop_messages(struct conversation *conversation)
{
    for (size_t i = 0; i < conversation->count; i++) {
        void *text;
        memcpy(&text, &conversation->messages[i].text, sizeof text);
        free(text);
    }
    conversation->count = 0;
}

static void check_rendered(const struct chat *chat, const struct conversation *conversation, bool open,
                           const char *hex)
{
    struct strbuf text = {0};
    size_t length;
    char *wanted = vectors_hex(hex, &length);
    assert_int_equal(chat_render(chat, conversation->messages, conversation->count, open, &text, NULL),
                     LL_OK);
    assert_string_equal(strbuf_text(&text), wanted);
    assert_int_equal(text.length, length);
    free(wanted);
    strbuf_fini(&text);
}

static void the_default_models_chat_is_what_its_template_makes(void **state)
{
    (void)state;
    struct opened opened = open_default();
    struct chat chat;
    assert_int_equal(chat_open(opened.gguf, opened.tokenizer, &chat, NULL), LL_OK);
    assert_string_equal(chat.name, "chatml");
    struct vectors vectors = vectors_open("default-chat.txt");
    struct conversation conversation = {.count = 0};
    bool open = false;
    size_t checked = 0;
    for (char *line; (line = vectors_line(&vectors)) != NULL;) {
        if (strncmp(line, "message ", 8) == 0) {
            add_message(&conversation, line + 8);
        } else if (strncmp(line, "ids chat:", 9) != 0) {
            open = strncmp(line, "open ", 5) == 0;
            check_rendered(&chat, &conversation, open, strchr(line, ' ') + 1);
        } else {
            struct token_list wanted = vectors_ids(line + 9), got = {0};
            assert_int_equal(chat_encode(&chat, opened.tokenizer, conversation.messages, conversation.count,
                                         open, &got, NULL),
                             LL_OK);
            assert_true(same_ids(&wanted, &got));
            token_list_fini(&wanted);
            token_list_fini(&got);
            drop_messages(&conversation);
            checked++;
        }
    }
    assert_true(checked >= 8);
    free(vectors.text);
    chat_close(&chat);
    close_vocabulary(&opened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bloom_words_are_cut_as_the_tokenizers_library_cuts_them),
        cmocka_unit_test(falcon_words_are_cut_as_the_tokenizers_library_cuts_them),
        cmocka_unit_test(gpt_2_words_are_cut_as_the_tokenizers_library_cuts_them),
        cmocka_unit_test(llama_bpe_takes_whole_words_before_merges),
        cmocka_unit_test(mpt_text_is_composed_first),
        cmocka_unit_test(olmo_text_is_composed_first),
        cmocka_unit_test(qwen2_text_is_composed_first_and_digits_stand_alone),
        cmocka_unit_test(refact_digits_stand_alone),
        cmocka_unit_test(smollm_digits_stand_alone),
        cmocka_unit_test(starcoder_digits_stand_alone),
        cmocka_unit_test(bailing_runs_of_marks_are_taken_whole),
        cmocka_unit_test(deepseek_coder_words_are_cut_in_five_steps),
        cmocka_unit_test(deepseek_v3_kana_and_han_stand_apart),
        cmocka_unit_test(gpt_4o_words_begin_with_capitals),
        cmocka_unit_test(qwen35_marks_stay_with_their_letters),
        cmocka_unit_test(seed_coder_marks_end_before_new_lines),
        cmocka_unit_test(tekken_takes_whole_words_and_single_digits),
        cmocka_unit_test(sentencepiece_with_byte_fallback_gives_its_librarys_ids),
        cmocka_unit_test(sentencepiece_without_bytes_gives_one_unknown_a_run_and_trims_spaces),
        cmocka_unit_test(sentencepiece_with_pieces_across_words_gives_its_librarys_ids),
        cmocka_unit_test(unigram_with_byte_fallback_gives_its_librarys_ids),
        cmocka_unit_test(unigram_changes_characters_by_its_table_and_trims_spaces),
        cmocka_unit_test(unigram_with_pieces_across_words_gives_its_librarys_ids),
        cmocka_unit_test(the_default_model_gives_the_ids_of_the_tokenizers_library),
        cmocka_unit_test(the_default_models_chat_is_what_its_template_makes),
    };
    return cmocka_run_group_tests_name("text vectors", tests, NULL, NULL);
}
