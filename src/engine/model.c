/* A model: weights, tokenizer and chat template, shared by sessions.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine/model.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/options.h"
#include "base/utf8.h"
#include "engine/engine.h"
#include "engine/identity.h"
#include "engine/placing.h"
#include "engine/room.h"
#include "formats/hf_folder.h"
#include "memory/estimate.h"
#include "memory/inventory.h"
#include "model/adapter.h"
#include "model/architecture.h"
#include "model/forward.h"

enum { META_SHOWN = 96 }; /* bytes of a value shown by ll_model_get_meta */
enum { UNDECIDED = -3, ALL_ON_HOST, ALL_ON_DEVICE }; /* in place of the first layer on a device */

struct meta {
    char *key, *value;
};

struct ll_model {
    atomic_int references;
    ll_engine *engine;
    struct gguf *gguf;
    struct tokenizer *tokenizer;
    struct chat chat;
    struct adapters *adapters;
    struct model_hparams hparams;
    struct model_params params;
    struct placing placing;     /* what is wanted; under the engine's lock */
    atomic_int first;           /* layer on the device, the others are with the host; or one of the above */
    struct placing_note placed; /* what is to be said of it; under the engine's lock */
    int caches;                 /* open ones; under the engine's lock */
    struct forward *forward;    /* NULL: metadata only, or at rest */
    bool rests;              /* weights are let go until they are next needed; under the engine's lock */
    bool weighty;            /* not opened for its metadata only */
    pthread_mutex_t waking;  /* held while weights go or come back */
    int64_t mapped, made;    /* bytes of weights used where the file is mapped, and made from a folder's */
    void *step_room;
    int64_t idle_scratch[2]; /* bytes of scratch that no step has written to yet; 1: of the engine's host */
    struct folder_names {    /* of a folder, whose tensors are there only while its weights are */
        bool kept;
        unsigned char files[IDENTITY_BYTES];
        uint64_t fingerprint;
    } names;
    struct meta *meta;       /* [gguf_value_count], made on opening */
    size_t meta_count;
};

/* ---- metadata for people ---- */

static void show_number(const struct gguf_value *value, uint64_t index, char *out, size_t cap)
{
    if (value->type == GGUF_BOOL || (value->type == GGUF_ARRAY && value->element == GGUF_BOOL))
        snprintf(out, cap, "%s", gguf_array_int(value, index) ? "true" : "false");
    else if (value->type == GGUF_F32 || value->type == GGUF_F64 ||
             (value->type == GGUF_ARRAY && (value->element == GGUF_F32 || value->element == GGUF_F64)))
        number_print(out, cap, "%.7g", gguf_array_float(value, index));
    else
        snprintf(out, cap, "%" PRId64, gguf_array_int(value, index));
}

static void show_item(const struct gguf *gguf, const struct gguf_value *value, uint64_t index, char *out,
                      size_t cap)
{
    enum gguf_type type = value->type == GGUF_ARRAY ? value->element : value->type;
    if (type != GGUF_STRING) {
        show_number(value, index, out, cap);
        return;
    }
    struct gguf_text text = gguf_array_text(gguf, value, index);
    size_t shown = utf8_printable(text.text, text.length < META_SHOWN ? text.length : META_SHOWN, out, cap);
    if (text.length > META_SHOWN)
        snprintf(out + shown, cap - shown, "… (%zu bytes)", text.length);
}

static char *show_value(const struct gguf *gguf, const struct gguf_value *value)
{
    struct strbuf text = {0};
    char item[META_SHOWN * 8 + 64];
    if (value->type != GGUF_ARRAY) {
        show_item(gguf, value, 0, item, sizeof item);
        strbuf_puts(&text, item);
        return strbuf_take(&text, NULL);
    }
    strbuf_putc(&text, '[');
    for (uint64_t i = 0; i < value->count && i < 4; i++) {
        show_item(gguf, value, i, item, sizeof item);
        strbuf_printf(&text, "%s%s", i ? ", " : "", item);
    }
    strbuf_printf(&text, value->count > 4 ? ", … %" PRIu64 " in all]" : "]", value->count);
    return strbuf_take(&text, NULL);
}

