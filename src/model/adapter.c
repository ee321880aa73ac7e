/* Adapters: small files that change a model as it runs, by low-rank products, deltas of vectors and slopes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/adapter.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "model/architecture.h"
#include "tensor/dequant.h"

enum { MOST_RANK = 4096 };

static const char where[] = "adapter";
static const char slopes_key[] = "adapter.alibi.slopes";

struct adapter {
    struct gguf *gguf;
    float scale;
    double alpha; /* 0: not said; the product is scaled by scale alone */
    bool *used;   /* [tensors] */
    char name[160];
};

struct adapters {
    struct adapter *items;
    size_t count;
    float *slopes; /* [all heads of all layers]; NULL: none */
};

/* ---- names ---- */

static bool ends_with(const char *name, const char *ending)
{
    size_t length = strlen(name), tail = strlen(ending);
    return length > tail && strcmp(name + length - tail, ending) == 0;
}

struct part_name {
    char text[128];
};

static struct part_name part_of(const char *name, const char *ending)
{
    struct part_name part;
    snprintf(part.text, sizeof part.text, "%s%s", name, ending);
    return part;
}

static uint64_t elements(const struct gguf_tensor *tensor)
{
    return tensor->shape[0] * tensor->shape[1] * tensor->shape[2] * tensor->shape[3];
}

/* ---- the file by itself ---- */

static bool says(const struct gguf *gguf, const char *key, const char *value)
{
    const struct gguf_value *found = gguf_find(gguf, key);
    return found && found->type == GGUF_STRING && gguf_text_equals(gguf_value_text(found), value);
}

bool adapter_is(const struct gguf *gguf)
{
    return says(gguf, "general.type", "adapter");
}

static ll_status check_kind(const struct gguf *gguf, ll_error *error)
{
    if (!adapter_is(gguf))
        return error_set(error, LL_UNSUPPORTED, where,
                         "this is no adapter: its general.type is not \"adapter\"");
    if (!says(gguf, "adapter.type", "lora"))
        return error_set(error, LL_UNSUPPORTED, where,
                         "adapters of a type other than \"lora\" are not supported");
    if (gguf_find(gguf, "adapter.alora.invocation_tokens"))
        return error_set(
            error, LL_UNSUPPORTED, where,
            "adapters that tokens switch on (adapter.alora.invocation_tokens) are not supported");
    return LL_OK;
}

static void copy_text(const struct gguf *gguf, const char *key, char *out, size_t cap)
{
    const struct gguf_value *found = gguf_find(gguf, key);
    out[0] = '\0';
    if (found && found->type == GGUF_STRING) {
        struct gguf_text text = gguf_value_text(found);
        utf8_printable(text.text, text.length < cap ? text.length : cap - 1, out, cap);
    }
}

static ll_status read_alpha(const struct gguf *gguf, double *ret, ll_error *error)
{
    LL_TRY(gguf_get_float(gguf, "adapter.lora.alpha", 0.0, ret, error));
    if (!isfinite(*ret) || fabs(*ret) > 1e6)
        return error_set(error, LL_FORMAT, where, "adapter.lora.alpha is %g", *ret);
    return LL_OK;
}

static void count_tensor(const struct gguf_tensor *tensor, ll_adapter_info *info)
{
    info->parameters += elements(tensor);
    if (ends_with(tensor->name, ".delta"))
        info->vectors++;
    if (!ends_with(tensor->name, ".lora_a"))
        return;
    size_t rank = (size_t)tensor->shape[1];
    info->matrices++;
    info->least_rank = info->least_rank == 0 || rank < info->least_rank ? rank : info->least_rank;
    info->most_rank = rank > info->most_rank ? rank : info->most_rank;
}

