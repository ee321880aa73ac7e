/* Tests that whole chains of sampling rules draw the tokens that a double-precision model of each draws.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "engine/sampler.h"
#include "unit.h"

enum { VOCABULARY = 61, STEPS = 20, MOST_BIASES = 8, HISTORY = 200 };

struct cases {
    FILE *file;
    char line[4096];
    char bias_line[4096];
    const char *bias[MOST_BIASES];
    ll_sampling sampling;
    ll_token history[HISTORY];
    size_t count;
};

static void set(ll_sampling *s, const char *name, double value)
{
    const struct {
        const char *name;
        float *real;
        int *whole;
    } fields[] = {{"temperature", &s->temperature, NULL},
                  {"top_k", NULL, &s->top_k},
                  {"top_p", &s->top_p, NULL},
                  {"min_p", &s->min_p, NULL},
                  {"repeat", &s->repeat_penalty, NULL},
                  {"presence", &s->presence_penalty, NULL},
                  {"frequency", &s->frequency_penalty, NULL},
                  {"window", NULL, &s->penalty_window},
                  {"typical", &s->typical_p, NULL},
                  {"xtc_probability", &s->xtc_probability, NULL},
                  {"xtc_threshold", &s->xtc_threshold, NULL},
                  {"mirostat", NULL, &s->mirostat},
                  {"tau", &s->mirostat_tau, NULL},
                  {"eta", &s->mirostat_eta, NULL},
                  {"dry", &s->dry_multiplier, NULL},
                  {"base", &s->dry_base, NULL},
                  {"length", NULL, &s->dry_length},
                  {"dry_window", NULL, &s->dry_window}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (strcmp(fields[i].name, name) != 0)
            continue;
        if (fields[i].real)
            *fields[i].real = (float)value;
        else
            *fields[i].whole = (int)value;
        return;
    }
    fail_msg("the vectors name %s", name);
}

static char *next_line(struct cases *c, const char *head)
{
    assert_non_null(fgets(c->line, sizeof c->line, c->file));
    assert_int_equal(strncmp(c->line, head, strlen(head)), 0);
    return c->line + strlen(head);
}

static void read_settings(struct cases *c, char *text)
{
    char name[32];
    double value;
    int used;
    ll_sampling_init(&c->sampling);
    c->sampling.temperature = 1.0f;
    for (; sscanf(text, " %31[^: ]:%lf%n", name, &value, &used) == 2; text += used)
        set(&c->sampling, name, value);
    snprintf(c->bias_line, sizeof c->bias_line, "%s", next_line(c, "bias "));
    for (char *word = strtok(c->bias_line, " \n"); word; word = strtok(NULL, " \n"))
        c->bias[c->sampling.bias_count++] = word;
    c->sampling.bias = c->bias;
    c->sampling.seed = strtoull(next_line(c, "seed "), NULL, 10);
    char *at = next_line(c, "history ");
    for (c->count = 0; *at && *at != '\n'; c->count++)
        c->history[c->count] = (ll_token)strtol(at, &at, 10);
}

static bool next_case(struct cases *c)
{
    if (!fgets(c->line, sizeof c->line, c->file))
        return false;
    assert_int_equal(strncmp(c->line, "case ", 5), 0);
    read_settings(c, c->line + 5);
    return true;
}

static void run_case(struct cases *c, size_t number)
{
    static const struct sampler_place place = {NULL, VOCABULARY, HISTORY};
    struct sampler *sampler;
    ll_error error;
    if (sampler_open(&c->sampling, &place, &sampler, &error) != LL_OK)
        fail_msg("case %zu: %s", number, error.text);
    for (int step = 0; step < STEPS; step++) {
        float logits[VOCABULARY];
        char *at = next_line(c, "");
        ll_token wanted = (ll_token)strtol(at, &at, 10);
        for (size_t i = 0; i < VOCABULARY; i++)
            logits[i] = strtof(at, &at);
        ll_token token = sampler_pick(sampler, logits, c->history, c->count);
        if (token != wanted)
            fail_msg("case %zu, step %d: token %d, and the model draws %d", number, step, (int)token,
                     (int)wanted);
        c->history[c->count++] = token;
    }
    sampler_close(sampler);
}

static void every_chain_draws_what_its_published_description_draws(void **state)
{
    (void)state;
    struct cases c = {0};
    char path[4096];
    const char *top = getenv("top_srcdir");
    snprintf(path, sizeof path, "%s/tests/vectors/sampler.txt", top ? top : ".");
    c.file = fopen(path, "r");
    assert_non_null(c.file);
    next_line(&c, "# ");
    size_t number = 0;
    for (; next_case(&c); number++)
        run_case(&c, number);
    assert_true(number > 20);
    fclose(c.file);
}

/* The published loop, written down again: every earlier place of the last token, read backwards. */
static void plain_dry(float *logits, const ll_sampling *s, const ll_token *recent, size_t count)
{
    size_t longest[VOCABULARY] = {0};
    for (size_t i = 0; i + 1 < count; i++) {
        size_t n = 0;
        while (n <= i && recent[i - n] == recent[count - 1 - n])
            n++;
        if (n > longest[recent[i + 1]])
            longest[recent[i + 1]] = n;
    }
    for (size_t token = 0; token < VOCABULARY; token++)
        if (longest[token] >= (size_t)s->dry_length)
            logits[token] -=
                s->dry_multiplier * powf(s->dry_base, (float)(longest[token] - (size_t)s->dry_length));
}

