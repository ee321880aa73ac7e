/* The table of architectures: a new family is a row here.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/architecture.h"

#include <math.h>
#include <stdio.h>

#include "base/error.h"

/* Gemma 3: every `period`-th layer sees everything, the others a window, with rotary base 10,000 and
 * no scaling inside it. The file's freq_base and scaling belong to the global layers only. A file
 * without a window has none (such models exist). The period key may be a number or an array of
 * flags, shorter than the layer count when it repeats. */
static ll_status read_window_flags(const struct gguf *gguf, struct model_hparams *hparams, uint64_t window,
                                   ll_error *error)
{
    static const char key[] = "gemma3.attention.sliding_window_pattern";
    const struct gguf_value *value = gguf_find(gguf, key);
    uint64_t period = 6;
    if (value && value->type == GGUF_ARRAY) {
        if (value->element != GGUF_BOOL || value->count == 0)
            return error_set(error, LL_FORMAT, "model", "%s must be a number or a list of booleans", key);
        for (int i = 0; i < hparams->layers; i++)
            hparams->layer[i].local = gguf_array_int(value, (uint64_t)i % value->count) != 0;
    } else {
        LL_TRY(gguf_get_uint(gguf, key, 6, &period, error));
        for (int i = 0; i < hparams->layers; i++)
            hparams->layer[i].local = period == 0 || (uint64_t)i % period < period - 1;
    }
    for (int i = 0; i < hparams->layers; i++)
        hparams->layer[i].window = hparams->layer[i].local ? (int)window : 0;
    return LL_OK;
}

static ll_status read_gemma3(const struct gguf *gguf, struct model_hparams *hparams, ll_error *error)
{
    uint64_t window;
    LL_TRY(gguf_get_uint(gguf, "gemma3.attention.sliding_window", 0, &window, error));
    if (window > 1u << 30)
        return error_set(error, LL_FORMAT, "model",
                         "gemma3.attention.sliding_window is %llu, which no model has",
                         (unsigned long long)window);
    hparams->embed_scale = sqrtf((float)hparams->width);
    if (window > 0)
        LL_TRY(read_window_flags(gguf, hparams, window, error));
    LL_TRY(gguf_get_float(gguf, "gemma3.rope.freq_base_swa", 10000.0, &hparams->rotary[1].base, error));
    hparams->rotary[1].linear_factor = 1.0;
    if (hparams->layers == 62 &&
        !gguf_find(gguf, "gemma3.attention.scale")) /* the 27B: scale from width, not head */
        hparams->attention_scale = (float)(1.0 / sqrt((double)hparams->width / hparams->layer[0].heads));
    return LL_OK;
}

static ll_status read_bloom(const struct gguf *gguf, struct model_hparams *hparams, ll_error *error)
{
    (void)gguf;
    (void)error;
    hparams->alibi_max_bias = 8.0f; /* no key is written for it */
    return LL_OK;
}

/* Both spellings of each key are in use. */
static ll_status read_either(const struct gguf *gguf, const char *key, const char *other, double *ret,
                             ll_error *error)
{
    return gguf_get_float(gguf, gguf_find(gguf, key) ? key : other, 0.0, ret, error);
}

static ll_status read_mpt(const struct gguf *gguf, struct model_hparams *hparams, ll_error *error)
{
    double bias, clamp;
    LL_TRY(read_either(gguf, "mpt.attention.max_alibi_bias", "mpt.attention.alibi_bias_max", &bias, error));
    LL_TRY(read_either(gguf, "mpt.attention.clamp_kqv", "mpt.attention.clip_kqv", &clamp, error));
    if (!(bias > 0.0 && bias <= 1024.0))
        return error_set(
            error, LL_UNSUPPORTED, "model",
            "this MPT file has ALiBi bias %g, so it uses learned positions, which are not supported", bias);
    if (!(clamp >= 0.0))
        return error_set(error, LL_FORMAT, "model", "mpt.attention.clamp_kqv is %g, not a positive number",
                         clamp);
    hparams->alibi_max_bias = (float)bias;
    hparams->clamp_qkv = (float)clamp;
    return LL_OK;
}

static const struct architecture architectures[] = {
    {.name = "llama",
     .position = LL_ROTARY,
     .norm = NORM_RMS,
     .activation = ACTIVATE_SILU,
     .gated = true,
     .adjacent_pairs = true},
    {.name = "gemma3",
     .position = LL_ROTARY,
     .norm = NORM_RMS,
     .activation = ACTIVATE_GELU_TANH,
     .gated = true,
     .qk_norm_heads = true,
     .required_qk_norm = true,
     .post_norms = true,
     .read = read_gemma3},
    {.name = "bloom",
     .position = LL_ALIBI,
     .norm = NORM_LAYER,
     .activation = ACTIVATE_GELU_TANH,
     .fused_qkv = true,
     .embed_norm = true,
     .read = read_bloom},
    {.name = "mpt",
     .position = LL_ALIBI,
     .norm = NORM_LAYER,
     .activation = ACTIVATE_GELU_ERF,
     .fused_qkv = true,
     .read = read_mpt},
};

const struct architecture *architecture_find(struct gguf_text name)
{
    for (size_t i = 0; i < sizeof architectures / sizeof architectures[0]; i++)
        if (gguf_text_equals(name, architectures[i].name))
            return &architectures[i];
    return NULL;
}

const char *architecture_names(void)
{
    return "llama, gemma3, bloom, mpt";
}