ll_status adapter_describe(const struct gguf *gguf, ll_adapter_info *ret, ll_error *error)
{
    ll_adapter_info info = {.file_bytes = gguf_file_bytes(gguf)};
    LL_TRY(check_kind(gguf, error));
    LL_TRY(read_alpha(gguf, &info.alpha, error));
    copy_text(gguf, "general.name", info.name, sizeof info.name);
    copy_text(gguf, "general.architecture", info.architecture, sizeof info.architecture);
    copy_text(gguf, "general.base_model.0.name", info.base, sizeof info.base);
    copy_text(gguf, "adapter.base_file", info.base_file, sizeof info.base_file);
    for (size_t i = 0; i < gguf_tensor_count(gguf); i++)
        count_tensor(gguf_tensor_at(gguf, i), &info);
    const struct gguf_value *slopes = gguf_find(gguf, slopes_key);
    info.slopes = slopes ? (size_t)slopes->count : 0;
    *ret = info;
    return LL_OK;
}

/* ---- against a model ---- */

static ll_status check_architecture(const struct adapter *a, const struct model_hparams *h, ll_error *error)
{
    char shown[80];
    struct gguf_text name;
    LL_TRY(gguf_get_text(a->gguf, "general.architecture", &name, error));
    if (name.text && gguf_text_equals(name, h->architecture->name))
        return LL_OK;
    utf8_printable(name.text ? name.text : "", name.text ? name.length : 0, shown, sizeof shown);
    return error_set(error, LL_UNSUPPORTED, where, "made for the architecture \"%s\", and the model is a %s",
                     shown, h->architecture->name);
}

/* All of it becomes F32 in memory, and every step has a row of the largest rank. */
static ll_status measure(const struct adapter *a, struct model_hparams *h, ll_error *error)
{
    for (size_t i = 0; i < gguf_tensor_count(a->gguf); i++) {
        const struct gguf_tensor *tensor = gguf_tensor_at(a->gguf, i);
        bool low = ends_with(tensor->name, ".lora_a"), high = ends_with(tensor->name, ".lora_b");
        uint64_t rank = low ? tensor->shape[1] : tensor->shape[0];
        if (!tensor->known)
            return error_set(error, LL_UNSUPPORTED, where,
                             "the tensor %s has type %u, which is not supported", tensor->name,
                             tensor->type_number);
        if (!low && !high)
            continue;
        if (rank == 0 || rank > MOST_RANK || tensor->shape[2] != 1 || tensor->shape[3] != 1)
            return error_set(error, LL_UNSUPPORTED, where,
                             "the tensor %s is no matrix with a rank of at most %d", tensor->name, MOST_RANK);
        h->adapter_rank = (int64_t)rank > h->adapter_rank ? (int64_t)rank : h->adapter_rank;
        h->adapter_bytes += elements(tensor) * sizeof(float);
    }
    return LL_OK;
}

static ll_status read_slopes(struct adapters *adapters, const struct adapter *a, struct model_hparams *h,
                             ll_error *error)
{
    const struct gguf_value *values;
    uint64_t heads = 0;
    LL_TRY(gguf_get_array(a->gguf, slopes_key, GGUF_F32, &values, error));
    if (!values)
        return LL_OK;
    for (int i = 0; i < h->layers; i++)
        heads += (uint64_t)h->layer[i].heads;
    if (values->count != heads)
        return error_set(error, LL_FORMAT, where, "%s has %llu numbers, and the model has %llu heads in all",
                         slopes_key, (unsigned long long)values->count, (unsigned long long)heads);
    if (h->position != LL_ROTARY || adapters->slopes || a->scale != 1.0f)
        return error_set(error, LL_UNSUPPORTED, where,
                         "slopes take the place of rotary positions, whole (scale 1) and once");
    adapters->slopes = mem_new((size_t)heads, sizeof *adapters->slopes);
    if (!adapters->slopes)
        return error_nomem(error, where, (size_t)heads * sizeof *adapters->slopes);
    for (uint64_t i = 0; i < heads; i++) {
        adapters->slopes[i] = (float)gguf_array_float(values, i);
        if (!(adapters->slopes[i] >= 0.0f && adapters->slopes[i] <= 1e6f))
            return error_set(error, LL_FORMAT, where, "slope %llu is %g", (unsigned long long)i,
                             (double)adapters->slopes[i]);
    }
    uint64_t context;
    LL_TRY(gguf_get_uint(a->gguf, "adapter.context_length", (uint64_t)h->context, &context, error));
    if (context == 0 || context > 1u << 30)
        return error_set(error, LL_FORMAT, where, "adapter.context_length is %llu",
                         (unsigned long long)context);
    h->context = (int64_t)context;
    h->position = LL_ALIBI;
    h->slopes = adapters->slopes;
    return LL_OK;
}

