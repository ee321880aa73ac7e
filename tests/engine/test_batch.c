/* Tests of batches: the same tokens alone or among others, shared prefixes, guards, cancelling.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine/batch.h"

#include "engine/tiny.h"

enum { REQUESTS = 11, SHARED = 45, CONTEXT = 400 };

struct prompts {
    ll_token tokens[REQUESTS][300];
    struct batch_request requests[REQUESTS];
};

/* Lengths are chosen so that steps mix decoding rows with pieces of prompts. */
static void make_prompts(const ll_model *model, struct prompts *p)
{
    for (size_t i = 0; i < REQUESTS; i++) {
        size_t count = SHARED + 1 + unit_below(200);
        tiny_tokens(model, p->tokens[i], count);
        memcpy(p->tokens[i], p->tokens[0], SHARED * sizeof(ll_token));
        p->requests[i] = (struct batch_request){p->tokens[i], count, 1 + unit_below(40), 0};
    }
}

static struct batch_options options_for(size_t width)
{
    struct batch_options options = {
        .context = CONTEXT, .width = width, .shared = SHARED, .cache_type = LL_F16};
    ll_sampling_init(&options.sampling);
    options.sampling.temperature = 0.9f;
    options.sampling.seed = 3;
    return options;
}

static void run(ll_model *model, const struct batch_options *options, const struct prompts *p,
                struct batch_output *outputs)
{
    ll_error error;
    if (batch_run(model, options, p->requests, REQUESTS, NULL, outputs, &error) != LL_OK)
        fail_msg("%s", error.text);
}

static void a_request_gives_the_same_tokens_alone_or_among_others(void **state)
{
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    for (int m = 0; m < TINY_COUNT; m++) {
        ll_model *model = tiny_model(engine, tiny_names[m]);
        struct prompts p;
        struct batch_output alone[REQUESTS], among[REQUESTS];
        size_t generated = 0;
        make_prompts(model, &p);
        struct batch_options one = options_for(1), many = options_for(8);
        run(model, &one, &p, alone);
        run(model, &many, &p, among);
        for (size_t i = 0; i < REQUESTS; i++) {
            assert_int_equal(alone[i].count, among[i].count);
            assert_int_equal(alone[i].finish, among[i].finish);
            assert_memory_equal(alone[i].tokens, among[i].tokens, alone[i].count * sizeof(ll_token));
            generated += alone[i].count;
        }
        assert_true(generated > REQUESTS);
        batch_outputs_free(alone, REQUESTS);
        batch_outputs_free(among, REQUESTS);
        ll_model_close(model);
    }
    ll_engine_close(engine);
}

static void a_batch_equals_sessions_run_one_by_one(void **state)
{
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    ll_model *model = tiny_model(engine, tiny_names[0]);
    struct prompts p;
    struct batch_output outputs[REQUESTS];
    struct batch_options options = options_for(4);
    make_prompts(model, &p);
    options.sampling.temperature = 0.0f;
    options.sampling.ignore_end = true;
    run(model, &options, &p, outputs);
    for (size_t i = 0; i < REQUESTS; i++) {
        ll_session *session = tiny_session(model, CONTEXT);
        ll_finish finish;
        size_t count;
        assert_int_equal(ll_session_sync(session, p.tokens[i], p.requests[i].count, NULL, NULL), LL_OK);
        assert_int_equal(
            ll_generate(session, &options.sampling, p.requests[i].max_tokens, NULL, &finish, NULL), LL_OK);
        const ll_token *tokens = ll_session_tokens(session, &count);
        assert_int_equal(count - p.requests[i].count, outputs[i].count);
        assert_memory_equal(tokens + p.requests[i].count, outputs[i].tokens,
                            outputs[i].count * sizeof(ll_token));
        ll_session_close(session);
    }
    batch_outputs_free(outputs, REQUESTS);
    ll_model_close(model);
    ll_engine_close(engine);
}

struct watch {
    size_t done[REQUESTS], done_count;
    ll_cancel *cancel;
};

static ll_flow stop_even_requests_at_two(void *user, size_t request, const ll_token *tokens, size_t count)
{
    (void)user;
    (void)tokens;
    return request % 2 == 0 && count == 2 ? LL_STOP : LL_CONTINUE;
}

