/* Picks the next token: penalties, top-k, temperature, top-p, min-p, in that order.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine/sampler.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/options.h"

struct candidate {
    float logit;
    ll_token token;
};

struct sampler {
    ll_sampling sampling;
    size_t vocabulary;
    uint64_t state;         /* of the random numbers */
    float *logits;          /* [vocabulary], a copy the penalties may change; NULL when they are off */
    uint32_t *times;        /* [vocabulary], all 0 between picks: how often a token is in the window */
    struct candidate *heap; /* [vocabulary]; NULL when greedy */
    double *weights;        /* [vocabulary]; NULL when greedy */
};

void ll_sampling_init(ll_sampling *sampling)
{
    *sampling =
        (ll_sampling){.size = sizeof *sampling, .top_p = 1.0f, .repeat_penalty = 1.0f, .penalty_window = 64};
}

/* ---- settings ---- */

static ll_status check(bool good, const char *what, double value, ll_error *error)
{
    if (good)
        return LL_OK;
    return error_set(error, LL_ARGUMENT, "sampler", "%s %g is out of range", what, value);
}

static ll_status check_settings(const ll_sampling *s, ll_error *error)
{
    LL_TRY(check(s->temperature >= 0.0f && s->temperature <= 100.0f, "temperature", s->temperature, error));
    LL_TRY(check(s->top_p > 0.0f && s->top_p <= 1.0f, "top-p", s->top_p, error));
    LL_TRY(check(s->min_p >= 0.0f && s->min_p <= 1.0f, "min-p", s->min_p, error));
    LL_TRY(check(s->top_k >= 0, "top-k", s->top_k, error));
    LL_TRY(check(s->repeat_penalty > 0.0f && s->repeat_penalty <= 100.0f, "repetition penalty",
                 s->repeat_penalty, error));
    LL_TRY(check(fabsf(s->presence_penalty) <= 100.0f, "presence penalty", s->presence_penalty, error));
    LL_TRY(check(fabsf(s->frequency_penalty) <= 100.0f, "frequency penalty", s->frequency_penalty, error));
    LL_TRY(check(s->penalty_window >= 0, "penalty window", s->penalty_window, error));
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

static bool penalised(const ll_sampling *s)
{
    return s->penalty_window > 0 &&
           (s->repeat_penalty != 1.0f || s->presence_penalty != 0.0f || s->frequency_penalty != 0.0f);
}

ll_status sampler_open(const ll_sampling *given, size_t vocabulary, struct sampler **ret, ll_error *error)
{
    ll_sampling sampling;
    OPTIONS_READ(sampling, given, ll_sampling_init, error);
    LL_TRY(check_settings(&sampling, error));
    LL_TRY(check_stops(&sampling, error));
    struct sampler *s = mem_new(1, sizeof *s);
    if (!s)
        return error_nomem(error, "sampler", sizeof *s);
    s->sampling = sampling;
    s->vocabulary = vocabulary;
    s->state = sampling.seed;
    bool greedy = sampling.temperature == 0.0f;
    if (penalised(&sampling)) {
        s->logits = mem_new(vocabulary, sizeof *s->logits);
        s->times = mem_new(vocabulary, sizeof *s->times);
    }
    if (!greedy) {
        s->heap = mem_new(vocabulary, sizeof *s->heap);
        s->weights = mem_new(vocabulary, sizeof *s->weights);
    }
    if ((penalised(&sampling) && (!s->logits || !s->times)) || (!greedy && (!s->heap || !s->weights))) {
        sampler_close(s);
        return error_nomem(error, "sampler", vocabulary * sizeof(double));
    }
    *ret = s;
    return LL_OK;
}

void sampler_close(struct sampler *s)
{
    if (!s)
        return;
    mem_free(s->logits);
    mem_free(s->times);
    mem_free(s->heap);
    mem_free(s->weights);
    mem_free(s);
}

bool sampler_is_plain(const struct sampler *s)
{
    return !s->heap && !s->logits;
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

/* ---- penalties ---- */

/* Each distinct token of the window once: repetition (Keskar et al. 2019: divides a positive logit,
 * multiplies a negative one), presence, and frequency times its count. Linear in the window. */
static const float *penalise(struct sampler *s, const float *logits, const ll_token *history, size_t count)
{
    const ll_sampling *p = &s->sampling;
    if (!s->logits)
        return logits;
    memcpy(s->logits, logits, s->vocabulary * sizeof *logits);
    size_t window = (size_t)p->penalty_window < count ? (size_t)p->penalty_window : count;
    const ll_token *recent = history + count - window;
    for (size_t i = 0; i < window; i++)
        if (recent[i] >= 0 && (size_t)recent[i] < s->vocabulary)
            s->times[recent[i]]++;
    for (size_t i = 0; i < window; i++) {
        if (recent[i] < 0 || (size_t)recent[i] >= s->vocabulary || s->times[recent[i]] == 0)
            continue; /* 0: done already */
        float *logit = &s->logits[recent[i]];
        *logit = *logit > 0.0f ? *logit / p->repeat_penalty : *logit * p->repeat_penalty;
        *logit -= p->presence_penalty + p->frequency_penalty * (float)s->times[recent[i]];
        s->times[recent[i]] = 0;
    }
    return s->logits;
}

static ll_token pick_greatest(const float *logits, size_t vocabulary)
{
    ll_token best = -1;
    for (size_t i = 0; i < vocabulary; i++)
        if (logits[i] > (best < 0 ? -INFINITY : logits[best]))
            best = (ll_token)i;
    return best;
}

/* ---- candidates, best first, through a heap: no full sort ---- */

static bool before(const struct candidate *a, const struct candidate *b)
{
    return a->logit > b->logit || (a->logit == b->logit && a->token < b->token);
}

static void sift_down(struct candidate *heap, size_t count, size_t at)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count)
            return;
        if (child + 1 < count && before(&heap[child + 1], &heap[child]))
            child++;
        if (before(&heap[at], &heap[child]))
            return;
        struct candidate swapped = heap[at];
        heap[at] = heap[child];
        heap[child] = swapped;
        at = child;
    }
}

