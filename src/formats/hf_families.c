/* What each family of Hugging Face models says in its config.json.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "formats/hf_family.h"

static const char where[] = "config.json";
static const char *const silu[] = {"silu", "swish", NULL};
static const char *const gelu_tanh[] = {"gelu_pytorch_tanh", "gelu_new", NULL};
static const char *const gelu[] = {"gelu", NULL};

/* ---- what families share ---- */

/* Names of the sizes, where they differ between families. */
struct size_names {
    const char *width, *width_2, *layers, *layers_2, *heads, *heads_2;
};

static const struct size_names usual = {"hidden_size",         NULL, "num_hidden_layers", NULL,
                                        "num_attention_heads", NULL};
static const struct size_names short_names = {
    "hidden_size", "n_embed", "num_hidden_layers", "n_layer", "num_attention_heads", "n_head"};
static const struct size_names gpt_names = {"n_embd", "hidden_size", "n_layer", NULL, "n_head", NULL};

static ll_status read_sizes(struct hf_reader *r, const struct size_names *names)
{
    struct hf_shape *s = &r->config->shape;
    LL_TRY(hf_count(r, r->root, names->layers, names->layers_2, 0, &s->layers));
    LL_TRY(hf_count(r, r->root, names->width, names->width_2, 0, &s->width));
    LL_TRY(hf_count(r, r->root, names->heads, names->heads_2, 0, &s->heads));
    s->kv_heads = s->heads;
    s->head_dim = s->width / s->heads ? s->width / s->heads : 1;
    hf_put_count(r, "block_count", s->layers);
    hf_put_count(r, "embedding_length", s->width);
    hf_put_count(r, "attention.head_count", s->heads);
    return LL_OK;
}

static void put_kv_heads(struct hf_reader *r, uint64_t heads)
{
    r->config->shape.kv_heads = heads;
    hf_put_count(r, "attention.head_count_kv", heads);
}

static ll_status put_inner_width(struct hf_reader *r, uint64_t width)
{
    if (width > INT32_MAX)
        return error_set(r->error, LL_FORMAT, where, "a feed-forward part of width %llu is larger than any",
                         (unsigned long long)width);
    r->config->shape.ffn = width;
    hf_put_count(r, "feed_forward_length", width);
    return LL_OK;
}

static ll_status put_epsilon(struct hf_reader *r, const char *name, double fallback, const char *rest)
{
    double eps;
    LL_TRY(hf_number(r, r->root, name, fallback, &eps));
    hf_put_number(r, rest, eps);
    return LL_OK;
}

static ll_status read_context(struct hf_reader *r, const char *name, const char *other, uint64_t fallback)
{
    return hf_copy_count(r, name, other, fallback, "context_length");
}

static void set_biases(struct hf_reader *r, bool matrices, bool norms)
{
    struct hf_vectors *vectors = &r->config->vectors;
    vectors->qkv_bias = vectors->output_bias = vectors->ffn_bias = matrices;
    vectors->norm_bias = norms;
}

/* What the relatives of Llama share. */
static ll_status read_common(struct hf_reader *r, bool tied)
{
    struct hf_shape *s = &r->config->shape;
    uint64_t kv_heads, ffn;
    LL_TRY(read_sizes(r, &usual));
    LL_TRY(hf_count(r, r->root, "head_dim", NULL, s->head_dim, &s->head_dim));
    LL_TRY(hf_count(r, r->root, "num_key_value_heads", NULL, s->heads, &kv_heads));
    LL_TRY(hf_count(r, r->root, "intermediate_size", NULL, 0, &ffn));
    put_kv_heads(r, kv_heads);
    LL_TRY(put_inner_width(r, ffn));
    hf_put_count(r, "attention.key_length", s->head_dim);
    hf_put_count(r, "attention.value_length", s->head_dim);
    r->config->vectors.qkv_bias = r->config->vectors.output_bias = hf_flag(r->root, "attention_bias", false);
    r->config->vectors.ffn_bias = hf_flag(r->root, "mlp_bias", false);
    r->config->tied = hf_flag(r->root, "tie_word_embeddings", tied);
    return read_context(r, "max_position_embeddings", NULL, 2048);
}

static ll_status read_rms(struct hf_reader *r, double eps)
{
    return put_epsilon(r, "rms_norm_eps", eps, "attention.layer_norm_rms_epsilon");
}

