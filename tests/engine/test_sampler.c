/* Tests of the sampler against a plain sort, and of its settings.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine/sampler.h"

#include <math.h>

#include "unit.h"

enum { VOCABULARY = 211 };

static const struct sampler_place place = {NULL, VOCABULARY, 2048};

static void random_logits(float *logits)
{
    for (size_t i = 0; i < VOCABULARY; i++)
        logits[i] = (float)((double)unit_below(20001) / 1000.0 - 10.0);
}

static struct sampler *open_sampler(const ll_sampling *sampling)
{
    struct sampler *sampler = NULL;
    ll_error error;
    assert_int_equal(sampler_open(sampling, &place, &sampler, &error), LL_OK);
    return sampler;
}

static void greedy_takes_the_lowest_id_among_equals(void **state)
{
    (void)state;
    float logits[VOCABULARY] = {0};
    ll_sampling sampling;
    ll_sampling_init(&sampling);
    struct sampler *sampler = open_sampler(&sampling);
    logits[40] = logits[90] = 3.0f;
    assert_int_equal(sampler_pick(sampler, logits, NULL, 0), 40);
    sampler_close(sampler);
}

static void logits_that_are_not_numbers_are_reported(void **state)
{
    (void)state;
    float logits[VOCABULARY];
    ll_sampling sampling;
    for (size_t i = 0; i < VOCABULARY; i++)
        logits[i] = NAN;
    for (int greedy = 0; greedy < 2; greedy++) {
        ll_sampling_init(&sampling);
        sampling.temperature = greedy ? 0.0f : 1.0f;
        struct sampler *sampler = open_sampler(&sampling);
        assert_int_equal(sampler_pick(sampler, logits, NULL, 0), -1);
        sampler_close(sampler);
    }
}

struct ranked {
    double p;
    ll_token token;
};

static int by_probability(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return x->p != y->p ? (x->p < y->p ? 1 : -1) : (x->token > y->token) - (x->token < y->token);
}

/* The set of tokens that may come, by sorting everything. */
static size_t allowed_tokens(const float *logits, const ll_sampling *s, struct ranked *ranked)
{
    double total = 0.0, cumulated = 0.0;
    for (size_t i = 0; i < VOCABULARY; i++)
        ranked[i] = (struct ranked){exp(logits[i] / (double)s->temperature), (ll_token)i};
    qsort(ranked, VOCABULARY, sizeof *ranked, by_probability);
    size_t limit = s->top_k > 0 && s->top_k < VOCABULARY ? (size_t)s->top_k : VOCABULARY, kept = 0;
    for (size_t i = 0; i < limit; i++)
        total += ranked[i].p;
    for (; kept < limit; kept++) {
        if (kept > 0 &&
            (cumulated >= s->top_p * total - 1e-12 * total || ranked[kept].p < s->min_p * ranked[0].p))
            break;
        cumulated += ranked[kept].p;
    }
    for (size_t i = 0; i < kept; i++)
        ranked[i].p /= cumulated;
    return kept;
}

static void only_tokens_that_the_settings_allow_come_and_as_often_as_they_should(void **state)
{
    (void)state;
    enum { DRAWS = 4000 };
    static const struct {
        int k;
        float p, m;
    } settings[] = {{0, 1, 0}, {5, 1, 0}, {0, 0.8f, 0}, {0, 1, 0.2f}, {12, 0.7f, 0.05f}, {1, 1, 0}};
    for (size_t c = 0; c < sizeof settings / sizeof settings[0]; c++) {
        float logits[VOCABULARY];
        struct ranked ranked[VOCABULARY];
        int seen[VOCABULARY] = {0}, allowed_draws = 0;
        ll_sampling sampling;
        ll_sampling_init(&sampling);
        sampling.temperature = 1.3f;
        sampling.top_k = settings[c].k;
        sampling.top_p = settings[c].p;
        sampling.min_p = settings[c].m;
        sampling.seed = unit_random();
        random_logits(logits);
        size_t kept = allowed_tokens(logits, &sampling, ranked);
        struct sampler *sampler = open_sampler(&sampling);
        for (int i = 0; i < DRAWS; i++)
            seen[sampler_pick(sampler, logits, NULL, 0)]++;
        for (size_t i = 0; i < kept; i++) {
            double expected = ranked[i].p * DRAWS, slack = 6.0 * sqrt(expected + 1.0) + 1.0;
            assert_true(fabs(seen[ranked[i].token] - expected) < slack);
            allowed_draws += seen[ranked[i].token];
        }
        assert_int_equal(allowed_draws, DRAWS);
        sampler_close(sampler);
    }
}

static void the_same_seed_gives_the_same_tokens(void **state)
{
    (void)state;
    ll_sampling sampling;
    float logits[VOCABULARY];
    ll_sampling_init(&sampling);
    sampling.temperature = 1.0f;
    sampling.seed = unit_random();
    struct sampler *a = open_sampler(&sampling), *b = open_sampler(&sampling);
    for (int i = 0; i < 200; i++) {
        random_logits(logits);
        assert_int_equal(sampler_pick(a, logits, NULL, 0), sampler_pick(b, logits, NULL, 0));
    }
    sampler_close(a);
    sampler_close(b);
}

