/* Tests of models whose layers lie on two backends: the same bytes as on one, whatever the border.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "cpu/cpu.h"
#include "engine/batch.h"
#include "engine/engine.h"
#include "engine/model.h"
#include "engine/room.h"
#include "engine/tiny.h"

enum { CONTEXT = 300, PROMPT = 150, MORE = 20, MODELS = 8 };

/* Tied and untied outputs, windows, two sets of angles, ALiBi, norms behind the embedding, quantised ones. */
static const char *const names[MODELS] = {
    "llama-grouped", "llama-tied-scaled", "llama-quantised", "gemma3-window",
    "phi3-long",     "bloom-6-heads",     "mpt-bias-8",      "qwen3"};

static ll_model *open_split(ll_engine *engine, const char *name, int gpu_layers)
{
    const char *folder = getenv("top_srcdir");
    char path[4096];
    ll_model_options options;
    ll_model *model = NULL;
    ll_error error;
    ll_model_options_init(&options);
    options.gpu_layers = gpu_layers;
    snprintf(path, sizeof path, "%s/tests/vectors/%s.gguf", folder ? folder : ".", name);
    if (ll_model_open(engine, path, &options, NULL, &model, &error) != LL_OK)
        fail_msg("%s: %s", name, error.text);
    return model;
}

static int layers_of(const ll_model *model)
{
    ll_model_info info;
    ll_model_get_info(model, &info);
    return (int)info.layers;
}

static void sync_to(ll_session *session, const ll_token *tokens, size_t count, float *logits)
{
    ll_error error;
    size_t vocabulary;
    if (ll_session_sync(session, tokens, count, NULL, &error) != LL_OK)
        fail_msg("%s", error.text);
    const float *got = ll_session_logits(session, &vocabulary);
    memcpy(logits, got, vocabulary * sizeof *logits);
}

/* A prompt, single tokens, and another way from its middle; [3, vocabulary]. */
static void talk(ll_model *model, const ll_token *tokens, float *logits)
{
    ll_session *session = tiny_session(model, CONTEXT);
    ll_token other[PROMPT];
    size_t vocabulary = tiny_vocabulary(model);
    sync_to(session, tokens, PROMPT, logits);
    for (size_t i = 1; i <= MORE; i++)
        sync_to(session, tokens, PROMPT + i, logits + vocabulary);
    memcpy(other, tokens, sizeof other);
    for (size_t i = PROMPT / 2; i < PROMPT; i++)
        other[i] = tokens[PROMPT - 1 - i / 2];
    sync_to(session, other, PROMPT, logits + 2 * vocabulary);
    ll_session_close(session);
}

static void a_model_on_two_backends_gives_the_bytes_of_one(void **state)
{
    (void)state;
    for (int m = 0; m < MODELS; m++) {
        ll_engine *engine = tiny_engine("reference");
        ll_model *whole = open_split(engine, names[m], LL_GPU_LAYERS_AUTO);
        size_t count = 3 * tiny_vocabulary(whole);
        float *expected = calloc(count, sizeof *expected), *got = calloc(count, sizeof *got);
        ll_token tokens[PROMPT + MORE];
        tiny_tokens(whole, tokens, PROMPT + MORE);
        talk(whole, tokens, expected);
        assert_int_equal(ll_engine_device_count(engine), 1);
        for (int asked = 0; asked <= layers_of(whole) + 1; asked++) {
            ll_model *split = open_split(engine, names[m], asked);
            talk(split, tokens, got);
            assert_int_equal(ll_engine_device_count(engine), 2);
            assert_memory_equal(expected, got, count * sizeof *got);
            ll_model_close(split);
        }
        free(expected);
        free(got);
        ll_model_close(whole);
        ll_engine_close(engine);
    }
}

