/* Sessions saved and loaded: equal logits, nothing computed again, and nothing taken from a file that lies.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "toy/toy_model.h"
#include "unit.h"

#include "engine/identity.h"

enum { CONTEXT = 200, GENERATED = 12 };

static const char *const architectures[] = {"llama", "gemma3", "bloom", "mpt"};
static const ll_dtype cache_types[] = {LL_F32, LL_F16, LL_BF16, LL_Q8_0};

static ll_engine *open_engine(void)
{
    ll_engine_options options;
    ll_engine *engine = NULL;
    ll_engine_options_init(&options);
    options.device = "cpu";
    options.threads = 2;
    assert_int_equal(ll_engine_open(&options, &engine, NULL), LL_OK);
    return engine;
}

static ll_model *open_model(ll_engine *engine, const char *architecture, uint64_t seed)
{
    struct toy_model toy = toy_model_defaults(architecture);
    ll_model *model = NULL;
    ll_error error = {0};
    toy.seed = seed;
    toy.width = 128;
    toy.head_dim = 32; /* q8_0 wants rows of 32 */
    toy.context = 512;
    assert_true(toy_model_write_file(&toy, "toy.gguf"));
    if (ll_model_open(engine, "toy.gguf", NULL, NULL, &model, &error) != LL_OK)
        fail_msg("%s: %s", architecture, error.text);
    return model;
}

static ll_session *open_session(ll_model *model, size_t context, ll_dtype type)
{
    ll_session_options options;
    ll_session *session = NULL;
    ll_error error = {0};
    ll_session_options_init(&options);
    options.context = context;
    options.cache_type = type;
    if (ll_session_open(model, &options, &session, &error) != LL_OK)
        fail_msg("%s", error.text);
    return session;
}

static void random_tokens(const ll_model *model, ll_token *tokens, size_t count)
{
    ll_model_info info;
    ll_model_get_info(model, &info);
    for (size_t i = 0; i < count; i++)
        tokens[i] = (ll_token)unit_below(info.vocabulary);
}

static void generate(ll_session *session)
{
    ll_sampling sampling;
    ll_finish finish;
    ll_sampling_init(&sampling);
    sampling.temperature = 0;
    sampling.ignore_end = true;
    assert_int_equal(ll_generate(session, &sampling, GENERATED, NULL, &finish, NULL), LL_OK);
}

static void expect_equal(ll_session *a, ll_session *b)
{
    size_t count_a, count_b, size_a, size_b;
    const ll_token *tokens_a = ll_session_tokens(a, &count_a), *tokens_b = ll_session_tokens(b, &count_b);
    const float *logits_a = ll_session_logits(a, &size_a), *logits_b = ll_session_logits(b, &size_b);
    assert_int_equal(count_a, count_b);
    assert_memory_equal(tokens_a, tokens_b, count_a * sizeof *tokens_a);
    assert_int_equal(size_a, size_b);
    if (size_a)
        assert_memory_equal(logits_a, logits_b, size_a * sizeof *logits_a);
}

static void save_and_load(ll_model *model, ll_dtype type)
{
    ll_token tokens[CONTEXT];
    size_t count = 2 + unit_below(CONTEXT - 2 * GENERATED - 3);
    ll_session *first = open_session(model, CONTEXT, type), *second = open_session(model, CONTEXT + 40, type);
    ll_session_stats stats;
    ll_error error = {0};
    random_tokens(model, tokens, count);
    assert_int_equal(ll_session_sync(first, tokens, count, NULL, NULL), LL_OK);
    if (ll_session_save(first, "saved", "a word", 6, NULL, &error) != LL_OK)
        fail_msg("%s", error.text);
    if (ll_session_load(second, "saved", NULL, &error) != LL_OK)
        fail_msg("%s", error.text);
    expect_equal(first, second);
    assert_int_equal(ll_session_sync(second, tokens, count, NULL, NULL), LL_OK);
    ll_session_get_stats(second, &stats);
    assert_int_equal(stats.prefilled, 0);
    generate(first);
    generate(second);
    expect_equal(first, second);
    /* After generating, the last token waits to be computed: that state is kept, too. */
    assert_int_equal(ll_session_save(first, "saved", NULL, 0, NULL, NULL), LL_OK);
    assert_int_equal(ll_session_load(second, "saved", NULL, NULL), LL_OK);
    generate(first);
    generate(second);
    expect_equal(first, second);
    ll_session_get_stats(second, &stats);
    assert_int_equal(stats.prefilled, 0);
    ll_session_close(first);
    ll_session_close(second);
}

static void a_loaded_session_goes_on_as_the_saved_one_in_every_architecture_and_cache_type(void **state)
{
    (void)state;
    char folder[64];
    unit_seed();
    assert_int_equal(unit_enter_scratch(folder), 0);
    ll_engine *engine = open_engine();
    for (size_t a = 0; a < 4; a++) {
        ll_model *model = open_model(engine, architectures[a], 1 + unit_random() % 1000);
        for (size_t t = 0; t < 4; t++)
            save_and_load(model, cache_types[t]);
        ll_model_close(model);
    }
    ll_engine_close(engine);
    unit_leave_scratch(folder);
}

