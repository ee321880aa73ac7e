/* Safetensors and the texts of a model folder: sound ones are read, lying ones refused in a sentence.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/safetensors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "formats/hf_config.h"
#include "formats/hf_tokenizer.h"

/* A file with this header and so many bytes of data, in memory of exactly its size. */
static unsigned char *bytes_of(const char *header, size_t data, size_t *ret_size)
{
    uint64_t length = strlen(header);
    size_t size = sizeof length + length + data;
    unsigned char *bytes = calloc(size, 1);
    assert_non_null(bytes);
    memcpy(bytes, &length, sizeof length);
    memcpy(bytes + sizeof length, header, length);
    *ret_size = size;
    return bytes;
}

static void refused(const char *header, size_t data, const char *words)
{
    ll_error error = {0};
    struct safetensors *weights = NULL;
    size_t size;
    unsigned char *bytes = bytes_of(header, data, &size);
    assert_int_equal(safetensors_open_memory(bytes, size, &weights, &error), LL_FORMAT);
    assert_null(weights);
    free(bytes);
    if (!strstr(error.text, words))
        fail_msg("\"%s\" does not say \"%s\"", error.text, words);
}

static void a_sound_file_is_read(void **state)
{
    struct safetensors *weights;
    ll_error error;
    (void)state;
    size_t size;
    unsigned char *bytes = bytes_of("{\"__metadata__\":{\"format\":\"pt\"},"
                                    "\"b\":{\"dtype\":\"BF16\",\"shape\":[4],\"data_offsets\":[24,32]},"
                                    "\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}}",
                                    32, &size);
    assert_int_equal(safetensors_open_memory(bytes, size, &weights, &error), LL_OK);
    assert_int_equal(safetensors_count(weights), 2);
    const struct safetensor *a = safetensors_find(weights, "a");
    assert_non_null(a);
    assert_true(a->known && a->dtype == DT_F32 && a->dims == 2 && a->shape[0] == 2 && a->shape[1] == 3);
    assert_ptr_equal(safetensors_find(weights, "b")->data, a->data + 24);
    assert_null(safetensors_find(weights, "c"));
    safetensors_close(weights);
    free(bytes);
}

#define ONE(dtype, shape, offsets)                                                                           \
    "{\"a\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

static void lying_headers_are_refused(void **state)
{
    (void)state;
    refused("", 0, "no JSON");
    refused("[]", 0, "no JSON object");
    refused("{}", 0, "no tensors");
    refused("{\"a\":1}", 0, "no dtype");
    refused(ONE("F32", "[2]", "[0,8]"), 7, "incomplete");
    refused(ONE("F32", "[2]", "[0,4]"), 8, "another number of bytes");
    refused(ONE("F32", "[4294967296,4294967296,4294967296]", "[0,8]"), 8, "more elements");
    refused(ONE("F32", "[2305843009213693952,8]", "[0,8]"), 8, "more elements");
    refused(ONE("F32", "[0]", "[0,0]"), 8, "no positive whole number");
    refused(ONE("F32", "[-1]", "[0,4]"), 8, "no positive whole number");
    refused(ONE("F32", "[1.5]", "[0,4]"), 8, "no positive whole number");
    refused(ONE("F32", "[1,1,1,1,1]", "[0,4]"), 8, "at most 4");
    refused(ONE("F32", "[1]", "[8,4]"), 8, "ascending");
    refused(ONE("F32", "[1]", "[-4,0]"), 8, "ascending");
    refused(ONE("F32", "[1]", "[0]"), 8, "ascending");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
            "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[2,6]}}",
            8, "shares bytes");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
            "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
            8, "no JSON"); /* one name twice */
}

static void short_and_long_heads_are_refused(void **state)
{
    struct safetensors *weights = NULL;
    ll_error error;
    unsigned char bytes[16] = {0};
    (void)state;
    for (size_t size = 0; size < 8; size++)
        assert_int_equal(safetensors_open_memory(bytes, size, &weights, &error), LL_FORMAT);
    memset(bytes, 0xFF, 8); /* 2^64 - 1 bytes of header */
    assert_int_equal(safetensors_open_memory(bytes, sizeof bytes, &weights, &error), LL_FORMAT);
    bytes[0] = 9; /* one more than there are */
    memset(bytes + 1, 0, 7);
    assert_int_equal(safetensors_open_memory(bytes, sizeof bytes, &weights, &error), LL_FORMAT);
}