static void note_done(void *user, size_t request)
{
    struct watch *watch = user;
    watch->done[request]++;
    watch->done_count++;
    if (watch->cancel && watch->done_count == 3)
        ll_cancel_request(watch->cancel);
}

static void a_guard_ends_only_its_own_request_and_each_is_reported_once(void **state)
{
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    ll_model *model = tiny_model(engine, tiny_names[0]);
    struct prompts p;
    struct batch_output outputs[REQUESTS];
    struct watch watch = {{0}, 0, NULL};
    struct batch_options options = options_for(3);
    make_prompts(model, &p);
    options.sampling.ignore_end = true;
    options.on_token = stop_even_requests_at_two;
    options.on_done = note_done;
    options.user = &watch;
    run(model, &options, &p, outputs);
    for (size_t i = 0; i < REQUESTS; i++) {
        bool guarded = i % 2 == 0 && p.requests[i].max_tokens >= 2;
        assert_int_equal(watch.done[i], 1);
        assert_int_equal(outputs[i].stopped_by_guard, guarded);
        assert_int_equal(outputs[i].count, guarded ? 2 : p.requests[i].max_tokens);
    }
    batch_outputs_free(outputs, REQUESTS);
    ll_model_close(model);
    ll_engine_close(engine);
}

static void a_cancelled_batch_keeps_the_outputs_that_were_finished(void **state)
{
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    ll_model *model = tiny_model(engine, tiny_names[0]);
    struct prompts p;
    struct batch_output outputs[REQUESTS];
    struct watch watch = {{0}, 0, ll_cancel_new()};
    struct batch_options options = options_for(2);
    ll_error error;
    ll_run run_with_cancel;
    size_t kept = 0;
    make_prompts(model, &p);
    options.on_done = note_done;
    options.user = &watch;
    ll_run_init(&run_with_cancel);
    run_with_cancel.cancel = watch.cancel;
    assert_int_equal(batch_run(model, &options, p.requests, REQUESTS, &run_with_cancel, outputs, &error),
                     LL_CANCELLED);
    for (size_t i = 0; i < REQUESTS; i++) {
        assert_int_equal(outputs[i].tokens != NULL, watch.done[i]);
        kept += watch.done[i];
    }
    assert_true(kept >= 3 && kept < REQUESTS);
    batch_outputs_free(outputs, REQUESTS);
    ll_cancel_free(watch.cancel);
    ll_model_close(model);
    ll_engine_close(engine);
}

static void a_request_that_cannot_fit_is_refused_before_any_work(void **state)
{
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    ll_model *model = tiny_model(engine, tiny_names[0]);
    struct prompts p;
    struct batch_output outputs[REQUESTS];
    struct batch_options options = options_for(2);
    ll_error error;
    make_prompts(model, &p);
    static const size_t too_many[] = {CONTEXT, SIZE_MAX, SIZE_MAX - 60};
    for (size_t i = 0; i < sizeof too_many / sizeof too_many[0]; i++) {
        p.requests[4].max_tokens = too_many[i];
        assert_int_equal(batch_run(model, &options, p.requests, REQUESTS, NULL, outputs, &error),
                         LL_CONTEXT_FULL);
        assert_non_null(strstr(error.text, "request 4"));
    }
    ll_model_close(model);
    ll_engine_close(engine);
}

/* Nothing is left over: every sequence fills its context, and what they share ends inside a block, at its
 * border, or is nothing at all. */
static void requests_that_fill_the_context_to_the_last_token_all_finish(void **state)
{
    (void)state;
    static const size_t shared[] = {0, 1, 63, 64, 65, 128, 150};
    ll_engine *engine = tiny_engine("cpu");
    ll_model *model = tiny_model(engine, tiny_names[2]);
    for (size_t round = 0; round < sizeof shared / sizeof shared[0]; round++) {
        struct prompts p;
        struct batch_output outputs[REQUESTS], alone[REQUESTS];
        struct batch_options options = options_for(1 + unit_below(8)), one = options_for(1);
        options.context = one.context = 190 + unit_below(10);
        options.shared = one.shared = shared[round];
        options.sampling.ignore_end = one.sampling.ignore_end = true;
        for (size_t i = 0; i < REQUESTS; i++) {
            size_t count = 151 + unit_below(options.context - 151);
            tiny_tokens(model, p.tokens[i], count);
            memcpy(p.tokens[i], p.tokens[0], shared[round] * sizeof(ll_token));
            p.requests[i] = (struct batch_request){p.tokens[i], count, options.context - count, 0};
        }
        run(model, &options, &p, outputs);
        run(model, &one, &p, alone);
        for (size_t i = 0; i < REQUESTS; i++) {
            assert_int_equal(outputs[i].count, p.requests[i].max_tokens);
            assert_int_equal(outputs[i].finish, LL_FINISH_LENGTH);
            assert_memory_equal(outputs[i].tokens, alone[i].tokens, outputs[i].count * sizeof(ll_token));
        }
        batch_outputs_free(outputs, REQUESTS);
        batch_outputs_free(alone, REQUESTS);
    }
    ll_model_close(model);
    ll_engine_close(engine);
}

