/* Tests of sessions and generation: sync, reuse, cancel, limits, lifetimes.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <pthread.h>

#include "engine/tiny.h"

enum { LONG = 700 }; /* more than one step of rows */

static void sync_or_fail(ll_session *session, const ll_token *tokens, size_t count)
{
    ll_error error;
    if (ll_session_sync(session, tokens, count, NULL, &error) != LL_OK)
        fail_msg("%s", error.text);
}

static void copy_logits(const ll_session *session, float *out)
{
    size_t count;
    const float *logits = ll_session_logits(session, &count);
    assert_non_null(logits);
    memcpy(out, logits, count * sizeof *out);
}

static void a_sync_in_pieces_gives_the_very_logits_of_one_sync(void **state)
{
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    for (int m = 0; m < TINY_COUNT; m++) {
        ll_model *model = tiny_model(engine, tiny_names[m]);
        ll_session *whole = tiny_session(model, 1024), *pieces = tiny_session(model, 1024);
        size_t bytes = tiny_vocabulary(model) * sizeof(float);
        ll_token tokens[LONG];
        float *a = test_malloc(bytes), *b = test_malloc(bytes);
        tiny_tokens(model, tokens, LONG);
        sync_or_fail(whole, tokens, LONG);
        for (size_t at = 0; at < LONG;) {
            at += 1 + unit_below(200);
            sync_or_fail(pieces, tokens, at < LONG ? at : LONG);
        }
        copy_logits(whole, a);
        copy_logits(pieces, b);
        assert_memory_equal(a, b, bytes);
        test_free(a);
        test_free(b);
        ll_session_close(whole);
        ll_session_close(pieces);
        ll_model_close(model);
    }
    ll_engine_close(engine);
}

static void a_sync_computes_only_what_differs_and_a_detour_leaves_no_trace(void **state)
{
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    for (int m = 0; m < TINY_COUNT; m++) {
        ll_model *model = tiny_model(engine, tiny_names[m]);
        ll_session *session = tiny_session(model, 512);
        size_t bytes = tiny_vocabulary(model) * sizeof(float);
        float *before = test_malloc(bytes), *after = test_malloc(bytes);
        ll_token tokens[300], other[300];
        ll_session_stats stats;
        tiny_tokens(model, tokens, 300);
        memcpy(other, tokens, sizeof other);
        for (size_t i = 180; i < 300; i++)
            other[i] = (tokens[i] + 1) % (ll_token)tiny_vocabulary(model);
        sync_or_fail(session, tokens, 250);
        copy_logits(session, before);
        sync_or_fail(session, other, 300);
        ll_session_get_stats(session, &stats);
        assert_int_equal(stats.reused, 180);
        assert_int_equal(stats.prefilled, 250 + 120);
        sync_or_fail(session, tokens, 250);
        copy_logits(session, after);
        assert_memory_equal(before, after, bytes);
        sync_or_fail(session, tokens, 250); /* nothing to do */
        ll_session_get_stats(session, &stats);
        assert_int_equal(stats.reused, 250);
        sync_or_fail(session, tokens, 100); /* shorter than what is there */
        ll_session_get_stats(session, &stats);
        assert_int_equal(stats.position, 100);
        test_free(before);
        test_free(after);
        ll_session_close(session);
        ll_model_close(model);
    }
    ll_engine_close(engine);
}

static void a_text_longer_than_the_context_is_refused_with_both_numbers(void **state)
{
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    ll_model *model = tiny_model(engine, tiny_names[0]);
    ll_session *session = tiny_session(model, 64);
    ll_token tokens[65];
    ll_error error;
    tiny_tokens(model, tokens, 65);
    sync_or_fail(session, tokens, 64);
    assert_int_equal(ll_session_sync(session, tokens, 65, NULL, &error), LL_CONTEXT_FULL);
    assert_non_null(strstr(error.text, "65"));
    assert_non_null(strstr(error.text, "64"));
    assert_int_equal(ll_session_position(session), 64);
    ll_session_close(session);
    ll_model_close(model);
    ll_engine_close(engine);
}