static void windows_side_by_side_and_their_shared_prefix_are_split_too(void **state)
{
    (void)state;
    enum { REQUESTS = 5, SHARED = 70, LONGEST = 200 };
    ll_engine *engine = tiny_engine("reference");
    ll_model *models[2] = {open_split(engine, "llama-grouped", LL_GPU_LAYERS_AUTO),
                           open_split(engine, "llama-grouped", 1)};
    ll_token tokens[REQUESTS][LONGEST];
    struct batch_request requests[REQUESTS];
    struct batch_output outputs[2][REQUESTS];
    struct batch_options options = {.context = CONTEXT, .width = 3, .shared = SHARED, .cache_type = LL_F16};
    ll_sampling_init(&options.sampling);
    options.sampling.ignore_end = true;
    for (size_t i = 0; i < REQUESTS; i++) {
        tiny_tokens(models[0], tokens[i], LONGEST);
        memcpy(tokens[i], tokens[0], SHARED * sizeof(ll_token));
        requests[i] = (struct batch_request){
            .tokens = tokens[i], .count = SHARED + 1 + unit_below(LONGEST - SHARED), .max_tokens = 12};
    }
    for (int m = 0; m < 2; m++) {
        ll_error error;
        if (batch_run(models[m], &options, requests, REQUESTS, NULL, outputs[m], &error) != LL_OK)
            fail_msg("%s", error.text);
    }
    for (size_t i = 0; i < REQUESTS; i++) {
        assert_int_equal(outputs[0][i].count, 12);
        assert_int_equal(outputs[1][i].count, 12);
        assert_memory_equal(outputs[0][i].tokens, outputs[1][i].tokens, 12 * sizeof(ll_token));
    }
    for (int m = 0; m < 2; m++) {
        batch_outputs_free(outputs[m], REQUESTS);
        ll_model_close(models[m]);
    }
    ll_engine_close(engine);
}

static void a_snapshot_of_a_split_model_opens_on_a_whole_one_and_the_reverse(void **state)
{
    (void)state;
    ll_engine *engine = tiny_engine("reference");
    ll_model *models[2] = {open_split(engine, "bloom-6-heads", LL_GPU_LAYERS_AUTO),
                           open_split(engine, "bloom-6-heads", 1)};
    ll_token tokens[PROMPT + 1];
    size_t count = tiny_vocabulary(models[0]);
    float *logits = calloc(2 * count, sizeof *logits);
    char path[] = "/tmp/longleaf-split-XXXXXX";
    int made = mkstemp(path);
    tiny_tokens(models[0], tokens, PROMPT + 1);
    for (int from = 0; from < 2; from++) {
        ll_session *writer = tiny_session(models[from], CONTEXT);
        ll_session *reader = tiny_session(models[!from], CONTEXT);
        ll_error error;
        sync_to(writer, tokens, PROMPT, logits);
        if (ll_session_save(writer, path, NULL, 0, NULL, &error) != LL_OK ||
            ll_session_load(reader, path, NULL, &error) != LL_OK)
            fail_msg("%s", error.text);
        sync_to(writer, tokens, PROMPT + 1, logits);
        sync_to(reader, tokens, PROMPT + 1, logits + count);
        assert_memory_equal(logits, logits + count, count * sizeof *logits);
        ll_session_close(writer);
        ll_session_close(reader);
    }
    close(made);
    unlink(path);
    free(logits);
    for (int m = 0; m < 2; m++)
        ll_model_close(models[m]);
    ll_engine_close(engine);
}

static void memory_is_counted_where_the_layers_are(void **state)
{
    (void)state;
    ll_engine *engine = tiny_engine("reference");
    ll_model *model = open_split(engine, "llama-grouped", 1);
    ll_session *session = tiny_session(model, CONTEXT);
    ll_token tokens[PROMPT];
    ll_memory here[2], after[2];
    tiny_tokens(model, tokens, PROMPT);
    float *logits = calloc(tiny_vocabulary(model), sizeof *logits);
    sync_to(session, tokens, PROMPT, logits);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(ll_engine_get_memory(engine, i, &here[i]), LL_OK);
        assert_true(here[i].reserved[LL_CACHE] > 0);
        assert_true(here[i].used[LL_CACHE] > 0 && here[i].used[LL_CACHE] <= here[i].reserved[LL_CACHE]);
    }
    int layers = layers_of(model);
    assert_int_equal(here[1].reserved[LL_CACHE], here[0].reserved[LL_CACHE] * (uint64_t)(layers - 1));
    assert_int_equal(here[1].used[LL_CACHE], here[0].used[LL_CACHE] * (uint64_t)(layers - 1));
    ll_session_close(session);
    ll_model_close(model);
    for (size_t i = 0; i < 2; i++) {
        ll_engine_get_memory(engine, i, &after[i]);
        assert_int_equal(after[i].reserved[LL_CACHE] + after[i].used[LL_CACHE], 0);
        assert_int_equal(after[i].reserved[LL_SCRATCH], 0);
    }
    free(logits);
    ll_engine_close(engine);
}

