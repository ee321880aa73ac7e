/* Every architecture against transformers in double precision, on tiny models, through the public API.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Distances are shares of the logits' range. Seen: 7e-8 to 4e-7 on the reference backend. A wrong
 * rotation base, window, slope, clamp or softcap moves them by 1e-2 and more, the other GELU by 1e-4,
 * a wrong epsilon of the norms by 1e-5 (each tried by breaking the code on purpose). */
#include "longleaf.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "engine/vector_file.h"

#define BOUND_EXACT 2e-6     /* F32 arithmetic throughout */
#define BOUND_HALF 2e-3      /* keys and values kept as F16 */
#define BOUND_QUANTISED 8e-2 /* products of quantised weights with activations rounded to 8 bits */

struct test_case {
    const char *model;
    bool quantised;
};

struct opened {
    ll_engine *engine;
    ll_model *model;
    struct vector_file *file;
};

static void check(ll_status status, const ll_error *error)
{
    if (status != LL_OK)
        fail_msg("%s: %s: %s", ll_status_name(status), error->where, error->text);
}

static struct opened open_model(const char *device, int threads, const char *name)
{
    struct opened ret = {.file = vector_file_open(name)};
    ll_engine_options options;
    ll_error error;
    ll_engine_options_init(&options);
    options.device = device;
    options.threads = threads;
    check(ll_engine_open(&options, &ret.engine, &error), &error);
    check(ll_model_open(ret.engine, vector_path(name, ".gguf"), NULL, NULL, &ret.model, &error), &error);
    return ret;
}

static void close_model(struct opened *opened)
{
    ll_model_close(opened->model);
    ll_engine_close(opened->engine);
    vector_file_close(opened->file);
}

static ll_session *open_session(ll_model *model, ll_dtype cache_type)
{
    ll_session_options options;
    ll_session *session;
    ll_error error;
    ll_session_options_init(&options);
    options.context = 256;
    options.cache_type = cache_type;
    check(ll_session_open(model, &options, &session, &error), &error);
    return session;
}

static const float *sync_to(ll_session *session, const ll_token *tokens, size_t count, size_t vocabulary)
{
    ll_error error;
    size_t width;
    check(ll_session_sync(session, tokens, count, NULL, &error), &error);
    assert_int_equal(ll_session_position(session), count);
    const float *logits = ll_session_logits(session, &width);
    assert_non_null(logits);
    assert_int_equal(width, vocabulary);
    return logits;
}

/* One session through all known rows of all sequences: prefixes grow, then the next sequence replaces it. */
static double worst_distance(const struct opened *opened, ll_dtype cache_type)
{
    size_t vocabulary = opened->file->vocabulary;
    ll_session *session = open_session(opened->model, cache_type);
    double worst = 0;
    for (size_t i = 0; i < opened->file->sequence_count; i++) {
        const struct vector_sequence *sequence = &opened->file->sequences[i];
        for (size_t r = 0; r < sequence->row_count; r++) {
            const float *seen = sync_to(session, sequence->tokens, sequence->rows[r] + 1, vocabulary);
            worst = fmax(worst, vector_distance(seen, sequence->logits + r * vocabulary, vocabulary));
        }
    }
    ll_session_close(session);
    return worst;
}

static void expect_within(const struct test_case *test, const char *device, ll_dtype cache_type, double bound)
{
    struct opened opened = open_model(device, 2, test->model);
    double worst = worst_distance(&opened, cache_type);
    printf("# %s on %s: within %.1e of the range, allowed %.1e\n", test->model, device, worst, bound);
    if (worst > bound)
        fail_msg("%s on %s: logits differ by %.3e of their range", test->model, device, worst);
    close_model(&opened);
}

static void reference_logits_equal_double_precision(void **state)
{
    expect_within(*state, "reference", LL_F32, BOUND_EXACT);
}

static void cpu_logits_equal_double_precision(void **state)
{
    const struct test_case *test = *state;
    expect_within(test, "cpu", LL_F32, test->quantised ? BOUND_QUANTISED : BOUND_EXACT);
}

static void half_precision_cache_costs_little(void **state)
{
    const struct test_case *test = *state;
    expect_within(test, "cpu", LL_F16, test->quantised ? BOUND_QUANTISED : BOUND_HALF);
}

/* The longest sequence at once, by one token, and in uneven pieces: the same bits each time. */
static void pieces_give_the_same_bits_as_one_sync(void **state)
{
    const struct test_case *test = *state;
    const char *devices[] = {"reference", "cpu"};
    for (size_t d = 0; d < 2; d++) {
        struct opened opened = open_model(devices[d], 2, test->model);
        const struct vector_sequence *sequence = &opened.file->sequences[opened.file->sequence_count - 1];
        size_t vocabulary = opened.file->vocabulary, steps[] = {1, 37, 64};
        ll_session *whole = open_session(opened.model, LL_F32);
        const float *expected = sync_to(whole, sequence->tokens, sequence->count, vocabulary);
        for (size_t s = 0; s < 3; s++) {
            ll_session *pieces = open_session(opened.model, LL_F32);
            for (size_t end = steps[s]; end < sequence->count; end += steps[s])
                sync_to(pieces, sequence->tokens, end, vocabulary);
            const float *seen = sync_to(pieces, sequence->tokens, sequence->count, vocabulary);
            assert_memory_equal(seen, expected, vocabulary * sizeof *seen);
            ll_session_close(pieces);
        }
        ll_session_close(whole);
        close_model(&opened);
    }
}

