/* Tests of model files that are sound containers and lie about the model.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memmem */
#include <math.h>

#include "base/error.h"
#include "base/file.h"
#include "cache/blocks.h"
#include "cpu/cpu.h"
#include "memory/estimate.h"
#include "model/forward.h"
#include "text/chat.h"
#include "toy/toy_model.h"
#include "unit.h"

/* ---- changing one thing in a good file ---- */

static struct strbuf good_file(const char *architecture)
{
    struct toy_model toy = toy_model_defaults(architecture);
    struct strbuf file = {0};
    assert_true(toy_model_write(&toy, &file));
    return file;
}

static char *find_text(struct strbuf *file, const char *text)
{
    char *at = memmem(file->text, file->length, text, strlen(text));
    assert_non_null(at);
    return at;
}

/* A scalar's value follows its key and four bytes of type. */
static void set_u32(struct strbuf *file, const char *key, uint32_t value)
{
    memcpy(find_text(file, key) + strlen(key) + 4, &value, sizeof value);
}

static void set_f32(struct strbuf *file, const char *key, float value)
{
    memcpy(find_text(file, key) + strlen(key) + 4, &value, sizeof value);
}

static void rename_text(struct strbuf *file, const char *from, const char *to)
{
    assert_int_equal(strlen(from), strlen(to));
    memcpy(find_text(file, from), to, strlen(to));
}

/* ---- loading all that a model is, as the engine does ---- */

struct loaded {
    struct gguf *gguf;
    struct backend *backend;
    struct model_hparams hparams;
    struct model_params params;
};

static ll_status load(const struct strbuf *file, struct loaded *ret, ll_error *error)
{
    struct backend_options options = {.threads = 1};
    *ret = (struct loaded){0};
    LL_TRY(reference_backend.open(&options, &ret->backend, error));
    LL_TRY(gguf_open_memory(file->text, file->length, &ret->gguf, error));
    LL_TRY(hparams_read(ret->gguf, &ret->hparams, error));
    struct backend_split split = split_none(ret->backend);
    return params_load(ret->gguf, NULL, &split, &ret->hparams, NULL, &ret->params, error);
}

static void unload(struct loaded *loaded)
{
    params_fini(&loaded->params);
    hparams_fini(&loaded->hparams);
    gguf_close(loaded->gguf);
    loaded->backend->table->close(loaded->backend);
}

static void expect(struct strbuf *file, ll_status status, const char *words)
{
    struct loaded loaded;
    ll_error error = {0};
    ll_status seen = load(file, &loaded, &error);
    if (seen != status || (words && !strstr(error.text, words)))
        fail_msg("status %d, '%s' where %d, '%s' was wanted", seen, error.text, status, words ? words : "");
    unload(&loaded);
    strbuf_fini(file);
}

static void a_good_file_of_each_family_loads(void **state)
{
    (void)state;
    static const char *const names[] = {"llama", "gemma3", "bloom", "mpt"};
    for (size_t i = 0; i < 4; i++) {
        struct strbuf file = good_file(names[i]);
        expect(&file, LL_OK, NULL);
    }
}

/* As a GPU's table is: the slot is empty. */
static void a_device_without_mixtures_of_experts_says_so(void **state)
{
    struct strbuf file = good_file("llama");
    struct backend_table table = reference_backend;
    struct backend_options options = {.threads = 1};
    struct loaded loaded = {0};
    ll_error error = {0};
    (void)state;
    table.experts = NULL;
    assert_int_equal(reference_backend.open(&options, &loaded.backend, &error), LL_OK);
    loaded.backend->table = &table;
    assert_int_equal(gguf_open_memory(file.text, file.length, &loaded.gguf, &error), LL_OK);
    assert_int_equal(hparams_read(loaded.gguf, &loaded.hparams, &error), LL_OK);
    loaded.hparams.experts = 2;
    struct backend_split split = split_none(loaded.backend);
    assert_int_equal(
        params_load(loaded.gguf, NULL, &split, &loaded.hparams, NULL, &loaded.params, &error),
        LL_UNSUPPORTED);
    assert_non_null(strstr(error.text, "--device cpu"));
    unload(&loaded);
    strbuf_fini(&file);
}

