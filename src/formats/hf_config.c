/* A Hugging Face config.json as the GGUF metadata that it would become.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/hf_config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include "base/error.h"
#include "base/file.h"
#include "base/utf8.h"
#include "formats/gguf_write.h"

enum { MOST_BYTES = 4 << 20 };

struct reader {
    const json_t *root; /* the part that describes the text model */
    const char *architecture;
    struct gguf_writer *writer;
    struct hf_config *config;
    ll_error *error;
};

/* ---- values ---- */

/* Either name of a key; NULL when neither is there or it is null. */
static const json_t *find(const json_t *object, const char *name, const char *other)
{
    const json_t *value = json_object_get(object, name);
    if ((!value || json_is_null(value)) && other)
        value = json_object_get(object, other);
    return value && !json_is_null(value) ? value : NULL;
}

static ll_status read_count(struct reader *r, const json_t *object, const char *name, const char *other,
                            uint64_t fallback, uint64_t *ret)
{
    const json_t *value = find(object, name, other);
    *ret = fallback;
    if (!value && fallback > 0)
        return LL_OK;
    if (!value)
        return error_set(r->error, LL_FORMAT, "config.json", "the key %s is missing", name);
    if (!json_is_integer(value) || json_integer_value(value) < 1 || json_integer_value(value) > INT32_MAX)
        return error_set(r->error, LL_FORMAT, "config.json", "%s is no whole number between 1 and %d", name,
                         INT32_MAX);
    *ret = (uint64_t)json_integer_value(value);
    return LL_OK;
}

static ll_status read_number(struct reader *r, const json_t *object, const char *name, double fallback,
                             double *ret)
{
    const json_t *value = find(object, name, NULL);
    *ret = fallback;
    if (!value)
        return LL_OK;
    if (!json_is_number(value) || !isfinite(json_number_value(value)))
        return error_set(r->error, LL_FORMAT, "config.json", "%s is no number", name);
    *ret = json_number_value(value);
    return LL_OK;
}

static bool read_flag(const json_t *object, const char *name, bool fallback)
{
    const json_t *value = find(object, name, NULL);
    return value ? json_is_true(value) : fallback;
}

static void put_count(struct reader *r, const char *rest, uint64_t value)
{
    char key[96];
    snprintf(key, sizeof key, "%s.%s", r->architecture, rest);
    gguf_writer_u32(r->writer, key, (uint32_t)value);
}

/* Of the feed-forward part, where it is told as a multiple of the model's width. */
static ll_status put_inner_width(struct reader *r, uint64_t width, uint64_t ratio)
{
    if (ratio > INT32_MAX / width)
        return error_set(r->error, LL_FORMAT, "config.json",
                         "a feed-forward part %llu times as wide as the model's %llu is larger than any",
                         (unsigned long long)ratio, (unsigned long long)width);
    put_count(r, "feed_forward_length", width * ratio);
    return LL_OK;
}

static void put_number(struct reader *r, const char *rest, double value)
{
    char key[96];
    snprintf(key, sizeof key, "%s.%s", r->architecture, rest);
    gguf_writer_f32(r->writer, key, (float)value);
}

/* A count under its GGUF key. */
static ll_status copy_count(struct reader *r, const char *name, const char *other, uint64_t fallback,
                            const char *rest)
{
    uint64_t value;
    LL_TRY(read_count(r, r->root, name, other, fallback, &value));
    put_count(r, rest, value);
    return LL_OK;
}

/* ---- families ---- */

static ll_status read_rotary(struct reader *r, double base)
{
    const json_t *scaling = find(r->root, "rope_scaling", NULL);
    const char *type = json_string_value(find(scaling, "rope_type", "type"));
    double theta, factor;
    LL_TRY(read_number(r, r->root, "rope_theta", base, &theta));
    put_number(r, "rope.freq_base", theta);
    if (!scaling || (type && (strcmp(type, "default") == 0 || strcmp(type, "llama3") == 0)))
        return LL_OK; /* llama3's factors become a tensor of the file */
    if (!type || strcmp(type, "linear") != 0)
        return error_set(r->error, LL_UNSUPPORTED, "config.json",
                         "rope scaling '%.32s' is not supported by this version", type ? type : "unnamed");
    LL_TRY(read_number(r, scaling, "factor", 1.0, &factor));
    put_number(r, "rope.scaling.factor", factor);
    return LL_OK;
}