static ll_status read_meta(ll_model *model, ll_error *error)
{
    size_t count = gguf_value_count(model->gguf);
    model->meta = mem_new(count, sizeof *model->meta);
    if (!model->meta)
        return error_nomem(error, "model", count * sizeof *model->meta);
    for (size_t i = 0; i < count; i++) {
        const struct gguf_value *value = gguf_value_at(model->gguf, i);
        char key[256];
        utf8_printable(value->key.text, value->key.length, key, sizeof key);
        model->meta[i] = (struct meta){mem_copy_text(key, strlen(key)), show_value(model->gguf, value)};
        model->meta_count = i + 1;
        if (!model->meta[i].key || !model->meta[i].value)
            return error_nomem(error, "model", sizeof key);
    }
    return LL_OK;
}

/* ---- opening ---- */

void ll_model_options_init(ll_model_options *options)
{
    *options = (ll_model_options){.size = sizeof *options, .gpu_layers = LL_GPU_LAYERS_AUTO};
}

static ll_status check_vocabulary(const ll_model *model, ll_error *error)
{
    size_t tokens = tokenizer_size(model->tokenizer);
    if (tokens > (size_t)model->hparams.vocabulary)
        return error_set(error, LL_FORMAT, "model",
                         "the tokenizer knows %zu tokens but the embedding has %lld rows", tokens,
                         (long long)model->hparams.vocabulary);
    return LL_OK;
}

/* Loading holds the engine's lock, callbacks never do: it is put down while the caller's runs. */
struct unlocked_run {
    ll_engine *engine;
    const ll_run *run;
};

static void report_unlocked(void *user, const ll_progress *progress)
{
    const struct unlocked_run *unlocked = user;
    engine_unlock(unlocked->engine);
    unlocked->run->on_progress(unlocked->run->user, progress);
    engine_lock(unlocked->engine);
}

/* Tensors where their file is mapped, and those that were made anew; neither is the machine's where the
 * weights are on a device. */
static void count_weights_here(ll_model *model, int64_t mapped, int64_t made)
{
    engine_count_host_weights(model->engine, mapped - model->mapped, made - model->made);
    model->mapped = mapped;
    model->made = made;
}

void *model_step_room(ll_model *model, size_t bytes)
{
    if (!model->step_room)
        model->step_room = mem_new(1, bytes);
    return model->step_room;
}

void model_count_scratch(ll_model *model)
{
    struct backend_split split = model_split(model);
    const struct backend *device = engine_backend(model->engine), *host = split_front(&split);
    for (int side = 0; side < 2; side++) {
        int64_t idle = 0;
        if (model->forward && (side == 0 || host != device))
            idle = (int64_t)forward_idle_bytes(model->forward, side == 0 ? device : host);
        if (idle != model->idle_scratch[side])
            engine_count_idle_scratch(model->engine, side == 1, idle - model->idle_scratch[side]);
        model->idle_scratch[side] = idle;
    }
}

static void unload_weights(ll_model *model)
{
    forward_close(model->forward);
    model->forward = NULL;
    model_count_scratch(model);
    params_fini(&model->params);
    count_weights_here(model, 0, 0);
}

/* Where the layers go; while no cache is open. Under the engine's lock. */
static ll_status decide_place(ll_model *model, const struct placing *placing, ll_error *error)
{
    struct backend_split split;
    LL_TRY(placing_choose(model->engine, model->gguf, &model->hparams, placing, &split, &model->placed,
                          error));
    LL_TRY(room_check_load(model->engine, &split, model->gguf, &model->hparams, error));
    atomic_store(&model->first, split.host ? split.first
                                : split.device == engine_backend(model->engine) ? ALL_ON_DEVICE
                                                                                : ALL_ON_HOST);
    model->placing = *placing;
    return LL_OK;
}

