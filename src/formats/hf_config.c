/* A Hugging Face config.json as the GGUF metadata that it would become.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/hf_config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "formats/hf_family.h"
#include "formats/json_file.h"

enum { MOST_BYTES = 4 << 20 };

static const char where[] = "config.json";

/* ---- values ---- */

const json_t *hf_find(const json_t *object, const char *name, const char *other)
{
    const json_t *value = json_member(object, name);
    return value || !other ? value : json_member(object, other);
}

ll_status hf_count(struct hf_reader *r, const json_t *object, const char *name, const char *other,
                   uint64_t fallback, uint64_t *ret)
{
    const json_t *value = hf_find(object, name, other);
    *ret = fallback;
    if (!value && fallback > 0)
        return LL_OK;
    if (!value)
        return error_set(r->error, LL_FORMAT, where, "the key %s is missing", name);
    if (!json_is_integer(value) || json_integer_value(value) < 1 || json_integer_value(value) > INT32_MAX)
        return error_set(r->error, LL_FORMAT, where, "%s is no whole number between 1 and %d", name,
                         INT32_MAX);
    *ret = (uint64_t)json_integer_value(value);
    return LL_OK;
}

ll_status hf_number(struct hf_reader *r, const json_t *object, const char *name, double fallback, double *ret)
{
    const json_t *value = hf_find(object, name, NULL);
    *ret = fallback;
    if (!value)
        return LL_OK;
    if (!json_is_number(value) || !isfinite(json_number_value(value)))
        return error_set(r->error, LL_FORMAT, where, "%s is no number", name);
    *ret = json_number_value(value);
    return LL_OK;
}

bool hf_flag(const json_t *object, const char *name, bool fallback)
{
    const json_t *value = hf_find(object, name, NULL);
    return value ? json_is_true(value) : fallback;
}

ll_status hf_expect(struct hf_reader *r, const char *name, const char *const *words)
{
    const char *text = json_string_value(hf_find(r->root, name, NULL));
    char shown[64];
    if (!text)
        return LL_OK;
    for (size_t i = 0; words[i]; i++)
        if (strcmp(words[i], text) == 0)
            return LL_OK;
    utf8_printable(text, strlen(text), shown, sizeof shown);
    return error_set(r->error, LL_UNSUPPORTED, where, "%s is '%s', which this family is not known to use",
                     name, shown);
}

struct key {
    char text[96];
};

static struct key key_of(const struct hf_reader *r, const char *rest)
{
    struct key key;
    snprintf(key.text, sizeof key.text, "%s.%s", r->config->family->architecture, rest);
    return key;
}

void hf_put_count(struct hf_reader *r, const char *rest, uint64_t value)
{
    gguf_writer_u32(r->writer, key_of(r, rest).text, (uint32_t)value);
}

void hf_put_number(struct hf_reader *r, const char *rest, double value)
{
    gguf_writer_f32(r->writer, key_of(r, rest).text, (float)value);
}

void hf_put_flag(struct hf_reader *r, const char *rest, bool value)
{
    gguf_writer_bool(r->writer, key_of(r, rest).text, value);
}

void hf_put_flags(struct hf_reader *r, const char *rest, const bool *values, size_t count)
{
    gguf_writer_bools(r->writer, key_of(r, rest).text, values, count);
}

void hf_put_text(struct hf_reader *r, const char *rest, const char *value)
{
    gguf_writer_text(r->writer, key_of(r, rest).text, value);
}

ll_status hf_copy_count(struct hf_reader *r, const char *name, const char *other, uint64_t fallback,
                        const char *rest)
{
    uint64_t value;
    LL_TRY(hf_count(r, r->root, name, other, fallback, &value));
    hf_put_count(r, rest, value);
    return LL_OK;
}

/* ---- the whole ---- */

static ll_status unknown_family(const char *model_type, ll_error *error)
{
    const struct hf_family *family;
    char shown[64] = "", known[300] = "";
    size_t used = 0;
    if (!model_type)
        return error_set(error, LL_FORMAT, where, "the key model_type is missing");
    utf8_printable(model_type, strlen(model_type), shown, sizeof shown);
    for (size_t i = 0; (family = hf_family_at(i)) != NULL && used < sizeof known; i++)
        used +=
            (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", family->model_type);
    return error_set(error, LL_UNSUPPORTED, where, "model type '%s' is not supported; this version knows %s",
                     shown, known);
}

static ll_status read_dtype(struct hf_reader *r)
{
    static const struct {
        const char *name;
        enum dtype dtype;
    } names[] = {{"float32", DT_F32}, {"float16", DT_F16}, {"bfloat16", DT_BF16}};
    const char *name = json_string_value(hf_find(r->root, "torch_dtype", "dtype"));
    r->config->dtype = DT_F32;
    for (size_t i = 0; name && i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, name) == 0)
            r->config->dtype = names[i].dtype;
    if (hf_find(r->root, "quantization_config", NULL))
        return error_set(r->error, LL_UNSUPPORTED, where,
                         "these weights are quantised in a way of their own; take the unquantised model");
    return LL_OK;
}