static void the_weights_come_back_to_where_they_were(void **state)
{
    (void)state;
    ll_engine *engine = tiny_engine("reference");
    ll_model *model = open_split(engine, "gemma3-window", 1);
    ll_session *session = tiny_session(model, CONTEXT);
    size_t count = tiny_vocabulary(model);
    ll_token tokens[PROMPT + 1];
    float *logits = calloc(2 * count, sizeof *logits);
    tiny_tokens(model, tokens, PROMPT + 1);
    sync_to(session, tokens, PROMPT + 1, logits);
    sync_to(session, tokens, PROMPT, logits + count);
    ll_model_rest(model);
    sync_to(session, tokens, PROMPT + 1, logits + count);
    assert_memory_equal(logits, logits + count, count * sizeof *logits);
    ll_session_close(session);
    ll_model_close(model);
    free(logits);
    ll_engine_close(engine);
}

/* ---- a device with memory of its own, and little of it ---- */

static struct card { /* what it says that it has, what it really has, and what caches may take of that */
    uint64_t says, has, cache_has, taken, cache_taken;
    bool foreign; /* it has no kernels for what is stored in the file */
} card;

static ll_status scarce_memory(struct backend *backend, enum backend_memory_kind kind, uint64_t bytes,
                               void **ret, ll_error *error)
{
    if (card.taken + bytes > card.has || (kind == MEMORY_CACHE && card.cache_taken + bytes > card.cache_has))
        return error_set(error, LL_DEVICE_MEMORY, "test", "the card is full");
    LL_TRY(reference_backend.memory_new(backend, kind, bytes, ret, error));
    card.taken += bytes;
    card.cache_taken += kind == MEMORY_CACHE ? bytes : 0;
    return LL_OK;
}

static void scarce_free(struct backend *backend, enum backend_memory_kind kind, void *memory, uint64_t bytes)
{
    card.taken -= memory ? bytes : 0;
    card.cache_taken -= memory && kind == MEMORY_CACHE ? bytes : 0;
    reference_backend.memory_free(backend, kind, memory, bytes);
}

static void scarce_use(const struct backend *backend, struct backend_memory_use *ret)
{
    reference_backend.memory_use(backend, ret);
    ret->total = card.says;
    ret->free = card.says - card.taken;
    ret->limit = 0;
}

static bool scarce_supports(const struct backend *backend, enum dtype dtype)
{
    return !card.foreign && reference_backend.supports_weight(backend, dtype);
}

static ll_status copy_up(struct backend *backend, void *to, const void *host, uint64_t bytes, ll_error *error)
{
    (void)backend;
    (void)error;
    memcpy(to, host, bytes);
    return LL_OK;
}

struct told {
    char text[4000];
    int level; /* of the last line */
};

static void hear(void *user, int level, const char *module, const char *message)
{
    struct told *told = user;
    size_t used = strlen(told->text);
    (void)module;
    told->level = level;
    snprintf(told->text + used, sizeof told->text - used, "%s\n", message);
}

static struct backend_table scarce_table;

static ll_engine *scarce_engine(struct told *told)
{
    ll_engine *engine = tiny_engine("reference");
    struct backend *device = engine_backend(engine);
    scarce_table = reference_backend;
    scarce_table.memory_new = scarce_memory;
    scarce_table.memory_free = scarce_free;
    scarce_table.memory_use = scarce_use;
    scarce_table.supports_weight = scarce_supports;
    scarce_table.upload = copy_up;
    device->table = &scarce_table;
    device->host_memory = false;
    card = (struct card){.says = UINT64_MAX / 2, .has = UINT64_MAX / 2, .cache_has = UINT64_MAX / 2};
    *told = (struct told){.level = -1};
    ll_engine_set_log(engine, hear, told);
    return engine;
}