/* layer_types says which layers slide; the usual pattern needs no key. period 0: all of them do. */
static ll_status read_window(struct hf_reader *r, uint64_t period)
{
    const json_t *types = hf_find(r->root, "layer_types", NULL);
    bool flags[1024], usual_pattern = true, slides = false;
    size_t count = json_array_size(types);
    if (!hf_find(r->root, "sliding_window", NULL))
        return LL_OK;
    if (types && (count != r->config->shape.layers || count > sizeof flags / sizeof *flags))
        return error_set(r->error, LL_FORMAT, where, "layer_types has %zu entries for %llu layers", count,
                         (unsigned long long)r->config->shape.layers);
    for (size_t i = 0; i < count; i++) {
        const char *type = json_string_value(json_array_get(types, i));
        flags[i] = type && strcmp(type, "sliding_attention") == 0;
        if (!flags[i] && (!type || strcmp(type, "full_attention") != 0))
            return error_set(r->error, LL_UNSUPPORTED, where,
                             "layer_types names a kind that is not supported");
        usual_pattern &= flags[i] == (period == 0 || i % period < period - 1);
        slides |= flags[i];
    }
    if (types && !slides)
        return LL_OK;
    if (!usual_pattern)
        hf_put_flags(r, "attention.sliding_window_pattern", flags, count);
    return hf_copy_count(r, "sliding_window", NULL, 0, "attention.sliding_window");
}

/* ---- rotary families ---- */

static ll_status read_llama(struct hf_reader *r)
{
    LL_TRY(hf_expect(r, "hidden_act", silu));
    LL_TRY(read_common(r, false));
    LL_TRY(read_rms(r, 1e-6));
    LL_TRY(read_window(r, 0));
    return hf_rotary(r, 10000.0, 0);
}

static ll_status read_qwen(struct hf_reader *r)
{
    LL_TRY(hf_expect(r, "hidden_act", silu));
    LL_TRY(read_common(r, false));
    LL_TRY(read_rms(r, 1e-6));
    if (strcmp(r->config->family->architecture, "qwen2") == 0)
        r->config->vectors = (struct hf_vectors){.qkv_bias = true};
    if (hf_flag(r->root, "use_sliding_window", false) && !hf_find(r->root, "layer_types", NULL))
        return error_set(r->error, LL_UNSUPPORTED, where,
                         "use_sliding_window without layer_types is not supported");
    if (hf_flag(r->root, "use_sliding_window", false))
        LL_TRY(read_window(r, 0));
    return hf_rotary(r, 10000.0, 0);
}

static ll_status read_experts(struct hf_reader *r, const char *name, const char *other)
{
    uint64_t used;
    LL_TRY(hf_count(r, r->root, name, other, 0, &r->config->shape.experts));
    LL_TRY(hf_count(r, r->root, "num_experts_per_tok", NULL, 2, &used));
    hf_put_count(r, "expert_count", r->config->shape.experts);
    hf_put_count(r, "expert_used_count", used);
    return LL_OK;
}

static ll_status read_mixtral(struct hf_reader *r)
{
    LL_TRY(hf_expect(r, "hidden_act", silu));
    LL_TRY(read_common(r, false));
    LL_TRY(read_rms(r, 1e-5));
    LL_TRY(read_window(r, 0));
    LL_TRY(read_experts(r, "num_local_experts", "num_experts"));
    return hf_rotary(r, 1e6, 0);
}

static ll_status read_qwen3_moe(struct hf_reader *r)
{
    uint64_t step;
    LL_TRY(read_qwen(r));
    LL_TRY(read_experts(r, "num_experts", "num_local_experts"));
    LL_TRY(hf_copy_count(r, "moe_intermediate_size", NULL, 0, "expert_feed_forward_length"));
    LL_TRY(hf_count(r, r->root, "decoder_sparse_step", NULL, 1, &step));
    if (step != 1 || json_array_size(hf_find(r->root, "mlp_only_layers", NULL)) > 0)
        return error_set(r->error, LL_UNSUPPORTED, where,
                         "layers without experts among others are not supported");
    if (!hf_flag(r->root, "norm_topk_prob", false))
        hf_put_flag(r, "expert_weights_norm", false);
    return LL_OK;
}