static void tokens_outside_the_vocabulary_are_refused_by_place(void **state)
{
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    ll_model *model = tiny_model(engine, tiny_names[0]);
    ll_session *session = tiny_session(model, 64);
    ll_token tokens[3] = {1, (ll_token)tiny_vocabulary(model), 2};
    ll_error error;
    assert_int_equal(ll_session_sync(session, tokens, 3, NULL, &error), LL_ARGUMENT);
    assert_non_null(strstr(error.text, "index 1"));
    tokens[1] = -1;
    assert_int_equal(ll_session_sync(session, tokens, 3, NULL, &error), LL_ARGUMENT);
    assert_int_equal(ll_session_sync(session, tokens, 0, NULL, &error), LL_ARGUMENT);
    ll_session_close(session);
    ll_model_close(model);
    ll_engine_close(engine);
}

/* ---- generation ---- */

struct collected {
    ll_token tokens[128];
    size_t count;
    size_t stop_after;
    ll_cancel *cancel;
    ll_session *session;
    ll_status inner; /* what a mutating call from inside the callback returned */
    float logprobs[128];
};

static ll_flow collect(void *user, const ll_token_event *event)
{
    struct collected *c = user;
    assert_int_equal(event->index, c->count);
    c->logprobs[c->count] = event->logprob;
    c->tokens[c->count++] = event->token;
    if (c->session)
        c->inner = ll_session_rewind(c->session, 0);
    if (c->cancel && c->count == c->stop_after)
        ll_cancel_request(c->cancel);
    return !c->cancel && c->stop_after && c->count == c->stop_after ? LL_STOP : LL_CONTINUE;
}

static ll_finish generate(ll_session *session, size_t count, struct collected *c)
{
    ll_sampling sampling;
    ll_run run;
    ll_finish finish;
    ll_error error;
    ll_sampling_init(&sampling);
    ll_run_init(&run);
    sampling.ignore_end = true;
    sampling.temperature = 1.0f; /* a greedy toy falls into a loop of one token */
    sampling.seed = 7;
    run.on_token = collect;
    run.user = c;
    run.cancel = c->cancel;
    if (ll_generate(session, &sampling, count, &run, &finish, &error) != LL_OK)
        fail_msg("%s", error.text);
    return finish;
}

static void generated_tokens_stay_on_the_timeline_and_can_be_computed_later(void **state)
{
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    ll_model *model = tiny_model(engine, tiny_names[0]);
    ll_session *session = tiny_session(model, 256), *fresh = tiny_session(model, 256);
    struct collected c = {0};
    size_t count, vocabulary;
    ll_token prompt[10];
    tiny_tokens(model, prompt, 10);
    sync_or_fail(session, prompt, 10);
    assert_int_equal(generate(session, 20, &c), LL_FINISH_LENGTH);
    assert_int_equal(c.count, 20);
    const ll_token *tokens = ll_session_tokens(session, &count);
    assert_int_equal(count, 30);
    assert_memory_equal(tokens + 10, c.tokens, 20 * sizeof(ll_token));
    assert_null(ll_session_logits(session, &vocabulary)); /* the last token is not computed yet */
    ll_token copy[30];
    memcpy(copy, tokens, sizeof copy);
    sync_or_fail(session, copy, 30);
    sync_or_fail(fresh, copy, 30);
    const float *a = ll_session_logits(session, &vocabulary), *b = ll_session_logits(fresh, &vocabulary);
    assert_memory_equal(a, b, vocabulary * sizeof(float));
    ll_session_close(session);
    ll_session_close(fresh);
    ll_model_close(model);
    ll_engine_close(engine);
}