static void a_saved_file_is_private_and_holds_the_callers_words(void **state)
{
    (void)state;
    char folder[64], words[16];
    size_t length = 0;
    struct stat about;
    ll_token tokens[] = {5, 6, 7};
    assert_int_equal(unit_enter_scratch(folder), 0);
    ll_engine *engine = open_engine();
    ll_model *model = open_model(engine, "llama", 1);
    ll_session *session = open_session(model, CONTEXT, LL_F16);
    assert_int_equal(ll_session_sync(session, tokens, 3, NULL, NULL), LL_OK);
    assert_int_equal(ll_session_save(session, "saved", "a\0word", 6, NULL, NULL), LL_OK);
    assert_int_equal(ll_snapshot_attached("saved", NULL, 0, &length, NULL), LL_OK);
    assert_int_equal(length, 6);
    assert_int_equal(ll_snapshot_attached("saved", words, sizeof words, &length, NULL), LL_OK);
    assert_memory_equal(words, "a\0word", 6);
    assert_int_equal(ll_snapshot_attached("saved", words, 3, &length, NULL), LL_ARGUMENT);
    assert_int_equal(stat("saved", &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    ll_session_close(session);
    ll_model_close(model);
    ll_engine_close(engine);
    unit_leave_scratch(folder);
}

static void expect_refused(ll_session *session, ll_status wanted, const char *fragment)
{
    ll_error error = {0};
    size_t before = ll_session_position(session);
    assert_int_equal(ll_session_load(session, "saved", NULL, &error), wanted);
    if (!strstr(error.text, fragment))
        fail_msg("lacks “%s”: %s", fragment, error.text);
    assert_int_equal(ll_session_position(session), before);
}

static void another_model_cache_type_or_a_smaller_context_is_refused_in_a_sentence(void **state)
{
    (void)state;
    char folder[64];
    ll_token tokens[100];
    unit_seed();
    assert_int_equal(unit_enter_scratch(folder), 0);
    ll_engine *engine = open_engine();
    ll_model *model = open_model(engine, "llama", 1);
    ll_session *session = open_session(model, CONTEXT, LL_F16), *other;
    random_tokens(model, tokens, 100);
    assert_int_equal(ll_session_sync(session, tokens, 100, NULL, NULL), LL_OK);
    assert_int_equal(ll_session_save(session, "saved", NULL, 0, NULL, NULL), LL_OK);
    other = open_session(model, 60, LL_F16);
    expect_refused(other, LL_CONTEXT_FULL, "100 tokens and the context 60");
    ll_session_close(other);
    other = open_session(model, CONTEXT, LL_Q8_0);
    assert_int_equal(ll_session_sync(other, tokens, 10, NULL, NULL), LL_OK);
    expect_refused(other, LL_UNSUPPORTED, "another cache type");
    ll_session_close(other);
    assert_int_equal(ll_session_load(session, "not there", NULL, NULL), LL_NOT_FOUND);
    ll_session_close(session);
    ll_model_close(model);
    model = open_model(engine, "llama", 2); /* the same shape, other weights */
    other = open_session(model, CONTEXT, LL_F16);
    expect_refused(other, LL_UNSUPPORTED, "another model");
    ll_session_close(other);
    ll_model_close(model);
    ll_engine_close(engine);
    unit_leave_scratch(folder);
}

static size_t read_whole(unsigned char **bytes)
{
    struct stat about;
    FILE *file = fopen("saved", "rb");
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &about), 0);
    *bytes = malloc((size_t)about.st_size + 1);
    assert_non_null(*bytes);
    assert_int_equal(fread(*bytes, 1, (size_t)about.st_size, file), about.st_size);
    fclose(file);
    return (size_t)about.st_size;
}

