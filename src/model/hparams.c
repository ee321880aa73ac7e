/* What a model file says about its own shape, checked and in one struct.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/hparams.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "model/architecture.h"
#include "model/rotary.h"

/* Keys are "ARCHITECTURE.rest". */
struct key {
    char text[128];
};

static struct key key_of(const struct model_hparams *hparams, const char *rest)
{
    struct key key;
    snprintf(key.text, sizeof key.text, "%s.%s", hparams->architecture->name, rest);
    return key;
}

static ll_status range_error(const char *key, uint64_t value, uint64_t least, uint64_t most, ll_error *error)
{
    return error_set(error, LL_FORMAT, "model", "%s is %llu, outside %llu … %llu", key,
                     (unsigned long long)value, (unsigned long long)least, (unsigned long long)most);
}

/* A required size inside sane limits; absent counts as 0. */
static ll_status read_size(const struct gguf *gguf, const struct model_hparams *hparams, const char *rest,
                           uint64_t fallback, uint64_t least, uint64_t most, uint64_t *ret, ll_error *error)
{
    struct key key = key_of(hparams, rest);
    LL_TRY(gguf_get_uint(gguf, key.text, fallback, ret, error));
    if (*ret == 0 && least > 0 && !gguf_find(gguf, key.text))
        return error_set(error, LL_FORMAT, "model", "the key %s is missing", key.text);
    if (*ret < least || *ret > most)
        return range_error(key.text, *ret, least, most, error);
    return LL_OK;
}

/* A number for all layers, or an array with one for each. */
static ll_status read_per_layer(const struct gguf *gguf, const struct model_hparams *hparams,
                                const char *rest, uint64_t fallback, uint64_t most,
                                uint64_t *ret /* [layers] */, ll_error *error)
{
    struct key key = key_of(hparams, rest);
    const struct gguf_value *value = gguf_find(gguf, key.text);
    if (!value || value->type != GGUF_ARRAY) {
        LL_TRY(read_size(gguf, hparams, rest, fallback, 1, most, &ret[0], error));
        for (int i = 1; i < hparams->layers; i++)
            ret[i] = ret[0];
        return LL_OK;
    }
    LL_TRY(gguf_get_array(gguf, key.text, GGUF_I32, &value, error));
    if (value->count != (uint64_t)hparams->layers)
        return error_set(error, LL_FORMAT, "model", "%s has %llu entries for %d layers", key.text,
                         (unsigned long long)value->count, hparams->layers);
    for (int i = 0; i < hparams->layers; i++) {
        int64_t entry = gguf_array_int(value, (uint64_t)i);
        if (entry < 1 || (uint64_t)entry > most)
            return error_set(error, entry == 0 ? LL_UNSUPPORTED : LL_FORMAT, "model",
                             "%s is %lld for layer %d, which this build cannot run", key.text,
                             (long long)entry, i);
        ret[i] = (uint64_t)entry;
    }
    return LL_OK;
}

static ll_status read_layers(const struct gguf *gguf, struct model_hparams *h, ll_error *error)
{
    uint64_t values[MODEL_MAX_LAYERS];
    h->layer = mem_new((size_t)h->layers, sizeof *h->layer);
    if (!h->layer)
        return error_nomem(error, "model", (size_t)h->layers * sizeof *h->layer);
    LL_TRY(read_per_layer(gguf, h, "attention.head_count", 0, 4096, values, error));
    for (int i = 0; i < h->layers; i++)
        h->layer[i].heads = h->layer[i].kv_heads = (int)values[i];
    if (gguf_find(gguf, key_of(h, "attention.head_count_kv").text)) {
        LL_TRY(read_per_layer(gguf, h, "attention.head_count_kv", 0, 4096, values, error));
        for (int i = 0; i < h->layers; i++)
            h->layer[i].kv_heads = (int)values[i];
    }
    LL_TRY(read_per_layer(gguf, h, "feed_forward_length", 0, 1u << 24, values, error));
    for (int i = 0; i < h->layers; i++) {
        struct layer_hparams *layer = &h->layer[i];
        layer->ffn = (int64_t)values[i];
        if (layer->heads % layer->kv_heads != 0)
            return error_set(error, LL_FORMAT, "model",
                             "layer %d has %d heads, no multiple of its %d key/value heads", i, layer->heads,
                             layer->kv_heads);
        h->max_heads = layer->heads > h->max_heads ? layer->heads : h->max_heads;
        h->max_kv_heads = layer->kv_heads > h->max_kv_heads ? layer->kv_heads : h->max_kv_heads;
        h->max_ffn = layer->ffn > h->max_ffn ? layer->ffn : h->max_ffn;
    }
    return LL_OK;
}