static void a_cancelled_or_stopped_generation_keeps_its_tokens_and_goes_on(void **state)
{
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    ll_model *model = tiny_model(engine, tiny_names[1]);
    ll_session *session = tiny_session(model, 256);
    struct collected c = {.stop_after = 5, .cancel = ll_cancel_new()}, d = {.stop_after = 3}, e = {0};
    ll_token prompt[10];
    tiny_tokens(model, prompt, 10);
    sync_or_fail(session, prompt, 10);
    assert_int_equal(generate(session, 50, &c), LL_FINISH_CANCELLED);
    assert_int_equal(c.count, 5);
    assert_int_equal(ll_session_position(session), 15);
    assert_int_equal(generate(session, 50, &d), LL_FINISH_CALLER);
    assert_int_equal(ll_session_position(session), 18);
    assert_int_equal(generate(session, 4, &e), LL_FINISH_LENGTH);
    assert_int_equal(ll_session_position(session), 22);
    ll_cancel_free(c.cancel);
    ll_session_close(session);
    ll_model_close(model);
    ll_engine_close(engine);
}

/* The logits in memory belong to another place then: they must be made anew, never taken as they are. */
static void after_a_rewind_generation_goes_on_from_the_new_last_token(void **state)
{
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    for (int m = 0; m < TINY_COUNT; m++) {
        ll_model *model = tiny_model(engine, tiny_names[m]);
        ll_session *session = tiny_session(model, 256), *fresh = tiny_session(model, 256);
        struct collected c = {0}, d = {0};
        ll_token prompt[40];
        tiny_tokens(model, prompt, 40);
        size_t kept = 1 + unit_below(39);
        sync_or_fail(session, prompt, 40);
        assert_int_equal(ll_session_rewind(session, kept), LL_OK);
        generate(session, 12, &c);
        sync_or_fail(fresh, prompt, kept);
        generate(fresh, 12, &d);
        assert_memory_equal(c.tokens, d.tokens, 12 * sizeof(ll_token));
        ll_session_close(session);
        ll_session_close(fresh);
        ll_model_close(model);
    }
    ll_engine_close(engine);
}

struct cancel_at {
    ll_cancel *cancel;
    uint64_t done;
};

static void cancel_after(void *user, const ll_progress *progress)
{
    struct cancel_at *at = user;
    if (progress->done >= at->done)
        ll_cancel_request(at->cancel);
}

static void after_a_cancelled_prefill_generation_goes_on_from_what_was_computed(void **state)
{
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    ll_model *model = tiny_model(engine, tiny_names[0]);
    ll_session *session = tiny_session(model, 1024), *fresh = tiny_session(model, 1024);
    struct cancel_at at = {ll_cancel_new(), 1};
    struct collected c = {0}, d = {0};
    ll_token prompt[LONG];
    ll_run run;
    ll_session_stats stats;
    tiny_tokens(model, prompt, LONG);
    ll_run_init(&run);
    run.cancel = at.cancel;
    run.on_progress = cancel_after;
    run.user = &at;
    assert_int_equal(ll_session_sync(session, prompt, LONG, &run, NULL), LL_CANCELLED);
    size_t kept = ll_session_position(session);
    assert_true(kept > 0 && kept < LONG);
    ll_session_get_stats(session, &stats);
    assert_int_equal(stats.position, kept);
    assert_int_equal(stats.cache_used, kept);
    generate(session, 8, &c);
    sync_or_fail(fresh, prompt, kept);
    generate(fresh, 8, &d);
    assert_memory_equal(c.tokens, d.tokens, 8 * sizeof(ll_token));
    ll_cancel_free(at.cancel);
    ll_session_close(session);
    ll_session_close(fresh);
    ll_model_close(model);
    ll_engine_close(engine);
}

