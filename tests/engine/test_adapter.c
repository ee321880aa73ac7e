/* Tests that a model under an adapter gives the logits of a model whose weights were merged beforehand.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Distances are shares of the logits' range; F32 throughout. Leaving out alpha, the scale or one matrix moves
 * them by 1e-3 and more. */
#include <math.h>

#include "engine/tiny.h"
#include "formats/gguf_write.h"

enum { RANK = 3, MOST_TENSORS = 128, TOKENS = 40, PATH = 4200 };
#define BOUND 5e-6

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/longleaf-adapter.XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int drop_folder(void **state)
{
    (void)state;
    char command[96];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static const char *path_of(const char *name)
{
    static char paths[4][PATH];
    static size_t at;
    char *path = paths[at++ % 4];
    snprintf(path, PATH, "%s/%s", folder, name);
    return path;
}

static const char *vector_model(const char *name)
{
    static char path[PATH];
    const char *top = getenv("top_srcdir");
    snprintf(path, sizeof path, "%s/tests/vectors/%s.gguf", top ? top : ".", name);
    return path;
}

static void write_file(const char *path, const void *bytes, size_t length)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

/* ---- an adapter and the file it would merge to ---- */

struct made {
    struct gguf *base;
    struct gguf_writer *writer;
    char *merged; /* the whole base file, changed in place */
    float *kept[MOST_TENSORS * 2];
    size_t kept_count;
};

/* A vector's file, or, with a slash, a folder converted to F32. */
static const char *base_of(const char *model)
{
    ll_error error;
    char from[PATH], *end;
    if (!strchr(model, '/'))
        return vector_model(model);
    snprintf(from, sizeof from, "%s", vector_model(model));
    end = strrchr(from, '.');
    *end = '\0';
    if (ll_model_quantize(from, path_of("converted.gguf"), "F32", NULL, &error) != LL_OK)
        fail_msg("%s", error.text);
    return path_of("converted.gguf");
}

static struct made begin(const char *model, const char *architecture)
{
    struct made made = {0};
    ll_error error;
    if (gguf_open(base_of(model), &made.base, &error) != LL_OK)
        fail_msg("%s", error.text);
    made.merged = malloc(gguf_file_bytes(made.base));
    memcpy(made.merged, gguf_bytes(made.base), gguf_file_bytes(made.base));
    made.writer = gguf_writer_new();
    gguf_writer_text(made.writer, "general.type", "adapter");
    gguf_writer_text(made.writer, "general.architecture", architecture);
    gguf_writer_text(made.writer, "adapter.type", "lora");
    return made;
}

static float *keep_random(struct made *made, size_t count, float amplitude)
{
    float *values = malloc(count * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; i++)
        values[i] = amplitude * ((float)unit_below(20001) / 10000.0f - 1.0f);
    assert_true(made->kept_count < MOST_TENSORS * 2);
    return made->kept[made->kept_count++] = values;
}

static float *merged_data(const struct made *made, const struct gguf_tensor *tensor)
{
    assert_int_equal(tensor->dtype, DT_F32);
    return (float *)(void *)(made->merged +
                             ((const char *)tensor->data - (const char *)gguf_bytes(made->base)));
}

static void add_matrix(struct made *made, const struct gguf_tensor *tensor, double scale)
{
    char name[96];
    uint64_t inputs = tensor->shape[0], outputs = tensor->shape[1];
    const float *a = keep_random(made, RANK * inputs, 0.2f), *b = keep_random(made, outputs * RANK, 0.2f);
    snprintf(name, sizeof name, "%s.lora_a", tensor->name);
    gguf_writer_tensor(made->writer, name, DT_F32, 2, (uint64_t[]){inputs, RANK}, a);
    snprintf(name, sizeof name, "%s.lora_b", tensor->name);
    gguf_writer_tensor(made->writer, name, DT_F32, 2, (uint64_t[]){RANK, outputs}, b);
    float *weight = merged_data(made, tensor);
    for (uint64_t row = 0; row < outputs; row++)
        for (uint64_t column = 0; column < inputs; column++) {
            double sum = 0.0;
            for (uint64_t r = 0; r < RANK; r++)
                sum += (double)b[row * RANK + r] * (double)a[r * inputs + column];
            weight[row * inputs + column] = (float)((double)weight[row * inputs + column] + scale * sum);
        }
}

static void add_vector(struct made *made, const struct gguf_tensor *tensor, double scale)
{
    char name[96];
    const float *delta = keep_random(made, tensor->shape[0], 0.1f);
    snprintf(name, sizeof name, "%s.delta", tensor->name);
    gguf_writer_tensor(made->writer, name, DT_F32, 1, tensor->shape, delta);
    float *vector = merged_data(made, tensor);
    for (uint64_t i = 0; i < tensor->shape[0]; i++)
        vector[i] += (float)scale * delta[i];
}

static void finish(struct made *made, const char *name)
{
    struct strbuf bytes = {0};
    gguf_writer_finish(made->writer, &bytes);
    assert_false(bytes.failed);
    write_file(path_of(name), bytes.text, bytes.length);
    write_file(path_of("merged.gguf"), made->merged, gguf_file_bytes(made->base));
    strbuf_fini(&bytes);
    gguf_writer_free(made->writer);
    gguf_close(made->base);
    free(made->merged);
    for (size_t i = 0; i < made->kept_count; i++)
        free(made->kept[i]);
}

/* All matrices of the layers and the output where it is its own, all norms and biases. */
static void make_all(const char *model, const char *architecture, float given, const char *name)
{
    struct made made = begin(model, architecture);
    float alpha = (float)(1 + unit_below(8));
    gguf_writer_f32(made.writer, "adapter.lora.alpha", alpha);
    for (size_t i = 0; i < gguf_tensor_count(made.base); i++) {
        const struct gguf_tensor *tensor = gguf_tensor_at(made.base, i);
        if ((strncmp(tensor->name, "token_embd", 10) == 0 && tensor->dims == 2) || tensor->dims == 3 ||
            strncmp(tensor->name, "rope_", 5) == 0 || strstr(tensor->name, "ffn_gate_inp"))
            continue; /* of a mixture: neither the experts nor what chooses among them */
        if (tensor->dims == 2)
            add_matrix(&made, tensor, (double)given * (double)alpha / RANK);
        else
            add_vector(&made, tensor, (double)given);
    }
    finish(&made, name);
}

/* ---- comparing ---- */

static ll_status open_with(ll_engine *engine, const char *model, const char *adapter, float scale,
                           ll_model **ret, ll_error *error)
{
    ll_model_options options;
    ll_model_options_init(&options);
    ll_adapter list[1] = {{adapter, scale}};
    options.adapters = list;
    options.adapter_count = adapter ? 1 : 0;
    return ll_model_open(engine, model, &options, NULL, ret, error);
}

static ll_model *opened(ll_engine *engine, const char *model, const char *adapter, float scale)
{
    ll_model *ret = NULL;
    ll_error error;
    if (open_with(engine, model, adapter, scale, &ret, &error) != LL_OK)
        fail_msg("%s", error.text);
    return ret;
}

static ll_session *session_of(ll_model *model)
{
    ll_session_options options;
    ll_session *session = NULL;
    ll_session_options_init(&options);
    options.context = 128;
    options.cache_type = LL_F32;
    assert_int_equal(ll_session_open(model, &options, &session, NULL), LL_OK);
    return session;
}

/* A prompt at once, then tokens one by one. */
static double distance(ll_model *one, ll_model *two)
{
    ll_token tokens[TOKENS];
    double worst = 0.0;
    size_t width;
    ll_session *a = session_of(one), *b = session_of(two);
    tiny_tokens(one, tokens, TOKENS);
    for (size_t count = TOKENS - 4; count <= TOKENS; count++) {
        assert_int_equal(ll_session_sync(a, tokens, count, NULL, NULL), LL_OK);
        assert_int_equal(ll_session_sync(b, tokens, count, NULL, NULL), LL_OK);
        const float *x = ll_session_logits(a, &width), *y = ll_session_logits(b, &width);
        float least = x[0], most = x[0];
        for (size_t i = 0; i < width; i++) {
            least = fminf(least, x[i]);
            most = fmaxf(most, x[i]);
        }
        for (size_t i = 0; i < width; i++)
            worst = fmax(worst, fabs((double)x[i] - (double)y[i]) / (double)(most - least));
    }
    ll_session_close(a);
    ll_session_close(b);
    return worst;
}

static const struct family {
    const char *model, *architecture;
} families[] = {{"llama-grouped", "llama"},    {"gemma3-window", "gemma3"}, {"bloom-6-heads", "bloom"},
                {"phi3-short", "phi3"},        {"hf/mixtral", "llama"},     {"hf/qwen3moe", "qwen3moe"},
                {"falcon-two-norms", "falcon"}};
enum { FAMILIES = sizeof families / sizeof families[0] };

static void an_adapted_model_equals_the_merged_one_in_every_family_and_on_every_path(void **state)
{
    (void)state;
    static const char *const devices[] = {"reference", "cpu"};
    for (size_t i = 0; i < FAMILIES; i++) {
        float scale = (float)(1 + unit_below(3)) / 2.0f;
        make_all(families[i].model, families[i].architecture, scale, "adapter.gguf");
        for (size_t d = 0; d < 2; d++) {
            ll_engine *engine = tiny_engine(devices[d]);
            ll_model *adapted = opened(engine, base_of(families[i].model), path_of("adapter.gguf"), scale);
            ll_model *merged = opened(engine, path_of("merged.gguf"), NULL, 1.0f);
            ll_model *plain = opened(engine, base_of(families[i].model), NULL, 1.0f);
            double near = distance(adapted, merged), far = distance(adapted, plain);
            printf("# %s on %s: within %.1e of merged, %.1e of plain\n", families[i].model, devices[d], near,
                   far);
            assert_true(near < BOUND);
            assert_true(far > 1e-3);
            ll_model_close(adapted);
            ll_model_close(merged);
            ll_model_close(plain);
            ll_engine_close(engine);
        }
    }
}

static void two_adapters_add_up(void **state)
{
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    ll_adapter list[2];
    ll_model_options options;
    ll_model *both = NULL;
    make_all("llama-grouped", "llama", 1.0f, "one.gguf");
    ll_model_options_init(&options);
    list[0] = (ll_adapter){path_of("one.gguf"), 0.25f};
    list[1] = (ll_adapter){path_of("one.gguf"), 0.75f};
    options.adapters = list;
    options.adapter_count = 2;
    assert_int_equal(ll_model_open(engine, vector_model("llama-grouped"), &options, NULL, &both, NULL),
                     LL_OK);
    ll_model *merged = opened(engine, path_of("merged.gguf"), NULL, 1.0f);
    assert_true(distance(both, merged) < BOUND);
    ll_model_close(both);
    ll_model_close(merged);
    ll_engine_close(engine);
}

/* ---- slopes ---- */

/* A family with ALiBi that is llama in all else: under llama's name it turns keys, until an adapter says not
 * to. */
static ll_model *as_llama(ll_engine *engine, const char *adapter)
{
    static const char *const meta[] = {"general.architecture=str:llama",
                                       "llama.context_length=u32:512",
                                       "llama.embedding_length=u32:30",
                                       "llama.feed_forward_length=u32:40",
                                       "llama.block_count=u32:2",
                                       "llama.attention.head_count=u32:5",
                                       "llama.attention.head_count_kv=u32:5",
                                       "llama.attention.layer_norm_rms_epsilon=f32:1e-05"};
    ll_model_options options;
    ll_model *model = NULL;
    ll_error error;
    ll_adapter list[1] = {{adapter, 1.0f}};
    ll_model_options_init(&options);
    options.set_meta = meta;
    options.set_meta_count = sizeof meta / sizeof *meta;
    options.adapters = list;
    options.adapter_count = adapter ? 1 : 0;
    if (ll_model_open(engine, vector_model("baichuan-alibi"), &options, NULL, &model, &error) != LL_OK)
        fail_msg("%s", error.text);
    return model;
}

static void make_slopes(const char *name, size_t count, float first)
{
    struct made made = begin("baichuan-alibi", "llama");
    float slopes[16]; /* of 5 heads: those of 4, and the first between */
    static const float five[] = {0.25f, 0.0625f, 0.015625f, 0.00390625f, 0.5f};
    for (size_t i = 0; i < count; i++)
        slopes[i] = five[i % 5];
    slopes[0] = first;
    gguf_writer_f32s(made.writer, "adapter.alibi.slopes", slopes, count);
    gguf_writer_u32(made.writer, "adapter.context_length", 4096);
    finish(&made, name);
}

static void slopes_take_the_place_of_rotary_positions(void **state)
{
    (void)state;
    static const char *const devices[] = {"reference", "cpu"};
    make_slopes("slopes.gguf", 10, 0.25f);
    for (size_t d = 0; d < 2; d++) {
        ll_engine *engine = tiny_engine(devices[d]);
        ll_model *alibi = opened(engine, vector_model("baichuan-alibi"), NULL, 1.0f);
        ll_model *adapted = as_llama(engine, path_of("slopes.gguf")), *rotary = as_llama(engine, NULL);
        ll_model_info info;
        ll_model_get_info(adapted, &info);
        assert_int_equal(info.position, LL_ALIBI);
        assert_int_equal(info.trained_context, 4096);
        assert_true(distance(adapted, alibi) < BOUND);
        assert_true(distance(rotary, alibi) > 1e-3);
        ll_model_close(alibi);
        ll_model_close(adapted);
        ll_model_close(rotary);
        ll_engine_close(engine);
    }
}

static void the_plan_counts_the_cache_under_slopes_as_that_of_alibi(void **state)
{
    (void)state;
    ll_blueprint *blueprint = NULL;
    ll_need_options options;
    ll_need before, after;
    make_slopes("slopes.gguf", 12, 0.25f);
    ll_adapter list[1] = {{path_of("slopes.gguf"), 1.0f}};
    ll_need_options_init(&options);
    options.context = 128;
    assert_int_equal(ll_blueprint_open(vector_model("llama-grouped"), &blueprint, NULL), LL_OK);
    assert_int_equal(ll_blueprint_need(blueprint, &options, &before, NULL), LL_OK);
    assert_int_equal(before.full_layers, 3);
    assert_int_equal(ll_blueprint_add_adapters(blueprint, list, 1, NULL), LL_OK);
    assert_int_equal(ll_blueprint_need(blueprint, &options, &after, NULL), LL_OK);
    assert_int_equal(after.full_layers, 0);
    assert_int_equal(after.alibi_layers, 3);
    assert_int_equal(after.cache_alibi, after.bytes[LL_CACHE]);
    ll_blueprint_close(blueprint);
}

/* ---- what does not fit ---- */

static void expect_refused(ll_engine *engine, const char *name, float scale, const char *fragment)
{
    ll_model *model = NULL;
    ll_error error = {0};
    assert_int_not_equal(
        open_with(engine, vector_model("llama-grouped"), path_of(name), scale, &model, &error), LL_OK);
    if (!strstr(error.text, fragment) || !strstr(error.text, name))
        fail_msg("“%s” has no “%s” or no file's name", error.text, fragment);
}

static void make_odd(const char *name, const char *tensor, uint64_t inputs, uint64_t outputs, bool half)
{
    struct made made = begin("llama-grouped", "llama");
    char part[96];
    float *zeros = keep_random(&made, 4096, 0.1f);
    snprintf(part, sizeof part, "%s.lora_a", tensor);
    gguf_writer_tensor(made.writer, part, DT_F32, 2, (uint64_t[]){inputs, RANK}, zeros);
    snprintf(part, sizeof part, "%s.lora_b", tensor);
    if (!half)
        gguf_writer_tensor(made.writer, part, DT_F32, 2, (uint64_t[]){RANK, outputs}, zeros);
    finish(&made, name);
}

static void what_does_not_fit_is_refused_by_file_and_tensor(void **state)
{
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    ll_model_info info;
    ll_model *model = opened(engine, vector_model("llama-grouped"), NULL, 1.0f);
    ll_model_get_info(model, &info);
    ll_model_close(model);
    make_all("llama-grouped", "qwen2", 1.0f, "other.gguf");
    expect_refused(engine, "other.gguf", 1.0f, "qwen2");
    make_all("llama-grouped", "llama", 1.0f, "good.gguf");
    expect_refused(engine, "good.gguf", NAN, "scale");
    make_odd("wide.gguf", "blk.0.ffn_up.weight", info.width + 1, 7, false);
    expect_refused(engine, "wide.gguf", 1.0f, "blk.0.ffn_up.weight");
    make_odd("half.gguf", "blk.0.ffn_up.weight", info.width, 7, true);
    expect_refused(engine, "half.gguf", 1.0f, "one of lora_a and lora_b");
    make_odd("table.gguf", "token_embd.weight", info.width, info.vocabulary, false);
    expect_refused(engine, "table.gguf", 1.0f, "token_embd.weight");
    make_odd("nothing.gguf", "blk.77.ffn_up.weight", info.width, 7, false);
    expect_refused(engine, "nothing.gguf", 1.0f, "blk.77");
    make_odd("router.gguf", "blk.0.ffn_gate_inp.weight", 32, 5, false);
    assert_int_equal(open_with(engine, base_of("hf/mixtral"), path_of("router.gguf"), 1.0f, &model, NULL),
                     LL_UNSUPPORTED);
    make_slopes("slopes.gguf", 9, 0.25f);
    expect_refused(engine, "slopes.gguf", 1.0f, "heads in all");
    write_file(path_of("text.gguf"), "no model", 8);
    expect_refused(engine, "text.gguf", 1.0f, "");
    assert_int_equal(
        open_with(engine, vector_model("llama-grouped"), vector_model("llama-grouped"), 1.0f, &model, NULL),
        LL_UNSUPPORTED);
    assert_int_equal(open_with(engine, path_of("good.gguf"), NULL, 1.0f, &model, NULL), LL_UNSUPPORTED);
    assert_int_equal(
        open_with(engine, vector_model("llama-grouped"), path_of("absent.gguf"), 1.0f, &model, NULL),
        LL_NOT_FOUND);
    ll_engine_close(engine);
}

static void memory_identity_and_snapshots_know_the_adapter(void **state)
{
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    ll_memory before, after;
    ll_model_info info;
    ll_adapter_info about;
    ll_error error;
    ll_token tokens[8];
    char plain_identity[65], adapted_identity[65];
    make_all("llama-grouped", "llama", 1.0f, "adapter.gguf");
    ll_model *plain = opened(engine, vector_model("llama-grouped"), NULL, 1.0f);
    ll_engine_get_memory(engine, 0, &before);
    ll_model *adapted = opened(engine, vector_model("llama-grouped"), path_of("adapter.gguf"), 1.0f);
    ll_engine_get_memory(engine, 0, &after);
    ll_model_get_info(adapted, &info);
    assert_int_equal(info.adapters, 1);
    assert_int_equal(ll_adapter_get_info(path_of("adapter.gguf"), &about, NULL), LL_OK);
    assert_int_equal(about.least_rank, RANK);
    assert_true(about.matrices > 7 && about.vectors > 2);
    assert_true(info.adapter_bytes >= 4 * RANK * about.matrices);
    assert_true(after.reserved[LL_WEIGHTS] - before.reserved[LL_WEIGHTS] >= info.adapter_bytes);
    assert_int_equal(ll_model_get_identity(plain, plain_identity, NULL), LL_OK);
    assert_int_equal(ll_model_get_identity(adapted, adapted_identity, NULL), LL_OK);
    assert_string_not_equal(plain_identity, adapted_identity);
    ll_session *one = session_of(plain), *two = session_of(adapted);
    tiny_tokens(plain, tokens, 8);
    assert_int_equal(ll_session_sync(one, tokens, 8, NULL, NULL), LL_OK);
    assert_int_equal(ll_session_save(one, path_of("saved"), NULL, 0, NULL, NULL), LL_OK);
    assert_int_equal(ll_session_load(two, path_of("saved"), NULL, &error), LL_UNSUPPORTED);
    ll_session_close(one);
    ll_session_close(two);
    ll_model_close(plain);
    ll_model_close(adapted);
    ll_engine_close(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_adapted_model_equals_the_merged_one_in_every_family_and_on_every_path),
        cmocka_unit_test(two_adapters_add_up),
        cmocka_unit_test(slopes_take_the_place_of_rotary_positions),
        cmocka_unit_test(the_plan_counts_the_cache_under_slopes_as_that_of_alibi),
        cmocka_unit_test(what_does_not_fit_is_refused_by_file_and_tensor),
        cmocka_unit_test(memory_identity_and_snapshots_know_the_adapter),
    };
    unit_seed();
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