/* Half of the layers that are on a device leave it, and in the end all; what is there already is let go.
 * Under the engine's lock. */
static bool fall_back(ll_model *model)
{
    struct placing placing = model->placing;
    struct backend_split split = model_split(model);
    int there = model->hparams.layers - (split.host ? split.first : 0);
    if (split.device->host_memory || there == 0 || model->caches > 0)
        return false;
    unload_weights(model);
    placing.wanted = LL_GPU_LAYERS_AUTO;
    placing.most = there / 2;
    return decide_place(model, &placing, NULL) == LL_OK;
}

/* Tensors of a folder that need another layout are made now, and stay. */
static ll_status hold_weights(ll_model *model, const ll_run *run, ll_error *error)
{
    struct backend_split split = model_split(model);
    int64_t mapped = 0, made = 0;
    for (size_t i = 0; i < gguf_tensor_count(model->gguf); i++) {
        LL_TRY(gguf_hold(model->gguf, i, error));
        int64_t bytes = (int64_t)gguf_tensor_at(model->gguf, i)->bytes;
        if (placing_is_here(&split, gguf_tensor_at(model->gguf, i)->name))
            *(gguf_made(model->gguf, i) ? &made : &mapped) += bytes;
        count_weights_here(model, mapped, made);
        if (run && cancel_requested(run->cancel))
            return error_set(error, LL_CANCELLED, "model", "loading was cancelled");
    }
    return LL_OK;
}

/* Copies of those that are used elsewhere, or all. The embedding stays: whoever compares words may read it at
 * any time. */
static void drop_weights(ll_model *model, bool used)
{
    struct backend_split split = model_split(model);
    for (size_t i = 0; i < gguf_tensor_count(model->gguf); i++) {
        const char *name = gguf_tensor_at(model->gguf, i)->name;
        if (strcmp(name, "token_embd.weight") != 0 && (used || !placing_is_here(&split, name)))
            gguf_drop(model->gguf, i);
    }
}

static ll_status keep_names(ll_model *model, ll_error *error)
{
    if (!gguf_has_source(model->gguf) || model->names.kept)
        return LL_OK;
    LL_TRY(model_hash_files(model, model->names.files, error));
    model->names.fingerprint = model_fingerprint(model);
    model->names.kept = true;
    return LL_OK;
}

const unsigned char *model_kept_files(const ll_model *model)
{
    return model->names.kept ? model->names.files : NULL;
}

static ll_status load_weights(ll_model *model, const ll_run *run, ll_error *error)
{
    if (model->first == UNDECIDED) {
        struct placing wanted = model->placing;
        LL_TRY(decide_place(model, &wanted, error));
    } else {
        struct backend_split there = model_split(model);
        LL_TRY(room_check_load(model->engine, &there, model->gguf, &model->hparams, error));
    }
    struct backend_split split = model_split(model);
    LL_TRY(hold_weights(model, run, error));
    LL_TRY(keep_names(model, error));
    LL_TRY(params_load(model->gguf, model->adapters, &split, &model->hparams, run, &model->params,
                       error));
    drop_weights(model, false);
    LL_TRY(check_vocabulary(model, error));
    LL_TRY(forward_open(&split, &model->hparams, &model->params, &model->forward, error));
    model_count_scratch(model);
    return LL_OK;
}

/* Takes the engine's lock. */
static ll_status load_unlocked(ll_model *model, const ll_run *run, ll_error *error)
{
    struct unlocked_run unlocked = {model->engine, run};
    ll_run inner = {.size = sizeof inner, .cancel = run ? run->cancel : NULL, .user = &unlocked};
    if (run && run->on_progress)
        inner.on_progress = report_unlocked;
    engine_lock(model->engine);
    ll_status status = load_weights(model, &inner, error);
    while (status == LL_DEVICE_MEMORY && model->placing.wanted == LL_GPU_LAYERS_AUTO && fall_back(model))
        status = load_weights(model, &inner, error); /* there was less room than the device had said */
    if (status != LL_OK)
        unload_weights(model);
    struct placing_note placed = model->placed;
    model->placed.text[0] = '\0';
    engine_unlock(model->engine);
    if (status == LL_OK && placed.text[0])
        log_printf(engine_log(model->engine), placed.level, "memory", "%s", placed.text);
    return status;
}