static ll_status open_one(struct adapters *adapters, const ll_adapter *given, struct model_hparams *h,
                          ll_error *error)
{
    struct adapter *a = &adapters->items[adapters->count++];
    utf8_printable(given->path, strlen(given->path), a->name, sizeof a->name);
    if (!isfinite(given->scale) || fabsf(given->scale) > 1000.0f)
        return error_set(error, LL_ARGUMENT, where, "a scale of %g is out of range", (double)given->scale);
    a->scale = given->scale;
    LL_TRY(gguf_open(given->path, &a->gguf, error));
    LL_TRY(check_kind(a->gguf, error));
    LL_TRY(check_architecture(a, h, error));
    LL_TRY(read_alpha(a->gguf, &a->alpha, error));
    a->used = mem_new(gguf_tensor_count(a->gguf), sizeof *a->used);
    if (!a->used)
        return error_nomem(error, where, gguf_tensor_count(a->gguf));
    LL_TRY(measure(a, h, error));
    return read_slopes(adapters, a, h, error);
}

/* The sentence names the file, and `where` says that it is not the model's. */
static void name_adapter(const char *name, ll_error *error)
{
    char text[sizeof error->text];
    if (!error)
        return;
    snprintf(error->where, sizeof error->where, "%s", where);
    if (strstr(error->text, name))
        return;
    snprintf(text, sizeof text, "%s", error->text);
    snprintf(error->text, sizeof error->text, "%s: %.340s", name, text);
    utf8_trim_partial(error->text);
}

ll_status adapters_open(const ll_adapter *given, size_t count, struct model_hparams *hparams,
                        struct adapters **ret, ll_error *error)
{
    *ret = NULL;
    if (count == 0)
        return LL_OK;
    if (!given)
        return error_set(error, LL_ARGUMENT, where, "%zu adapters are announced and none is given", count);
    struct adapters *adapters = mem_new(1, sizeof *adapters);
    if (adapters)
        adapters->items = mem_new(count, sizeof *adapters->items);
    if (!adapters || !adapters->items) {
        mem_free(adapters);
        return error_nomem(error, where, count * sizeof *adapters->items);
    }
    *ret = adapters; /* the caller's from here on, whole or not: hparams may point into it */
    for (size_t i = 0; i < count; i++) {
        if (!given[i].path)
            return error_set(error, LL_ARGUMENT, where, "adapter %zu of %zu has no file", i + 1, count);
        ll_status status = open_one(adapters, &given[i], hparams, error);
        if (status != LL_OK) {
            name_adapter(adapters->items[i].name, error);
            return status;
        }
    }
    return LL_OK;
}

void adapters_close(struct adapters *adapters)
{
    if (!adapters)
        return;
    for (size_t i = 0; i < adapters->count; i++) {
        gguf_close(adapters->items[i].gguf);
        mem_free(adapters->items[i].used);
    }
    mem_free(adapters->slopes);
    mem_free(adapters->items);
    mem_free(adapters);
}

size_t adapters_count(const struct adapters *adapters)
{
    return adapters ? adapters->count : 0;
}

const struct gguf *adapters_gguf(const struct adapters *adapters, size_t index)
{
    return adapters->items[index].gguf;
}

float adapters_scale(const struct adapters *adapters, size_t index)
{
    return adapters->items[index].scale;
}

/* ---- tensors ---- */

static const struct gguf_tensor *take(struct adapter *a, const char *name)
{
    size_t index = gguf_tensor_index(a->gguf, name);
    if (index == SIZE_MAX)
        return NULL;
    a->used[index] = true;
    return gguf_tensor_at(a->gguf, index);
}