static void close_scarce(ll_engine *engine)
{
    assert_int_equal(card.taken, 0);
    engine_backend(engine)->table = &reference_backend;
    ll_engine_close(engine);
}

static int there(const ll_model *model)
{
    ll_model_info info;
    ll_model_get_info(model, &info);
    return info.gpu_layers;
}

/* What is predicted of the model as it lies, a session's keys included. */
static ll_need predicted(ll_engine *engine, ll_model *model)
{
    struct backend_split split = model_split(model);
    struct footprint_request request = room_request(engine, split.device, CONTEXT);
    struct inventory inventory;
    ll_error error;
    ll_need need;
    if (inventory_read(model_gguf(model), model_hparams(model), &inventory, &error) != LL_OK)
        fail_msg("%s", error.text);
    request.device.threads = 2; /* as tiny_engine has */
    request.host_embedding = split.host != NULL;
    request.host_layers = split.host ? split.first : 0;
    footprint_compute(model_hparams(model), &inventory, (uint64_t)model_hparams(model)->vocabulary, &request,
                      &need);
    inventory_fini(&inventory);
    return need;
}

static void assert_near(uint64_t got, uint64_t expected, uint64_t bytes, const char *what, const char *name)
{
    uint64_t apart = got > expected ? got - expected : expected - got;
    if (apart > expected / 100 * 3 + bytes)
        fail_msg("%s: %s: %llu bytes were counted and %llu predicted", name, what, (unsigned long long)got,
                 (unsigned long long)expected);
}

/* Keys to the byte; weights with the vectors that one side keeps twice; the threads' own space is a bound. */
static void what_a_split_takes_is_predicted_on_both_sides(void **state)
{
    (void)state;
    for (int m = 0; m < MODELS; m++) {
        struct told told;
        ll_engine *engine = scarce_engine(&told);
        for (int asked = 1; asked <= 2; asked++) {
            ll_model *model = open_split(engine, names[m], asked);
            ll_session *session = tiny_session(model, CONTEXT);
            float *logits = calloc(tiny_vocabulary(model), sizeof *logits);
            ll_token tokens[PROMPT];
            ll_memory memory[2];
            tiny_tokens(model, tokens, PROMPT);
            sync_to(session, tokens, PROMPT, logits);
            ll_need need = predicted(engine, model);
            for (size_t i = 0; i < 2; i++)
                assert_int_equal(ll_engine_get_memory(engine, i, &memory[i]), LL_OK);
            assert_int_equal(there(model), asked);
            assert_int_equal(memory[0].reserved[LL_CACHE], need.bytes[LL_CACHE]);
            assert_int_equal(memory[1].reserved[LL_CACHE], need.host[LL_CACHE]);
            assert_near(memory[0].reserved[LL_WEIGHTS], need.bytes[LL_WEIGHTS], 16 << 10, "weights there",
                        names[m]);
            assert_near(memory[1].reserved[LL_WEIGHTS], need.host[LL_WEIGHTS], 16 << 10, "weights here",
                        names[m]);
            assert_true(memory[0].reserved[LL_SCRATCH] <= need.bytes[LL_SCRATCH]);
            assert_true(memory[0].reserved[LL_SCRATCH] >= need.activations);
            assert_near(memory[1].reserved[LL_SCRATCH], need.host[LL_SCRATCH], 512 << 10, "scratch",
                        names[m]);
            assert_true(memory[1].used[LL_SCRATCH] <= memory[1].reserved[LL_SCRATCH]);
            assert_near(memory[0].reserved[LL_LOGITS], need.bytes[LL_LOGITS], 16 << 10, "logits", names[m]);
            free(logits);
            ll_session_close(session);
            ll_model_close(model);
        }
        close_scarce(engine);
    }
}