static ll_status read_head_size(const struct gguf *gguf, struct model_hparams *h, ll_error *error)
{
    uint64_t key_length, value_length, rotary;
    uint64_t share = (uint64_t)h->width / (uint64_t)h->layer[0].heads;
    LL_TRY(read_size(gguf, h, "attention.key_length", share, 1, 1024, &key_length, error));
    LL_TRY(read_size(gguf, h, "attention.value_length", key_length, 1, 1024, &value_length, error));
    LL_TRY(read_size(gguf, h, "rope.dimension_count", key_length, 0, 1024, &rotary, error));
    if (key_length != value_length)
        return error_set(error, LL_UNSUPPORTED, "model",
                         "keys of %llu and values of %llu numbers a head are not supported",
                         (unsigned long long)key_length, (unsigned long long)value_length);
    if (h->position == LL_ROTARY && (rotary == 0 || rotary > key_length || rotary % 2 != 0))
        return error_set(error, LL_FORMAT, "model", "%s.rope.dimension_count is %llu for heads of %llu",
                         h->architecture->name, (unsigned long long)rotary, (unsigned long long)key_length);
    h->head_dim = (int)key_length;
    h->rotary_dim = (int)rotary;
    return LL_OK;
}

/* Every `period`-th layer sees everything, the others a window of keys. The pattern key is a period or a
 * list of flags, shorter than the layer count when it repeats. A window that is absent or 0 is none. */
static ll_status read_windows(const struct gguf *gguf, struct model_hparams *h, ll_error *error)
{
    struct key key = key_of(h, "attention.sliding_window_pattern");
    const struct gguf_value *value = gguf_find(gguf, key.text);
    uint64_t window, period = (uint64_t)h->architecture->window_period;
    bool gemma2 = strcmp(h->architecture->name, "gemma2") == 0; /* old files leave the key out */
    LL_TRY(read_size(gguf, h, "attention.sliding_window", gemma2 ? 4096 : 0, 0, 1u << 30, &window, error));
    if (window == 0)
        return LL_OK;
    bool flags = value && value->type == GGUF_ARRAY;
    if (flags && (value->element != GGUF_BOOL || value->count == 0))
        return error_set(error, LL_FORMAT, "model", "%s must be a number or a list of booleans", key.text);
    if (!flags)
        LL_TRY(gguf_get_uint(gguf, key.text, period, &period, error));
    for (int i = 0; i < h->layers; i++) {
        bool slides = flags ? gguf_array_int(value, (uint64_t)i % value->count) != 0
                            : period == 0 || (uint64_t)i % period < period - 1;
        h->layer[i].window = slides ? (int)window : 0;
        h->layer[i].local = slides && h->architecture->local_rotary;
    }
    return LL_OK;
}