static void experts_that_are_tensors_of_their_own_are_refused_in_a_sentence(void **state)
{
    struct strbuf file = good_file("llama");
    struct backend_options options = {.threads = 1};
    struct loaded loaded = {0};
    ll_error error = {0};
    (void)state;
    rename_text(&file, "blk.0.ffn_gate.weight", "blk.0.ffn_up.0.weight");
    assert_int_equal(reference_backend.open(&options, &loaded.backend, &error), LL_OK);
    assert_int_equal(gguf_open_memory(file.text, file.length, &loaded.gguf, &error), LL_OK);
    assert_int_equal(hparams_read(loaded.gguf, &loaded.hparams, &error), LL_OK);
    loaded.hparams.experts = 2;
    struct backend_split split = split_none(loaded.backend);
    assert_int_equal(
        params_load(loaded.gguf, NULL, &split, &loaded.hparams, NULL, &loaded.params, &error),
        LL_UNSUPPORTED);
    assert_non_null(strstr(error.text, "blk.0.ffn_up.0.weight"));
    assert_non_null(strstr(error.text, "convert its Hugging Face folder again"));
    unload(&loaded);
    strbuf_fini(&file);
}

static void an_unknown_architecture_is_named_with_those_that_run(void **state)
{
    (void)state;
    struct strbuf file = good_file("bloom");
    rename_text(&file, "bloom", "gloom");
    expect(&file, LL_UNSUPPORTED, "architecture 'gloom' is not supported; this version runs llama");
}

static void sizes_out_of_range_are_refused_by_key(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        uint32_t value;
        const char *words;
    } cases[] = {
        {"llama.block_count", 0, "llama.block_count is 0"},
        {"llama.block_count", 100000, "llama.block_count is 100000"},
        {"llama.embedding_length", 0xFFFFFFFF, "llama.embedding_length"},
        {"llama.context_length", 0, "llama.context_length"},
        {"llama.attention.head_count", 0, "llama.attention.head_count is 0"},
        {"llama.attention.head_count_kv", 3, "no multiple of its 3 key/value heads"},
        {"llama.feed_forward_length", 0, "llama.feed_forward_length"},
        {"llama.rope.dimension_count", 15, "llama.rope.dimension_count is 15"},
        {"llama.rope.dimension_count", 4096, "llama.rope.dimension_count"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct strbuf file = good_file("llama");
        set_u32(&file, cases[i].key, cases[i].value);
        expect(&file, LL_FORMAT, cases[i].words);
    }
}

static void more_layers_than_tensors_name_the_first_missing_one(void **state)
{
    (void)state;
    struct strbuf file = good_file("llama");
    set_u32(&file, "llama.block_count", 3);
    expect(&file, LL_FORMAT, "the tensor blk.2.attn_norm.weight is missing");
}

static void numbers_that_are_no_numbers_are_refused(void **state)
{
    (void)state;
    struct strbuf file = good_file("llama");
    set_f32(&file, "llama.attention.layer_norm_rms_epsilon", 0.0f / 0.0f);
    expect(&file, LL_FORMAT, "llama.attention.layer_norm_rms_epsilon");
    file = good_file("llama");
    set_f32(&file, "llama.rope.freq_base", -1.0f);
    expect(&file, LL_FORMAT, "llama.rope.freq_base is -1");
    file = good_file("mpt");
    set_f32(&file, "mpt.attention.max_alibi_bias", 0.0f);
    expect(&file, LL_UNSUPPORTED, "learned positions");
}

static void a_tensor_of_another_shape_is_refused_with_both_shapes(void **state)
{
    (void)state;
    struct strbuf file = good_file("llama");
    set_u32(&file, "llama.feed_forward_length", 8);
    expect(&file, LL_FORMAT, "blk.0.ffn_gate.weight is ");
}

static void a_tensor_that_would_be_ignored_is_refused(void **state)
{
    (void)state;
    struct strbuf file = good_file("llama");
    rename_text(&file, "output.weight\x02", "outpux.weight\x02");
    expect(&file, LL_UNSUPPORTED, "outpux.weight has no place in architecture llama");
}