static ll_status open_parts(ll_model *model, const char *path, const ll_model_options *options,
                            const ll_run *run, ll_error *error)
{
    LL_TRY(model_file_open(path, &model->gguf, error));
    for (size_t i = 0; i < options->set_meta_count; i++)
        LL_TRY(gguf_override(model->gguf, options->set_meta[i], error));
    LL_TRY(model_refuse_adapter(model->gguf, error));
    LL_TRY(hparams_read(model->gguf, &model->hparams, error));
    LL_TRY(
        adapters_open(options->adapters, options->adapter_count, &model->hparams, &model->adapters, error));
    LL_TRY(tokenizer_open(model->gguf, &model->tokenizer, error));
    LL_TRY(chat_open(model->gguf, model->tokenizer, &model->chat, error));
    if (tokenizer_note(model->tokenizer))
        log_printf(engine_log(model->engine), LOG_WARNING, "tokenizer", "%s",
                   tokenizer_note(model->tokenizer));
    LL_TRY(read_meta(model, error));
    if (options->metadata_only) {
        model->hparams.vocabulary = (int64_t)tokenizer_size(model->tokenizer);
        return LL_OK;
    }
    if (options->gpu_layers < LL_GPU_LAYERS_AUTO)
        return error_set(error, LL_ARGUMENT, "model", "%d layers on the GPU make no sense",
                         options->gpu_layers);
    model->placing = (struct placing){.wanted = options->gpu_layers,
                                      .tokens = options->context,
                                      .adapters = options->adapter_count > 0,
                                      .most = -1};
    model->weighty = true;
    return load_unlocked(model, run, error);
}

ll_status model_refuse_adapter(const struct gguf *gguf, ll_error *error)
{
    if (!adapter_is(gguf))
        return LL_OK;
    return error_set(error, LL_UNSUPPORTED, "model",
                     "this is an adapter, which goes over a model: -m MODEL --adapter FILE");
}

void model_name_file(const char *path, ll_error *error)
{
    char shown[160], text[sizeof error->text];
    if (!error || error->status == LL_NOT_FOUND || error->status == LL_IO || strstr(error->text, path) ||
        strcmp(error->where, "adapter") == 0)
        return;
    utf8_printable(path, strlen(path), shown, sizeof shown);
    bool member = strchr(error->where, '.') && hf_folder_is(path); /* one of a folder's files */
    snprintf(text, sizeof text, "%.64s%s%.440s", member ? error->where : "", member ? ": " : "", error->text);
    snprintf(error->text, sizeof error->text, "%s: %.340s", shown, text);
    utf8_trim_partial(error->text);
}

/* Who takes it twice on one thread is told so. */
static void open_waking(pthread_mutex_t *waking)
{
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(waking, &kind);
    pthread_mutexattr_destroy(&kind);
}

ll_status ll_model_open(ll_engine *engine, const char *path, const ll_model_options *given, const ll_run *run,
                        ll_model **ret, ll_error *error)
{
    ll_model_options options;
    OPTIONS_READ(options, given, ll_model_options_init, error);
    LL_TRY(run_check(run, error));
    ll_model *model = mem_new(1, sizeof *model);
    if (!model)
        return error_nomem(error, "model", sizeof *model);
    atomic_init(&model->references, 1);
    open_waking(&model->waking);
    atomic_init(&model->first, UNDECIDED);
    model->engine = engine;
    engine_retain(engine);
    ll_status status = open_parts(model, path, &options, run, error);
    if (status != LL_OK) {
        model_name_file(path, error);
        ll_model_close(model);
        return status;
    }
    *ret = model;
    return LL_OK;
}

