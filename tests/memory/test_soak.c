/* A soak test: sessions, windows, rests and trims in random order; what is held stays what it was.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Fragmentation is what the allocator has taken beyond what is in use. It is bounded at every moment and,
 * with everything closed again, nothing has been lost. */
#include "base/machine.h"
#include "engine/batch.h"
#include "engine/tiny.h"

enum { SESSIONS = 4, CONTEXT = 600, WARM = 6, SLACK = 8 << 20, LEAK = 256 << 10 };

struct soak {
    ll_engine *engine;
    ll_model *model;
    ll_session *sessions[SESSIONS];
    ll_token tokens[CONTEXT];
};

static bool sanitized(void)
{
    const char *flags = getenv("ll_sanitizers");
    return flags && *flags;
}

static void talk(struct soak *soak, ll_session *session)
{
    ll_sampling sampling;
    ll_finish finish;
    size_t position = ll_session_position(session);
    ll_sampling_init(&sampling);
    sampling.ignore_end = true;
    if (position > 0 && unit_below(2))
        assert_int_equal(ll_session_rewind(session, unit_below(position + 1)), LL_OK);
    soak->tokens[unit_below(CONTEXT)] = (ll_token)unit_below(tiny_vocabulary(soak->model));
    assert_int_equal(ll_session_sync(session, soak->tokens, 1 + unit_below(CONTEXT - 10), NULL, NULL), LL_OK);
    assert_int_equal(ll_generate(session, &sampling, unit_below(9), NULL, &finish, NULL), LL_OK);
}

static void read_windows(struct soak *soak)
{
    enum { REQUESTS = 5 };
    struct batch_request requests[REQUESTS];
    struct batch_output outputs[REQUESTS];
    struct batch_options options = {
        .context = CONTEXT, .width = 1 + unit_below(4), .shared = 20, .cache_type = LL_F16};
    ll_sampling_init(&options.sampling);
    for (size_t i = 0; i < REQUESTS; i++)
        requests[i] = (struct batch_request){soak->tokens, 30 + unit_below(200), unit_below(8), 0};
    assert_int_equal(batch_run(soak->model, &options, requests, REQUESTS, NULL, outputs, NULL), LL_OK);
    batch_outputs_free(outputs, REQUESTS);
}

static void do_something(struct soak *soak)
{
    ll_session **session = &soak->sessions[unit_below(SESSIONS)];
    uint64_t bytes;
    switch (unit_below(8)) {
    case 0:
        ll_session_close(*session);
        *session = NULL;
        break;
    case 1:
        (void)ll_model_rest(soak->model);
        break;
    case 2:
        if (*session)
            assert_int_equal(ll_session_trim(*session, &bytes, NULL), LL_OK);
        break;
    case 3:
        read_windows(soak);
        break;
    default:
        if (!*session)
            *session = tiny_session(soak->model, CONTEXT);
        talk(soak, *session);
    }
}

static void begin(struct soak *soak)
{
    soak->model = tiny_model(soak->engine, tiny_names[unit_below(TINY_COUNT)]);
    tiny_tokens(soak->model, soak->tokens, CONTEXT);
}

static void close_all(struct soak *soak)
{
    for (int i = 0; i < SESSIONS; i++) {
        ll_session_close(soak->sessions[i]);
        soak->sessions[i] = NULL;
    }
    ll_model_close(soak->model);
    machine_trim();
}

/* Reserved beyond used: a quarter of what is used and some megabytes, whatever was done before. */
static void assert_whole(const char *when, const ll_heap *heap)
{
    if (heap->reserved > heap->used + heap->used / 4 + SLACK)
        fail_msg("%s: %llu bytes are in use of %llu reserved", when, (unsigned long long)heap->used,
                 (unsigned long long)heap->reserved);
}

static void nothing_is_lost_and_little_is_fragmented(void **state)
{
    struct soak soak = {.engine = tiny_engine("cpu")};
    ll_heap first = {0}, heap;
    ll_memory memory;
    size_t rounds = unit_rounds(WARM);
    (void)state;
    for (size_t round = 0; round < WARM + rounds; round++) {
        begin(&soak);
        for (int i = 0; i < 12; i++)
            do_something(&soak);
        machine_trim();
        ll_heap_get(&heap);
        if (!sanitized())
            assert_whole("at work", &heap);
        close_all(&soak);
        ll_engine_get_memory(soak.engine, 0, &memory);
        assert_int_equal(memory.used[LL_CACHE], 0);
        assert_int_equal(memory.reserved[LL_CACHE] + memory.reserved[LL_WEIGHTS], 0);
        ll_heap_get(&heap);
        if (round + 1 == WARM)
            first = heap;
        else if (round >= WARM && !sanitized() && heap.used > first.used + LEAK)
            fail_msg("round %zu: %llu bytes are in use, %llu were after %d rounds", round,
                     (unsigned long long)heap.used, (unsigned long long)first.used, WARM);
        if (!sanitized())
            assert_whole("closed", &heap);
    }
    ll_engine_close(soak.engine);
}

static int enter(void **state)
{
    (void)state;
    unit_seed();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_lost_and_little_is_fragmented)};
    return cmocka_run_group_tests_name("memory/soak", tests, enter, NULL);
}