static void write_whole(const unsigned char *bytes, size_t length)
{
    FILE *file = fopen("saved", "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    fclose(file);
}

/* Metadata set by the user is another model, to saved sessions and to kept answers. */
static void metadata_put_in_place_makes_another_model(void **state)
{
    (void)state;
    static const char *const sets[] = {"llama.rope.freq_base=f32:20000", "llama.rope.freq_base=f32:20001"};
    unsigned char plain[IDENTITY_BYTES], identity[sizeof sets / sizeof *sets][IDENTITY_BYTES];
    char folder[64];
    ll_token tokens[20];
    assert_int_equal(unit_enter_scratch(folder), 0);
    ll_engine *engine = open_engine();
    ll_model *model = open_model(engine, "llama", 1);
    ll_session *session = open_session(model, CONTEXT, LL_F16);
    random_tokens(model, tokens, 20);
    assert_int_equal(ll_session_sync(session, tokens, 20, NULL, NULL), LL_OK);
    assert_int_equal(ll_session_save(session, "saved", NULL, 0, NULL, NULL), LL_OK);
    assert_int_equal(model_identity(model, plain, NULL), LL_OK);
    ll_session_close(session);
    ll_model_close(model);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        ll_model_options options;
        ll_model_options_init(&options);
        options.set_meta = &sets[i];
        options.set_meta_count = 1;
        assert_int_equal(ll_model_open(engine, "toy.gguf", &options, NULL, &model, NULL), LL_OK);
        session = open_session(model, CONTEXT, LL_F16);
        expect_refused(session, LL_UNSUPPORTED, "another model");
        assert_int_equal(model_identity(model, identity[i], NULL), LL_OK);
        assert_memory_not_equal(identity[i], plain, IDENTITY_BYTES);
        ll_session_close(session);
        ll_model_close(model);
    }
    assert_memory_not_equal(identity[0], identity[1], IDENTITY_BYTES);
    ll_engine_close(engine);
    unit_leave_scratch(folder);
}

static void a_changed_cut_or_lengthened_file_is_refused_and_the_session_untouched(void **state)
{
    (void)state;
    char folder[64];
    ll_token tokens[50];
    unsigned char *bytes;
    unit_seed();
    assert_int_equal(unit_enter_scratch(folder), 0);
    ll_engine *engine = open_engine();
    ll_model *model = open_model(engine, "bloom", 1);
    ll_session *session = open_session(model, CONTEXT, LL_F16);
    random_tokens(model, tokens, 50);
    assert_int_equal(ll_session_sync(session, tokens, 50, NULL, NULL), LL_OK);
    assert_int_equal(ll_session_save(session, "saved", "words", 5, NULL, NULL), LL_OK);
    size_t length = read_whole(&bytes);
    for (size_t round = 0; round < unit_rounds(300); round++) {
        size_t at = round < 280 && round % 2 ? unit_below(280) : unit_below(length);
        unsigned char old = bytes[at], changed = (unsigned char)unit_random();
        size_t size = round % 7 == 0 ? unit_below(length) : length;
        bytes[at] = changed;
        write_whole(bytes, size);
        if (size == length && changed == old) {
            assert_int_equal(ll_session_load(session, "saved", NULL, NULL), LL_OK);
        } else {
            assert_int_not_equal(ll_session_load(session, "saved", NULL, NULL), LL_OK);
            assert_int_equal(ll_session_position(session), 50);
        }
        bytes[at] = old;
    }
    bytes[length] = 0;
    write_whole(bytes, length + 1);
    expect_refused(session, LL_FORMAT, "another length");
    write_whole(bytes, length);
    assert_int_equal(ll_session_load(session, "saved", NULL, NULL), LL_OK);
    free(bytes);
    ll_session_close(session);
    ll_model_close(model);
    ll_engine_close(engine);
    unit_leave_scratch(folder);
}

static void an_interrupted_save_leaves_the_older_file(void **state)
{
    (void)state;
    char folder[64];
    ll_token tokens[] = {5, 6, 7};
    size_t length = 0;
    ll_run run;
    assert_int_equal(unit_enter_scratch(folder), 0);
    ll_engine *engine = open_engine();
    ll_model *model = open_model(engine, "llama", 1);
    ll_session *session = open_session(model, CONTEXT, LL_F16);
    ll_run_init(&run);
    run.cancel = ll_cancel_new();
    assert_int_equal(ll_session_sync(session, tokens, 3, NULL, NULL), LL_OK);
    assert_int_equal(ll_session_save(session, "saved", "old", 3, &run, NULL), LL_OK);
    ll_cancel_request(run.cancel);
    assert_int_equal(ll_session_save(session, "saved", "newer", 5, &run, NULL), LL_CANCELLED);
    assert_int_equal(ll_session_load(session, "saved", &run, NULL), LL_CANCELLED);
    ll_cancel_reset(run.cancel);
    assert_int_equal(ll_snapshot_attached("saved", NULL, 0, &length, NULL), LL_OK);
    assert_int_equal(length, 3);
    assert_int_equal(ll_session_load(session, "saved", &run, NULL), LL_OK);
    ll_cancel_free(run.cancel);
    ll_session_close(session);
    ll_model_close(model);
    ll_engine_close(engine);
    unit_leave_scratch(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loaded_session_goes_on_as_the_saved_one_in_every_architecture_and_cache_type),
        cmocka_unit_test(a_saved_file_is_private_and_holds_the_callers_words),
        cmocka_unit_test(another_model_cache_type_or_a_smaller_context_is_refused_in_a_sentence),
        cmocka_unit_test(metadata_put_in_place_makes_another_model),
        cmocka_unit_test(a_changed_cut_or_lengthened_file_is_refused_and_the_session_untouched),
        cmocka_unit_test(an_interrupted_save_leaves_the_older_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