void ll_model_close(ll_model *model)
{
    if (!model || atomic_fetch_sub(&model->references, 1) != 1)
        return;
    engine_lock(model->engine);
    unload_weights(model);
    engine_unlock(model->engine);
    pthread_mutex_destroy(&model->waking);
    hparams_fini(&model->hparams);
    adapters_close(model->adapters);
    chat_close(&model->chat);
    tokenizer_close(model->tokenizer);
    gguf_close(model->gguf);
    for (size_t i = 0; i < model->meta_count; i++) {
        mem_free(model->meta[i].key);
        mem_free(model->meta[i].value);
    }
    mem_free(model->step_room);
    mem_free(model->meta);
    ll_engine_close(model->engine);
    mem_free(model);
    machine_trim(); /* a program that lives on opens another one, and vocabularies are large */
}

/* ---- what others ask ---- */

ll_engine *model_engine(const ll_model *model)
{
    return model->engine;
}

const struct tokenizer *model_tokenizer(const ll_model *model)
{
    return model->tokenizer;
}

const struct chat *model_chat(const ll_model *model)
{
    return &model->chat;
}

const struct gguf *model_gguf(const ll_model *model)
{
    return model->gguf;
}

const struct adapters *model_adapters(const ll_model *model)
{
    return model->adapters;
}

const struct model_hparams *model_hparams(const ll_model *model)
{
    return &model->hparams;
}

struct forward *model_forward(const ll_model *model)
{
    return model->forward;
}

void model_retain(ll_model *model)
{
    atomic_fetch_add(&model->references, 1);
}

/* Of a folder: its head, and the ends of every tensor. */
static uint64_t source_fingerprint(const struct gguf *gguf)
{
    enum { PIECE = 1024 };
    uint64_t hash = gguf_file_bytes(gguf);
    for (size_t i = 0; i < gguf_value_count(gguf); i++) {
        const struct gguf_value *value = gguf_value_at(gguf, i);
        hash = hash_bytes(value->key.text, value->key.length, hash);
        hash = hash_bytes(value->data, (size_t)(gguf_value_end(gguf, value) - value->data), hash);
    }
    for (size_t i = 0; i < gguf_tensor_count(gguf); i++) {
        const struct gguf_tensor *tensor = gguf_tensor_at(gguf, i);
        size_t piece = tensor->bytes < PIECE ? (size_t)tensor->bytes : PIECE;
        hash = hash_bytes(tensor->name, strlen(tensor->name), hash);
        hash = hash_bytes(tensor->shape, sizeof tensor->shape, hash);
        if (!tensor->data)
            continue;
        hash = hash_bytes(tensor->data, piece, hash);
        hash = hash_bytes((const char *)tensor->data + tensor->bytes - piece, piece, hash);
    }
    return hash;
}

static uint64_t file_fingerprint(const struct gguf *gguf)
{
    enum { PIECES = 256, PIECE = 1024 };
    const unsigned char *bytes = gguf_bytes(gguf);
    uint64_t size = gguf_file_bytes(gguf), head = size;
    for (size_t i = 0; i < gguf_tensor_count(gguf); i++) {
        const struct gguf_tensor *tensor = gguf_tensor_at(gguf, i);
        uint64_t at = tensor->data ? (uint64_t)((const unsigned char *)tensor->data - bytes) : size;
        head = at < head ? at : head;
    }
    uint64_t hash = hash_bytes(bytes, (size_t)head, size);
    for (uint64_t i = 0; i < PIECES && size > PIECE; i++)
        hash = hash_bytes(bytes + (size - PIECE) / PIECES * i, PIECE, hash);
    size_t last = size < PIECE ? (size_t)size : PIECE;
    return hash_bytes(bytes + size - last, last, hash);
}