static void odd_configurations_are_refused(void **state)
{
    static const struct {
        const char *text;
        ll_status status;
        const char *words;
    } cases[] = {
        {"", LL_FORMAT, "no JSON"},
        {"{}", LL_FORMAT, "model_type"},
        {"{\"model_type\":\"t5\"}", LL_UNSUPPORTED, "'t5'"},
        {"{\"model_type\":\"llama\"}", LL_FORMAT, "num_hidden_layers"},
        {"{\"model_type\":\"llama\",\"vocab_size\":-1,\"hidden_size\":8,\"num_hidden_layers\":1,"
         "\"num_attention_heads\":2,\"intermediate_size\":8}",
         LL_FORMAT, "vocab_size"},
        {"{\"model_type\":\"llama\",\"vocab_size\":9,\"hidden_size\":8,\"num_hidden_layers\":1,"
         "\"num_attention_heads\":2,\"intermediate_size\":8,\"rope_scaling\":{\"type\":\"dynamic\"}}",
         LL_UNSUPPORTED, "'dynamic'"},
        {"{\"model_type\":\"llama\",\"vocab_size\":9,\"hidden_size\":8,\"num_hidden_layers\":1,"
         "\"num_attention_heads\":2,\"intermediate_size\":8,\"hidden_act\":\"relu\"}",
         LL_UNSUPPORTED, "hidden_act"},
        {"{\"model_type\":\"llama\",\"vocab_size\":9,\"hidden_size\":8,\"num_hidden_layers\":1,"
         "\"num_attention_heads\":2,\"intermediate_size\":8,\"quantization_config\":{}}",
         LL_UNSUPPORTED, "quantised"},
        {"{\"model_type\":\"mpt\",\"vocab_size\":9,\"d_model\":2147483647,\"n_layers\":1,\"n_heads\":1,"
         "\"expansion_ratio\":2147483647}",
         LL_FORMAT, "larger than any"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hf_config config;
        ll_error error = {0};
        ll_status status = hf_config_parse(cases[i].text, strlen(cases[i].text), &config, &error);
        if (status != cases[i].status || !strstr(error.text, cases[i].words))
            fail_msg("%s: %s, %s", cases[i].text, ll_status_name(status), error.text);
    }
}

static void damaged_piece_files_are_refused(void **state)
{
    /* a piece, the trainer's kind BPE: then every cut of it, and lengths that lie */
    static const unsigned char sound[] = {0x0A, 5, 0x0A, 1, 'a', 0x18, 1, 0x12, 2, 0x18, 2};
    ll_error error;
    (void)state;
    for (size_t size = 0; size <= sizeof sound; size++) {
        struct hf_vocabulary v;
        assert_int_equal(hf_vocabulary_new(4, &v, &error), LL_OK);
        ll_status status = sentencepiece_read(sound, size, &v, &error);
        bool whole = size == sizeof sound || size == 7;
        assert_int_equal(status == LL_OK, whole);
        hf_vocabulary_fini(&v);
    }
    static const unsigned char lying[] = {0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1};
    struct hf_vocabulary v;
    assert_int_equal(hf_vocabulary_new(4, &v, &error), LL_OK);
    assert_int_equal(sentencepiece_read(lying, sizeof lying, &v, &error), LL_FORMAT);
    hf_vocabulary_fini(&v);
}

/* Text without a step's effect would be cut otherwise than in training. */
static void steps_that_a_unigram_model_cannot_have_are_named(void **state)
{
    static const struct {
        const char *steps;
        ll_status status;
        const char *words;
    } cases[] = {
        {"\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"\xE2\x96\x81\"}", LL_OK, ""},
        {"\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Precompiled\",\"precompiled_"
         "charsmap\":"
         "null},{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\xE2\x96\x81\"}]}",
         LL_OK, ""},
        {"\"normalizer\":{\"type\":\"Lowercase\"},\"pre_tokenizer\":{\"type\":\"Metaspace\"}", LL_UNSUPPORTED,
         "\"Lowercase\""},
        {"\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Digits\"}]}",
         LL_UNSUPPORTED, "\"Digits\""},
        {"\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"_\"}", LL_UNSUPPORTED, "\"Metaspace\""},
        {"\"normalizer\":null", LL_UNSUPPORTED, "leaves spaces"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hf_vocabulary v;
        ll_error error = {.text = ""};
        struct strbuf text = {0};
        strbuf_printf(
            &text,
            "{%s,\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"<unk>\",0],[\"a\",-1.5]]}}",
            cases[i].steps);
        json_t *root = json_loads(strbuf_text(&text), 0, NULL);
        assert_non_null(root);
        assert_int_equal(hf_vocabulary_new(4, &v, &error), LL_OK);
        ll_status status = hf_tokenizer_read_json(root, &v, NULL, &error);
        if (status != cases[i].status || !strstr(error.text, cases[i].words))
            fail_msg("%s: %s, %s", cases[i].steps, ll_status_name(status), error.text);
        if (status == LL_OK)
            assert_true(v.unigram && v.scores[1] == -1.5f && v.kinds[0] == HF_UNKNOWN);
        hf_vocabulary_fini(&v);
        json_decref(root);
        strbuf_fini(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_file_is_read),
        cmocka_unit_test(lying_headers_are_refused),
        cmocka_unit_test(short_and_long_heads_are_refused),
        cmocka_unit_test(odd_configurations_are_refused),
        cmocka_unit_test(damaged_piece_files_are_refused),
        cmocka_unit_test(steps_that_a_unigram_model_cannot_have_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