/* A token's number, or the first of a list. */
static int64_t token_id(const json_t *root, const char *name)
{
    const json_t *value = json_object_get(root, name);
    if (json_is_array(value))
        value = json_array_get(value, 0);
    return json_is_integer(value) && json_integer_value(value) <= INT32_MAX ? json_integer_value(value) : -1;
}

/* Models that also see keep what describes their text in a part of its own. */
static ll_status read_root(const json_t *root, struct gguf_writer *writer, struct hf_config *config,
                           ll_error *error)
{
    const json_t *text = json_object_get(root, "text_config");
    const char *model_type = json_member_text(root, "model_type");
    struct hf_reader r = {
        .root = json_is_object(text) ? text : root, .writer = writer, .config = config, .error = error};
    config->family = hf_family_find(model_type);
    if (!json_is_object(root) || !config->family)
        return unknown_family(model_type, error);
    config->embedding_scale = config->output_scale = 1.0;
    config->bos = token_id(root, "bos_token_id");
    config->eos = token_id(root, "eos_token_id");
    gguf_writer_text(writer, "general.architecture", config->family->architecture);
    LL_TRY(config->family->read(&r));
    LL_TRY(hf_count(&r, r.root, "vocab_size", NULL, config->family->norms_plus_one ? 262208 : 0,
                    &config->vocabulary));
    if (strcmp(model_type, "baichuan") == 0)
        config->unit_output = config->vocabulary == 125696; /* of Baichuan 2 */
    return read_dtype(&r);
}

static ll_status read_json(const char *path, json_t **ret, ll_error *error)
{
    struct stat info;
    bool folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    return json_file_read(folder ? path : NULL, folder ? "config.json" : path, MOST_BYTES, ret, error);
}

ll_status hf_config_read(const char *path, struct gguf_writer *writer, struct hf_config *ret, ll_error *error)
{
    struct hf_config config = {0};
    json_t *root = NULL;
    LL_TRY(read_json(path, &root, error));
    ll_status status = read_root(root, writer, &config, error);
    json_decref(root);
    if (status == LL_OK)
        *ret = config;
    else
        hf_config_close(&config);
    return status;
}

/* A file of metadata alone. */
static ll_status open_root(const json_t *root, struct hf_config *config, ll_error *error)
{
    struct gguf_writer *writer = gguf_writer_new();
    if (!writer)
        return error_nomem(error, where, 1);
    ll_status status = read_root(root, writer, config, error);
    if (status == LL_OK)
        gguf_writer_finish(writer, &config->bytes);
    gguf_writer_free(writer);
    if (status == LL_OK && config->bytes.failed)
        status = error_nomem(error, where, config->bytes.length);
    return status == LL_OK ? gguf_open_memory(config->bytes.text, config->bytes.length, &config->gguf, error)
                           : status;
}

static ll_status keep(ll_status status, struct hf_config *config, struct hf_config *ret)
{
    if (status == LL_OK)
        *ret = *config;
    else
        hf_config_close(config);
    return status;
}

ll_status hf_config_parse(const char *text, size_t length, struct hf_config *ret, ll_error *error)
{
    struct hf_config config = {0};
    json_t *root = NULL;
    LL_TRY(json_file_parse(text, length, where, &root, error));
    ll_status status = open_root(root, &config, error);
    json_decref(root);
    return keep(status, &config, ret);
}

ll_status hf_config_open(const char *path, struct hf_config *ret, ll_error *error)
{
    struct hf_config config = {0};
    json_t *root = NULL;
    LL_TRY(read_json(path, &root, error));
    ll_status status = open_root(root, &config, error);
    json_decref(root);
    return keep(status, &config, ret);
}

void hf_config_close(struct hf_config *config)
{
    gguf_close(config->gguf);
    strbuf_fini(&config->bytes);
    mem_free(config->freqs.values);
    mem_free(config->factors_short.values);
    mem_free(config->factors_long.values);
    *config = (struct hf_config){0};
}
