/* Rotary positions of a Hugging Face configuration, in both forms that transformers has written.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "formats/hf_family.h"

#define TAU 6.283185307179586

static const char where[] = "config.json";

static ll_status new_divisors(struct hf_reader *r, uint64_t count, struct hf_divisors *ret)
{
    ret->values = mem_new((size_t)count, sizeof *ret->values);
    ret->count = count;
    return ret->values ? LL_OK : error_nomem(r->error, where, (size_t)count * sizeof *ret->values);
}

/* Llama 3: pairs that turn slowly are slowed down in full, fast ones not at all, those between by shares. */
static ll_status read_llama3(struct hf_reader *r, const json_t *scaling, double base)
{
    double factor, low, high, original;
    struct hf_divisors *freqs = &r->config->freqs;
    uint64_t dim = r->config->shape.rotary_dim;
    LL_TRY(hf_number(r, scaling, "factor", 8.0, &factor));
    LL_TRY(hf_number(r, scaling, "low_freq_factor", 1.0, &low));
    LL_TRY(hf_number(r, scaling, "high_freq_factor", 4.0, &high));
    LL_TRY(hf_number(r, scaling, "original_max_position_embeddings", 8192.0, &original));
    if (!(factor > 0) || !(low > 0) || !(high > low) || !(original > 0))
        return error_set(r->error, LL_FORMAT, where,
                         "the numbers of llama3's rope scaling do not fit together");
    LL_TRY(new_divisors(r, dim / 2, freqs));
    for (uint64_t i = 0; i < freqs->count; i++) {
        double wave = TAU * pow(base, 2.0 * (double)i / (double)dim),
               share = (original / wave - low) / (high - low);
        share = fmin(fmax(share, 0.0), 1.0);
        freqs->values[i] = (float)(1.0 / ((1.0 - share) / factor + share));
    }
    return LL_OK;
}

static ll_status read_factors(struct hf_reader *r, const json_t *scaling, const char *name,
                              struct hf_divisors *ret)
{
    const json_t *list = json_object_get(scaling, name);
    uint64_t pairs = r->config->shape.rotary_dim / 2;
    if (json_array_size(list) != pairs || pairs == 0)
        return error_set(r->error, LL_FORMAT, where, "%s has %zu entries for %llu rotary pairs", name,
                         json_array_size(list), (unsigned long long)pairs);
    LL_TRY(new_divisors(r, pairs, ret));
    for (size_t i = 0; i < pairs; i++) {
        const json_t *value = json_array_get(list, i);
        if (!json_is_number(value) || !(json_number_value(value) > 0))
            return error_set(r->error, LL_FORMAT, where, "%s holds something that is no positive number",
                             name);
        ret->values[i] = (float)json_number_value(value);
    }
    return LL_OK;
}

/* Where the length before scaling stands: in the block, or beside it. */
static ll_status read_original(struct hf_reader *r, const json_t *scaling, double *ret)
{
    static const char name[] = "original_max_position_embeddings";
    LL_TRY(hf_number(r, r->root, "max_position_embeddings", 2048.0, ret));
    LL_TRY(hf_number(r, r->root, name, *ret, ret));
    LL_TRY(hf_number(r, scaling, name, *ret, ret));
    return *ret >= 1.0 && *ret <= INT32_MAX ? LL_OK
                                            : error_set(r->error, LL_FORMAT, where, "%s is no length", name);
}

static ll_status read_longrope(struct hf_reader *r, const json_t *scaling)
{
    double original, most, attention;
    LL_TRY(read_original(r, scaling, &original));
    LL_TRY(hf_number(r, r->root, "max_position_embeddings", original, &most));
    double factor = most / original;
    LL_TRY(hf_number(r, scaling, "factor", factor, &factor));
    double usual = factor > 1.0 && original > 1.0 ? sqrt(1.0 + log(factor) / log(original)) : 1.0;
    LL_TRY(hf_number(r, scaling, "attention_factor", usual, &attention));
    hf_put_text(r, "rope.scaling.type", "longrope");
    hf_put_number(r, "rope.scaling.attn_factor", attention);
    hf_put_count(r, "rope.scaling.original_context_length", (uint64_t)original);
    LL_TRY(read_factors(r, scaling, "short_factor", &r->config->factors_short));
    return read_factors(r, scaling, "long_factor", &r->config->factors_long);
}

