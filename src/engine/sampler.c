/* Picks the next token: a chain of rules, run in the order in which it is printed.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine/sampler.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/options.h"
#include "base/strbuf.h"
#include "engine/candidates.h"
#include "engine/mirostat.h"
#include "engine/penalty.h"
#include "text/recogniser.h"

struct sampler {
    ll_sampling sampling;
    size_t vocabulary;
    uint64_t state;          /* of the random numbers */
    struct penalty *penalty; /* NULL: no rule changes a logit */
    float *changed;          /* [vocabulary], the copy that such rules change; NULL when there are none */
    struct candidates candidates; /* without memory when greedy */
    struct mirostat mirostat;
    struct recogniser *recogniser; /* NULL: no grammar */
    ll_error problem;              /* why the last pick failed; LL_OK: the logits are not numbers */

    const float *logits; /* of this pick, changed or not */
    const ll_token *history;
    size_t count;
    ll_token picked;
};

void ll_sampling_init(ll_sampling *sampling)
{
    *sampling = (ll_sampling){.size = sizeof *sampling,
                              .top_p = 1.0f,
                              .repeat_penalty = 1.0f,
                              .penalty_window = 64,
                              .typical_p = 1.0f,
                              .xtc_threshold = 0.1f,
                              .mirostat_tau = 5.0f,
                              .mirostat_eta = 0.1f,
                              .dry_base = 1.75f,
                              .dry_length = 2};
}

/* ---- settings ---- */

static ll_status check(bool good, const char *what, double value, ll_error *error)
{
    if (good)
        return LL_OK;
    return error_set(error, LL_ARGUMENT, "sampler", "%s %g is out of range", what, value);
}

static ll_status check_cuts(const ll_sampling *s, ll_error *error)
{
    LL_TRY(check(s->temperature >= 0.0f && s->temperature <= 100.0f, "temperature", s->temperature, error));
    LL_TRY(check(s->top_p > 0.0f && s->top_p <= 1.0f, "top-p", s->top_p, error));
    LL_TRY(check(s->min_p >= 0.0f && s->min_p <= 1.0f, "min-p", s->min_p, error));
    LL_TRY(check(s->top_k >= 0, "top-k", s->top_k, error));
    LL_TRY(check(s->typical_p > 0.0f && s->typical_p <= 1.0f, "typical", s->typical_p, error));
    LL_TRY(check(s->xtc_probability >= 0.0f && s->xtc_probability <= 1.0f, "XTC probability",
                 s->xtc_probability, error));
    LL_TRY(
        check(s->xtc_threshold > 0.0f && s->xtc_threshold <= 1.0f, "XTC threshold", s->xtc_threshold, error));
    LL_TRY(check(s->mirostat >= 0 && s->mirostat <= 2, "mirostat version", s->mirostat, error));
    LL_TRY(check(s->mirostat_tau >= 0.0f && s->mirostat_tau <= 100.0f, "mirostat target", s->mirostat_tau,
                 error));
    return check(s->mirostat_eta >= 0.0f && s->mirostat_eta <= 10.0f, "mirostat rate", s->mirostat_eta,
                 error);
}

static ll_status check_penalties(const ll_sampling *s, ll_error *error)
{
    LL_TRY(check(s->repeat_penalty > 0.0f && s->repeat_penalty <= 100.0f, "repetition penalty",
                 s->repeat_penalty, error));
    LL_TRY(check(fabsf(s->presence_penalty) <= 100.0f, "presence penalty", s->presence_penalty, error));
    LL_TRY(check(fabsf(s->frequency_penalty) <= 100.0f, "frequency penalty", s->frequency_penalty, error));
    LL_TRY(check(s->penalty_window >= 0, "penalty window", s->penalty_window, error));
    LL_TRY(check(s->dry_multiplier >= 0.0f && s->dry_multiplier <= 100.0f, "DRY multiplier",
                 s->dry_multiplier, error));
    LL_TRY(check(s->dry_base >= 1.0f && s->dry_base <= 100.0f, "DRY base", s->dry_base, error));
    LL_TRY(check(s->dry_length >= 1, "DRY length", s->dry_length, error));
    LL_TRY(check(s->dry_window >= 0, "DRY window", s->dry_window, error));
    return check(s->choices >= 0 && s->choices <= 100, "number of alternatives", s->choices, error);
}

