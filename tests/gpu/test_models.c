/* Whole models on a GPU against the CPU engine: every architecture, cache type and way to use a session.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: test_models FOLDER [MODEL…]     FOLDER holds the plug-in; MODELs are tried besides the toy ones
 * Logits are compared as shares of their range. Activations are bf16 on the GPU (8 bits), so a share of one
 * in a hundred is what rounding costs; a wrong slope, window or rotation costs ten times as much. */
#include "longleaf.h"

#include "unit.h"

#include <math.h>

#include "base/strbuf.h"
#include "toy/toy_model.h"

static const char *folder;
static char **models;
static int model_count;

#define BOUND 4e-2 /* toy models: widths of 64 round worst */

struct side {
    ll_engine *engine;
    ll_model *model;
    ll_session *session;
};

static void check(ll_status status, const ll_error *error)
{
    if (status != LL_OK)
        fail_msg("%s: %s: %s", ll_status_name(status), error->where, error->text);
}

static struct side side_open(const char *device, const char *path, ll_dtype cache, size_t context)
{
    struct side side;
    ll_error error;
    ll_engine_options engine;
    ll_session_options session;
    ll_engine_options_init(&engine);
    ll_session_options_init(&session);
    engine.device = device;
    engine.backend_path = folder;
    session.context = context;
    session.cache_type = cache;
    check(ll_engine_open(&engine, &side.engine, &error), &error);
    check(ll_model_open(side.engine, path, NULL, NULL, &side.model, &error), &error);
    check(ll_session_open(side.model, &session, &side.session, &error), &error);
    return side;
}

static void side_close(struct side *side)
{
    ll_session_close(side->session);
    ll_model_close(side->model);
    ll_engine_close(side->engine);
}

static double distance(const struct side *a, const struct side *b)
{
    size_t count, other;
    const float *x = ll_session_logits(a->session, &count), *y = ll_session_logits(b->session, &other);
    assert_int_equal(count, other);
    assert_true(count > 0);
    double low = y[0], high = y[0], sum = 0;
    for (size_t i = 0; i < count; i++) {
        assert_true(isfinite(x[i]));
        low = y[i] < low ? y[i] : low;
        high = y[i] > high ? y[i] : high;
        sum += ((double)x[i] - y[i]) * ((double)x[i] - y[i]);
    }
    assert_true(high > low);
    return sqrt(sum / (double)count) / (high - low);
}

/* Prefills a prompt that crosses pages, grows it token by token, rewinds and prefills again. */
static double walk(struct side *gpu, struct side *cpu, size_t prompt)
{
    ll_token tokens[2048];
    double worst = 0;
    ll_error error;
    for (size_t i = 0; i < prompt + 8; i++)
        tokens[i] = (ll_token)(3 + unit_below(250));
    size_t lengths[] = {prompt, prompt + 1, prompt + 2, prompt + 3, prompt + 8, prompt / 2, prompt - 1};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        check(ll_session_sync(gpu->session, tokens, lengths[i], NULL, &error), &error);
        check(ll_session_sync(cpu->session, tokens, lengths[i], NULL, &error), &error);
        double d = distance(gpu, cpu);
        worst = d > worst ? d : worst;
    }
    return worst;
}

static void compare(const char *path, const char *name, ll_dtype cache, size_t prompt, double bound)
{
    struct side gpu = side_open("cuda", path, cache, 1024), cpu = side_open("cpu", path, cache, 1024);
    double off = walk(&gpu, &cpu, prompt);
    print_message("# %s: %.2e of the logits' range\n", name, off);
    if (off > bound)
        fail_msg("%s: logits are off by %.3g of their range, more than %.3g", name, off, bound);
    side_close(&gpu);
    side_close(&cpu);
}

static void compare_toy(const struct toy_model *toy, ll_dtype cache)
{
    char path[] = "/tmp/longleaf-toy-XXXXXX", name[128];
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    assert_true(toy_model_write_file(toy, path));
    snprintf(name, sizeof name, "%s, %s weights, heads of %d, cache type %d", toy->architecture,
             dtype_info(toy->dtype)->name, toy->head_dim, (int)cache);
    compare(path, name, cache, 300, BOUND);
    unlink(path);
}