static ll_status read_numbers(const struct gguf *gguf, struct model_hparams *h, ll_error *error)
{
    const char *eps_key = h->architecture->norm == NORM_RMS ? "attention.layer_norm_rms_epsilon"
                                                            : "attention.layer_norm_epsilon";
    double eps, scale, softcap, final_softcap;
    LL_TRY(gguf_get_float(gguf, key_of(h, eps_key).text, -1.0, &eps, error));
    if (!(eps > 0.0 && eps < 1.0))
        return error_set(error, LL_FORMAT, "model", "%s is missing or not between 0 and 1",
                         key_of(h, eps_key).text);
    LL_TRY(gguf_get_float(gguf, key_of(h, "attention.scale").text, 1.0 / sqrt((double)h->head_dim), &scale,
                          error));
    LL_TRY(gguf_get_float(gguf, key_of(h, "attn_logit_softcapping").text, 0.0, &softcap, error));
    LL_TRY(gguf_get_float(gguf, key_of(h, "final_logit_softcapping").text, 0.0, &final_softcap, error));
    if (!isfinite(scale) || scale <= 0.0 || !(softcap >= 0.0) || !(final_softcap >= 0.0))
        return error_set(error, LL_FORMAT, "model", "an attention scale or softcap is not a positive number");
    h->norm_eps = (float)eps;
    h->attention_scale = (float)scale;
    h->attention_softcap = (float)softcap;
    h->final_softcap = (float)final_softcap;
    return LL_OK;
}

/* Features of newer files in these families that would be silently wrong if ignored. */
static ll_status refuse_unknown_features(const struct gguf *gguf, const struct model_hparams *h,
                                         ll_error *error)
{
    static const char *const counted[] = {"expert_shared_count", "leading_dense_block_count",
                                          "expert_group_count", "attention.shared_kv_layers",
                                          "attention.key_length_swa"};
    for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++) {
        uint64_t value;
        struct key key = key_of(h, counted[i]);
        LL_TRY(gguf_get_uint(gguf, key.text, 0, &value, error));
        if (value != 0)
            return error_set(error, LL_UNSUPPORTED, "model",
                             "%s is %llu, which this version does not support", key.text,
                             (unsigned long long)value);
    }
    return LL_OK;
}

/* Keys of mixtures: how many experts there are, how many each token is given, and how wide one is. */
static ll_status read_experts(const struct gguf *gguf, struct model_hparams *h, ll_error *error)
{
    uint64_t count, used, ffn;
    double scale;
    LL_TRY(read_size(gguf, h, "expert_count", 0, 0, 1024, &count, error));
    if (count == 0)
        return LL_OK;
    if (!h->architecture->experts)
        return error_set(error, LL_UNSUPPORTED, "model",
                         "%s is %llu, but architecture %s is not known to have experts",
                         key_of(h, "expert_count").text, (unsigned long long)count, h->architecture->name);
    LL_TRY(read_size(gguf, h, "expert_used_count", 0, 1, count, &used, error));
    LL_TRY(read_size(gguf, h, "expert_feed_forward_length", (uint64_t)h->layer[0].ffn, 1, 1u << 24, &ffn,
                     error));
    LL_TRY(gguf_get_bool(gguf, key_of(h, "expert_weights_norm").text, true, &h->experts_normal, error));
    LL_TRY(gguf_get_float(gguf, key_of(h, "expert_weights_scale").text, 1.0, &scale, error));
    if (!isfinite(scale))
        return error_set(error, LL_FORMAT, "model", "expert_weights_scale is not a number");
    h->experts = (int)count;
    h->experts_used = (int)used;
    h->experts_scale = scale == 0.0 ? 1.0f : (float)scale; /* some writers mean none by 0 */
    h->max_ffn = (int64_t)ffn;
    for (int i = 0; i < h->layers; i++)
        h->layer[i].ffn = (int64_t)ffn;
    return LL_OK;
}

/* Options about positions that the model does not have would be answered by silence. */
static ll_status refuse_idle_overrides(const struct gguf *gguf, const struct model_hparams *h,
                                       ll_error *error)
{
    for (size_t i = 0; i < gguf_override_count(gguf); i++) {
        struct gguf_text key = gguf_override_at(gguf, i)->key;
        size_t own = strlen(h->architecture->name) + 1;
        const char *rest = key.text + own;
        if (key.length < own + 5 || memcmp(key.text, h->architecture->name, own - 1) != 0)
            continue;
        bool rope = memcmp(rest, "rope.", 5) == 0;
        bool alibi = key.length - own >= 15 && memcmp(rest, "attention.alibi", 15) == 0;
        alibi |= key.length - own == 24 && memcmp(rest, "attention.max_alibi_bias", 24) == 0;
        bool rotary = h->position == LL_ROTARY;
        if ((rope && !rotary) || (alibi && rotary && strcmp(h->architecture->name, "baichuan") != 0))
            return error_set(error, LL_ARGUMENT, "model",
                             "the model has %s positions: %.*s has no meaning for it",
                             rotary ? "rotary" : "ALiBi", (int)(key.length < 80 ? key.length : 80), key.text);
    }
    return LL_OK;
}

