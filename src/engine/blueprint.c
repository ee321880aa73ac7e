/* A blueprint: a model's shape from its metadata alone, and what it will need.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/options.h"
#include "formats/hf_folder.h"
#include "memory/estimate.h"
#include "memory/footprint.h"
#include "model/adapter.h"
#include "model/architecture.h"

enum { MOST_SEQUENCES = 4096 };

struct ll_blueprint {
    struct gguf *gguf;       /* a file's; NULL when there is only a configuration */
    struct hf_config config; /* of a Hugging Face folder */
    struct model_hparams hparams;
    struct inventory inventory;
    struct adapters *adapters;
    uint64_t vocabulary;
};

/* ---- opening ---- */

/* A folder, or a file that begins like JSON: GGUF begins with its name. Anything else is left to the reader
 * of model files, which says what it is: opening a pipe would wait for somebody to write to it. */
static bool is_configuration(const char *path)
{
    struct stat info = {0};
    char first = '\0';
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return S_ISDIR(info.st_mode);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    do
        first = (char)fgetc(file);
    while (!feof(file) && (first == ' ' || first == '\n' || first == '\r' || first == '\t'));
    fclose(file);
    return first == '{';
}

/* Tensors as the headers of the weights in the folder list them; LL_NOT_FOUND: they are not all there. */
static ll_status read_weights(ll_blueprint *b, const char *folder, ll_error *error)
{
    struct safetensors *weights;
    struct hf_layout layout = {0};
    LL_TRY(safetensors_open(folder, &weights, error));
    ll_status status = hf_layout_plan(&b->config, weights, &layout, error);
    if (status == LL_OK)
        status = inventory_layout(&layout, &b->hparams, &b->inventory, error);
    for (size_t i = 0; status == LL_OK && i < layout.count; i++)
        if (strcmp(layout.tensors[i].name, "token_embd.weight") == 0)
            b->vocabulary = layout.tensors[i].shape[1];
    hf_layout_fini(&layout);
    safetensors_close(weights);
    return status;
}

static ll_status read_configuration(ll_blueprint *b, const char *path, ll_error *error)
{
    LL_TRY(hf_config_open(path, &b->config, error));
    LL_TRY(hparams_read(b->config.gguf, &b->hparams, error));
    b->vocabulary = b->config.vocabulary;
    ll_status status = hf_folder_is(path) ? read_weights(b, path, error) : LL_NOT_FOUND;
    return status == LL_NOT_FOUND ? inventory_compute(&b->config, &b->hparams, &b->inventory, error) : status;
}

static ll_status read_file(ll_blueprint *b, const char *path, ll_error *error)
{
    LL_TRY(gguf_open(path, &b->gguf, error));
    LL_TRY(hparams_read(b->gguf, &b->hparams, error));
    const struct gguf_tensor *table = gguf_tensor_find(b->gguf, "token_embd.weight");
    if (!table || table->shape[1] == 0 || table->shape[1] > 1u << 24)
        return error_set(error, LL_FORMAT, "plan", "the tensor token_embd.weight is missing or misshapen");
    b->vocabulary = table->shape[1];
    return inventory_read(b->gguf, &b->hparams, &b->inventory, error);
}

ll_status ll_blueprint_open(const char *path, ll_blueprint **ret, ll_error *error)
{
    ll_blueprint *b = mem_new(1, sizeof *b);
    if (!b)
        return error_nomem(error, "plan", sizeof *b);
    ll_status status =
        is_configuration(path) ? read_configuration(b, path, error) : read_file(b, path, error);
    if (status != LL_OK) {
        ll_blueprint_close(b);
        return status;
    }
    *ret = b;
    return LL_OK;
}

void ll_blueprint_close(ll_blueprint *b)
{
    if (!b)
        return;
    inventory_fini(&b->inventory);
    hparams_fini(&b->hparams);
    adapters_close(b->adapters);
    hf_config_close(&b->config);
    gguf_close(b->gguf);
    mem_free(b);
}

ll_status ll_blueprint_add_adapters(ll_blueprint *b, const ll_adapter *adapters, size_t count,
                                    ll_error *error)
{
    if (b->adapters)
        return error_set(error, LL_STATE, "adapter", "the blueprint has adapters already");
    return adapters_open(adapters, count, &b->hparams, &b->adapters, error);
}

/* ---- information ---- */