struct kept {
    struct strbuf bytes[REQUESTS];
    size_t computed, fetched, stored;
};

static bool fetch(void *user, size_t request, struct strbuf *out)
{
    struct kept *k = user;
    if (!k->bytes[request].length)
        return false;
    k->fetched++;
    strbuf_append(out, k->bytes[request].text, k->bytes[request].length);
    return true;
}

static void keep(void *user, size_t request, const char *bytes, size_t length)
{
    struct kept *k = user;
    k->stored++;
    strbuf_clear(&k->bytes[request]);
    strbuf_append(&k->bytes[request], bytes, length);
}

static void count_tokens(void *user, size_t tokens)
{
    struct kept *k = user;
    k->computed += tokens;
}

/* Three times: keeping, fetching, and fetching what was damaged meanwhile. */
static void what_is_kept_is_not_computed_again_and_changes_no_token(void **state)
{
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    for (int m = 0; m < TINY_COUNT; m++) {
        ll_model *model = tiny_model(engine, tiny_names[m]);
        struct prompts p;
        struct kept kept = {.computed = 0};
        struct batch_output plain[REQUESTS];
        struct batch_options options = options_for(4);
        make_prompts(model, &p);
        run(model, &options, &p, plain);
        for (size_t i = 0; i < REQUESTS; i++)
            p.requests[i].kept = p.requests[i].count - 1 - unit_below((uint32_t)p.requests[i].count - SHARED);
        options.fetch = fetch;
        options.keep = keep;
        options.on_step = count_tokens;
        options.user = &kept;
        size_t first = 0;
        for (int round = 0; round < 3; round++) {
            struct batch_output outputs[REQUESTS];
            kept.computed = kept.fetched = kept.stored = 0;
            run(model, &options, &p, outputs);
            for (size_t i = 0; i < REQUESTS; i++) {
                assert_int_equal(plain[i].count, outputs[i].count);
                assert_memory_equal(plain[i].tokens, outputs[i].tokens, plain[i].count * sizeof(ll_token));
            }
            batch_outputs_free(outputs, REQUESTS);
            first = round == 0 ? kept.computed : first;
            if (round == 0 && !kept.stored) /* a model that lets go of keys cannot keep them */
                break;
            assert_true(round == 0 || kept.fetched > 0);
            assert_true(round == 1 ? kept.computed < first : kept.computed == first);
            for (size_t i = 0; round == 1 && i < REQUESTS; i++)
                if (kept.bytes[i].length)
                    kept.bytes[i].text[unit_below((uint32_t)kept.bytes[i].length)] ^= 1;
        }
        for (size_t i = 0; i < REQUESTS; i++)
            strbuf_fini(&kept.bytes[i]);
        batch_outputs_free(plain, REQUESTS);
        ll_model_close(model);
    }
    ll_engine_close(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_gives_the_same_tokens_alone_or_among_others),
        cmocka_unit_test(what_is_kept_is_not_computed_again_and_changes_no_token),
        cmocka_unit_test(a_batch_equals_sessions_run_one_by_one),
        cmocka_unit_test(a_guard_ends_only_its_own_request_and_each_is_reported_once),
        cmocka_unit_test(a_cancelled_batch_keeps_the_outputs_that_were_finished),
        cmocka_unit_test(a_request_that_cannot_fit_is_refused_before_any_work),
        cmocka_unit_test(requests_that_fill_the_context_to_the_last_token_all_finish),
    };
    unit_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