static size_t make_heap(struct candidate *heap, const float *logits, size_t vocabulary)
{
    size_t count = 0;
    for (size_t i = 0; i < vocabulary; i++)
        if (logits[i] > -INFINITY) /* leaves NaN out too */
            heap[count++] = (struct candidate){logits[i], (ll_token)i};
    for (size_t i = count / 2; i-- > 0;)
        sift_down(heap, count, i);
    return count;
}

/* Takes the best off the heap of `count`; it lands at heap[count-1]. */
static struct candidate pop(struct candidate *heap, size_t count)
{
    struct candidate best = heap[0];
    heap[0] = heap[count - 1];
    heap[count - 1] = best;
    sift_down(heap, count - 1, 0);
    return best;
}

static double total_weight(const struct candidate *heap, size_t count, float greatest, double temperature)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += exp((heap[i].logit - (double)greatest) / temperature);
    return sum;
}

/* The i-th best and its weight, taken off the heap when first asked for (i grows by one). The best
 * end up in heap[candidates-1], heap[candidates-2], … */
static double weight_of(struct sampler *s, size_t candidates, size_t i, float greatest)
{
    struct candidate best = pop(s->heap, candidates - i);
    return s->weights[i] = exp((best.logit - (double)greatest) / s->sampling.temperature);
}

/* How many of the best stay under top-k, top-p and min-p. top-p and min-p see what top-k left. */
static size_t keep_best(struct sampler *s, size_t candidates, double *ret_kept_weight)
{
    const ll_sampling *p = &s->sampling;
    float greatest = s->heap[0].logit;
    size_t limit = candidates, popped = 0, kept = 0;
    double total = 0.0, kept_weight = 0.0;
    if (p->top_k > 0 && (size_t)p->top_k < candidates)
        for (limit = (size_t)p->top_k; popped < limit; popped++)
            total += weight_of(s, candidates, popped, greatest);
    else
        total = total_weight(s->heap, candidates, greatest, p->temperature);
    for (; kept < limit; kept++) {
        if (kept > 0 && kept_weight >= p->top_p * total)
            break;
        if (kept == popped)
            weight_of(s, candidates, popped++, greatest);
        if (kept > 0 && s->weights[kept] < p->min_p * s->weights[0])
            break;
        kept_weight += s->weights[kept];
    }
    *ret_kept_weight = kept_weight;
    return kept;
}

/* Nothing is left out, so no order is needed. */
static ll_token pick_from_all(struct sampler *s, size_t candidates)
{
    double greatest = s->heap[0].logit, total = 0.0;
    for (size_t i = 0; i < candidates; i++)
        total += s->weights[i] = exp((s->heap[i].logit - greatest) / s->sampling.temperature);
    double at = next_uniform(s) * total;
    for (size_t i = 0; i < candidates; i++) {
        at -= s->weights[i];
        if (at < 0.0)
            return s->heap[i].token;
    }
    return s->heap[0].token; /* rounding left a crumb */
}

ll_token sampler_pick(struct sampler *s, const float *logits, const ll_token *history, size_t count)
{
    logits = penalise(s, logits, history, count);
    if (s->sampling.temperature == 0.0f)
        return pick_greatest(logits, s->vocabulary);
    size_t candidates = make_heap(s->heap, logits, s->vocabulary);
    if (candidates == 0)
        return -1;
    if (s->sampling.top_k == 0 && s->sampling.top_p >= 1.0f && s->sampling.min_p <= 0.0f)
        return pick_from_all(s, candidates);
    double kept_weight;
    size_t kept = keep_best(s, candidates, &kept_weight);
    double at = next_uniform(s) * kept_weight;
    for (size_t i = 0; i < kept; i++) {
        at -= s->weights[i];
        if (at < 0.0)
            return s->heap[candidates - 1 - i].token;
    }
    return s->heap[candidates - kept].token; /* rounding left a crumb: the last one kept */
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