ll_status ll_blueprint_get_info(const ll_blueprint *b, ll_model_info *ret)
{
    const struct model_hparams *h = &b->hparams;
    struct footprint_device device = footprint_device(LL_CPU, 1);
    uint64_t per_block = (uint64_t)device.block_tokens;
    ll_model_info info = {.file_bytes = b->gguf ? gguf_file_bytes(b->gguf) : 0,
                          .trained_context = (size_t)h->context,
                          .vocabulary = (size_t)b->vocabulary,
                          .layers = (size_t)h->layers,
                          .width = (size_t)h->width,
                          .heads = (size_t)h->max_heads,
                          .cache_heads = (size_t)h->max_kv_heads,
                          .head_size = (size_t)h->head_dim,
                          .position = h->position,
                          .adapters = adapters_count(b->adapters),
                          .adapter_bytes = h->adapter_bytes,
                          .experts = (size_t)h->experts,
                          .experts_used = (size_t)h->experts_used};
    inventory_parameters(&b->inventory, h, &info.parameters, &info.token_parameters);
    snprintf(info.name, sizeof info.name, "%s", h->name);
    snprintf(info.architecture, sizeof info.architecture, "%s", h->architecture->name);
    snprintf(info.quantization, sizeof info.quantization, "%s",
             dtype_info(inventory_main_type(&b->inventory))->name);
    for (int i = 0; i < h->layers; i++)
        if (h->layer[i].window > 0)
            info.sliding_window = (size_t)h->layer[i].window;
    info.cache_bytes_per_token =
        estimate_cache(h, device.block_tokens, per_block * 1024, DT_F16) / (per_block * 1024);
    *ret = info;
    return LL_OK;
}

/* The index-th type that has tensors; DT_COUNT past the end. */
static enum dtype type_at(const struct inventory *inventory, size_t index)
{
    int type = 0;
    for (; type < DT_COUNT; type++)
        if (inventory->types[type].tensors > 0 && index-- == 0)
            break;
    return (enum dtype)type;
}

size_t ll_blueprint_type_count(const ll_blueprint *b)
{
    size_t count = 0;
    while (type_at(&b->inventory, count) != DT_COUNT)
        count++;
    return count;
}

ll_status ll_blueprint_get_type(const ll_blueprint *b, size_t index, ll_weight_type *ret)
{
    enum dtype type = type_at(&b->inventory, index);
    if (type == DT_COUNT)
        return LL_NOT_FOUND;
    const struct weight_type *row = &b->inventory.types[type];
    *ret = (ll_weight_type){dtype_info(type)->name, row->bytes, row->elements, row->tensors};
    return LL_OK;
}

/* ---- needs ---- */

void ll_need_options_init(ll_need_options *options)
{
    *options = (ll_need_options){.size = sizeof *options,
                                 .cache_type = LL_F16,
                                 .sequences = 1,
                                 .logit_rows = 1,
                                 .gpu_layers = LL_GPU_LAYERS_AUTO};
}

static ll_status make_request(const ll_blueprint *b, const ll_need_options *given,
                              struct footprint_request *ret, ll_error *error)
{
    static const enum dtype types[] = {
        [LL_F32] = DT_F32, [LL_F16] = DT_F16, [LL_BF16] = DT_BF16, [LL_Q8_0] = DT_Q8_0};
    ll_need_options o;
    OPTIONS_READ(o, given, ll_need_options_init, error);
    if ((unsigned)o.device > LL_CUDA || (unsigned)o.precision > LL_IN_4BIT ||
        (unsigned)o.cache_type >= sizeof types / sizeof *types || o.sequences < 1 ||
        o.sequences > MOST_SEQUENCES)
        return error_set(error, LL_ARGUMENT, "plan",
                         "a device, precision or KV type that does not exist, or %zu sequences, not 1 … %d",
                         o.sequences, MOST_SEQUENCES);
    if (dtype_row_bytes(types[o.cache_type], (uint64_t)b->hparams.head_dim) == 0)
        return error_set(error, LL_ARGUMENT, "plan", "this KV cache type cannot hold heads of %d numbers",
                         b->hparams.head_dim);
    *ret = (struct footprint_request){.device = footprint_device(o.device, o.threads),
                                      .precision = o.precision,
                                      .cache = types[o.cache_type],
                                      .context = o.context ? o.context : (uint64_t)b->hparams.context,
                                      .sequences = o.sequences,
                                      .shared = o.shared,
                                      .logit_rows = o.logit_rows};
    if (o.gpu_layers < LL_GPU_LAYERS_AUTO || o.logit_rows > LL_ROWS_SCORED)
        return error_set(error, LL_ARGUMENT, "plan",
                         "%d layers on the GPU or %zu rows of logits make no sense", o.gpu_layers,
                         o.logit_rows);
    if (o.gpu_layers == 0)
        o.device = LL_CPU;
    ret->host_embedding =
        o.device == LL_CUDA && o.gpu_layers != LL_GPU_LAYERS_AUTO && o.gpu_layers <= b->hparams.layers;
    ret->host_layers = ret->host_embedding ? b->hparams.layers - o.gpu_layers : 0;
    return LL_OK;
}