static void the_gauge_shows_where_the_timeline_stands_after_every_call(void **state)
{
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    ll_model *model = tiny_model(engine, tiny_names[0]);
    ll_session *session = tiny_session(model, 256);
    struct collected c = {0};
    ll_session_stats stats;
    ll_token tokens[30];
    float logprobs[30];
    tiny_tokens(model, tokens, 30);
    sync_or_fail(session, tokens, 30);
    generate(session, 5, &c);
    ll_session_get_stats(session, &stats);
    assert_int_equal(stats.position, ll_session_position(session));
    assert_int_equal(stats.position, 35);
    assert_int_equal(ll_session_score(session, tokens, 30, logprobs, NULL, NULL), LL_OK);
    ll_session_get_stats(session, &stats);
    assert_int_equal(ll_session_position(session), 0);
    assert_int_equal(stats.position, 0);
    assert_int_equal(stats.cache_used, 0);
    assert_int_equal(stats.cache_blocks, 0);
    ll_session_close(session);
    ll_model_close(model);
    ll_engine_close(engine);
}

static void a_refused_score_leaves_the_timeline_as_it_was(void **state)
{
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    ll_model *model = tiny_model(engine, tiny_names[0]);
    ll_session *session = tiny_session(model, 32);
    ll_token tokens[33];
    float logprobs[33];
    size_t vocabulary;
    tiny_tokens(model, tokens, 33);
    sync_or_fail(session, tokens, 20);
    assert_int_equal(ll_session_score(session, tokens, 33, logprobs, NULL, NULL), LL_CONTEXT_FULL);
    assert_int_equal(ll_session_score(session, tokens, 0, logprobs, NULL, NULL), LL_ARGUMENT);
    assert_int_equal(ll_session_position(session), 20);
    assert_non_null(ll_session_logits(session, &vocabulary));
    ll_session_close(session);
    ll_model_close(model);
    ll_engine_close(engine);
}

static void generation_stops_at_the_end_of_the_context(void **state)
{
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    ll_model *model = tiny_model(engine, tiny_names[2]);
    ll_session *session = tiny_session(model, 40);
    struct collected c = {0}, d = {0};
    ll_token prompt[30];
    tiny_tokens(model, prompt, 30);
    sync_or_fail(session, prompt, 30);
    assert_int_equal(generate(session, 50, &c), LL_FINISH_CONTEXT);
    assert_int_equal(c.count, 10);
    assert_int_equal(generate(session, 50, &d), LL_FINISH_CONTEXT);
    assert_int_equal(d.count, 0);
    ll_session_close(session);
    ll_model_close(model);
    ll_engine_close(engine);
}

/* Only four tokens come, so that groups of three must come again, and be drafted from. */
static void generate_of_four(ll_session *session, bool lookup, float temperature, struct collected *c)
{
    static const char *const bias[] = {"5=60", "6=60", "7=60", "8=60"};
    ll_sampling sampling;
    ll_run run;
    ll_error error;
    ll_finish finish;
    ll_sampling_init(&sampling);
    sampling.temperature = temperature;
    sampling.seed = 7;
    sampling.repeat_penalty = temperature > 1.0f ? 1.3f : 1.0f;
    sampling.ignore_end = true;
    sampling.choices = temperature > 1.0f ? 3 : 0;
    sampling.bias = bias;
    sampling.bias_count = 4;
    sampling.lookup = lookup;
    ll_run_init(&run);
    run.on_token = collect;
    run.user = c;
    if (ll_generate(session, &sampling, 120, &run, &finish, &error) != LL_OK)
        fail_msg("%s", error.text);
    assert_int_equal(finish, LL_FINISH_LENGTH);
}