static void penalties_touch_each_recent_token_once_and_nothing_else(void **state)
{
    (void)state;
    static const ll_token history[] = {9, 7, 7, 3, 7, 500}; /* 500 is outside; 9 is outside the window */
    float logits[VOCABULARY] = {0};
    ll_sampling sampling;
    ll_sampling_init(&sampling);
    sampling.penalty_window = 5;
    sampling.repeat_penalty = 2.0f;
    sampling.frequency_penalty = 1.0f;
    struct sampler *sampler = open_sampler(&sampling);
    logits[7] = 10.0f; /* 10/2 - 3 = 2 */
    logits[3] = 5.0f;  /* 5/2 - 1 = 1.5 */
    logits[9] = 1.9f;
    assert_int_equal(sampler_pick(sampler, logits, history, 6), 7);
    logits[9] = 2.1f;
    assert_int_equal(sampler_pick(sampler, logits, history, 6), 9);
    sampler_close(sampler);
}

/* Counted by a plain walk over the window, for windows of any length. */
static void penalties_of_any_window_are_those_of_a_plain_count(void **state)
{
    (void)state;
    enum { LENGTH = 900 };
    ll_token history[LENGTH];
    for (int round = 0; round < 50; round++) {
        float logits[VOCABULARY], expected[VOCABULARY];
        size_t count = unit_below(LENGTH), window = unit_below(2) ? unit_below(LENGTH) : INT32_MAX, first;
        ll_sampling sampling;
        ll_sampling_init(&sampling);
        sampling.penalty_window = (int)window;
        sampling.repeat_penalty = 1.3f;
        sampling.presence_penalty = 0.4f;
        sampling.frequency_penalty = 0.2f;
        for (size_t i = 0; i < count; i++)
            history[i] = (ll_token)unit_below(VOCABULARY);
        random_logits(logits);
        first = count > window ? count - window : 0;
        for (ll_token token = 0; token < VOCABULARY; token++) {
            int times = 0;
            for (size_t i = first; i < count; i++)
                times += history[i] == token;
            expected[token] = logits[token];
            if (times)
                expected[token] = (logits[token] > 0 ? logits[token] / 1.3f : logits[token] * 1.3f) -
                                  (0.4f + 0.2f * (float)times);
        }
        size_t best = 0;
        for (size_t i = 1; i < VOCABULARY; i++)
            best = expected[i] > expected[best] ? i : best;
        struct sampler *sampler = open_sampler(&sampling);
        for (int again = 0; again < 2; again++) /* a pick leaves nothing behind */
            assert_int_equal(sampler_pick(sampler, logits, history, count), best);
        sampler_close(sampler);
    }
}

static void missing_stop_strings_are_refused_by_place(void **state)
{
    (void)state;
    static const char *const stops[] = {"one", NULL};
    ll_sampling sampling;
    struct sampler *sampler;
    ll_error error;
    ll_sampling_init(&sampling);
    sampling.stop_count = 2;
    assert_int_equal(sampler_open(&sampling, &place, &sampler, &error), LL_ARGUMENT);
    sampling.stop = stops;
    assert_int_equal(sampler_open(&sampling, &place, &sampler, &error), LL_ARGUMENT);
    assert_non_null(strstr(error.text, "2 of 2"));
}

static void settings_out_of_range_are_refused_by_name(void **state)
{
    (void)state;
    ll_sampling sampling;
    struct sampler *sampler;
    ll_error error;
    ll_sampling_init(&sampling);
    sampling.temperature = NAN;
    assert_int_equal(sampler_open(&sampling, &place, &sampler, &error), LL_ARGUMENT);
    assert_non_null(strstr(error.text, "temperature"));
    ll_sampling_init(&sampling);
    sampling.top_p = 0.0f;
    assert_int_equal(sampler_open(&sampling, &place, &sampler, &error), LL_ARGUMENT);
    assert_non_null(strstr(error.text, "top-p"));
    ll_sampling_init(&sampling);
    sampling.size = sizeof sampling + 8;
    assert_int_equal(sampler_open(&sampling, &place, &sampler, &error), LL_VERSION);
}

static void alternatives_are_the_greatest_log_probabilities_in_order(void **state)
{
    (void)state;
    float logits[VOCABULARY], logprob;
    ll_choice choices[10];
    double sum = 0.0, shares = 0.0;
    random_logits(logits);
    for (size_t i = 0; i < VOCABULARY; i++)
        sum += exp(logits[i]);
    sampler_choices(logits, VOCABULARY, 5, &logprob, choices, 10);
    assert_true(fabs(logprob - (logits[5] - log(sum))) < 1e-5);
    for (int i = 0; i < 10; i++) {
        int greater = 0;
        for (size_t j = 0; j < VOCABULARY; j++)
            greater += logits[j] > logits[choices[i].token];
        assert_true(greater <= i);
        assert_true(i == 0 || choices[i].logprob <= choices[i - 1].logprob);
        shares += exp(choices[i].logprob);
    }
    assert_true(shares <= 1.0 + 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(greedy_takes_the_lowest_id_among_equals),
        cmocka_unit_test(logits_that_are_not_numbers_are_reported),
        cmocka_unit_test(only_tokens_that_the_settings_allow_come_and_as_often_as_they_should),
        cmocka_unit_test(the_same_seed_gives_the_same_tokens),
        cmocka_unit_test(penalties_touch_each_recent_token_once_and_nothing_else),
        cmocka_unit_test(penalties_of_any_window_are_those_of_a_plain_count),
        cmocka_unit_test(missing_stop_strings_are_refused_by_place),
        cmocka_unit_test(settings_out_of_range_are_refused_by_name),
        cmocka_unit_test(alternatives_are_the_greatest_log_probabilities_in_order),
    };
    unit_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
