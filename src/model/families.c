/* What only one family's files say: the readers that the table of architectures names.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/error.h"
#include "model/architecture.h"

/* Both spellings of some keys are in use. */
static ll_status read_either(const struct gguf *gguf, const char *key, const char *other, double fallback,
                             double *ret, ll_error *error)
{
    return gguf_get_float(gguf, gguf_find(gguf, key) ? key : other, fallback, ret, error);
}

static ll_status read_bias(const struct gguf *gguf, const char *key, const char *other, double fallback,
                           struct model_hparams *hparams, ll_error *error)
{
    double bias;
    LL_TRY(read_either(gguf, key, other, fallback, &bias, error));
    if (!(bias >= 0.0 && bias <= 1024.0))
        return error_set(error, LL_FORMAT, "model", "%s is %g, outside 0 … 1024", key, bias);
    hparams->alibi_max_bias = (float)bias;
    return LL_OK;
}

/* ---- Gemma ---- */

/* The largest of each generation scales scores by width over heads, not by the size of a head. */
static void scale_by_width(const struct gguf *gguf, struct model_hparams *hparams, const char *key,
                           int layers)
{
    if (hparams->layers == layers && !gguf_find(gguf, key))
        hparams->attention_scale = (float)(1.0 / sqrt((double)hparams->width / hparams->layer[0].heads));
}

ll_status read_gemma2(const struct gguf *gguf, struct model_hparams *hparams, ll_error *error)
{
    double scores, final;
    hparams->embed_scale = sqrtf((float)hparams->width);
    LL_TRY(gguf_get_float(gguf, "gemma2.attn_logit_softcapping", 50.0, &scores, error));
    LL_TRY(gguf_get_float(gguf, "gemma2.final_logit_softcapping", 30.0, &final, error));
    hparams->attention_softcap = (float)scores;
    hparams->final_softcap = (float) final;
    scale_by_width(gguf, hparams, "gemma2.attention.scale", 46);
    return LL_OK;
}

ll_status read_gemma3(const struct gguf *gguf, struct model_hparams *hparams, ll_error *error)
{
    (void)error;
    hparams->embed_scale = sqrtf((float)hparams->width);
    scale_by_width(gguf, hparams, "gemma3.attention.scale", 62);
    return LL_OK;
}

/* ---- other rotary families ---- */

/* Every fourth layer has no positions at all. */
ll_status read_smollm3(const struct gguf *gguf, struct model_hparams *hparams, ll_error *error)
{
    (void)gguf;
    (void)error;
    for (int i = 3; i < hparams->layers; i += 4)
        hparams->layer[i].still = true;
    return LL_OK;
}

/* Files from before the window had a key: the models trained on 4,096 tokens have one of 2,047. */
ll_status read_phi3(const struct gguf *gguf, struct model_hparams *hparams, ll_error *error)
{
    (void)error;
    bool old = !gguf_find(gguf, "phi3.attention.sliding_window") && hparams->context == 4096;
    for (int i = 0; old && i < hparams->layers; i++)
        hparams->layer[i].window = 2047;
    return LL_OK;
}

/* Granite multiplies what each part adds to the residual stream. The stream is kept divided by that
 * number instead: the same values after every norm when the norms' epsilon is divided by its square. */
ll_status read_granite(const struct gguf *gguf, struct model_hparams *hparams, ll_error *error)
{
    double embedding, residual, logits;
    LL_TRY(gguf_get_float(gguf, "granite.embedding_scale", 1.0, &embedding, error));
    LL_TRY(gguf_get_float(gguf, "granite.residual_scale", 1.0, &residual, error));
    LL_TRY(gguf_get_float(gguf, "granite.logit_scale", 1.0, &logits, error));
    if (!(residual > 1e-4 && residual < 1e4) || !(embedding > 0 && isfinite(embedding)) ||
        !(logits > 1e-6 && isfinite(logits)))
        return error_set(error, LL_FORMAT, "model", "a scale of granite is not a usable positive number");
    hparams->embed_scale = (float)(embedding / residual);
    hparams->norm_eps = (float)(hparams->norm_eps / (residual * residual));
    hparams->output_scale = (float)(1.0 / logits);
    return LL_OK;
}