/* Configurations of Gemma leave out what is the class's default. */
static ll_status read_gemma(struct hf_reader *r, uint64_t period, double base, double local_base)
{
    struct hf_shape *s = &r->config->shape;
    uint64_t kv_heads, ffn;
    double scalar, cap;
    LL_TRY(hf_expect(r, "hidden_activation", gelu_tanh));
    LL_TRY(hf_count(r, r->root, "hidden_size", NULL, 2304, &s->width));
    LL_TRY(hf_count(r, r->root, "num_hidden_layers", NULL, 26, &s->layers));
    LL_TRY(hf_count(r, r->root, "num_attention_heads", NULL, 8, &s->heads));
    LL_TRY(hf_count(r, r->root, "num_key_value_heads", NULL, 4, &kv_heads));
    LL_TRY(hf_count(r, r->root, "head_dim", NULL, 256, &s->head_dim));
    LL_TRY(hf_count(r, r->root, "intermediate_size", NULL, 9216, &ffn));
    hf_put_count(r, "block_count", s->layers);
    hf_put_count(r, "embedding_length", s->width);
    hf_put_count(r, "attention.head_count", s->heads);
    put_kv_heads(r, kv_heads);
    LL_TRY(put_inner_width(r, ffn));
    hf_put_count(r, "attention.key_length", s->head_dim);
    hf_put_count(r, "attention.value_length", s->head_dim);
    LL_TRY(read_context(r, "max_position_embeddings", NULL, local_base > 0 ? 131072 : 8192));
    LL_TRY(read_rms(r, 1e-6));
    LL_TRY(hf_number(r, r->root, "query_pre_attn_scalar", 256.0, &scalar));
    LL_TRY(hf_number(r, r->root, "final_logit_softcapping", 0.0, &cap));
    if (!(scalar > 0.0))
        return error_set(r->error, LL_FORMAT, where, "query_pre_attn_scalar is not a positive number");
    hf_put_number(r, "attention.scale", 1.0 / sqrt(scalar));
    hf_put_number(r, "final_logit_softcapping", cap);
    r->config->vectors.qkv_bias = r->config->vectors.output_bias = hf_flag(r->root, "attention_bias", false);
    r->config->tied = hf_flag(r->root, "tie_word_embeddings", true);
    LL_TRY(read_window(r, period));
    return hf_rotary(r, base, local_base);
}

static ll_status read_gemma2(struct hf_reader *r)
{
    double cap;
    LL_TRY(read_gemma(r, 2, 10000.0, 0));
    LL_TRY(hf_number(r, r->root, "attn_logit_softcapping", 0.0, &cap));
    hf_put_number(r, "attn_logit_softcapping", cap);
    return LL_OK;
}

static ll_status read_gemma3(struct hf_reader *r)
{
    uint64_t period;
    LL_TRY(hf_count(r, r->root, "sliding_window_pattern", "_sliding_window_pattern", 6, &period));
    if (!hf_find(r->root, "layer_types", NULL) && period != 6)
        hf_put_count(r, "attention.sliding_window_pattern", period);
    return read_gemma(r, 6, 1000000.0, 10000.0);
}

static ll_status read_phi3(struct hf_reader *r)
{
    LL_TRY(hf_expect(r, "hidden_act", silu));
    LL_TRY(read_common(r, false));
    LL_TRY(read_rms(r, 1e-5));
    if (hf_find(r->root, "sliding_window", NULL))
        LL_TRY(read_window(r, 0));
    else /* a window that all fits in: none at all would mean what the oldest files mean */
        LL_TRY(hf_copy_count(r, "max_position_embeddings", NULL, 4096, "attention.sliding_window"));
    return hf_rotary(r, 10000.0, 0);
}

static ll_status read_smollm3(struct hf_reader *r)
{
    const json_t *layers = hf_find(r->root, "no_rope_layers", NULL);
    uint64_t interval;
    LL_TRY(hf_count(r, r->root, "no_rope_layer_interval", NULL, 4, &interval));
    for (size_t i = 0; i < json_array_size(layers); i++)
        if ((json_integer_value(json_array_get(layers, i)) == 0) != (i % 4 == 3))
            interval = 0;
    if (interval != 4 || hf_flag(r->root, "use_sliding_window", false))
        return error_set(r->error, LL_UNSUPPORTED, where,
                         "only every fourth layer without positions, and no window, is supported");
    LL_TRY(hf_expect(r, "hidden_act", silu));
    LL_TRY(read_common(r, true));
    LL_TRY(read_rms(r, 1e-6));
    return hf_rotary(r, 2000000.0, 0);
}