/* Distances are divided by it, so that a longer context is seen as the trained one. */
static ll_status read_stretch(const struct gguf *gguf, struct model_hparams *h, ll_error *error)
{
    double stretch;
    LL_TRY(gguf_get_float(gguf, key_of(h, "attention.alibi_stretch").text, 1.0, &stretch, error));
    if (!(stretch >= 0.001 && stretch <= 1000.0))
        return error_set(error, LL_FORMAT, "model", "%s is %g, outside 0.001 … 1000",
                         key_of(h, "attention.alibi_stretch").text, stretch);
    h->alibi_scale = (float)(h->alibi_scale / stretch);
    return LL_OK;
}

static ll_status find_architecture(const struct gguf *gguf, struct model_hparams *h, ll_error *error)
{
    struct gguf_text name;
    char shown[64], known[256];
    LL_TRY(gguf_get_text(gguf, "general.architecture", &name, error));
    if (!name.text)
        return error_set(error, LL_FORMAT, "model", "the key general.architecture is missing");
    h->architecture = architecture_find(name);
    if (h->architecture)
        return LL_OK;
    utf8_printable(name.text, name.length, shown, sizeof shown);
    architecture_names(known, sizeof known);
    return error_set(error, LL_UNSUPPORTED, "model",
                     "architecture '%s' is not supported; this version runs %s", shown, known);
}

static ll_status read_name(const struct gguf *gguf, struct model_hparams *h, ll_error *error)
{
    struct gguf_text name;
    LL_TRY(gguf_get_text(gguf, "general.name", &name, error));
    if (name.text)
        utf8_printable(name.text, name.length, h->name, sizeof h->name);
    return LL_OK;
}

static ll_status read_all(const struct gguf *gguf, struct model_hparams *h, ll_error *error)
{
    uint64_t layers, width, context;
    LL_TRY(find_architecture(gguf, h, error));
    LL_TRY(read_name(gguf, h, error));
    LL_TRY(read_size(gguf, h, "block_count", 0, 1, MODEL_MAX_LAYERS, &layers, error));
    LL_TRY(read_size(gguf, h, "embedding_length", 0, 1, 1u << 20, &width, error));
    LL_TRY(read_size(gguf, h, "context_length", 0, 1, 1u << 30, &context, error));
    h->layers = (int)layers;
    h->width = (int64_t)width;
    h->context = (int64_t)context;
    h->embed_scale = h->alibi_scale = h->output_scale = 1.0f;
    h->position = h->architecture->position;
    LL_TRY(read_layers(gguf, h, error));
    LL_TRY(read_head_size(gguf, h, error));
    LL_TRY(read_windows(gguf, h, error));
    LL_TRY(read_numbers(gguf, h, error));
    LL_TRY(read_experts(gguf, h, error));
    LL_TRY(refuse_unknown_features(gguf, h, error));
    if (h->architecture->read)
        LL_TRY(h->architecture->read(gguf, h, error));
    LL_TRY(refuse_idle_overrides(gguf, h, error));
    return h->position == LL_ROTARY ? rotary_read(gguf, h, error) : read_stretch(gguf, h, error);
}

ll_status hparams_read(const struct gguf *gguf, struct model_hparams *ret, ll_error *error)
{
    struct model_hparams hparams = {0};
    ll_status status = read_all(gguf, &hparams, error);
    if (status == LL_OK)
        *ret = hparams;
    else
        hparams_fini(&hparams);
    return status;
}

void hparams_fini(struct model_hparams *hparams)
{
    mem_free(hparams->layer);
    *hparams = (struct model_hparams){0};
}