struct backend_split model_split(const ll_model *model)
{
    int first = atomic_load(&model->first);
    struct backend *device = engine_backend(model->engine), *host = engine_second(model->engine);
    if (first == ALL_ON_HOST)
        return split_none(host);
    return first < 0 ? split_none(device) : (struct backend_split){device, host, first};
}

struct backend *model_backend(const ll_model *model)
{
    return model_split(model).device;
}

uint64_t model_fingerprint(const ll_model *model)
{
    if (model->names.kept)
        return model->names.fingerprint;
    uint64_t hash =
        gguf_has_source(model->gguf) ? source_fingerprint(model->gguf) : file_fingerprint(model->gguf);
    for (size_t i = 0; i < adapters_count(model->adapters); i++) {
        float scale = adapters_scale(model->adapters, i);
        uint64_t file = file_fingerprint(adapters_gguf(model->adapters, i));
        hash = hash_bytes(&scale, sizeof scale, hash_bytes(&file, sizeof file, hash));
    }
    for (size_t i = 0; i < gguf_override_count(model->gguf); i++) {
        const struct gguf_value *value = gguf_override_at(model->gguf, i);
        hash = hash_bytes(value->key.text, value->key.length, hash);
        hash = hash_bytes(value->data, (size_t)(gguf_value_end(model->gguf, value) - value->data), hash);
    }
    return hash;
}

ll_status model_require_weights(const ll_model *model, ll_error *error)
{
    if (model->weighty)
        return LL_OK;
    return error_set(error, LL_STATE, "model", "the model was opened for its metadata only");
}

bool model_cache_type(const ll_model *model, ll_dtype type, enum dtype *ret)
{
    static const enum dtype types[] = {
        [LL_F32] = DT_F32, [LL_F16] = DT_F16, [LL_BF16] = DT_BF16, [LL_Q8_0] = DT_Q8_0};
    if ((unsigned)type >= sizeof types / sizeof types[0])
        return false;
    *ret = types[type];
    return dtype_row_bytes(*ret, (uint64_t)model->hparams.head_dim) != 0;
}

ll_status model_open_cache(ll_model *model, size_t tokens, size_t sequences, ll_dtype type,
                           struct block_pool **ret, ll_error *error)
{
    struct backend_split split = model_split(model);
    bool elsewhere = split.device != engine_backend(model->engine);
    int border = split.host ? split.first : 0, layers = model->hparams.layers;
    struct block_options options = {.layers = model->hparams.layers, .head_dim = model->hparams.head_dim};
    size_t per_block = (size_t)split.device->block_tokens;
    if (!model_cache_type(model, type, &options.type))
        return error_set(error, LL_ARGUMENT, "model", "this KV cache type cannot hold heads of %d numbers",
                         model->hparams.head_dim);
    if (tokens > (size_t)INT32_MAX || sequences > (size_t)INT32_MAX)
        return error_set(error, LL_ARGUMENT, "model", "a context of %zu tokens is larger than any model's",
                         tokens);
    options.blocks = (int64_t)(tokens / per_block + (tokens % per_block != 0) + sequences);
    struct block_shape *shapes = estimate_block_shapes(&model->hparams);
    if (!shapes)
        return error_nomem(error, "model", (size_t)options.layers * sizeof *shapes);
    options.shapes = shapes;
    options.used = engine_cache_used(model->engine, elsewhere);
    options.resident = elsewhere ? NULL : engine_cache_resident(model->engine);
    options.host_used = engine_cache_used(model->engine, true);
    ll_status status = LL_OK;
    for (int part = 0; part < 2 && status == LL_OK; part++) {
        int first = part ? border : 0, end = part ? layers : border;
        uint64_t bytes;
        if (!blocks_bytes(&options, first, end, (int)per_block, &bytes))
            bytes = UINT64_MAX;
        if (first < end)
            status = room_check_cache(model, first, end, bytes, tokens, sequences, options.type, error);
    }
    if (status == LL_OK)
        status = blocks_open(&split, &options, ret, error);
    model->caches += status == LL_OK;
    mem_free(shapes);
    return status;
}