ll_status ll_blueprint_need(const ll_blueprint *b, const ll_need_options *options, ll_need *ret,
                            ll_error *error)
{
    struct footprint_request request;
    LL_TRY(make_request(b, options, &request, error));
    footprint_compute(&b->hparams, &b->inventory, b->vocabulary, &request, ret);
    ret->proven = request.device.kind == LL_CPU && request.precision == LL_AS_STORED;
    return LL_OK;
}

ll_status ll_blueprint_fit(const ll_blueprint *b, const ll_need_options *options, uint64_t memory,
                           size_t *ret_context, ll_error *error)
{
    struct footprint_request request;
    LL_TRY(make_request(b, options, &request, error));
    *ret_context = (size_t)footprint_fit(&b->hparams, &b->inventory, b->vocabulary, &request, memory);
    return LL_OK;
}

ll_status ll_blueprint_fit_layers(const ll_blueprint *b, const ll_need_options *options, uint64_t memory,
                                  int *ret_layers, ll_error *error)
{
    struct footprint_request request;
    LL_TRY(make_request(b, options, &request, error));
    *ret_layers = footprint_layers(&b->hparams, &b->inventory, b->vocabulary, &request, memory);
    return LL_OK;
}

/* ---- several devices ---- */

struct spreading {
    uint64_t scratch, program; /* on every device; program: or the driver */
    uint64_t first, last;      /* embedding; output and logits */
    uint64_t logits;
    uint64_t cache_per_layer; /* the mean: kinds of layers alternate */
    const ll_blueprint *blueprint;
    const struct footprint_request *request;
};

static uint64_t placed_layer(const struct spreading *p, size_t layer)
{
    return footprint_weights(&p->blueprint->inventory.layer[layer], p->request->precision,
                             p->request->device.kind) +
           p->cache_per_layer;
}

/* Layers from first on as far as they fit; the output needs room beside the last of them. */
static ll_placement fill_device(const struct spreading *p, size_t first, uint64_t memory)
{
    size_t layers = (size_t)p->blueprint->hparams.layers;
    ll_placement place = {.first_layer = first, .memory = memory, .embedding = first == 0};
    uint64_t bytes = p->scratch + p->program + (place.embedding ? p->first : 0);
    while (first + place.layers < layers) {
        uint64_t next = bytes + placed_layer(p, first + place.layers);
        bool last = first + place.layers + 1 == layers;
        if (next + (last ? p->last : 0) > memory)
            break;
        bytes = next + (last ? p->last : 0);
        place.output = last;
        place.layers++;
    }
    if (!place.layers)
        return place;
    place.bytes = bytes;
    place.parts[LL_CACHE] = p->cache_per_layer * place.layers;
    place.parts[LL_SCRATCH] = p->scratch;
    place.parts[LL_PROGRAM] = p->program;
    place.parts[LL_LOGITS] = place.output ? p->logits : 0;
    place.parts[LL_WEIGHTS] =
        bytes - place.parts[LL_CACHE] - p->scratch - p->program - place.parts[LL_LOGITS];
    return place;
}

ll_status ll_blueprint_place(const ll_blueprint *b, const ll_need_options *options, const uint64_t *memory,
                             size_t devices, ll_placement *ret, ll_error *error)
{
    struct footprint_request request;
    ll_need need;
    LL_TRY(make_request(b, options, &request, error));
    footprint_compute(&b->hparams, &b->inventory, b->vocabulary, &request, &need);
    struct spreading p = {.scratch = need.bytes[LL_SCRATCH],
                          .program = need.bytes[LL_PROGRAM],
                          .logits = need.bytes[LL_LOGITS],
                          .blueprint = b,
                          .request = &request};
    p.first = footprint_weights(&b->inventory.embedding, request.precision, request.device.kind);
    p.last = need.bytes[LL_LOGITS] +
             footprint_weights(&b->inventory.output, request.precision, request.device.kind);
    p.cache_per_layer = need.bytes[LL_CACHE] / (uint64_t)b->hparams.layers + 1;
    size_t first = 0, layers = (size_t)b->hparams.layers;
    if (need.total == UINT64_MAX)
        return error_set(error, LL_NOMEM, "plan", "a context of %zu tokens is beyond any memory",
                         need.context);
    for (size_t i = 0; i < devices; i++) {
        ret[i] = fill_device(&p, first, memory[i]);
        first += ret[i].layers;
    }
    if (first == layers)
        return LL_OK;
    uint64_t missing = p.last;
    for (size_t i = first; i < layers; i++)
        missing += placed_layer(&p, i);
    return error_set(
        error, LL_NOMEM, "plan",
        "%zu of %zu layers find no place; %.1f GiB more are needed, and every device keeps %.1f GiB "
        "for %s and scratch",
        layers - first, layers, (double)missing / 1073741824.0,
        (double)(p.scratch + p.program) / 1073741824.0,
        request.device.kind == LL_CPU ? "the program" : "the driver");
}