static void dry_of_any_history_is_that_of_the_quadratic_loop(void **state)
{
    (void)state;
    static const struct sampler_place place = {NULL, VOCABULARY, HISTORY};
    for (size_t round = 0; round < unit_rounds(300); round++) {
        ll_token history[HISTORY];
        float logits[VOCABULARY], expected[VOCABULARY];
        size_t count = unit_below(HISTORY), letters = 1 + unit_below(4), best = 0;
        ll_sampling sampling;
        struct sampler *sampler;
        ll_sampling_init(&sampling);
        sampling.dry_multiplier = 0.7f;
        sampling.dry_base = 1.05f;
        sampling.dry_length = 1 + (int)unit_below(4);
        sampling.dry_window = (int)unit_below(HISTORY);
        for (size_t i = 0; i < count; i++)
            history[i] = (ll_token)unit_below(letters);
        for (size_t i = 0; i < VOCABULARY; i++)
            expected[i] = logits[i] = (float)unit_below(1000) / 100.0f - (i < letters ? 0.0f : 20.0f);
        size_t window =
            sampling.dry_window && (size_t)sampling.dry_window < count ? (size_t)sampling.dry_window : count;
        plain_dry(expected, &sampling, history + count - window, window);
        for (size_t i = 1; i < VOCABULARY; i++)
            best = expected[i] > expected[best] ? i : best;
        assert_int_equal(sampler_open(&sampling, &place, &sampler, NULL), LL_OK);
        for (int again = 0; again < 2; again++) { /* a pick leaves nothing behind */
            ll_token token = sampler_pick(sampler, logits, history, count);
            assert_true(expected[token] >= expected[best] - 1e-4f);
        }
        sampler_close(sampler);
    }
}

static void the_order_that_is_printed_names_the_rules_asked_for(void **state)
{
    (void)state;
    static const char *const bias[] = {"3=1"};
    char order[256];
    size_t length;
    ll_sampling s;
    ll_sampling_init(&s);
    assert_int_equal(ll_sampling_order(&s, order, sizeof order, &length, NULL), LL_OK);
    assert_string_equal(order, "greatest");
    s.temperature = 0.8f;
    s.top_k = 40;
    s.typical_p = 0.9f;
    s.mirostat = 2;
    s.dry_multiplier = 0.5f;
    s.bias = bias;
    s.bias_count = 1;
    assert_int_equal(ll_sampling_order(&s, order, sizeof order, &length, NULL), LL_OK);
    assert_string_equal(order, "logit-bias, dry, top-k, temperature, typical, mirostat");
    assert_int_equal(ll_sampling_order(&s, NULL, 0, &length, NULL), LL_OK);
    assert_int_equal(length, strlen(order));
    s.mirostat = 3;
    assert_int_equal(ll_sampling_order(&s, order, sizeof order, &length, NULL), LL_ARGUMENT);
}

static void biases_that_are_none_are_refused_with_what_was_written(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",      "x",    "3", "3=", "=1", "61=1", "-1=2", "3=nan", "3=inf", "3=1x", "99999999999999999999=1",
        "3=1e9", "3= 1", NULL};
    static const struct sampler_place place = {NULL, VOCABULARY, HISTORY};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ll_sampling sampling;
        struct sampler *sampler;
        ll_error error;
        ll_sampling_init(&sampling);
        sampling.bias = &bad[i];
        sampling.bias_count = 1;
        assert_int_equal(sampler_open(&sampling, &place, &sampler, &error), LL_ARGUMENT);
        assert_true(!bad[i] || strstr(error.text, bad[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_chain_draws_what_its_published_description_draws),
        cmocka_unit_test(dry_of_any_history_is_that_of_the_quadratic_loop),
        cmocka_unit_test(the_order_that_is_printed_names_the_rules_asked_for),
        cmocka_unit_test(biases_that_are_none_are_refused_with_what_was_written),
    };
    unit_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