/* The file's attention factor is on top of what the factor itself asks for. */
static ll_status read_yarn(struct hf_reader *r, const json_t *scaling)
{
    double factor, original, attention, fast, slow;
    LL_TRY(hf_number(r, scaling, "factor", 1.0, &factor));
    LL_TRY(read_original(r, scaling, &original));
    double usual = factor > 1.0 ? 0.1 * log(factor) + 1.0 : 1.0;
    LL_TRY(hf_number(r, scaling, "attention_factor", usual, &attention));
    LL_TRY(hf_number(r, scaling, "beta_fast", 32.0, &fast));
    LL_TRY(hf_number(r, scaling, "beta_slow", 1.0, &slow));
    if (hf_find(scaling, "mscale", "mscale_all_dim"))
        return error_set(r->error, LL_UNSUPPORTED, where,
                         "yarn with mscale is not supported by this version");
    hf_put_text(r, "rope.scaling.type", "yarn");
    hf_put_number(r, "rope.scaling.factor", factor);
    hf_put_count(r, "rope.scaling.original_context_length", (uint64_t)original);
    if (attention != usual)
        hf_put_number(r, "rope.scaling.attn_factor", attention / usual);
    if (fast != 32.0)
        hf_put_number(r, "rope.scaling.yarn_beta_fast", fast);
    if (slow != 1.0)
        hf_put_number(r, "rope.scaling.yarn_beta_slow", slow);
    return LL_OK;
}

static ll_status read_scaling(struct hf_reader *r, const json_t *scaling, double base)
{
    const char *type = json_string_value(hf_find(scaling, "rope_type", "type"));
    char shown[48] = "unnamed";
    double factor;
    if (!scaling || (type && strcmp(type, "default") == 0))
        return LL_OK;
    if (type && strcmp(type, "llama3") == 0)
        return read_llama3(r, scaling, base);
    if (type && strcmp(type, "yarn") == 0)
        return read_yarn(r, scaling);
    if (type && (strcmp(type, "longrope") == 0 || strcmp(type, "su") == 0))
        return read_longrope(r, scaling);
    if (type)
        utf8_printable(type, strlen(type), shown, sizeof shown);
    if (!type || strcmp(type, "linear") != 0)
        return error_set(r->error, LL_UNSUPPORTED, where,
                         "rope scaling '%s' is not supported by this version", shown);
    LL_TRY(hf_number(r, scaling, "factor", 1.0, &factor));
    hf_put_text(r, "rope.scaling.type", "linear");
    hf_put_number(r, "rope.scaling.factor", factor);
    return LL_OK;
}

ll_status hf_rotary(struct hf_reader *r, double base, double local_base)
{
    const json_t *block = hf_find(r->root, "rope_parameters", "rope_scaling");
    const json_t *global = hf_find(block, "full_attention", NULL),
                 *local = hf_find(block, "sliding_attention", NULL);
    double theta, share, local_theta;
    global = global ? global : block;
    LL_TRY(hf_number(r, r->root, "rope_theta", base, &theta));
    LL_TRY(hf_number(r, global, "rope_theta", theta, &theta));
    LL_TRY(hf_number(r, r->root, "partial_rotary_factor", 1.0, &share));
    LL_TRY(hf_number(r, global, "partial_rotary_factor", share, &share));
    if (!(theta > 0) || !(share > 0) || share > 1.0)
        return error_set(r->error, LL_FORMAT, where, "rope_theta or partial_rotary_factor is out of range");
    r->config->shape.rotary_dim = (uint64_t)((double)r->config->shape.head_dim * share);
    hf_put_count(r, "rope.dimension_count", r->config->shape.rotary_dim);
    hf_put_number(r, "rope.freq_base", theta);
    if (local_base > 0) {
        LL_TRY(hf_number(r, r->root, "rope_local_base_freq", local_base, &local_theta));
        LL_TRY(hf_number(r, local, "rope_theta", local_theta, &local_theta));
        if (local_theta != 10000.0)
            hf_put_number(r, "rope.freq_base_swa", local_theta);
    }
    return read_scaling(r, global, theta);
}
