/* Tests of opening models: what loading tells, to whom, and what it holds meanwhile.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine/tiny.h"

static void vector_path(char path[4096], const char *name)
{
    const char *folder = getenv("top_srcdir");
    snprintf(path, 4096, "%s/tests/vectors/%s.gguf", folder ? folder : ".", name);
}

static void metadata_can_be_read_whether_or_not_the_weights_were_loaded(void **state)
{
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    ll_model *whole = tiny_model(engine, tiny_names[0]), *light = NULL;
    ll_model_options options;
    ll_meta meta = {0}, other = {0};
    char path[4096];
    vector_path(path, tiny_names[0]);
    ll_model_options_init(&options);
    options.metadata_only = true;
    assert_int_equal(ll_model_open(engine, path, &options, NULL, &light, NULL), LL_OK);
    assert_true(ll_model_meta_count(light) > 0);
    assert_int_equal(ll_model_meta_count(whole), ll_model_meta_count(light));
    for (size_t i = 0; i < ll_model_meta_count(light); i++) {
        assert_int_equal(ll_model_get_meta(light, i, &meta), LL_OK);
        assert_int_equal(ll_model_get_meta(whole, i, &other), LL_OK);
        assert_string_equal(meta.key, other.key);
        assert_string_equal(meta.value, other.value);
    }
    ll_model_close(whole);
    ll_model_close(light);
    ll_engine_close(engine);
}

struct watcher {
    ll_session *session; /* of another model of the same engine */
    ll_token tokens[8];
    uint64_t calls, done, total;
};

static void use_another_session(void *user, const ll_progress *progress)
{
    struct watcher *watcher = user;
    assert_int_equal(progress->phase, LL_LOADING);
    assert_true(progress->done > watcher->done);
    watcher->done = progress->done;
    watcher->total = progress->total;
    watcher->calls++;
    assert_int_equal(ll_session_sync(watcher->session, watcher->tokens, 1 + watcher->calls % 8, NULL, NULL),
                     LL_OK);
}

static void loading_reports_every_byte_and_holds_no_lock_while_it_does(void **state)
{
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    ll_model *first = tiny_model(engine, tiny_names[0]), *second = NULL;
    struct watcher watcher = {.session = tiny_session(first, 64)};
    ll_run run;
    char path[4096];
    tiny_tokens(first, watcher.tokens, 8);
    vector_path(path, tiny_names[1]);
    ll_run_init(&run);
    run.on_progress = use_another_session;
    run.user = &watcher;
    alarm(120); /* a lock held over the callback would wait for itself */
    assert_int_equal(ll_model_open(engine, path, NULL, &run, &second, NULL), LL_OK);
    alarm(0);
    assert_true(watcher.calls > 3);
    assert_int_equal(watcher.done, watcher.total);
    ll_session_close(watcher.session);
    ll_model_close(first);
    ll_model_close(second);
    ll_engine_close(engine);
}

static void a_run_that_was_not_made_by_its_init_is_refused(void **state)
{
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    ll_model *model = tiny_model(engine, tiny_names[0]), *other = NULL;
    ll_session *session = tiny_session(model, 64);
    ll_token tokens[4];
    float logprobs[4];
    ll_finish finish;
    ll_error error;
    char path[4096];
    vector_path(path, tiny_names[0]);
    tiny_tokens(model, tokens, 4);
    for (int i = 0; i < 2; i++) {
        ll_run run;
        memset(&run, 0xA5, sizeof run);
        run.size = i ? sizeof run + 8 : 0;
        assert_int_equal(ll_model_open(engine, path, NULL, &run, &other, &error), LL_VERSION);
        assert_int_equal(ll_session_sync(session, tokens, 4, &run, &error), LL_VERSION);
        assert_int_equal(ll_session_score(session, tokens, 4, logprobs, &run, &error), LL_VERSION);
        assert_int_equal(ll_generate(session, NULL, 4, &run, &finish, &error), LL_VERSION);
        assert_non_null(strstr(error.text, "ll_run_init"));
    }
    ll_session_close(session);
    ll_model_close(model);
    ll_engine_close(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metadata_can_be_read_whether_or_not_the_weights_were_loaded),
        cmocka_unit_test(loading_reports_every_byte_and_holds_no_lock_while_it_does),
        cmocka_unit_test(a_run_that_was_not_made_by_its_init_is_refused),
    };
    unit_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