static ll_status misshapen(const struct adapter *a, const struct gguf_tensor *tensor, const char *name,
                           int64_t outputs, int64_t inputs, ll_error *error)
{
    return error_set(error, LL_UNSUPPORTED, where,
                     "%s: %s is %llu × %llu, which does not fit the model's %s of %lld × %lld", a->name,
                     tensor->name, (unsigned long long)tensor->shape[0], (unsigned long long)tensor->shape[1],
                     name, (long long)inputs, (long long)outputs);
}

/* [rows, cols] of F32, times scale. */
static ll_status read_floats(const struct gguf_tensor *tensor, float scale, float **ret, ll_error *error)
{
    size_t count = (size_t)elements(tensor), cols = (size_t)tensor->shape[0];
    uint64_t row = dtype_row_bytes(tensor->dtype, cols);
    *ret = mem_new(count, sizeof **ret);
    if (!*ret)
        return error_nomem(error, where, count * sizeof **ret);
    for (size_t i = 0; i < count / cols; i++)
        dequantize_row(tensor->dtype, (const unsigned char *)tensor->data + i * row, *ret + i * cols,
                       (int64_t)cols);
    for (size_t i = 0; i < count; i++) {
        (*ret)[i] *= scale;
        if (isfinite((*ret)[i]))
            continue;
        mem_free(*ret);
        *ret = NULL;
        return error_set(error, LL_FORMAT, where, "%s holds what is no number", tensor->name);
    }
    return LL_OK;
}

ll_status adapters_matrices(struct adapters *adapters, size_t index, const char *name, int64_t outputs,
                            int64_t inputs, struct adapter_matrices *ret, ll_error *error)
{
    struct adapter *adapter = &adapters->items[index];
    const struct gguf_tensor *a = take(adapter, part_of(name, ".lora_a").text);
    const struct gguf_tensor *b = take(adapter, part_of(name, ".lora_b").text);
    *ret = (struct adapter_matrices){0};
    if (!a && !b)
        return LL_OK;
    if (!a || !b)
        return error_set(error, LL_FORMAT, where, "%s: %s has one of lora_a and lora_b only", adapter->name,
                         name);
    if (a->shape[0] != (uint64_t)inputs || a->shape[1] != b->shape[0])
        return misshapen(adapter, a, name, outputs, inputs, error);
    if (b->shape[1] != (uint64_t)outputs)
        return misshapen(adapter, b, name, outputs, inputs, error);
    struct adapter_matrices m = {.rank = (int64_t)a->shape[1]};
    double scale = adapter->alpha != 0.0 ? (double)adapter->scale * adapter->alpha / (double)m.rank
                                         : (double)adapter->scale;
    LL_TRY(read_floats(a, 1.0f, &m.a, error));
    ll_status status = read_floats(b, (float)scale, &m.b, error);
    if (status != LL_OK) {
        mem_free(m.a);
        return status;
    }
    *ret = m;
    return LL_OK;
}

ll_status adapters_add_deltas(struct adapters *adapters, const char *name, float *values, int64_t count,
                              ll_error *error)
{
    for (size_t i = 0; i < adapters_count(adapters); i++) {
        struct adapter *adapter = &adapters->items[i];
        const struct gguf_tensor *tensor = take(adapter, part_of(name, ".delta").text);
        float *delta;
        if (!tensor)
            continue;
        if (elements(tensor) != (uint64_t)count || tensor->shape[0] != (uint64_t)count)
            return misshapen(adapter, tensor, name, 1, count, error);
        LL_TRY(read_floats(tensor, adapter->scale, &delta, error));
        for (int64_t k = 0; k < count; k++)
            values[k] += delta[k];
        mem_free(delta);
    }
    return LL_OK;
}

ll_status adapters_refuse_unused(const struct adapters *adapters, ll_error *error)
{
    for (size_t i = 0; i < adapters_count(adapters); i++) {
        const struct adapter *a = &adapters->items[i];
        for (size_t k = 0; k < gguf_tensor_count(a->gguf); k++)
            if (!a->used[k])
                return error_set(error, LL_UNSUPPORTED, where,
                                 "%s: %s changes nothing that this version can change in this model", a->name,
                                 gguf_tensor_at(a->gguf, k)->name);
    }
    return LL_OK;
}