static void rotary_divisors_that_divide_by_nothing_are_refused(void **state)
{
    (void)state;
    static const float bad[] = {0.0f, -1.0f, INFINITY, NAN};
    const char *folder = getenv("top_srcdir");
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/vectors/llama-tied-scaled.gguf", folder ? folder : ".");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct strbuf file = {0};
        struct gguf *gguf = NULL;
        assert_int_equal(file_read(path, 1 << 20, NULL, &file, NULL), LL_OK);
        assert_int_equal(gguf_open_memory(file.text, file.length, &gguf, NULL), LL_OK);
        const struct gguf_tensor *divisors = gguf_tensor_find(gguf, "rope_freqs.weight");
        assert_non_null(divisors);
        memcpy(file.text + ((const char *)divisors->data - file.text), &bad[i], sizeof bad[i]);
        gguf_close(gguf);
        expect(&file, LL_FORMAT, "rope_freqs.weight holds");
    }
}

/* Runs whatever loads: no damage may crash, over-read or hang. */
static void run_a_step(struct loaded *l, ll_error *error)
{
    struct forward *forward = NULL;
    struct block_pool *pool = NULL;
    struct block_table table = {0};
    struct block_shape *shapes = estimate_block_shapes(&l->hparams);
    struct block_options options = {.layers = l->hparams.layers,
                                    .shapes = shapes,
                                    .head_dim = l->hparams.head_dim,
                                    .type = DT_F32,
                                    .blocks = 2};
    ll_token tokens[5] = {0, 1, 2, 3, 4};
    int32_t positions[5] = {0, 1, 2, 3, 4}, outputs[1] = {4};
    float *logits = calloc((size_t)l->hparams.vocabulary, sizeof *logits);
    struct backend_split split = split_none(l->backend);
    if (forward_open(&split, &l->hparams, &l->params, &forward, error) == LL_OK &&
        blocks_open(&split, &options, &pool, error) == LL_OK &&
        block_table_reserve(pool, &table, 5, error) == LL_OK) {
        struct backend_sequence sequence = {0, 5, 0, table.blocks, (int64_t)table.count};
        struct backend_step step = {5, tokens, positions, &sequence, 1, outputs, 1};
        forward_run(forward, &step, blocks_caches(pool), 256, NULL, logits, NULL, error);
    }
    block_table_fini(pool, &table);
    blocks_close(pool);
    forward_close(forward);
    free(shapes);
    free(logits);
}

static void random_damage_to_the_metadata_never_crashes_loading_or_running(void **state)
{
    (void)state;
    static const char *const names[] = {"llama", "gemma3", "bloom", "mpt"};
    int loaded_count = 0, refused = 0;
    for (int round = 0; round < 400; round++) {
        struct strbuf file = good_file(names[round % 4]);
        size_t head = file.length < 30000 ? file.length : 30000;
        struct loaded loaded;
        struct tokenizer *tokenizer = NULL;
        struct chat chat;
        ll_error error;
        for (size_t i = unit_below(6); i < 6; i++)
            file.text[unit_below(round % 3 ? 3000 : head)] ^= (char)(1 << unit_below(8));
        if (load(&file, &loaded, &error) == LL_OK) {
            run_a_step(&loaded, &error);
            loaded_count++;
        } else {
            refused++;
        }
        if (loaded.gguf && tokenizer_open(loaded.gguf, &tokenizer, &error) == LL_OK &&
            chat_open(loaded.gguf, tokenizer, &chat, &error) == LL_OK)
            chat_close(&chat);
        tokenizer_close(tokenizer);
        unload(&loaded);
        strbuf_fini(&file);
    }
    assert_true(loaded_count > 0 && refused > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_file_of_each_family_loads),
        cmocka_unit_test(a_device_without_mixtures_of_experts_says_so),
        cmocka_unit_test(experts_that_are_tensors_of_their_own_are_refused_in_a_sentence),
        cmocka_unit_test(an_unknown_architecture_is_named_with_those_that_run),
        cmocka_unit_test(sizes_out_of_range_are_refused_by_key),
        cmocka_unit_test(more_layers_than_tensors_name_the_first_missing_one),
        cmocka_unit_test(numbers_that_are_no_numbers_are_refused),
        cmocka_unit_test(a_tensor_of_another_shape_is_refused_with_both_shapes),
        cmocka_unit_test(a_tensor_that_would_be_ignored_is_refused),
        cmocka_unit_test(rotary_divisors_that_divide_by_nothing_are_refused),
        cmocka_unit_test(random_damage_to_the_metadata_never_crashes_loading_or_running),
    };
    unit_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