static void a_device_gets_the_layers_that_fit_and_the_reason_is_told(void **state)
{
    (void)state;
    struct told told;
    ll_engine *engine = scarce_engine(&told);
    ll_model *model = open_split(engine, "llama-grouped", LL_GPU_LAYERS_AUTO);
    int layers = layers_of(model), seen = 0;
    ll_need need = predicted(engine, model);
    assert_int_equal(there(model), layers + 1);
    assert_string_equal(told.text, "");
    ll_model_close(model);
    int last = layers + 1;
    uint64_t program = need.bytes[LL_PROGRAM], whole = need.total - program;
    for (uint64_t has = whole * 2; has > whole / 20; has -= has / 100) {
        told = (struct told){.level = -1};
        card.has = has; /* what is chosen has to fit in truth */
        card.says = program + has;
        model = open_split(engine, "llama-grouped", LL_GPU_LAYERS_AUTO);
        ll_session *session = tiny_session(model, CONTEXT);
        assert_true(there(model) <= last);
        seen += there(model) != last;
        last = there(model);
        assert_true((last > layers) == !told.text[0]);
        if (last <= layers) {
            assert_int_equal(told.level, LOG_WARNING);
            assert_non_null(strstr(told.text, "processor"));
        }
        ll_session_close(session);
        ll_model_close(model);
    }
    assert_int_equal(last, 0);
    assert_int_equal(seen, layers + 1); /* the embedding alone left, and every number of layers */
    close_scarce(engine);
}

static void as_many_layers_as_asked_or_a_refusal_that_names_what_fits(void **state)
{
    (void)state;
    struct told told;
    ll_engine *engine = scarce_engine(&told);
    ll_model_options options;
    ll_model *model = open_split(engine, "llama-grouped", 1);
    ll_error error;
    char path[4096];
    const char *folder = getenv("top_srcdir");
    assert_int_equal(told.level, LOG_INFO);
    assert_non_null(strstr(told.text, "layers run on the processor, 1 on the GPU"));
    ll_model_close(model);
    card.says = card.has = 100000;
    snprintf(path, sizeof path, "%s/tests/vectors/llama-grouped.gguf", folder ? folder : ".");
    ll_model_options_init(&options);
    options.gpu_layers = 2;
    assert_int_equal(ll_model_open(engine, path, &options, NULL, &model, &error), LL_NOMEM);
    assert_non_null(strstr(error.text, "--gpu-layers 0 fits"));
    card.says = card.has = UINT64_MAX / 2;
    card.foreign = true;
    told = (struct told){.level = -1};
    model = open_split(engine, "llama-grouped", 2);
    assert_int_equal(there(model), 0);
    assert_int_equal(told.level, LOG_WARNING);
    assert_non_null(strstr(told.text, "no kernels for"));
    ll_model_close(model);
    close_scarce(engine);
}

static void a_device_with_less_room_than_it_says_is_left_by_layers(void **state)
{
    (void)state;
    struct told told;
    ll_engine *engine = scarce_engine(&told);
    ll_model *whole = open_split(engine, "gemma3-window", LL_GPU_LAYERS_AUTO);
    size_t vocabulary = tiny_vocabulary(whole);
    float *logits = calloc(vocabulary, sizeof *logits);
    ll_token tokens[PROMPT];
    uint64_t need = card.taken;
    int layers = layers_of(whole);
    tiny_tokens(whole, tokens, PROMPT);
    ll_model_close(whole);
    card.has = need - need / 8;
    ll_model *model = open_split(engine, "gemma3-window", LL_GPU_LAYERS_AUTO);
    assert_true(there(model) < layers);
    assert_non_null(strstr(told.text, "is full"));
    card.has = UINT64_MAX / 2;
    ll_session *session = tiny_session(model, CONTEXT);
    sync_to(session, tokens, PROMPT, logits);
    assert_false(model_retreat(model)); /* its keys are where they are */
    ll_session_close(session);
    ll_model_close(model);
    free(logits);
    close_scarce(engine);
}

