/* Rotary positions: what a file says of them, and the angles of each pair.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/rotary.h"

#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "base/utf8.h"
#include "model/architecture.h"

#define TAU 6.283185307179586

/* ---- reading ---- */

static ll_status read_number(const struct gguf *gguf, const struct model_hparams *h, const char *rest,
                             double fallback, double *ret, ll_error *error)
{
    char key[128];
    snprintf(key, sizeof key, "%s.%s", h->architecture->name, rest);
    LL_TRY(gguf_get_float(gguf, key, fallback, ret, error));
    if (*ret >= 0.0 && isfinite(*ret))
        return LL_OK;
    return error_set(error, LL_FORMAT, "model", "%s is %g, not a positive number", key, *ret);
}

static ll_status read_type(const struct gguf *gguf, const struct model_hparams *h, double *factor,
                           struct rotary_hparams *ret, ll_error *error)
{
    char key[128], shown[48];
    struct gguf_text type;
    snprintf(key, sizeof key, "%s.rope.scaling.type", h->architecture->name);
    LL_TRY(gguf_get_text(gguf, key, &type, error));
    ret->divided = true;
    if (!type.text || gguf_text_equals(type, "linear"))
        return LL_OK;
    snprintf(key, sizeof key, "%s.rope.scaling.factor", h->architecture->name);
    if (gguf_text_equals(type, "llama3")) { /* without a factor it is all in the tensor rope_freqs.weight */
        ret->scaling = gguf_find(gguf, key) ? ROTARY_LLAMA3 : ROTARY_PLAIN;
        ret->divided = ret->scaling == ROTARY_PLAIN;
        return LL_OK;
    }
    ret->divided = false;
    if (gguf_text_equals(type, "none"))
        *factor = 1.0;
    else if (gguf_text_equals(type, "yarn"))
        ret->scaling = ROTARY_YARN;
    else if (gguf_text_equals(type, "longrope"))
        ret->scaling = ROTARY_LONG;
    else {
        utf8_printable(type.text, type.length, shown, sizeof shown);
        return error_set(error, LL_UNSUPPORTED, "model", "rope scaling '%s' is not supported by this version",
                         shown);
    }
    return LL_OK;
}

/* What the peaks of the scores lose when angles are slowed down is given back to the magnitude. */
static double yarn_magnitude(double factor, double attention)
{
    return attention * (factor > 1.0 ? 0.1 * log(factor) + 1.0 : 1.0);
}

static ll_status read_global(const struct gguf *gguf, struct model_hparams *h, struct rotary_hparams *ret,
                             ll_error *error)
{
    double factor, attention;
    *ret = (struct rotary_hparams){.magnitude = 1.0};
    LL_TRY(read_number(gguf, h, "rope.freq_base", 10000.0, &ret->base, error));
    LL_TRY(read_number(gguf, h, "rope.scale_linear", 1.0, &factor, error));
    LL_TRY(read_number(gguf, h, "rope.scaling.factor", factor, &factor, error));
    LL_TRY(read_number(gguf, h, "rope.scaling.attn_factor", 1.0, &attention, error));
    LL_TRY(read_number(gguf, h, "rope.scaling.original_context_length", (double)h->context, &ret->original,
                       error));
    LL_TRY(read_number(gguf, h, "rope.scaling.yarn_beta_fast", 32.0, &ret->beta_fast, error));
    LL_TRY(read_number(gguf, h, "rope.scaling.yarn_beta_slow", 1.0, &ret->beta_slow, error));
    LL_TRY(read_number(gguf, h, "rope.scaling.low_freq_factor", 1.0, &ret->low, error));
    LL_TRY(read_number(gguf, h, "rope.scaling.high_freq_factor", 4.0, &ret->high, error));
    LL_TRY(read_type(gguf, h, &factor, ret, error));
    if (!(ret->base > 0.0) || !(factor > 0.0) || !(ret->original > 0.0) || !(attention > 0.0))
        return error_set(error, LL_FORMAT, "model", "rope base %g or factor %g is not a positive number",
                         ret->base, factor);
    if (!(ret->high > ret->low))
        return error_set(error, LL_FORMAT, "model", "rope.scaling.high_freq_factor %g is not above %g",
                         ret->high, ret->low);
    ret->linear_factor = ret->scaling == ROTARY_LONG ? 1.0 : factor;
    if (ret->scaling == ROTARY_YARN)
        ret->magnitude = yarn_magnitude(factor, attention);
    else if (ret->scaling == ROTARY_LONG)
        ret->magnitude = attention;
    return LL_OK;
}

ll_status rotary_read(const struct gguf *gguf, struct model_hparams *h, ll_error *error)
{
    LL_TRY(read_global(gguf, h, &h->rotary[0], error));
    h->rotary[1] = h->rotary[0];
    if (!h->architecture->local_rotary)
        return LL_OK;
    h->rotary[1] = (struct rotary_hparams){.linear_factor = 1.0, .magnitude = 1.0, .original = 1.0};
    return read_number(gguf, h, "rope.freq_base_swa", 10000.0, &h->rotary[1].base, error);
}

/* ---- angles ---- */

/* The pair that turns `turns` times within the original length, as a real number. */
static double pair_of(const struct rotary_hparams *rotary, int dim, double turns)
{
    return dim * log(rotary->original / (turns * TAU)) / (2.0 * log(rotary->base));
}

/* 1: slowed down in full; 0: left alone. Between the two corner pairs it falls in a line. */
static double yarn_share(const struct rotary_hparams *rotary, int dim, int pair)
{
    double low = fmax(floor(pair_of(rotary, dim, rotary->beta_fast)), 0.0);
    double high = fmin(ceil(pair_of(rotary, dim, rotary->beta_slow)), dim - 1.0);
    double share = (pair - low) / fmax(high - low, 0.001);
    return fmin(fmax(share, 0.0), 1.0);
}

/* Long waves are slowed down in full, short ones not at all, those between by shares. */
static double llama3_frequency(const struct rotary_hparams *rotary, double plain)
{
    double turns = rotary->original * plain / TAU;
    double share = fmin(fmax((turns - rotary->low) / (rotary->high - rotary->low), 0.0), 1.0);
    return plain * ((1.0 - share) / rotary->linear_factor + share);
}

void rotary_frequencies(const struct rotary_hparams *rotary, int dim, const float *divisors, float *out)
{
    for (int i = 0; i < dim / 2; i++) {
        if (rotary->scaling == ROTARY_LLAMA3) {
            out[i] = (float)llama3_frequency(rotary, pow(rotary->base, -2.0 * i / dim));
            continue;
        }
        double plain = pow(rotary->base, -2.0 * i / dim), slow = plain / rotary->linear_factor;
        double share = rotary->scaling == ROTARY_YARN ? yarn_share(rotary, dim, i) : 1.0;
        double frequency = slow * share + plain * (1.0 - share);
        out[i] = (float)(divisors ? frequency / divisors[i] : frequency);
    }
}