static void lookup_changes_no_token_and_leaves_the_same_session(void **state)
{
    (void)state;
    static const float temperatures[] = {0.0f, 0.7f, 2.0f};
    ll_engine *engine = tiny_engine("cpu");
    for (int m = 0; m < TINY_COUNT; m++)
        for (size_t t = 0; t < sizeof temperatures / sizeof *temperatures; t++) {
            ll_model *model = tiny_model(engine, tiny_names[m]);
            ll_session *plain = tiny_session(model, 256), *ahead = tiny_session(model, 256);
            struct collected a = {0}, b = {0};
            ll_session_stats stats;
            ll_token prompt[20];
            size_t count, vocabulary;
            tiny_tokens(model, prompt, 20);
            sync_or_fail(plain, prompt, 20);
            sync_or_fail(ahead, prompt, 20);
            generate_of_four(plain, false, temperatures[t], &a);
            generate_of_four(ahead, true, temperatures[t], &b);
            assert_int_equal(a.count, b.count);
            assert_memory_equal(a.tokens, b.tokens, a.count * sizeof(ll_token));
            ll_session_get_stats(plain, &stats);
            assert_int_equal(stats.drafted, 0);
            ll_session_get_stats(ahead, &stats);
            assert_true(stats.drafted > 0);
            assert_true(stats.kept <= stats.drafted);
            assert_int_equal(stats.cache_used, 139); /* all but the last token, no draft */
            const ll_token *tokens = ll_session_tokens(ahead, &count);
            ll_token copy[140];
            assert_int_equal(count, 140);
            memcpy(copy, tokens, sizeof copy);
            sync_or_fail(plain, copy, 140);
            sync_or_fail(ahead, copy, 140);
            assert_memory_equal(ll_session_logits(plain, &vocabulary), ll_session_logits(ahead, &vocabulary),
                                tiny_vocabulary(model) * sizeof(float));
            ll_session_close(plain);
            ll_session_close(ahead);
            ll_model_close(model);
        }
    ll_engine_close(engine);
}

static void a_mutating_call_from_inside_a_callback_is_busy(void **state)
{
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    ll_model *model = tiny_model(engine, tiny_names[0]);
    ll_session *session = tiny_session(model, 64);
    struct collected c = {.session = session, .inner = LL_OK};
    ll_token prompt[4];
    tiny_tokens(model, prompt, 4);
    sync_or_fail(session, prompt, 4);
    generate(session, 2, &c);
    assert_int_equal(c.inner, LL_BUSY);
    assert_int_equal(ll_session_position(session), 6);
    ll_session_close(session);
    ll_model_close(model);
    ll_engine_close(engine);
}

static void a_raised_flag_stops_a_prefill_and_leaves_a_valid_session(void **state)
{
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    ll_model *model = tiny_model(engine, tiny_names[0]);
    ll_session *session = tiny_session(model, 1024);
    ll_token tokens[LONG];
    ll_run run;
    ll_error error;
    tiny_tokens(model, tokens, LONG);
    ll_run_init(&run);
    run.cancel = ll_cancel_new();
    ll_cancel_request(run.cancel);
    assert_int_equal(ll_session_sync(session, tokens, LONG, &run, &error), LL_CANCELLED);
    assert_int_equal(ll_session_position(session), 0);
    ll_cancel_reset(run.cancel);
    assert_int_equal(ll_session_sync(session, tokens, LONG, &run, &error), LL_OK);
    ll_cancel_free(run.cancel);
    ll_session_close(session);
    ll_model_close(model);
    ll_engine_close(engine);
}

static void alternatives_add_up_and_name_the_token_that_was_picked(void **state)
{
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    ll_model *model = tiny_model(engine, tiny_names[0]);
    ll_session *session = tiny_session(model, 64);
    struct collected c = {0};
    ll_token all[24];
    float scores[24];
    ll_sampling sampling;
    ll_run run;
    ll_finish finish;
    ll_error error;
    tiny_tokens(model, all, 4);
    sync_or_fail(session, all, 4);
    ll_sampling_init(&sampling);
    sampling.choices = 5;
    sampling.ignore_end = true;
    ll_run_init(&run);
    run.on_token = collect;
    run.user = &c;
    assert_int_equal(ll_generate(session, &sampling, 20, &run, &finish, &error), LL_OK);
    memcpy(all + 4, c.tokens, 20 * sizeof(ll_token));
    assert_int_equal(ll_session_score(session, all, 24, scores, NULL, &error), LL_OK);
    for (int i = 0; i < 20; i++) /* streamed and scored log-probabilities are the same numbers */
        assert_true(fabsf(scores[4 + i] - c.logprobs[i]) < 1e-5f);
    ll_session_close(session);
    ll_model_close(model);
    ll_engine_close(engine);
}

