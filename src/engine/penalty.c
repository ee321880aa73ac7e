/* What is added to logits before anything is cut: biases, penalties for tokens seen lately, DRY.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memmem */
#include "engine/penalty.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/utf8.h"

struct bias {
    ll_token token;
    float by;
};

struct penalty {
    ll_sampling sampling;
    size_t vocabulary;
    struct bias *biases; /* [sampling.bias_count] */
    uint32_t *times;     /* [vocabulary], all 0 between picks: how often a token is in the window, or how
                            long a repetition it would go on with */
    uint32_t *matches;   /* [dry_room]; NULL without DRY */
    bool *breakers;      /* [vocabulary]; NULL without DRY */
    size_t dry_room;
};

bool penalty_has_bias(const ll_sampling *s)
{
    return s->bias_count > 0;
}

bool penalty_has_repeat(const ll_sampling *s)
{
    return s->penalty_window > 0 &&
           (s->repeat_penalty != 1.0f || s->presence_penalty != 0.0f || s->frequency_penalty != 0.0f);
}

bool penalty_has_dry(const ll_sampling *s)
{
    return s->dry_multiplier > 0.0f;
}

/* ---- opening ---- */

/* "ID=X"; X is a number or -inf. */
static bool parse_bias(const char *text, size_t vocabulary, struct bias *ret)
{
    char *end;
    if (!text || !(text[0] >= '0' && text[0] <= '9'))
        return false;
    errno = 0;
    unsigned long long token = strtoull(text, &end, 10);
    if (errno || *end != '=' || token >= vocabulary)
        return false;
    const char *number = end + 1;
    bool never = strcmp(number, "-inf") == 0;
    if (!never && (!*number || strspn(number, "0123456789.eE+-") != strlen(number)))
        return false;
    double by = never ? -HUGE_VAL : number_parse(number, &end);
    if (!never && (*end || end == number || !(fabs(by) <= 1e6)))
        return false;
    *ret = (struct bias){(ll_token)token, (float)by};
    return true;
}

static ll_status open_biases(struct penalty *p, ll_error *error)
{
    const ll_sampling *s = &p->sampling;
    if (!s->bias)
        return error_set(error, LL_ARGUMENT, "sampler", "%zu logit biases are announced and none is given",
                         s->bias_count);
    p->biases = mem_new(s->bias_count, sizeof *p->biases);
    if (!p->biases)
        return error_nomem(error, "sampler", s->bias_count * sizeof *p->biases);
    for (size_t i = 0; i < s->bias_count; i++)
        if (!parse_bias(s->bias[i], p->vocabulary, &p->biases[i])) {
            char shown[80];
            const char *text = s->bias[i] ? s->bias[i] : "";
            utf8_printable(text, strlen(text), shown, sizeof shown);
            return error_set(error, LL_ARGUMENT, "sampler",
                             "the logit bias \"%s\" is not TOKEN=NUMBER with a token below %zu and a number "
                             "within ±1e6, or -inf",
                             shown, p->vocabulary);
        }
    return LL_OK;
}

static bool holds(const char *text, size_t length, const char *part)
{
    return part[0] && memmem(text, length, part, strlen(part)) != NULL;
}

/* A token whose text holds a breaker ends every repetition. */
static ll_status open_dry(struct penalty *p, const struct tokenizer *tokenizer, size_t context,
                          ll_error *error)
{
    static const char *const usual[] = {"\n", ":", "\"", "*"};
    const ll_sampling *s = &p->sampling;
    const char *const *breakers = s->dry_breaker_count ? s->dry_breakers : usual;
    size_t count = s->dry_breaker_count ? s->dry_breaker_count : sizeof usual / sizeof *usual;
    p->dry_room = s->dry_window > 0 && (size_t)s->dry_window < context ? (size_t)s->dry_window : context;
    p->matches = mem_new(p->dry_room, sizeof *p->matches);
    p->breakers = mem_new(p->vocabulary, sizeof *p->breakers);
    if (!p->matches || !p->breakers)
        return error_nomem(error, "sampler", p->dry_room * sizeof *p->matches);
    for (size_t i = 0; i < count; i++)
        if (!breakers || !breakers[i])
            return error_set(error, LL_ARGUMENT, "sampler", "sequence breaker %zu of %zu is missing", i + 1,
                             count);
    for (size_t token = 0; tokenizer && token < p->vocabulary; token++) {
        size_t length = 0;
        const char *text = tokenizer_piece(tokenizer, (ll_token)token, &length);
        for (size_t i = 0; text && i < count && !p->breakers[token]; i++)
            p->breakers[token] = holds(text, length, breakers[i]);
    }
    return LL_OK;
}

