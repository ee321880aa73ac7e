/* Random sequences and cancellations on a GPU for minutes: nothing leaks, and no answer changes.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: test_soak FOLDER [SECONDS]     FOLDER holds the plug-in; 300 seconds unless said */
#include "longleaf.h"

#include "unit.h"

#include <math.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "toy/toy_model.h"

enum { CONTEXT = 4096, SESSIONS = 3 };

static const char *folder;
static double seconds = 300;

static void check(ll_status status, const ll_error *error)
{
    if (status != LL_OK)
        fail_msg("%s: %s: %s", ll_status_name(status), error->where, error->text);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static ll_engine *open_engine(bool graphs)
{
    ll_engine_options options;
    ll_engine *engine;
    ll_error error;
    setenv("LONGLEAF_CUDA_GRAPHS", graphs ? "1" : "0", 1);
    ll_engine_options_init(&options);
    options.device = "cuda";
    options.backend_path = folder;
    check(ll_engine_open(&options, &engine, &error), &error);
    return engine;
}

static ll_session *open_session(ll_model *model, ll_dtype cache)
{
    ll_session_options options;
    ll_session *session;
    ll_error error;
    ll_session_options_init(&options);
    options.context = CONTEXT;
    options.cache_type = cache;
    check(ll_session_open(model, &options, &session, &error), &error);
    return session;
}

static void write_toy(const char *architecture, char *path)
{
    struct toy_model toy = toy_model_defaults(architecture);
    toy.seed = unit_random();
    toy.context = CONTEXT;
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    assert_true(toy_model_write_file(&toy, path));
}

static void fill(ll_token *tokens, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        tokens[i] = (ll_token)(3 + unit_below(250));
}

/* ---- cancelling from another thread ---- */

struct canceller {
    ll_cancel *cancel;
    long nanoseconds;
};

static void *cancel_later(void *data)
{
    struct canceller *canceller = data;
    struct timespec wait = {.tv_nsec = canceller->nanoseconds};
    nanosleep(&wait, NULL);
    ll_cancel_request(canceller->cancel);
    return NULL;
}

static void cancelled_sync(ll_session *session, const ll_token *tokens, size_t count)
{
    struct canceller canceller = {.cancel = ll_cancel_new(), .nanoseconds = (long)unit_below(3000000)};
    ll_run run = {.size = sizeof run, .cancel = canceller.cancel};
    pthread_t thread;
    ll_error error;
    assert_int_equal(pthread_create(&thread, NULL, cancel_later, &canceller), 0);
    ll_status status = ll_session_sync(session, tokens, count, &run, &error);
    pthread_join(thread, NULL);
    if (status != LL_CANCELLED)
        check(status, &error);
    ll_cancel_free(canceller.cancel);
}

/* ---- the soak ---- */

/* A session's logits after all of this are those of one that never saw any of it. */
static void compare_with_fresh(ll_session *session, ll_model *model, const ll_token *tokens, size_t count,
                               ll_dtype cache)
{
    size_t got_count, count_fresh;
    ll_error error;
    check(ll_session_sync(session, tokens, count, NULL, &error), &error);
    const float *got = ll_session_logits(session, &got_count);
    ll_session *fresh = open_session(model, cache);
    check(ll_session_sync(fresh, tokens, count, NULL, &error), &error);
    const float *want = ll_session_logits(fresh, &count_fresh);
    assert_int_equal(got_count, count_fresh);
    double low = want[0], high = want[0], worst = 0;
    for (size_t i = 0; i < got_count; i++) {
        double off = fabs((double)got[i] - (double)want[i]);
        worst = off > worst || isnan(off) ? off : worst;
        low = want[i] < low ? want[i] : low;
        high = want[i] > high ? want[i] : high;
    }
    if (!(worst <= 0.1 * (high - low)))
        fail_msg("after %zu tokens a used session is off by %.3g of a range of %.3g", count, worst,
                 high - low);
    ll_session_close(fresh);
}

static size_t soak_round(ll_model *model, ll_dtype cache)
{
    static ll_token tokens[SESSIONS][CONTEXT];
    ll_session *sessions[SESSIONS];
    ll_error error;
    size_t steps = 0;
    for (int i = 0; i < SESSIONS; i++) {
        sessions[i] = open_session(model, cache);
        fill(tokens[i], 0, CONTEXT);
    }
    for (int step = 0; step < 40; step++, steps++) {
        int i = (int)unit_below(SESSIONS);
        size_t count = 1 + unit_below(unit_below(4) ? 300 : CONTEXT - 1);
        switch (unit_below(6)) {
        case 0: /* another text from here on */
            fill(tokens[i], unit_below(CONTEXT), CONTEXT);
            break;
        case 1:
            check(ll_session_rewind(sessions[i], unit_below(ll_session_position(sessions[i]) + 1)), &error);
            break;
        case 2:
            cancelled_sync(sessions[i], tokens[i], count);
            break;
        case 3: /* token by token */
            for (size_t n = count < CONTEXT - 9 ? count : CONTEXT - 9, end = n + 8; n < end; n++)
                check(ll_session_sync(sessions[i], tokens[i], n, NULL, &error), &error);
            break;
        case 4:
            compare_with_fresh(sessions[i], model, tokens[i], count, cache);
            break;
        default:
            check(ll_session_sync(sessions[i], tokens[i], count, NULL, &error), &error);
        }
    }
    for (int i = 0; i < SESSIONS; i++)
        ll_session_close(sessions[i]);
    return steps;
}

static uint64_t free_memory(const ll_engine *engine)
{
    ll_memory memory;
    assert_int_equal(ll_engine_get_memory(engine, 0, &memory), LL_OK);
    return memory.free;
}

static void minutes_of_random_use_leak_nothing_and_change_no_answer(void **state)
{
    (void)state;
    static const char *const names[] = {"llama", "mpt", "gemma3", "bloom"};
    static const ll_dtype caches[] = {LL_F16, LL_BF16, LL_F32};
    double end = now() + seconds;
    size_t steps = 0, rounds = 0;
    ll_engine *engine = open_engine(true);
    uint64_t first = 0;
    ll_error error;
    while (now() < end) {
        char path[] = "/tmp/longleaf-soak-XXXXXX";
        ll_model *model;
        write_toy(names[rounds % 4], path);
        check(ll_model_open(engine, path, NULL, NULL, &model, &error), &error);
        steps += soak_round(model, caches[rounds / 4 % 3]);
        ll_model_close(model);
        unlink(path);
        /* The first rounds grow the scratch and what the driver keeps; from then on it stays. */
        if (++rounds == 24)
            first = free_memory(engine);
    }
    uint64_t last = free_memory(engine);
    print_message("# %zu steps in %zu rounds; memory lost since round 24: %.1f MiB\n", steps, rounds,
                  rounds < 24 ? NAN : ((double)first - (double)last) / 1048576);
    assert_true(rounds < 24 || last + ((uint64_t)64 << 20) >= first);
    ll_engine_close(engine);
}

static void graphs_change_no_byte(void **state)
{
    (void)state;
    static const char *const names[] = {"llama", "mpt", "gemma3"};
    static ll_token tokens[600];
    ll_error error;
    for (int m = 0; m < 3; m++) {
        char path[] = "/tmp/longleaf-soak-XXXXXX";
        ll_engine *engines[2];
        ll_model *models[2];
        ll_session *sessions[2];
        write_toy(names[m], path);
        fill(tokens, 0, 600);
        for (int i = 0; i < 2; i++) {
            engines[i] = open_engine(i == 0);
            check(ll_model_open(engines[i], path, NULL, NULL, &models[i], &error), &error);
            sessions[i] = open_session(models[i], LL_F16);
        }
        for (size_t n = 200; n < 460; n++) {
            const float *logits[2];
            size_t count[2];
            for (int i = 0; i < 2; i++) {
                check(ll_session_sync(sessions[i], tokens, n, NULL, &error), &error);
                logits[i] = ll_session_logits(sessions[i], &count[i]);
            }
            assert_int_equal(count[0], count[1]);
            assert_memory_equal(logits[0], logits[1], count[0] * sizeof *logits[0]);
        }
        for (int i = 0; i < 2; i++) {
            ll_session_close(sessions[i]);
            ll_model_close(models[i]);
            ll_engine_close(engines[i]);
        }
        unlink(path);
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        printf("usage: test_soak FOLDER [SECONDS]\n");
        return 2;
    }
    folder = argv[1];
    if (argc > 2)
        seconds = atof(argv[2]);
    unit_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs_change_no_byte),
        cmocka_unit_test(minutes_of_random_use_leak_nothing_and_change_no_answer),
    };
    return cmocka_run_group_tests_name("random use of a GPU", tests, NULL, NULL);
}
