/* Fuzz harness of a Hugging Face folder's texts: config.json, tokenizer.json and SentencePiece models.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The first byte says which of the three the rest is. What is made of it must be a sound GGUF file. */
#include <string.h>

#include "formats/hf_config.h"
#include "formats/hf_tokenizer.h"
#include "formats/json_file.h"
#include "fuzz/fuzz.h"

enum { TOKENS = 512 };

static void try_config(const char *text, size_t size)
{
    struct hf_config config;
    ll_error error = {0};
    if (hf_config_parse(text, size, &config, &error) == LL_OK) {
        fuzz_require(config.gguf && gguf_find(config.gguf, "general.architecture"));
        hf_config_close(&config);
    } else
        fuzz_require(error.text[0]);
}

static void try_tokens(const char *text, size_t size, int kind)
{
    struct hf_vocabulary vocabulary;
    struct gguf_writer *writer = gguf_writer_new();
    json_t *root = NULL;
    ll_error error = {0};
    fuzz_require(writer && hf_vocabulary_new(TOKENS, &vocabulary, &error) == LL_OK);
    ll_status status = kind == 1 ? json_file_parse(text, size, "fuzz", &root, &error) : LL_OK;
    if (status == LL_OK)
        status = kind == 1 ? hf_tokenizer_read_json(root, &vocabulary, writer, &error)
                           : sentencepiece_read(text, size, &vocabulary, &error);
    fuzz_require(status == LL_OK || error.text[0]);
    for (size_t i = 0; i < vocabulary.count; i++)
        fuzz_require(vocabulary.kinds[i] >= 0 && vocabulary.kinds[i] <= HF_BYTE);
    hf_vocabulary_fini(&vocabulary);
    gguf_writer_free(writer);
    json_decref(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] % 3 == 0)
        try_config((const char *)data + 1, size - 1);
    else
        try_tokens((const char *)data + 1, size - 1, data[0] % 3);
    return 0;
}