/* ---- ALiBi families ---- */

/* Bloom and Refact: no key is written for the bias, but one may be set. */
ll_status read_bloom(const struct gguf *gguf, struct model_hparams *hparams, ll_error *error)
{
    bool refact = hparams->architecture->name[0] == 'r';
    const char *key = refact ? "refact.attention.max_alibi_bias" : "bloom.attention.max_alibi_bias";
    return read_bias(gguf, key, key, 8.0, hparams, error);
}

ll_status read_mpt(const struct gguf *gguf, struct model_hparams *hparams, ll_error *error)
{
    double clamp;
    LL_TRY(
        read_bias(gguf, "mpt.attention.max_alibi_bias", "mpt.attention.alibi_bias_max", 0.0, hparams, error));
    LL_TRY(read_either(gguf, "mpt.attention.clamp_kqv", "mpt.attention.clip_kqv", 0.0, &clamp, error));
    if (hparams->alibi_max_bias == 0.0f)
        return error_set(error, LL_UNSUPPORTED, "model",
                         "this MPT file has ALiBi bias 0, so it uses learned positions, which are not "
                         "supported");
    if (!(clamp >= 0.0))
        return error_set(error, LL_FORMAT, "model", "mpt.attention.clamp_kqv is %g, not a positive number",
                         clamp);
    hparams->clamp_qkv = (float)clamp;
    return LL_OK;
}

/* Falcon turns by rotary angles and runs both parts of a layer side by side. The falcon-rw models do
 * neither; their files need two keys that no converter writes: the bias, and use_parallel_residual. Their
 * bias is divided by √d together with the scores. */
ll_status read_falcon(const struct gguf *gguf, struct model_hparams *hparams, ll_error *error)
{
    LL_TRY(read_bias(gguf, "falcon.attention.max_alibi_bias", "falcon.attention.alibi_bias_max", 0.0, hparams,
                     error));
    bool alibi = hparams->alibi_max_bias > 0.0f;
    LL_TRY(gguf_get_bool(gguf, "falcon.use_parallel_residual", !alibi, &hparams->parallel, error));
    if (alibi) {
        hparams->position = LL_ALIBI;
        hparams->alibi_scale = (float)(1.0 / sqrt((double)hparams->head_dim));
    }
    return LL_OK;
}

/* 7B turns, 13B has ALiBi; only the number of layers tells them apart, unless a key of ours says so. */
ll_status read_baichuan(const struct gguf *gguf, struct model_hparams *hparams, ll_error *error)
{
    static const char key[] = "baichuan.attention.max_alibi_bias";
    if (!gguf_find(gguf, key) && hparams->layers != 32 && hparams->layers != 40)
        return error_set(error, LL_UNSUPPORTED, "model",
                         "a Baichuan model of %d layers has rotary positions or ALiBi, and nothing in the "
                         "file says which; --set-meta %s=f32:8 (or 0) does",
                         hparams->layers, key);
    LL_TRY(read_bias(gguf, key, key, hparams->layers == 40 ? 8.0 : 0.0, hparams, error));
    if (hparams->alibi_max_bias > 0.0f)
        hparams->position = LL_ALIBI;
    return LL_OK;
}

/* muP: scores are divided by the size of a head, not by its root. */
ll_status read_jais(const struct gguf *gguf, struct model_hparams *hparams, ll_error *error)
{
    LL_TRY(read_bias(gguf, "jais.attention.max_alibi_bias", "jais.attention.alibi_bias_max", 8.0, hparams,
                     error));
    hparams->attention_scale = 1.0f / (float)hparams->head_dim;
    return LL_OK;
}