/* ---- lifetimes and threads ---- */

static void handles_may_be_closed_in_any_order(void **state)
{
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    ll_model *model = tiny_model(engine, tiny_names[3]);
    ll_session *session = tiny_session(model, 64);
    ll_token tokens[8];
    tiny_tokens(model, tokens, 8);
    ll_engine_close(engine);
    ll_model_close(model);
    sync_or_fail(session, tokens, 8);
    ll_session_close(session);
    ll_session_close(NULL);
    ll_model_close(NULL);
    ll_engine_close(NULL);
}

struct thread_case {
    ll_model *model;
    ll_token tokens[60];
    float logits[512];
};

static void *run_session(void *user)
{
    struct thread_case *t = user;
    for (int round = 0; round < 3; round++) {
        ll_session *session = tiny_session(t->model, 128);
        for (size_t at = 10; at <= 60; at += 10)
            sync_or_fail(session, t->tokens, at);
        copy_logits(session, t->logits);
        ll_session_close(session);
    }
    return NULL;
}

static void sessions_of_one_model_on_several_threads_do_not_disturb_each_other(void **state)
{
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    ll_model *model = tiny_model(engine, tiny_names[0]);
    struct thread_case cases[4], alone;
    pthread_t threads[4];
    size_t bytes = tiny_vocabulary(model) * sizeof(float);
    for (int i = 0; i < 4; i++) {
        cases[i].model = model;
        tiny_tokens(model, cases[i].tokens, 60);
        assert_int_equal(pthread_create(&threads[i], NULL, run_session, &cases[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++) {
        alone = cases[i];
        run_session(&alone);
        assert_memory_equal(alone.logits, cases[i].logits, bytes);
    }
    ll_model_close(model);
    ll_engine_close(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sync_in_pieces_gives_the_very_logits_of_one_sync),
        cmocka_unit_test(a_sync_computes_only_what_differs_and_a_detour_leaves_no_trace),
        cmocka_unit_test(a_text_longer_than_the_context_is_refused_with_both_numbers),
        cmocka_unit_test(tokens_outside_the_vocabulary_are_refused_by_place),
        cmocka_unit_test(generated_tokens_stay_on_the_timeline_and_can_be_computed_later),
        cmocka_unit_test(a_cancelled_or_stopped_generation_keeps_its_tokens_and_goes_on),
        cmocka_unit_test(after_a_rewind_generation_goes_on_from_the_new_last_token),
        cmocka_unit_test(after_a_cancelled_prefill_generation_goes_on_from_what_was_computed),
        cmocka_unit_test(the_gauge_shows_where_the_timeline_stands_after_every_call),
        cmocka_unit_test(a_refused_score_leaves_the_timeline_as_it_was),
        cmocka_unit_test(generation_stops_at_the_end_of_the_context),
        cmocka_unit_test(lookup_changes_no_token_and_leaves_the_same_session),
        cmocka_unit_test(a_mutating_call_from_inside_a_callback_is_busy),
        cmocka_unit_test(a_raised_flag_stops_a_prefill_and_leaves_a_valid_session),
        cmocka_unit_test(alternatives_add_up_and_name_the_token_that_was_picked),
        cmocka_unit_test(handles_may_be_closed_in_any_order),
        cmocka_unit_test(sessions_of_one_model_on_several_threads_do_not_disturb_each_other),
    };
    unit_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
