/* Toy models: valid in every architecture and number format, and the same from the same seed.
 * SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "formats/quantize.h"
#include "toy/toy_model.h"

static const char *const architectures[] = {"llama", "gemma3", "bloom", "mpt"};

static struct gguf *write_and_open(const struct toy_model *toy, struct strbuf *bytes)
{
    struct gguf *gguf = NULL;
    ll_error error = {0};
    assert_true(toy_model_write(toy, bytes));
    if (gguf_open_memory(bytes->text, bytes->length, &gguf, &error) != LL_OK)
        fail_msg("%s", error.text);
    return gguf;
}

static void every_architecture_opens_in_every_number_format(void **state)
{
    (void)state;
    for (int a = 0; a < 4; a++)
        for (int t = 0; t < DT_COUNT; t++) {
            struct toy_model toy = toy_model_defaults(architectures[a]);
            struct strbuf bytes = {0};
            struct gguf_text name;
            if (!quantize_supported((enum dtype)t))
                continue;
            toy.dtype = (enum dtype)t;
            toy.layers = 1;
            toy.width = toy.feed_forward = 256;
            toy.head_dim = 64;
            struct gguf *gguf = write_and_open(&toy, &bytes);
            assert_int_equal(gguf_get_text(gguf, "general.architecture", &name, NULL), LL_OK);
            assert_true(gguf_text_equals(name, architectures[a]));
            assert_int_equal(gguf_tensor_find(gguf, "token_embd.weight")->dtype, t);
            assert_true((gguf_tensor_find(gguf, "output.weight") == NULL) == toy.tied);
            gguf_close(gguf);
            strbuf_fini(&bytes);
        }
}

static void the_same_seed_gives_the_same_bytes_and_another_seed_others(void **state)
{
    (void)state;
    struct toy_model toy = toy_model_defaults("llama");
    struct strbuf first = {0}, second = {0}, other = {0};
    assert_true(toy_model_write(&toy, &first) && toy_model_write(&toy, &second));
    toy.seed = 2;
    assert_true(toy_model_write(&toy, &other));
    assert_int_equal(first.length, second.length);
    assert_memory_equal(first.text, second.text, first.length);
    assert_int_equal(first.length, other.length);
    assert_memory_not_equal(first.text, other.text, first.length);
    strbuf_fini(&first);
    strbuf_fini(&second);
    strbuf_fini(&other);
}

static void vocabularies_spell_every_byte_and_grow_as_asked(void **state)
{
    (void)state;
    for (int kind = TOY_BPE; kind <= TOY_SPM; kind++) {
        struct toy_model toy = toy_model_defaults("llama");
        struct strbuf bytes = {0};
        const struct gguf_value *tokens, *kinds;
        toy.vocabulary = (enum toy_vocabulary)kind;
        toy.tokens = 1000;
        struct gguf *gguf = write_and_open(&toy, &bytes);
        assert_int_equal(gguf_get_array(gguf, "tokenizer.ggml.tokens", GGUF_STRING, &tokens, NULL), LL_OK);
        assert_int_equal(gguf_get_array(gguf, "tokenizer.ggml.token_type", GGUF_I32, &kinds, NULL), LL_OK);
        assert_int_equal(tokens->count, 1000);
        assert_int_equal(kinds->count, 1000);
        assert_true(gguf_text_equals(gguf_array_text(gguf, tokens, kind == TOY_BPE ? 3 + 65 : 6 + 65),
                                     kind == TOY_BPE ? "A" : "<0x41>"));
        gguf_close(gguf);
        strbuf_fini(&bytes);
    }
}

static void a_width_that_no_block_divides_makes_no_model(void **state)
{
    (void)state;
    struct toy_model toy = toy_model_defaults("llama");
    struct strbuf bytes = {0};
    toy.dtype = DT_Q6_K;
    assert_false(toy_model_write(&toy, &bytes));
    strbuf_fini(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_architecture_opens_in_every_number_format),
        cmocka_unit_test(the_same_seed_gives_the_same_bytes_and_another_seed_others),
        cmocka_unit_test(vocabularies_spell_every_byte_and_grow_as_asked),
        cmocka_unit_test(a_width_that_no_block_divides_makes_no_model),
    };
    return cmocka_run_group_tests_name("toy", tests, NULL, NULL);
}