static void thread_count_does_not_change_a_bit(void **state)
{
    const struct test_case *test = *state;
    struct opened one = open_model("cpu", 1, test->model), three = open_model("cpu", 3, test->model);
    const struct vector_sequence *sequence = &one.file->sequences[one.file->sequence_count - 1];
    ll_session *a = open_session(one.model, LL_F16), *b = open_session(three.model, LL_F16);
    const float *x = sync_to(a, sequence->tokens, sequence->count, one.file->vocabulary);
    const float *y = sync_to(b, sequence->tokens, sequence->count, one.file->vocabulary);
    assert_memory_equal(x, y, one.file->vocabulary * sizeof *x);
    ll_session_close(a);
    ll_session_close(b);
    close_model(&one);
    close_model(&three);
}

/* Of the distribution that logits describe. */
static double log_share(const float *logits, size_t count, ll_token token)
{
    double peak = logits[0], sum = 0;
    for (size_t i = 0; i < count; i++)
        peak = fmax(peak, (double)logits[i]);
    for (size_t i = 0; i < count; i++)
        sum += exp((double)logits[i] - peak);
    return (double)logits[token] - peak - log(sum);
}

static void expect_scores(const struct opened *opened, const struct vector_sequence *sequence)
{
    ll_error error;
    float *scores = calloc(sequence->count, sizeof *scores);
    assert_non_null(scores);
    ll_session *session = open_session(opened->model, LL_F32);
    check(ll_session_score(session, sequence->tokens, sequence->count, scores, NULL, &error), &error);
    assert_true(scores[0] == 0.0f);
    for (size_t i = 1; i < sequence->count; i++)
        if (fabs((double)scores[i] - (double)sequence->logprobs[i]) > 5e-4)
            fail_msg("%s: token %zu scores %g, expected %g", opened->file->name, i, (double)scores[i],
                     (double)sequence->logprobs[i]);
    for (size_t r = 0; r < sequence->row_count; r++) {
        size_t next = sequence->rows[r] + 1;
        if (next == sequence->count)
            continue;
        const float *logits = sync_to(session, sequence->tokens, next, opened->file->vocabulary);
        double expected = log_share(logits, opened->file->vocabulary, sequence->tokens[next]);
        assert_true(fabs((double)scores[next] - expected) < 1e-5 * (1 + fabs(expected)));
    }
    ll_session_close(session);
    free(scores);
}

static void scores_equal_double_precision_and_the_sessions_own_logits(void **state)
{
    const struct test_case *test = *state;
    struct opened opened = open_model("reference", 1, test->model);
    for (size_t i = 0; i < opened.file->sequence_count; i++)
        expect_scores(&opened, &opened.file->sequences[i]);
    close_model(&opened);
}

static struct test_case cases[] = {
    {"llama-grouped", false},
    {"llama-tied-scaled", false},
    {"llama-quantised", true},
    {"gemma3-window", false},
    {"gemma3-whole-capped", false},
    {"bloom-4-heads", false},
    {"bloom-6-heads", false},
    {"mpt-bias-8", false},
    {"mpt-bias-16-clipped", false},
    {"llama-window", false},
    {"llama-yarn", false},
    {"qwen2", false},
    {"qwen3", false},
    {"gemma2", false},
    {"phi3-window", false},
    {"phi3-long", false},
    {"phi3-short", false},
    {"smollm3", false},
    {"olmo2", false},
    {"granite", false},
    {"starcoder2", false},
    {"falcon-one-norm", false},
    {"falcon-two-norms", false},
    {"falcon-rw", false},
    {"refact", false},
    {"baichuan-alibi", false},
    {"baichuan-rotary", false},
    {"jais", false},
};

static const struct {
    const char *name;
    CMUnitTestFunction run;
} checks[] = {
    {"reference_logits_equal_double_precision", reference_logits_equal_double_precision},
    {"cpu_logits_equal_double_precision", cpu_logits_equal_double_precision},
    {"half_precision_cache_costs_little", half_precision_cache_costs_little},
    {"pieces_give_the_same_bits_as_one_sync", pieces_give_the_same_bits_as_one_sync},
    {"thread_count_does_not_change_a_bit", thread_count_does_not_change_a_bit},
    {"scores_equal_double_precision", scores_equal_double_precision_and_the_sessions_own_logits},
};

#define CASES (sizeof cases / sizeof *cases)
#define CHECKS (sizeof checks / sizeof *checks)

int main(void)
{
    static char names[CASES * CHECKS][96];
    struct CMUnitTest tests[CASES * CHECKS];
    memset(tests, 0, sizeof tests);
    for (size_t i = 0; i < CASES * CHECKS; i++) {
        struct test_case *test = &cases[i / CHECKS];
        snprintf(names[i], sizeof names[i], "%s: %s", test->model, checks[i % CHECKS].name);
        tests[i].name = names[i];
        tests[i].test_func = checks[i % CHECKS].run;
        tests[i].initial_state = test;
    }
    return cmocka_run_group_tests_name("vectors", tests, NULL, NULL);
}