static ll_status read_olmo2(struct hf_reader *r)
{
    LL_TRY(hf_expect(r, "hidden_act", silu));
    LL_TRY(read_common(r, false));
    LL_TRY(read_rms(r, 1e-5));
    return hf_rotary(r, 10000.0, 0);
}

static ll_status read_granite(struct hf_reader *r)
{
    static const struct {
        const char *name, *rest;
    } scales[] = {{"embedding_multiplier", "embedding_scale"},
                  {"residual_multiplier", "residual_scale"},
                  {"logits_scaling", "logit_scale"},
                  {"attention_multiplier", "attention.scale"}};
    double value;
    LL_TRY(hf_expect(r, "hidden_act", silu));
    LL_TRY(read_common(r, false));
    LL_TRY(read_rms(r, 1e-6));
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        LL_TRY(hf_number(r, r->root, scales[i].name, 1.0, &value));
        hf_put_number(r, scales[i].rest, value);
    }
    return hf_rotary(r, 10000.0, 0);
}

static ll_status read_starcoder2(struct hf_reader *r)
{
    LL_TRY(hf_expect(r, "hidden_act", gelu_tanh));
    LL_TRY(read_common(r, true));
    set_biases(r, hf_flag(r->root, "use_bias", true), true);
    LL_TRY(put_epsilon(r, "norm_epsilon", 1e-5, "attention.layer_norm_epsilon"));
    LL_TRY(read_window(r, 0));
    return hf_rotary(r, 10000.0, 0);
}

static ll_status read_falcon(struct hf_reader *r)
{
    bool wide = hf_flag(r->root, "new_decoder_architecture", false), alibi = hf_flag(r->root, "alibi", false);
    bool parallel = hf_flag(r->root, "parallel_attn", true);
    uint64_t kv_heads = 1, ffn, norms;
    LL_TRY(hf_expect(r, "activation", gelu));
    LL_TRY(read_sizes(r, &short_names));
    if (wide)
        LL_TRY(hf_count(r, r->root, "num_kv_heads", "n_head_kv", r->config->shape.heads, &kv_heads));
    else if (!hf_flag(r->root, "multi_query", true))
        kv_heads = r->config->shape.heads;
    put_kv_heads(r, kv_heads);
    LL_TRY(hf_count(r, r->root, "ffn_hidden_size", NULL, 4 * r->config->shape.width, &ffn));
    LL_TRY(put_inner_width(r, ffn));
    LL_TRY(put_epsilon(r, "layer_norm_epsilon", 1e-5, "attention.layer_norm_epsilon"));
    LL_TRY(read_context(r, "max_position_embeddings", NULL, 2048));
    r->config->tied = hf_flag(r->root, "tie_word_embeddings", true);
    set_biases(r, hf_flag(r->root, "bias", false), true);
    LL_TRY(hf_count(r, r->root, "num_ln_in_parallel_attn", NULL, wide ? 2 : 1, &norms));
    r->config->vectors.one_norm = norms == 1 && (wide || parallel);
    r->config->grouped_qkv = true;
    if (!alibi)
        return hf_rotary(r, 10000.0, 0);
    hf_put_number(r, "attention.max_alibi_bias", 8.0);
    hf_put_flag(r, "use_parallel_residual", parallel || wide);
    return LL_OK;
}

/* ---- ALiBi families ---- */

static ll_status read_bloom(struct hf_reader *r)
{
    LL_TRY(read_sizes(r, &short_names));
    put_kv_heads(r, r->config->shape.heads);
    LL_TRY(put_inner_width(r, 4 * r->config->shape.width));
    LL_TRY(read_context(r, "seq_length", NULL, 2048));
    LL_TRY(put_epsilon(r, "layer_norm_epsilon", 1e-5, "attention.layer_norm_epsilon"));
    r->config->tied = true;
    set_biases(r, true, true);
    if (hf_flag(r->root, "apply_residual_connection_post_layernorm", false))
        return error_set(r->error, LL_UNSUPPORTED, where,
                         "apply_residual_connection_post_layernorm is not supported");
    return LL_OK;
}