static void when_the_device_is_full_windows_go_and_then_layers(void **state)
{
    (void)state;
    enum { REQUESTS = 4, LENGTH = 120 };
    struct told told;
    ll_engine *engine = scarce_engine(&told);
    ll_model *model = open_split(engine, "llama-grouped", LL_GPU_LAYERS_AUTO);
    assert_int_equal(ll_engine_device_count(engine), 1);
    card.cache_has = 1000; /* not even one layer's */
    ll_token tokens[REQUESTS][LENGTH];
    struct batch_request requests[REQUESTS];
    struct batch_output outputs[REQUESTS];
    struct batch_options options = {.context = CONTEXT, .width = 4, .cache_type = LL_F16};
    ll_error error;
    ll_sampling_init(&options.sampling);
    options.sampling.ignore_end = true;
    for (size_t i = 0; i < REQUESTS; i++) {
        tiny_tokens(model, tokens[i], LENGTH);
        requests[i] = (struct batch_request){.tokens = tokens[i], .count = LENGTH, .max_tokens = 6};
    }
    if (batch_run(model, &options, requests, REQUESTS, NULL, outputs, &error) != LL_OK)
        fail_msg("%s", error.text);
    for (size_t i = 0; i < REQUESTS; i++) {
        assert_int_equal(outputs[i].count, 6);
        assert_true(outputs[i].coarser);
    }
    const char *const rungs[] = {"2 windows at once", "1 windows at once",
                                 "fewer layers on the GPU", /* its heads are too small for q8_0 */
                                 "runs on the processor"};
    const char *at = told.text;
    for (size_t i = 0; i < sizeof rungs / sizeof *rungs; i++) {
        const char *next = strstr(at, rungs[i]);
        if (!next)
            fail_msg("'%s' was not said in its place: %s", rungs[i], told.text);
        at = next;
    }
    assert_int_equal(there(model), 0);
    batch_outputs_free(outputs, REQUESTS);
    ll_model_close(model);
    close_scarce(engine);
}

static void the_identity_of_a_model_tells_where_its_layers_are(void **state)
{
    (void)state;
    ll_engine *engine = tiny_engine("reference");
    char identities[4][65];
    const int asked[4] = {LL_GPU_LAYERS_AUTO, 1, 0, 1};
    ll_error error;
    for (int i = 0; i < 4; i++) {
        ll_model *model = open_split(engine, "llama-grouped", asked[i]);
        assert_int_equal(ll_model_get_identity(model, identities[i], &error), LL_OK);
        ll_model_close(model);
    }
    assert_string_equal(identities[1], identities[3]);
    assert_string_not_equal(identities[0], identities[1]);
    assert_string_not_equal(identities[0], identities[2]);
    assert_string_not_equal(identities[1], identities[2]);
    ll_engine_close(engine);
}

static void fewer_than_no_layers_are_refused(void **state)
{
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    const char *folder = getenv("top_srcdir");
    char path[4096];
    ll_model_options options;
    ll_model *model = NULL;
    ll_error error;
    ll_model_options_init(&options);
    options.gpu_layers = -2;
    snprintf(path, sizeof path, "%s/tests/vectors/llama-grouped.gguf", folder ? folder : ".");
    assert_int_equal(ll_model_open(engine, path, &options, NULL, &model, &error), LL_ARGUMENT);
    assert_non_null(strstr(error.text, "-2 layers"));
    options.gpu_layers = 3; /* without a GPU there is nothing to share out, which is said */
    struct told told = {.level = -1};
    ll_engine_set_log(engine, hear, &told);
    assert_int_equal(ll_model_open(engine, path, &options, NULL, &model, &error), LL_OK);
    assert_int_equal(told.level, LOG_WARNING);
    assert_non_null(strstr(told.text, "no GPU here"));
    assert_int_equal(there(model), 0);
    assert_int_equal(ll_engine_device_count(engine), 1);
    ll_model_close(model);
    ll_engine_close(engine);
}

int main(void)
{
    unit_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_on_two_backends_gives_the_bytes_of_one),
        cmocka_unit_test(windows_side_by_side_and_their_shared_prefix_are_split_too),
        cmocka_unit_test(a_snapshot_of_a_split_model_opens_on_a_whole_one_and_the_reverse),
        cmocka_unit_test(memory_is_counted_where_the_layers_are),
        cmocka_unit_test(the_weights_come_back_to_where_they_were),
        cmocka_unit_test(what_a_split_takes_is_predicted_on_both_sides),
        cmocka_unit_test(a_device_gets_the_layers_that_fit_and_the_reason_is_told),
        cmocka_unit_test(as_many_layers_as_asked_or_a_refusal_that_names_what_fits),
        cmocka_unit_test(a_device_with_less_room_than_it_says_is_left_by_layers),
        cmocka_unit_test(the_identity_of_a_model_tells_where_its_layers_are),
        cmocka_unit_test(when_the_device_is_full_windows_go_and_then_layers),
        cmocka_unit_test(fewer_than_no_layers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