static void every_architecture_gives_the_cpu_engines_logits(void **state)
{
    (void)state;
    static const char *const names[] = {"llama", "gemma3", "bloom", "mpt"};
    static const ll_dtype caches[] = {LL_F16, LL_BF16, LL_F32};
    for (int i = 0; i < 4; i++)
        for (int cache = 0; cache < 3; cache++) {
            struct toy_model toy = toy_model_defaults(names[i]);
            toy.seed = unit_random();
            toy.clamp_kqv = cache == 1 ? 2 : 0;
            compare_toy(&toy, caches[cache]);
        }
}

static void wider_models_of_quantised_weights_do_too(void **state)
{
    (void)state;
    static const enum dtype types[] = {DT_Q4_0, DT_Q4_1, DT_Q5_0, DT_Q5_1, DT_Q8_0,
                                       DT_Q4_K, DT_Q5_K, DT_Q6_K, DT_BF16};
    static const char *const names[] = {"llama", "gemma3", "bloom", "mpt"};
    static const int dims[] = {64, 128, 80, 256};
    for (int i = 0; i < 9; i++) {
        struct toy_model toy = toy_model_defaults(names[i % 4]);
        toy.seed = unit_random();
        toy.dtype = types[i];
        toy.head_dim = dims[i % 4];
        toy.heads = 4;
        toy.width = i % 4 == 2 || i % 4 == 3 ? toy.heads * toy.head_dim : 256;
        toy.width = (toy.width + 255) / 256 * 256;
        if (i % 4 >= 2) /* ALiBi families: heads fill the width */
            toy.head_dim = toy.width / toy.heads;
        toy.feed_forward = 512;
        compare_toy(&toy, i % 3 == 0 ? LL_Q8_0 : LL_F16);
    }
}

static void models_given_by_name_do_too(void **state)
{
    (void)state;
    if (model_count == 0)
        skip();
    for (int i = 0; i < model_count; i++)
        compare(models[i], models[i], LL_F16, 400, 2e-2);
}

static void a_cancelled_prefill_can_be_taken_up_again(void **state)
{
    (void)state;
    struct toy_model toy = toy_model_defaults("mpt");
    char path[] = "/tmp/longleaf-toy-XXXXXX";
    int file = mkstemp(path);
    close(file);
    toy.context = 8192;
    assert_true(toy_model_write_file(&toy, path));
    struct side gpu = side_open("cuda", path, LL_F16, 8192), cpu = side_open("cpu", path, LL_F16, 8192);
    static ll_token tokens[6000];
    for (size_t i = 0; i < 6000; i++)
        tokens[i] = (ll_token)(3 + unit_below(250));
    ll_cancel *cancel = ll_cancel_new();
    ll_run run = {.size = sizeof run, .cancel = cancel, .user = cancel};
    ll_error error;
    for (int round = 0; round < 3; round++) {
        ll_cancel_request(cancel);
        assert_int_equal(ll_session_sync(gpu.session, tokens, 6000, &run, &error), LL_CANCELLED);
        ll_cancel_reset(cancel);
    }
    check(ll_session_sync(gpu.session, tokens, 6000, &run, &error), &error);
    check(ll_session_sync(cpu.session, tokens, 6000, NULL, &error), &error);
    assert_true(distance(&gpu, &cpu) < BOUND);
    ll_cancel_free(cancel);
    side_close(&gpu);
    side_close(&cpu);
    unlink(path);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        printf("usage: test_models FOLDER [MODEL...]\n");
        return 2;
    }
    folder = argv[1];
    models = argv + 2;
    model_count = argc - 2;
    unit_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_architecture_gives_the_cpu_engines_logits),
        cmocka_unit_test(wider_models_of_quantised_weights_do_too),
        cmocka_unit_test(models_given_by_name_do_too),
        cmocka_unit_test(a_cancelled_prefill_can_be_taken_up_again),
    };
    return cmocka_run_group_tests_name("models on the GPU", tests, NULL, NULL);
}