static ll_status read_mpt(struct hf_reader *r)
{
    static const struct size_names names = {"d_model", NULL, "n_layers", NULL, "n_heads", NULL};
    const json_t *attention = hf_find(r->root, "attn_config", NULL);
    const char *type = json_string_value(hf_find(attention, "attn_type", NULL));
    uint64_t ratio, kv_heads;
    double bias, clip, scale;
    LL_TRY(read_sizes(r, &names));
    LL_TRY(hf_count(r, r->root, "expansion_ratio", NULL, 4, &ratio));
    LL_TRY(hf_count(r, attention, "kv_n_heads", NULL,
                    type && strcmp(type, "multiquery_attention") == 0 ? 1 : r->config->shape.heads,
                    &kv_heads));
    put_kv_heads(r, kv_heads);
    if (ratio > INT32_MAX / r->config->shape.width)
        return error_set(r->error, LL_FORMAT, where,
                         "a feed-forward part %llu times as wide as the model's %llu is larger than any",
                         (unsigned long long)ratio, (unsigned long long)r->config->shape.width);
    LL_TRY(put_inner_width(r, r->config->shape.width * ratio));
    LL_TRY(read_context(r, "max_seq_len", NULL, 2048));
    LL_TRY(put_epsilon(r, "layer_norm_epsilon", 1e-5, "attention.layer_norm_epsilon"));
    LL_TRY(hf_number(r, attention, "alibi_bias_max", 8.0, &bias));
    LL_TRY(hf_number(r, attention, "clip_qkv", 0.0, &clip));
    LL_TRY(hf_number(r, attention, "softmax_scale", 0.0, &scale));
    hf_put_number(r, "attention.max_alibi_bias", hf_flag(attention, "alibi", false) ? bias : 0.0);
    if (clip > 0.0)
        hf_put_number(r, "attention.clamp_kqv", clip);
    if (scale > 0.0)
        hf_put_number(r, "attention.scale", scale);
    if (hf_find(r->root, "logit_scale", NULL))
        return error_set(r->error, LL_UNSUPPORTED, where, "logit_scale of MPT is not supported");
    r->config->tied = true;
    set_biases(r, !hf_flag(r->root, "no_bias", true), !hf_flag(r->root, "no_bias", true));
    r->config->vectors.qk_norms = hf_flag(attention, "qk_ln", false);
    return LL_OK;
}

/* The feed-forward width is two thirds of four widths, rounded up to a multiple of 256. */
static ll_status read_refact(struct hf_reader *r)
{
    uint64_t inner;
    LL_TRY(read_sizes(r, &gpt_names));
    LL_TRY(hf_count(r, r->root, "n_inner", NULL, 4 * r->config->shape.width, &inner));
    put_kv_heads(r, hf_flag(r->root, "multi_query", true) ? 1 : r->config->shape.heads);
    LL_TRY(put_inner_width(r, (2 * inner / 3 + 255) / 256 * 256));
    LL_TRY(read_context(r, "n_positions", NULL, 4096));
    LL_TRY(put_epsilon(r, "layer_norm_epsilon", 1e-5, "attention.layer_norm_rms_epsilon"));
    r->config->tied = hf_flag(r->root, "tie_word_embeddings", false);
    return LL_OK;
}

/* 13B has ALiBi; its configuration names no longest position, as it has no positions. */
static ll_status read_baichuan(struct hf_reader *r)
{
    bool alibi = !hf_find(r->root, "max_position_embeddings", NULL);
    uint64_t ffn;
    LL_TRY(hf_expect(r, "hidden_act", silu));
    LL_TRY(read_sizes(r, &usual));
    put_kv_heads(r, r->config->shape.heads);
    LL_TRY(hf_count(r, r->root, "intermediate_size", NULL, 0, &ffn));
    LL_TRY(put_inner_width(r, ffn));
    LL_TRY(read_context(r, "max_position_embeddings", "model_max_length", 4096));
    LL_TRY(read_rms(r, 1e-6));
    r->config->tied = hf_flag(r->root, "tie_word_embeddings", false);
    hf_put_number(r, "attention.max_alibi_bias", alibi ? 8.0 : 0.0);
    if (!alibi)
        return hf_rotary(r, 10000.0, 0);
    return LL_OK;
}

