/* Tests of the guard: refused before any work, warned once, shrinking in the middle, nothing lost.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine/batch.h"
#include "engine/engine.h"
#include "engine/tiny.h"

enum { REQUESTS = 9, CONTEXT = 300, TOKENS = 200 };

static ll_engine *limited_engine(uint64_t bytes)
{
    ll_engine_options options;
    ll_engine *engine = NULL;
    ll_engine_options_init(&options);
    options.device = "cpu";
    options.threads = 2;
    options.memory = bytes;
    assert_int_equal(ll_engine_open(&options, &engine, NULL), LL_OK);
    return engine;
}

static const char *tiny_path(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/tests/vectors/%s.gguf", getenv("top_srcdir"), name);
    return path;
}

static void a_model_that_cannot_fit_is_refused_with_rows_and_the_nearest(void **state)
{
    static const char *const said[] = {"weights", "KV cache", "scratch", "logits", "are free"};
    ll_model *model = NULL;
    ll_error error = {0};
    ll_memory memory;
    (void)state;
    ll_engine *engine = limited_engine(1 << 20);
    assert_int_equal(ll_model_open(engine, tiny_path("llama-grouped"), NULL, NULL, &model, &error), LL_NOMEM);
    assert_null(model);
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (!strstr(error.text, said[i]))
            fail_msg("'%s' does not say '%s'", error.text, said[i]);
    ll_engine_get_memory(engine, 0, &memory);
    assert_int_equal(memory.peak[LL_WEIGHTS], 0); /* before any work */
    ll_engine_close(engine);
}

static void a_cache_that_cannot_fit_is_refused_with_a_context_that_does(void **state)
{
    ll_session_options options;
    ll_session *session = NULL;
    ll_error error = {0};
    (void)state;
    ll_engine *engine = limited_engine(16 << 20);
    ll_model *model = tiny_model(engine, "bloom-4-heads");
    ll_session_options_init(&options);
    options.context = 1 << 20;
    assert_int_equal(ll_session_open(model, &options, &session, &error), LL_NOMEM);
    const char *fits = strstr(error.text, "are free; ");
    assert_non_null(fits);
    options.context = strtoull(fits + strlen("are free; "), NULL, 10);
    assert_true(options.context > 64);
    if (ll_session_open(model, &options, &session, &error) != LL_OK)
        fail_msg("%s", error.text);
    ll_session_close(session);
    options.context += 256; /* and not much more would have */
    assert_int_equal(ll_session_open(model, &options, &session, &error), LL_NOMEM);
    options.context = 0; /* a context that is chosen fits by itself */
    assert_int_equal(ll_session_open(model, &options, &session, &error), LL_OK);
    ll_session_close(session);
    ll_model_close(model);
    ll_engine_close(engine);
}

/* ---- batches ---- */

struct job {
    ll_token tokens[REQUESTS][TOKENS];
    struct batch_request requests[REQUESTS];
    struct batch_output outputs[REQUESTS];
    size_t done;
};

static void make_job(const ll_model *model, struct job *job)
{
    *job = (struct job){0};
    for (size_t i = 0; i < REQUESTS; i++) {
        tiny_tokens(model, job->tokens[i], TOKENS);
        job->requests[i] = (struct batch_request){job->tokens[i], 50 + unit_below(TOKENS - 50), 20, 0};
    }
}

static void count_done(void *user, size_t request)
{
    struct job *job = user;
    (void)request;
    job->done++;
}

static ll_status run_job(ll_model *model, struct job *job, ll_error *error)
{
    struct batch_options options = {
        .context = CONTEXT, .width = 8, .cache_type = LL_F32, .on_done = count_done, .user = job};
    ll_sampling_init(&options.sampling);
    job->done = 0;
    return batch_run(model, &options, job->requests, REQUESTS, NULL, job->outputs, error);
}

struct heard {
    size_t windows, quantised, short_of_memory;
};

static void hear(void *user, int level, const char *module, const char *text)
{
    struct heard *heard = user;
    (void)level;
    assert_string_equal(module, "memory");
    heard->windows += strstr(text, "windows at once") != NULL && strstr(text, "going on") != NULL;
    heard->quantised += strstr(text, "going on with q8_0") != NULL;
    heard->short_of_memory += strstr(text, "of the memory is taken") != NULL;
}