/* What llama and gemma3 share. */
static ll_status read_common(struct reader *r)
{
    uint64_t width, heads, head;
    double eps;
    LL_TRY(copy_count(r, "num_hidden_layers", NULL, 0, "block_count"));
    LL_TRY(copy_count(r, "intermediate_size", NULL, 0, "feed_forward_length"));
    LL_TRY(read_count(r, r->root, "hidden_size", NULL, 0, &width));
    LL_TRY(read_count(r, r->root, "num_attention_heads", NULL, 0, &heads));
    LL_TRY(read_count(r, r->root, "head_dim", NULL, width / heads ? width / heads : 1, &head));
    LL_TRY(copy_count(r, "num_key_value_heads", NULL, heads, "attention.head_count_kv"));
    LL_TRY(read_number(r, r->root, "rms_norm_eps", 1e-6, &eps));
    put_count(r, "embedding_length", width);
    put_count(r, "attention.head_count", heads);
    put_count(r, "attention.key_length", head);
    put_count(r, "attention.value_length", head);
    put_number(r, "attention.layer_norm_rms_epsilon", eps);
    r->config->attention_bias = read_flag(r->root, "attention_bias", false);
    r->config->other_bias = read_flag(r->root, "mlp_bias", false);
    return LL_OK;
}

static ll_status read_llama(struct reader *r)
{
    LL_TRY(read_common(r));
    LL_TRY(copy_count(r, "max_position_embeddings", NULL, 2048, "context_length"));
    r->config->tied = read_flag(r->root, "tie_word_embeddings", false);
    return read_rotary(r, 10000.0);
}

static ll_status read_gemma3(struct reader *r)
{
    double scalar, cap;
    const json_t *window = find(r->root, "sliding_window", NULL);
    LL_TRY(read_common(r));
    LL_TRY(copy_count(r, "max_position_embeddings", NULL, 131072, "context_length"));
    if (window)
        LL_TRY(copy_count(r, "sliding_window", NULL, 0, "attention.sliding_window"));
    LL_TRY(copy_count(r, "sliding_window_pattern", "_sliding_window_pattern", 6,
                      "attention.sliding_window_pattern"));
    LL_TRY(read_number(r, r->root, "query_pre_attn_scalar", 0.0, &scalar));
    if (scalar > 0.0)
        put_number(r, "attention.scale", 1.0 / sqrt(scalar));
    LL_TRY(read_number(r, r->root, "final_logit_softcapping", 0.0, &cap));
    put_number(r, "final_logit_softcapping", cap);
    r->config->tied = read_flag(r->root, "tie_word_embeddings", true);
    return read_rotary(r, 1000000.0);
}

static ll_status read_bloom(struct reader *r)
{
    uint64_t width;
    double eps;
    LL_TRY(read_count(r, r->root, "hidden_size", "n_embed", 0, &width));
    put_count(r, "embedding_length", width);
    LL_TRY(put_inner_width(r, width, 4));
    LL_TRY(copy_count(r, "n_layer", "num_hidden_layers", 0, "block_count"));
    LL_TRY(copy_count(r, "n_head", "num_attention_heads", 0, "attention.head_count"));
    LL_TRY(copy_count(r, "seq_length", NULL, 2048, "context_length"));
    LL_TRY(read_number(r, r->root, "layer_norm_epsilon", 1e-5, &eps));
    put_number(r, "attention.layer_norm_epsilon", eps);
    r->config->tied = true;
    r->config->attention_bias = r->config->other_bias = true;
    return LL_OK;
}

static ll_status read_mpt(struct reader *r)
{
    const json_t *attention = find(r->root, "attn_config", NULL);
    uint64_t width, ratio, heads, kv_heads;
    double eps, bias, clip;
    LL_TRY(read_count(r, r->root, "d_model", NULL, 0, &width));
    LL_TRY(read_count(r, r->root, "expansion_ratio", NULL, 4, &ratio));
    LL_TRY(read_count(r, r->root, "n_heads", NULL, 0, &heads));
    LL_TRY(read_count(r, attention, "kv_n_heads", NULL, heads, &kv_heads));
    put_count(r, "embedding_length", width);
    LL_TRY(put_inner_width(r, width, ratio));
    put_count(r, "attention.head_count", heads);
    put_count(r, "attention.head_count_kv", kv_heads);
    LL_TRY(copy_count(r, "n_layers", NULL, 0, "block_count"));
    LL_TRY(copy_count(r, "max_seq_len", NULL, 2048, "context_length"));
    LL_TRY(read_number(r, r->root, "layer_norm_epsilon", 1e-5, &eps));
    LL_TRY(read_number(r, attention, "alibi_bias_max", 8.0, &bias));
    LL_TRY(read_number(r, attention, "clip_qkv", 0.0, &clip));
    put_number(r, "attention.layer_norm_epsilon", eps);
    put_number(r, "attention.max_alibi_bias", read_flag(attention, "alibi", false) ? bias : 0.0);
    put_number(r, "attention.clamp_kqv", clip);
    r->config->tied = true;
    r->config->attention_bias = r->config->other_bias = !read_flag(r->root, "no_bias", true);
    return LL_OK;
}