ll_status penalty_open(const ll_sampling *sampling, const struct tokenizer *tokenizer, size_t vocabulary,
                       size_t context, struct penalty **ret, ll_error *error)
{
    bool dry = penalty_has_dry(sampling), bias = penalty_has_bias(sampling);
    *ret = NULL;
    if (!dry && !bias && !penalty_has_repeat(sampling))
        return LL_OK;
    struct penalty *p = mem_new(1, sizeof *p);
    if (!p)
        return error_nomem(error, "sampler", sizeof *p);
    *p = (struct penalty){.sampling = *sampling, .vocabulary = vocabulary};
    p->times = mem_new(vocabulary, sizeof *p->times);
    ll_status status = p->times ? LL_OK : error_nomem(error, "sampler", vocabulary * sizeof *p->times);
    if (status == LL_OK && bias)
        status = open_biases(p, error);
    if (status == LL_OK && dry)
        status = open_dry(p, tokenizer, context, error);
    if (status == LL_OK)
        *ret = p;
    else
        penalty_close(p);
    return status;
}

void penalty_close(struct penalty *p)
{
    if (!p)
        return;
    mem_free(p->biases);
    mem_free(p->times);
    mem_free(p->matches);
    mem_free(p->breakers);
    mem_free(p);
}

/* ---- biases and repetition ---- */

void penalty_bias(const struct penalty *p, float *logits)
{
    for (size_t i = 0; i < p->sampling.bias_count; i++)
        logits[p->biases[i].token] += p->biases[i].by;
}

static bool known(const struct penalty *p, ll_token token)
{
    return token >= 0 && (size_t)token < p->vocabulary;
}

/* Each distinct token of the window once: repetition (Keskar et al. 2019: divides a positive logit,
 * multiplies a negative one), presence, and frequency times its count. */
void penalty_repeat(struct penalty *p, float *logits, const ll_token *history, size_t count)
{
    const ll_sampling *s = &p->sampling;
    size_t window = (size_t)s->penalty_window < count ? (size_t)s->penalty_window : count;
    const ll_token *recent = history + count - window;
    for (size_t i = 0; i < window; i++)
        if (known(p, recent[i]))
            p->times[recent[i]]++;
    for (size_t i = 0; i < window; i++) {
        if (!known(p, recent[i]) || p->times[recent[i]] == 0)
            continue; /* 0: done already */
        float *logit = &logits[recent[i]];
        *logit = *logit > 0.0f ? *logit / s->repeat_penalty : *logit * s->repeat_penalty;
        *logit -= s->presence_penalty + s->frequency_penalty * (float)p->times[recent[i]];
        p->times[recent[i]] = 0;
    }
}

/* ---- DRY ---- */

/* matches[i]: how far the window read backwards from its end and from i tokens before agree; the Z function,
 * linear in the window. */
static void match_backwards(uint32_t *matches, const ll_token *recent, size_t count)
{
    size_t left = 0, right = 0;
    for (size_t i = 1; i < count; i++) {
        size_t n = i < right ? (matches[i - left] < right - i ? matches[i - left] : right - i) : 0;
        while (i + n < count && recent[count - 1 - n] == recent[count - 1 - i - n])
            n++;
        matches[i] = (uint32_t)n;
        if (i + n > right) {
            left = i;
            right = i + n;
        }
    }
}

static float dry_penalty(const ll_sampling *s, uint32_t length)
{
    double by = (double)s->dry_multiplier * pow((double)s->dry_base, (double)length - (double)s->dry_length);
    return by < 1e6 ? (float)by : 1e6f;
}

/* "Don't repeat yourself" (text-generation-webui, 2024): a token that would make a sequence of at least
 * dry_length tokens longer which stands in the window already is penalised by how long it is. */
void penalty_dry(struct penalty *p, float *logits, const ll_token *history, size_t count)
{
    const ll_sampling *s = &p->sampling;
    size_t window = count < p->dry_room ? count : p->dry_room, unbroken = 0;
    const ll_token *recent = history + count - window;
    while (unbroken < window && known(p, recent[window - 1 - unbroken]) &&
           !p->breakers[recent[window - 1 - unbroken]])
        unbroken++;
    if (unbroken == 0 || window < 2)
        return;
    match_backwards(p->matches, recent, window);
    for (size_t i = 1; i < window; i++) {
        ll_token next = recent[window - i];
        size_t length = p->matches[i] < unbroken ? p->matches[i] : unbroken;
        if (length >= (size_t)s->dry_length && length > 0 && known(p, next) && !p->breakers[next] &&
            length > p->times[next])
            p->times[next] = (uint32_t)length;
    }
    for (size_t i = 1; i < window; i++) {
        ll_token next = recent[window - i];
        if (known(p, next) && p->times[next] > 0)
            logits[next] -= dry_penalty(s, p->times[next]);
        if (known(p, next))
            p->times[next] = 0;
    }
}