/* A backend whose free memory the test decides: what other programs leave over. */
static struct backend_table table;
static void (*real_use)(const struct backend *backend, struct backend_memory_use *ret);
static uint64_t free_now, free_at_first; /* at_first: when it is asked for the first time; 0: the same */
static size_t asked, shrink_at;

static void pretended_use(const struct backend *backend, struct backend_memory_use *ret)
{
    real_use(backend, ret);
    ret->total = (uint64_t)4 << 30;
    ret->free = ++asked == shrink_at ? 1 << 10 : free_now; /* for a moment others have nearly all */
    if (asked == 1 && free_at_first)
        ret->free = free_at_first;
}

static void pretend(ll_engine *engine, uint64_t bytes, size_t at)
{
    struct backend *backend = engine_backend(engine);
    if (backend->table != &table) {
        table = *backend->table;
        real_use = table.memory_use;
        table.memory_use = pretended_use;
        backend->table = &table;
    }
    free_now = bytes;
    free_at_first = 0;
    asked = 0;
    shrink_at = at;
}

static void assert_same_outputs(struct job *job, const struct job *truth)
{
    assert_int_equal(job->done, REQUESTS);
    for (size_t i = 0; i < REQUESTS; i++) {
        assert_int_equal(job->outputs[i].count, truth->outputs[i].count);
        assert_int_equal(job->outputs[i].finish, truth->outputs[i].finish);
        assert_memory_equal(job->outputs[i].tokens, truth->outputs[i].tokens,
                            truth->outputs[i].count * sizeof(ll_token));
    }
    batch_outputs_free(job->outputs, REQUESTS);
}

static void too_many_windows_become_fewer_with_the_same_results(void **state)
{
    struct heard heard = {0};
    static struct job truth, job;
    ll_error error = {0};
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    ll_model *model = tiny_model(engine, "llama-grouped");
    ll_engine_set_log(engine, hear, &heard);
    make_job(model, &truth);
    job = truth;
    assert_int_equal(run_job(model, &truth, &error), LL_OK);
    assert_int_equal(heard.windows, 0);
    uint64_t one = batch_cache_bytes(model, CONTEXT, 1, LL_F32);
    pretend(engine, (uint64_t)3 << 30, 0);
    free_at_first = 6 * one; /* half of it is what windows are chosen for, before anything else is asked */
    assert_int_equal(run_job(model, &job, &error), LL_OK);
    assert_int_equal(heard.windows, 0);
    assert_same_outputs(&job, &truth);
    batch_outputs_free(truth.outputs, REQUESTS);
    ll_model_close(model);
    ll_engine_close(engine);
}

static void memory_that_goes_in_the_middle_loses_no_window_and_changes_no_result(void **state)
{
    static struct job truth, job;
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    ll_model *model = tiny_model(engine, "gemma3-window");
    size_t shrunk = 0;
    make_job(model, &truth);
    job = truth;
    assert_int_equal(run_job(model, &truth, NULL), LL_OK);
    uint64_t spare = 32 << 20, one = batch_cache_bytes(model, CONTEXT, 1, LL_F32);
    assert_true(16 * one < spare); /* so that eight windows are chosen at first */
    for (size_t at = 2; at < 6; at++) {
        struct heard heard = {0};
        ll_engine_set_log(engine, hear, &heard);
        pretend(engine, spare + 4 * one, at);
        assert_int_equal(run_job(model, &job, NULL), LL_OK);
        assert_same_outputs(&job, &truth);
        assert_true(heard.windows <= 1 && heard.quantised == 0);
        shrunk += heard.windows;
    }
    assert_true(shrunk >= 2);
    batch_outputs_free(truth.outputs, REQUESTS);
    ll_model_close(model);
    ll_engine_close(engine);
}

/* No room even for one window in F32, enough in q8_0. */
static void the_last_rung_is_q8_0_and_is_told(void **state)
{
    struct heard heard = {0};
    static struct job job;
    ll_error error = {0};
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    ll_model *model = tiny_model(engine, "llama-quantised");
    ll_engine_set_log(engine, hear, &heard);
    make_job(model, &job);
    uint64_t quarter = batch_cache_bytes(model, CONTEXT, 1, LL_Q8_0), whole;
    whole = batch_cache_bytes(model, CONTEXT, 1, LL_F32);
    if (quarter == UINT64_MAX) /* heads of this model do not divide into blocks */
        skip();
    ll_memory memory;
    ll_engine_get_memory(engine, 0, &memory);
    pretend(engine, memory.weights + whole * 3 / 2, 0);
    ll_status status = run_job(model, &job, &error);
    assert_int_equal(heard.quantised, 1);
    if (status == LL_OK)
        assert_int_equal(job.done, REQUESTS);
    else /* what is left over must also hold the reserve that growth keeps */
        assert_int_equal(status, LL_NOMEM);
    batch_outputs_free(job.outputs, REQUESTS);
    ll_model_close(model);
    ll_engine_close(engine);
}