static const struct family {
    const char *model_type, *architecture;
    ll_status (*read)(struct reader *reader);
} families[] = {{"llama", "llama", read_llama},
                {"gemma3_text", "gemma3", read_gemma3},
                {"gemma3", "gemma3", read_gemma3},
                {"bloom", "bloom", read_bloom},
                {"mpt", "mpt", read_mpt}};

/* ---- the whole ---- */

static const struct family *find_family(const char *model_type)
{
    for (size_t i = 0; model_type && i < sizeof families / sizeof *families; i++)
        if (strcmp(families[i].model_type, model_type) == 0)
            return &families[i];
    return NULL;
}

static ll_status unknown_family(const char *model_type, ll_error *error)
{
    char shown[64] = "";
    if (!model_type)
        return error_set(error, LL_FORMAT, "config.json", "the key model_type is missing");
    utf8_printable(model_type, strlen(model_type), shown, sizeof shown);
    return error_set(error, LL_UNSUPPORTED, "config.json",
                     "model type '%s' is not supported; this version knows llama, gemma3, bloom and mpt",
                     shown);
}

static ll_status read_dtype(struct reader *r)
{
    static const struct {
        const char *name;
        enum dtype dtype;
    } names[] = {{"float32", DT_F32}, {"float16", DT_F16}, {"bfloat16", DT_BF16}};
    const char *name = json_string_value(find(r->root, "torch_dtype", "dtype"));
    r->config->dtype = DT_F32;
    for (size_t i = 0; name && i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, name) == 0)
            r->config->dtype = names[i].dtype;
    if (find(r->root, "quantization_config", NULL))
        return error_set(
            r->error, LL_UNSUPPORTED, "config.json",
            "these weights are quantised in a way of their own; plan from the unquantised model");
    return LL_OK;
}

/* Models that also see keep what describes their text in a part of its own. */
static ll_status read_root(const json_t *root, struct hf_config *config, ll_error *error)
{
    const json_t *text = json_object_get(root, "text_config");
    const char *model_type = json_string_value(json_object_get(root, "model_type"));
    struct reader r = {.root = json_is_object(text) ? text : root, .config = config, .error = error};
    const struct family *family = find_family(model_type);
    if (!json_is_object(root) || !family)
        return unknown_family(model_type, error);
    r.architecture = family->architecture;
    r.writer = gguf_writer_new();
    if (!r.writer)
        return error_nomem(error, "config.json", 1);
    gguf_writer_text(r.writer, "general.architecture", family->architecture);
    ll_status status = family->read(&r);
    if (status == LL_OK)
        status = read_dtype(&r);
    if (status == LL_OK)
        status = read_count(&r, r.root, "vocab_size", NULL, 0, &config->vocabulary);
    if (status == LL_OK)
        gguf_writer_finish(r.writer, &config->bytes);
    gguf_writer_free(r.writer);
    if (status == LL_OK && config->bytes.failed)
        status = error_nomem(error, "config.json", config->bytes.length);
    return status == LL_OK ? gguf_open_memory(config->bytes.text, config->bytes.length, &config->gguf, error)
                           : status;
}

ll_status hf_config_open(const char *path, struct hf_config *ret, ll_error *error)
{
    struct hf_config config = {0};
    struct strbuf name = {0}, text = {0};
    struct stat info;
    json_error_t problem;
    json_t *root = NULL;
    bool folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    strbuf_printf(&name, folder ? "%s/config.json" : "%s", path);
    ll_status status = name.failed ? error_nomem(error, "config.json", strlen(path)) : LL_OK;
    if (status == LL_OK && stat(name.text, &info) == 0 && !S_ISREG(info.st_mode)) /* a pipe may never speak */
        status = error_set(error, LL_FORMAT, "config.json", "%s is not a regular file", name.text);
    if (status == LL_OK)
        status = file_read(name.text, MOST_BYTES, NULL, &text, error);
    if (status == LL_OK) {
        root = json_loadb(strbuf_text(&text), text.length, JSON_REJECT_DUPLICATES, &problem);
        status = root ? read_root(root, &config, error)
                      : error_set(error, LL_FORMAT, "config.json", "line %d is no JSON: %.100s", problem.line,
                                  problem.text);
    }
    json_decref(root);
    strbuf_fini(&text);
    strbuf_fini(&name);
    if (status == LL_OK)
        *ret = config;
    else
        hf_config_close(&config);
    return status;
}

void hf_config_close(struct hf_config *config)
{
    gguf_close(config->gguf);
    strbuf_fini(&config->bytes);
    *config = (struct hf_config){0};
}