void model_close_cache(ll_model *model, struct block_pool *pool)
{
    model->caches -= pool != NULL;
    blocks_close(pool);
}

/* ---- information ---- */

static void count_weights(const struct gguf *gguf, const struct model_hparams *h, ll_model_info *info)
{
    struct inventory inventory;
    if (inventory_read(gguf, h, &inventory, NULL) != LL_OK)
        return;
    inventory_parameters(&inventory, h, &info->parameters, &info->token_parameters);
    snprintf(info->quantization, sizeof info->quantization, "%s",
             dtype_info(inventory_main_type(&inventory))->name);
    inventory_fini(&inventory);
}

void model_describe(const struct gguf *gguf, const struct model_hparams *h, const struct tokenizer *tokenizer,
                    const struct chat *chat, ll_model_info *ret)
{
    ll_model_info info = {.file_bytes = gguf_file_bytes(gguf),
                          .trained_context = (size_t)h->context,
                          .vocabulary = (size_t)h->vocabulary,
                          .layers = (size_t)h->layers,
                          .width = (size_t)h->width,
                          .heads = (size_t)h->max_heads,
                          .cache_heads = (size_t)h->max_kv_heads,
                          .head_size = (size_t)h->head_dim,
                          .position = h->position,
                          .adapter_bytes = h->adapter_bytes,
                          .experts = (size_t)h->experts,
                          .experts_used = (size_t)h->experts_used};
    snprintf(info.name, sizeof info.name, "%s", h->name);
    snprintf(info.architecture, sizeof info.architecture, "%s", h->architecture->name);
    count_weights(gguf, h, &info);
    snprintf(info.tokenizer, sizeof info.tokenizer, "%s", tokenizer_name(tokenizer));
    snprintf(info.chat, sizeof info.chat, "%s", chat->name);
    for (int i = 0; i < h->layers; i++)
        if (h->layer[i].window > 0)
            info.sliding_window = (size_t)h->layer[i].window;
    *ret = info;
}

static int gpu_layers(const ll_model *model)
{
    struct backend_split split = model_split(model);
    if (!model->weighty || split.device != engine_backend(model->engine) ||
        (split.device->host_memory && !split.host))
        return 0;
    return split.host ? model->hparams.layers - split.first : model->hparams.layers + 1;
}

ll_status ll_model_get_info(const ll_model *model, ll_model_info *ret)
{
    uint64_t tokens = (uint64_t)model_backend(model)->block_tokens * 1024;
    model_describe(model->gguf, &model->hparams, model->tokenizer, &model->chat, ret);
    ret->gpu_layers = gpu_layers(model);
    ret->adapters = adapters_count(model->adapters);
    ret->cache_bytes_per_token =
        estimate_cache(&model->hparams, (int)(tokens / 1024), tokens, DT_F16) / tokens;
    return LL_OK;
}

uint64_t ll_model_cached_bytes(const ll_model *model)
{
    return model->mapped ? gguf_cached(model->gguf) : 0;
}

/* ---- rest ---- */

/* Weights and scratch on the backends of the model. Under the engine's lock. */
static uint64_t weighty_bytes(const ll_model *model)
{
    struct backend_split split = model_split(model);
    const struct backend *const backends[] = {split.device, split.host};
    uint64_t bytes = 0;
    for (size_t i = 0; i < 2 && backends[i]; i++) {
        struct backend_memory_use use = {0};
        backends[i]->table->memory_use(backends[i], &use);
        bytes += use.ours[MEMORY_WEIGHTS] + use.ours[MEMORY_SCRATCH];
    }
    return bytes;
}