static ll_status read_jais(struct hf_reader *r)
{
    static const char *const swiglu[] = {"swiglu", NULL}, *const alibi[] = {"alibi", NULL};
    uint64_t inner;
    double width, alpha;
    LL_TRY(hf_expect(r, "activation_function", swiglu));
    LL_TRY(hf_expect(r, "position_embedding_type", alibi));
    LL_TRY(read_sizes(r, &gpt_names));
    put_kv_heads(r, r->config->shape.heads);
    LL_TRY(hf_count(r, r->root, "n_inner", NULL, 4 * r->config->shape.width, &inner));
    LL_TRY(put_inner_width(r, inner));
    LL_TRY(read_context(r, "n_positions", NULL, 2048));
    LL_TRY(put_epsilon(r, "layer_norm_epsilon", 1e-5, "attention.layer_norm_epsilon"));
    hf_put_number(r, "attention.max_alibi_bias", 8.0);
    LL_TRY(hf_number(r, r->root, "embeddings_scale", 1.0, &r->config->embedding_scale));
    LL_TRY(hf_number(r, r->root, "mup_embeddings_scale", r->config->embedding_scale,
                     &r->config->embedding_scale));
    LL_TRY(hf_number(r, r->root, "width_scale", 1.0, &width));
    LL_TRY(hf_number(r, r->root, "mup_width_scale", width, &width));
    LL_TRY(hf_number(r, r->root, "mup_output_alpha", 1.0, &alpha));
    r->config->output_scale = width * alpha;
    r->config->tied = false; /* the output has a scale of its own */
    set_biases(r, true, true);
    if (!hf_flag(r->root, "mup_scale_qk_dot_by_d", hf_flag(r->root, "scale_qk_dot_by_d", true)))
        return error_set(r->error, LL_UNSUPPORTED, where, "jais without scale_qk_dot_by_d is not supported");
    return LL_OK;
}

/* ---- the table ---- */

static const struct hf_family families[] = {
    {"llama", "llama", read_llama, hf_layer_llama, hf_whole_llama, "layers.", true, false},
    {"mistral", "llama", read_llama, hf_layer_llama, hf_whole_llama, "layers.", true, false},
    {"mixtral", "llama", read_mixtral, hf_layer_mixtral, hf_whole_llama, "layers.", true, false},
    {"qwen2", "qwen2", read_qwen, hf_layer_llama, hf_whole_llama, "layers.", false, false},
    {"qwen3", "qwen3", read_qwen, hf_layer_llama, hf_whole_llama, "layers.", false, false},
    {"qwen3_moe", "qwen3moe", read_qwen3_moe, hf_layer_qwen3moe, hf_whole_llama, "layers.", false, false},
    {"gemma2", "gemma2", read_gemma2, hf_layer_gemma, hf_whole_llama, "layers.", false, true},
    {"gemma3_text", "gemma3", read_gemma3, hf_layer_gemma, hf_whole_llama, "layers.", false, true},
    {"gemma3", "gemma3", read_gemma3, hf_layer_gemma, hf_whole_llama, "layers.", false, true},
    {"phi3", "phi3", read_phi3, hf_layer_phi3, hf_whole_llama, "layers.", false, false},
    {"smollm3", "smollm3", read_smollm3, hf_layer_llama, hf_whole_llama, "layers.", true, false},
    {"olmo2", "olmo2", read_olmo2, hf_layer_olmo2, hf_whole_llama, "layers.", false, false},
    {"granite", "granite", read_granite, hf_layer_llama, hf_whole_llama, "layers.", true, false},
    {"starcoder2", "starcoder2", read_starcoder2, hf_layer_starcoder2, hf_whole_llama, "layers.", false,
     false},
    {"falcon", "falcon", read_falcon, hf_layer_falcon, hf_whole_bloom, "h.", false, false},
    {"bloom", "bloom", read_bloom, hf_layer_bloom, hf_whole_bloom, "h.", false, false},
    {"mpt", "mpt", read_mpt, hf_layer_mpt, hf_whole_mpt, "blocks.", false, false},
    {"gpt_refact", "refact", read_refact, hf_layer_refact, hf_whole_gpt, "h.", false, false},
    {"baichuan", "baichuan", read_baichuan, hf_layer_baichuan, hf_whole_llama, "layers.", true, false},
    {"jais", "jais", read_jais, hf_layer_jais, hf_whole_gpt, "h.", false, false},
};

const struct hf_family *hf_family_at(size_t index)
{
    return index < sizeof families / sizeof *families ? &families[index] : NULL;
}

const struct hf_family *hf_family_find(const char *model_type)
{
    for (size_t i = 0; model_type && i < sizeof families / sizeof *families; i++)
        if (strcmp(families[i].model_type, model_type) == 0)
            return &families[i];
    return NULL;
}
