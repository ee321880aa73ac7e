/* The part of a plan that tells what a model takes whose first layers stay with the processor.
 * SPDX-License-Identifier: Apache-2.0 */
#include "console/outlook_split.h"

#include <stdio.h>
#include <string.h>

#include "console/human.h"

enum { USUAL_CONTEXT = 4096 }; /* whose keys --gpu-layers auto leaves room for, as the engine does */

struct share {
    ll_need need;
    int there;       /* layers on the GPU; one more than there are: all */
    uint64_t memory; /* of the GPU; 0: not known */
};

static size_t split_context(const struct outlook *outlook)
{
    ll_model_info info;
    if (outlook->options.context)
        return outlook->options.context;
    ll_blueprint_get_info(outlook->blueprint, &info);
    return info.trained_context < USUAL_CONTEXT ? info.trained_context : USUAL_CONTEXT;
}

/* False: there is nothing to tell of this memory (SIZE_MAX: none). */
static bool read_share(const struct outlook *outlook, size_t layers, size_t memory, struct share *ret)
{
    ll_need_options options = outlook->options;
    options.context = split_context(outlook);
    options.device = LL_CUDA;
    *ret = (struct share){.there = outlook->gpu_layers,
                          .memory = memory < outlook->memory_count ? outlook->memories[memory] : 0};
    if (ret->there == LL_GPU_LAYERS_AUTO &&
        ll_blueprint_fit_layers(outlook->blueprint, &options, ret->memory, &ret->there, NULL) != LL_OK)
        return false;
    options.gpu_layers = ret->there;
    return (size_t)ret->there <= layers &&
           ll_blueprint_need(outlook->blueprint, &options, &ret->need, NULL) == LL_OK;
}

bool outlook_split_works(const ll_model_info *info)
{
    return info->experts == 0 && info->adapters == 0;
}

/* Memories to tell of: one nameless one where layers were asked for and a processor's memory is all there is.
 */
static size_t count_shares(const struct outlook *outlook)
{
    ll_model_info info;
    ll_blueprint_get_info(outlook->blueprint, &info);
    if (!outlook_split_works(&info))
        return 0;
    bool asked = outlook->gpu_layers != LL_GPU_LAYERS_AUTO;
    if (outlook->options.device != LL_CUDA || outlook->memory_count == 0)
        return asked ? 1 : 0;
    return asked && outlook->memories_found ? 1 : outlook->memory_count;
}

static struct share share_at(const struct outlook *outlook, size_t layers, size_t index, bool *ret_tell)
{
    struct share share;
    *ret_tell = read_share(outlook, layers, outlook->options.device == LL_CUDA ? index : SIZE_MAX, &share);
    return share;
}

/* ---- text ---- */

static struct human shown(uint64_t bytes)
{
    struct human text = {"beyond"};
    return bytes == UINT64_MAX ? text : human_bytes(bytes);
}

static void show_head(const struct outlook *outlook, const struct share *share, size_t layers,
                      struct text *out)
{
    const ll_need *need = &share->need;
    text_printf(out, "\n%d of %zu layers on a GPU", share->there, layers);
    if (share->memory)
        text_printf(out, " of %s", human_bytes(share->memory).text);
    text_printf(out, ", at %s tokens, %s KV (computed, not proven by a measurement):\n",
                human_count(need->context).text, outlook_kv_name(outlook->options.cache_type));
}

static void show_columns(const struct share *share, struct text *out)
{
    static const char *const rows[LL_COMPONENTS] = {[LL_WEIGHTS] = "weights",
                                                    [LL_CACHE] = "KV cache",
                                                    [LL_SCRATCH] = "scratch",
                                                    [LL_LOGITS] = "logits",
                                                    [LL_PROGRAM] = "driver, program"};
    const ll_need *need = &share->need;
    size_t here = need->host_layers;
    char first[64] = "the embedding";
    if (here)
        snprintf(first, sizeof first, "the embedding, layer%s 0%s", here > 1 ? "s" : "",
                 here > 1 ? " to " : "");
    if (here > 1)
        snprintf(first + strlen(first), sizeof first - strlen(first), "%zu", here - 1);
    text_printf(out, "  %-16s %18s %18s\n", "", "on the GPU", "on the processor");
    for (int c = 0; c < LL_COMPONENTS; c++)
        text_printf(out, "  %-16s %18s %18s\n", rows[c], shown(need->bytes[c]).text,
                    shown(need->host[c]).text);
    text_printf(out, "  %-16s %18s %18s\n", "together", shown(need->total).text,
                shown(need->host_total).text);
    text_printf(out, "  The processor has %s; the GPU the rest and the output.\n", first);
    if (share->memory && need->total > share->memory)
        text_printf(out, "  That is more than this GPU's memory: --gpu-layers auto takes what fits.\n");
}

void outlook_split_show(const struct outlook *outlook, size_t layers, struct text *out)
{
    ll_model_info info;
    ll_blueprint_get_info(outlook->blueprint, &info);
    bool asked = outlook->options.device == LL_CUDA || outlook->gpu_layers != LL_GPU_LAYERS_AUTO;
    if (asked && !outlook_split_works(&info))
        text_printf(out, "\nlongleaf runs %s on the processor only, whatever memory a GPU has.\n",
                    info.experts ? "mixtures of experts" : "models with adapters");
    for (size_t i = 0; i < count_shares(outlook); i++) {
        bool tell;
        struct share share = share_at(outlook, layers, i, &tell);
        if (tell && share.there > 0) {
            show_head(outlook, &share, layers, out);
            show_columns(&share, out);
        } else if (tell && share.memory) {
            text_printf(out,
                        "\nA GPU of %s holds no layer at %s tokens: the processor runs the whole model.\n",
                        human_bytes(share.memory).text, human_count(split_context(outlook)).text);
        }
    }
}

/* ---- JSON ---- */

static json_t *bytes_json(uint64_t bytes)
{
    return bytes > INT64_MAX ? json_null() : json_integer((json_int_t)bytes);
}

static json_t *components_json(const uint64_t bytes[LL_COMPONENTS], uint64_t total)
{
    json_t *side = json_object();
    for (int c = 0; c < LL_COMPONENTS; c++)
        json_object_set_new(side, ll_component_name((ll_component)c), bytes_json(bytes[c]));
    json_object_set_new(side, "total", bytes_json(total));
    return side;
}

static json_t *share_json(const struct share *share)
{
    const ll_need *need = &share->need;
    json_t *row = json_object();
    json_object_set_new(row, "memory", share->memory ? json_integer((json_int_t)share->memory) : json_null());
    json_object_set_new(row, "context", json_integer((json_int_t)need->context));
    json_object_set_new(row, "gpu_layers", json_integer(share->there));
    json_object_set_new(row, "processor_layers", json_integer((json_int_t)need->host_layers));
    json_object_set_new(row, "gpu", share->there ? components_json(need->bytes, need->total) : json_null());
    json_object_set_new(row, "processor",
                        share->there ? components_json(need->host, need->host_total)
                                     : components_json(need->bytes, need->total));
    json_object_set_new(row, "proven", json_false());
    return row;
}

json_t *outlook_split_json(const struct outlook *outlook, size_t layers)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < count_shares(outlook); i++) {
        bool tell;
        struct share share = share_at(outlook, layers, i, &tell);
        if (tell)
            json_array_append_new(rows, share_json(&share));
    }
    if (json_array_size(rows) > 0)
        return rows;
    json_decref(rows);
    return json_null();
}