uint64_t ll_model_rest(ll_model *model)
{
    uint64_t bytes = 0;
    if (!model->weighty || pthread_mutex_trylock(&model->waking) != 0)
        return 0;
    engine_lock(model->engine);
    if (!model->rests) {
        uint64_t before = weighty_bytes(model);
        bytes = (uint64_t)(model->mapped + model->made);
        unload_weights(model);
        drop_weights(model, true);
        model->rests = true;
        bytes += before - weighty_bytes(model);
    }
    gguf_forget(model->gguf);
    engine_unlock(model->engine);
    pthread_mutex_unlock(&model->waking);
    machine_trim();
    return bytes;
}

bool model_retreat(ll_model *model)
{
    pthread_mutex_lock(&model->waking);
    engine_lock(model->engine);
    bool able = fall_back(model);
    model->rests = model->rests || !model->forward;
    engine_unlock(model->engine);
    pthread_mutex_unlock(&model->waking);
    return able;
}

/* Mapped weights are read from the file again, piece by piece, so that it can be seen and stopped. */
static ll_status read_again(const ll_model *model, const ll_run *run, ll_error *error)
{
    enum { PIECE = 8 << 20, PAGE = 4096 };
    const volatile unsigned char *bytes = gguf_bytes(model->gguf);
    uint64_t size = gguf_file_bytes(model->gguf);
    if (gguf_has_source(model->gguf))
        return LL_OK;
    for (uint64_t at = 0; at < size && model->mapped; at += PIECE) {
        ll_progress progress = {LL_LOADING, at, size, NULL};
        if (run && run->on_progress)
            run->on_progress(run->user, &progress);
        if (run && cancel_requested(run->cancel))
            return error_set(error, LL_CANCELLED, "model", "cancelled while the weights came back");
        LL_TRY(gguf_check(model->gguf, error));
        for (uint64_t page = at; page < at + PIECE && page < size; page += PAGE)
            (void)bytes[page];
    }
    return LL_OK;
}

static ll_status wake(ll_model *model, const ll_run *run, ll_error *error)
{
    LL_TRY(load_unlocked(model, run, error));
    engine_lock(model->engine);
    model->rests = false;
    engine_unlock(model->engine);
    return read_again(model, run, error);
}

bool model_rests(const ll_model *model)
{
    return model->rests;
}

ll_status model_wake(ll_model *model, const ll_run *run, ll_error *error)
{
    LL_TRY(model_require_weights(model, error));
    LL_TRY(gguf_check(model->gguf, error));
    if (pthread_mutex_lock(&model->waking) == EDEADLK)
        return error_set(error, LL_BUSY, "model", "the model is just being loaded");
    ll_status status = model->rests ? wake(model, run, error) : LL_OK;
    pthread_mutex_unlock(&model->waking);
    return status;
}

ll_status ll_adapter_get_info(const char *path, ll_adapter_info *ret, ll_error *error)
{
    struct gguf *gguf;
    LL_TRY(gguf_open(path, &gguf, error));
    ll_status status = adapter_describe(gguf, ret, error);
    gguf_close(gguf);
    return status;
}

size_t ll_model_meta_count(const ll_model *model)
{
    return model->meta_count;
}

ll_status ll_model_get_meta(const ll_model *model, size_t index, ll_meta *ret)
{
    if (index >= model->meta_count)
        return LL_NOT_FOUND;
    *ret = (ll_meta){model->meta[index].key, model->meta[index].value};
    return LL_OK;
}

size_t ll_model_tensor_count(const ll_model *model)
{
    return gguf_tensor_count(model->gguf);
}

ll_status ll_model_get_tensor(const ll_model *model, size_t index, ll_tensor_info *ret)
{
    if (index >= gguf_tensor_count(model->gguf))
        return LL_NOT_FOUND;
    const struct gguf_tensor *tensor = gguf_tensor_at(model->gguf, index);
    const char *type = dtype_gguf_name(tensor->type_number);
    *ret = (ll_tensor_info){
        .name = tensor->name, .type = type ? type : "unknown", .dims = tensor->dims, .bytes = tensor->bytes};
    memcpy(ret->shape, tensor->shape, sizeof ret->shape);
    return LL_OK;
}