/* ---- growth ---- */

static void a_conversation_outlives_memory_that_others_took(void **state)
{
    enum { LONG = 1500 };
    static ll_token tokens[LONG];
    ll_error error = {0};
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    ll_model *model = tiny_model(engine, "mpt-bias-8");
    ll_session *session = tiny_session(model, 2048), *fresh = tiny_session(model, 2048);
    tiny_tokens(model, tokens, LONG);
    assert_int_equal(ll_session_sync(session, tokens, 600, NULL, NULL), LL_OK);
    pretend(engine, 4 << 20, 0);
    assert_int_equal(ll_session_sync(session, tokens, LONG, NULL, &error), LL_NOMEM);
    assert_int_equal(ll_session_position(session), 600);
    pretend(engine, (uint64_t)3 << 30, 0); /* the others have gone */
    assert_int_equal(ll_session_sync(session, tokens, LONG, NULL, &error), LL_OK);
    assert_int_equal(ll_session_sync(fresh, tokens, LONG, NULL, &error), LL_OK);
    size_t count;
    const float *ours = ll_session_logits(session, &count), *theirs = ll_session_logits(fresh, &count);
    assert_memory_equal(ours, theirs, count * sizeof *ours);
    ll_session_close(fresh);
    ll_session_close(session);
    ll_model_close(model);
    ll_engine_close(engine);
}

static void short_memory_refuses_growth_and_warns_once(void **state)
{
    struct heard heard = {0};
    ll_error error = {0};
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    ll_engine_set_log(engine, hear, &heard);
    pretend(engine, (uint64_t)3 << 30, 0);
    assert_int_equal(engine_check_growth(engine, 1 << 20, &error), LL_OK);
    assert_int_equal(asked > 0, 1);
    size_t before = asked;
    assert_int_equal(engine_check_growth(engine, 0, &error), LL_OK); /* nothing grows */
    assert_int_equal(asked, before);
    assert_int_equal(engine_check_growth(engine, 1 << 20, &error), LL_OK); /* others may have come */
    assert_int_equal(asked, 2 * before);
    assert_int_equal(heard.short_of_memory, 0);
    pretend(engine, (uint64_t)300 << 20, 0); /* of 4 GiB: more than 90 per cent are taken */
    engine_lock(engine);
    assert_int_equal(engine_check_growth(engine, (uint64_t)100 << 20, &error), LL_OK);
    assert_int_equal(heard.short_of_memory, 0); /* callbacks never run with the lock held */
    engine_unlock(engine);
    assert_int_equal(heard.short_of_memory, 1);
    engine_lock(engine);
    assert_int_equal(engine_check_growth(engine, (uint64_t)100 << 20, &error), LL_OK);
    engine_unlock(engine);
    assert_int_equal(heard.short_of_memory, 1);
    assert_int_equal(engine_check_growth(engine, (uint64_t)290 << 20, &error), LL_NOMEM);
    assert_non_null(strstr(error.text, "other programs"));
    ll_engine_close(engine);
}

static int enter(void **state)
{
    (void)state;
    unit_seed();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_that_cannot_fit_is_refused_with_rows_and_the_nearest),
        cmocka_unit_test(a_cache_that_cannot_fit_is_refused_with_a_context_that_does),
        cmocka_unit_test(too_many_windows_become_fewer_with_the_same_results),
        cmocka_unit_test(memory_that_goes_in_the_middle_loses_no_window_and_changes_no_result),
        cmocka_unit_test(the_last_rung_is_q8_0_and_is_told),
        cmocka_unit_test(a_conversation_outlives_memory_that_others_took),
        cmocka_unit_test(short_memory_refuses_growth_and_warns_once),
    };
    return cmocka_run_group_tests_name("memory/guard", tests, enter, NULL);
}