static ll_status check_stops(const ll_sampling *s, ll_error *error)
{
    if (s->stop_count > 0 && !s->stop)
        return error_set(error, LL_ARGUMENT, "sampler", "%zu stop strings are announced and none is given",
                         s->stop_count);
    for (size_t i = 0; i < s->stop_count; i++)
        if (!s->stop[i])
            return error_set(error, LL_ARGUMENT, "sampler", "stop string %zu of %zu is missing", i + 1,
                             s->stop_count);
    return LL_OK;
}

static ll_status check_settings(const ll_sampling *s, ll_error *error)
{
    LL_TRY(check_cuts(s, error));
    LL_TRY(check_penalties(s, error));
    return check_stops(s, error);
}

/* ---- random numbers: SplitMix64 (Steele, Lea, Flood 2014) ---- */

static double next_uniform(struct sampler *s)
{
    uint64_t z = (s->state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return (double)(z >> 11) * 0x1p-53;
}

/* ---- the chain ---- */

static bool greedy(const ll_sampling *s)
{
    return s->temperature == 0.0f;
}

static bool has_top_k(const ll_sampling *s)
{
    return !greedy(s) && s->top_k > 0;
}

static bool has_temperature(const ll_sampling *s)
{
    return !greedy(s) && s->temperature != 1.0f;
}

static bool has_typical(const ll_sampling *s)
{
    return !greedy(s) && s->typical_p < 1.0f;
}

static bool has_top_p(const ll_sampling *s)
{
    return !greedy(s) && s->top_p < 1.0f;
}

static bool has_min_p(const ll_sampling *s)
{
    return !greedy(s) && s->min_p > 0.0f;
}

static bool has_xtc(const ll_sampling *s)
{
    return !greedy(s) && s->xtc_probability > 0.0f;
}

static bool has_mirostat(const ll_sampling *s)
{
    return !greedy(s) && s->mirostat > 0;
}

static bool has_draw(const ll_sampling *s)
{
    return !greedy(s) && s->mirostat == 0;
}

static void run_bias(struct sampler *s)
{
    penalty_bias(s->penalty, s->changed);
}

static void run_penalties(struct sampler *s)
{
    penalty_repeat(s->penalty, s->changed, s->history, s->count);
}

static void run_dry(struct sampler *s)
{
    penalty_dry(s->penalty, s->changed, s->history, s->count);
}

static bool has_grammar(const ll_sampling *s)
{
    return s->grammar || s->grammar_file || s->json_schema || s->json_schema_file;
}

static void run_grammar(struct sampler *s)
{
    (void)recogniser_mask(s->recogniser, s->changed, &s->problem);
}

static void run_greatest(struct sampler *s)
{
    for (size_t i = 0; i < s->vocabulary; i++)
        if (s->logits[i] > (s->picked < 0 ? -INFINITY : s->logits[s->picked]))
            s->picked = (ll_token)i;
}

static void run_top_k(struct sampler *s)
{
    candidates_top_k(&s->candidates, (size_t)s->sampling.top_k);
}

/* Weights are made when they are first asked for, which no rule before this one does. */
static void run_temperature(struct sampler *s)
{
    s->candidates.temperature = (double)s->sampling.temperature;
}

static void run_typical(struct sampler *s)
{
    candidates_typical(&s->candidates, (double)s->sampling.typical_p);
}

static void run_top_p(struct sampler *s)
{
    candidates_top_p(&s->candidates, (double)s->sampling.top_p);
}

static void run_min_p(struct sampler *s)
{
    candidates_min_p(&s->candidates, (double)s->sampling.min_p);
}

static void run_xtc(struct sampler *s)
{
    if (next_uniform(s) < (double)s->sampling.xtc_probability)
        candidates_exclude_top(&s->candidates, (double)s->sampling.xtc_threshold);
}

static void run_mirostat(struct sampler *s)
{
    s->picked = mirostat_draw(&s->mirostat, &s->candidates, next_uniform(s));
}

static void run_draw(struct sampler *s)
{
    s->picked = candidates_draw(&s->candidates, next_uniform(s));
}

/* What is printed is what is run: this list, and nothing beside it. */
static const struct rule {
    const char *name;
    bool (*asked)(const ll_sampling *sampling);
    void (*run)(struct sampler *sampler);
    bool on_candidates; /* works on what may come, not on logits */
} rules[] = {
    {"logit-bias", penalty_has_bias, run_bias, false},
    {"penalties", penalty_has_repeat, run_penalties, false},
    {"dry", penalty_has_dry, run_dry, false},
    {"grammar", has_grammar, run_grammar, false},
    {"greatest", greedy, run_greatest, false},
    {"top-k", has_top_k, run_top_k, true},
    {"temperature", has_temperature, run_temperature, true},
    {"typical", has_typical, run_typical, true},
    {"top-p", has_top_p, run_top_p, true},
    {"min-p", has_min_p, run_min_p, true},
    {"xtc", has_xtc, run_xtc, true},
    {"mirostat", has_mirostat, run_mirostat, true},
    {"draw", has_draw, run_draw, true},
};

enum { RULES = sizeof rules / sizeof rules[0] };

ll_status ll_sampling_order(const ll_sampling *given, char *out, size_t cap, size_t *ret_length,
                            ll_error *error)
{
    ll_sampling sampling;
    struct strbuf text = {0};
    OPTIONS_READ(sampling, given, ll_sampling_init, error);
    LL_TRY(check_settings(&sampling, error));
    for (size_t i = 0; i < RULES; i++)
        if (rules[i].asked(&sampling))
            strbuf_printf(&text, "%s%s", text.length ? ", " : "", rules[i].name);
    if (text.failed)
        return error_nomem(error, "sampler", cap);
    if (cap > 0 && cap <= text.length) {
        strbuf_fini(&text);
        return error_set(error, LL_ARGUMENT, "sampler", "the order of sampling needs a larger buffer");
    }
    if (cap > 0)
        memcpy(out, strbuf_text(&text), text.length + 1);
    *ret_length = text.length;
    strbuf_fini(&text);
    return LL_OK;
}

/* ---- opening ---- */

static ll_status read_text(const char *path, struct strbuf *out, ll_error *error)
{
    return file_read(path, GRAMMAR_MOST_TEXT, NULL, out, error);
}

/* One of text and file, or a schema as either, becomes GBNF. */
static ll_status read_grammar(const ll_sampling *s, struct strbuf *out, ll_error *error)
{
    struct strbuf schema = {0};
    if ((s->grammar != NULL) + (s->grammar_file != NULL) + (s->json_schema != NULL) +
            (s->json_schema_file != NULL) >
        1)
        return error_set(error, LL_ARGUMENT, "grammar",
                         "only one of grammar and JSON schema can be kept at a time");
    if (s->grammar)
        strbuf_puts(out, s->grammar);
    else if (s->grammar_file)
        return read_text(s->grammar_file, out, error);
    if (s->grammar)
        return LL_OK;
    ll_status status = LL_OK;
    if (s->json_schema)
        strbuf_puts(&schema, s->json_schema);
    else
        status = read_text(s->json_schema_file, &schema, error);
    if (status == LL_OK)
        status = grammar_of_schema(strbuf_text(&schema), schema.length, out, error);
    strbuf_fini(&schema);
    return status;
}

static ll_status open_grammar(struct sampler *s, const struct sampler_place *place, ll_error *error)
{
    struct strbuf text = {0};
    struct grammar grammar = {0};
    if (!place->tokenizer)
        return error_set(error, LL_ARGUMENT, "grammar", "a grammar needs a tokenizer");
    ll_status status = read_grammar(&s->sampling, &text, error);
    if (status == LL_OK && text.failed)
        status = error_nomem(error, "grammar", text.length);
    if (status == LL_OK)
        status = grammar_parse(strbuf_text(&text), text.length, &grammar, error);
    if (status == LL_OK)
        status = recogniser_open(&grammar, place->tokenizer, place->vocabulary, !s->sampling.ignore_end,
                                 &s->recogniser, error);
    grammar_fini(&grammar);
    strbuf_fini(&text);
    return status;
}

static ll_status open_parts(struct sampler *s, const struct sampler_place *place, ll_error *error)
{
    LL_TRY(
        penalty_open(&s->sampling, place->tokenizer, place->vocabulary, place->context, &s->penalty, error));
    if (has_grammar(&s->sampling))
        LL_TRY(open_grammar(s, place, error));
    if (s->penalty || s->recogniser) {
        s->changed = mem_new(s->vocabulary, sizeof *s->changed);
        if (!s->changed)
            return error_nomem(error, "sampler", s->vocabulary * sizeof *s->changed);
    }
    if (!greedy(&s->sampling) && !candidates_init(&s->candidates, s->vocabulary, 1.0))
        return error_nomem(error, "sampler", s->vocabulary * sizeof(struct candidate));
    return LL_OK;
}

ll_status sampler_open(const ll_sampling *given, const struct sampler_place *place, struct sampler **ret,
                       ll_error *error)
{
    ll_sampling sampling;
    OPTIONS_READ(sampling, given, ll_sampling_init, error);
    LL_TRY(check_settings(&sampling, error));
    struct sampler *s = mem_new(1, sizeof *s);
    if (!s)
        return error_nomem(error, "sampler", sizeof *s);
    s->sampling = sampling;
    s->vocabulary = place->vocabulary;
    s->state = sampling.seed;
    mirostat_init(&s->mirostat, &sampling);
    ll_status status = open_parts(s, place, error);
    if (status == LL_OK)
        *ret = s;
    else
        sampler_close(s);
    return status;
}

void sampler_close(struct sampler *s)
{
    if (!s)
        return;
    penalty_close(s->penalty);
    recogniser_close(s->recogniser);
    candidates_fini(&s->candidates);
    mem_free(s->changed);
    mem_free(s);
}

bool sampler_is_plain(const struct sampler *s)
{
    return greedy(&s->sampling) && !s->changed;
}

ll_token sampler_pick(struct sampler *s, const float *logits, const ll_token *history, size_t count)
{
    bool filled = false;
    s->logits = logits;
    s->history = history;
    s->count = count;
    s->picked = -1;
    s->problem = (ll_error){0};
    if (s->changed) {
        memcpy(s->changed, logits, s->vocabulary * sizeof *logits);
        s->logits = s->changed;
    }
    for (size_t i = 0; i < RULES; i++) {
        if (!rules[i].asked(&s->sampling))
            continue;
        if (rules[i].on_candidates && !filled) {
            filled = true;
            if (candidates_fill(&s->candidates, s->logits, s->vocabulary) == 0)
                return -1;
        }
        rules[i].run(s);
        if (s->problem.status != LL_OK)
            return -1;
    }
    if (s->recogniser && s->picked >= 0 && recogniser_accept(s->recogniser, s->picked, &s->problem) != LL_OK)
        return -1;
    return s->picked;
}

ll_status sampler_problem(const struct sampler *s, ll_error *error)
{
    if (s->problem.status != LL_OK && error)
        *error = s->problem;
    return s->problem.status;
}

bool sampler_may_end(const struct sampler *s)
{
    return s->recogniser && recogniser_may_end(s->recogniser);
}

bool sampler_must_end(const struct sampler *s)
{
    return s->recogniser && recogniser_must_end(s->recogniser);
}

/* ---- the untouched distribution ---- */

double sampler_log_sum(const float *logits, size_t vocabulary)
{
    float greatest = -INFINITY;
    for (size_t i = 0; i < vocabulary; i++)
        greatest = logits[i] > greatest ? logits[i] : greatest;
    double sum = 0.0;
    for (size_t i = 0; i < vocabulary; i++)
        sum += exp((double)logits[i] - greatest);
    return greatest + log(sum);
}

void sampler_choices(const float *logits, size_t vocabulary, ll_token token, float *ret_logprob,
                     ll_choice *choices, size_t count)
{
    double log_sum = sampler_log_sum(logits, vocabulary);
    *ret_logprob = (float)(logits[token] - log_sum);
    size_t held = 0;
    for (size_t i = 0; i < vocabulary; i++) { /* insertion into a short sorted list */
        float logprob = (float)(logits[i] - log_sum);
        if (held == count && !(count > 0 && logprob > choices[count - 1].logprob))
            continue;
        size_t at = held < count ? held++ : count - 1;
        for (; at > 0 && choices[at - 1].logprob < logprob; at--)
            choices[at] = choices[at - 1];
        choices[at] = (ll_choice){(ll_token)i, logprob};
    }
}
