/* Refuses what cannot fit in memory before any work, with the rows of the plan and the nearest that fits.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine/room.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "engine/engine.h"
#include "engine/model.h"
#include "memory/estimate.h"
#include "model/forward.h"

enum { LEAST_CONTEXT = 512 };

/* ---- a model ---- */

struct footprint_request room_request(const ll_engine *engine, const struct backend *backend, uint64_t tokens)
{
    ll_device_kind kind = backend == engine_backend(engine) ? engine_kind(engine) : LL_CPU;
    struct footprint_request request = {
        .device = footprint_device(kind, 0), .cache = DT_F16, .context = tokens, .sequences = 1};
    request.device.block_tokens = backend->block_tokens;
    request.device.activation = backend->activation;
    request.device.residual = backend->residual;
    request.device.rows = forward_rows(backend);
    return request;
}

/* What this process holds already, the program itself, is no longer among what is free. */
static uint64_t to_be_taken(const ll_need *need, ll_device_kind kind)
{
    return kind == LL_CPU ? need->total - need->bytes[LL_PROGRAM] : need->total;
}

/* "a file in 4 bits needs 2,600 MiB"; nothing when no precision fits. */
static void name_precision(const struct model_hparams *h, const struct inventory *inventory,
                           uint64_t vocabulary, struct footprint_request request, uint64_t room, char *out,
                           size_t cap)
{
    static const struct {
        ll_precision precision;
        const char *name;
    } choices[] = {{LL_IN_8BIT, "Q8_0"}, {LL_IN_4BIT, "Q4_0 or Q4_K"}};
    ll_need need, stored;
    footprint_compute(h, inventory, vocabulary, &request, &stored);
    snprintf(out, cap, "no precision of this model fits; use a smaller one%s",
             request.device.kind == LL_CPU ? "" : ", or --device cpu");
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        request.precision = choices[i].precision;
        footprint_compute(h, inventory, vocabulary, &request, &need);
        if (need.total >= stored.total || to_be_taken(&need, request.device.kind) > room)
            continue;
        snprintf(out, cap, "a %s file of it would need %.0f MiB", choices[i].name,
                 room_mib(to_be_taken(&need, request.device.kind)));
        return;
    }
}

static ll_status refuse_device(const struct model_hparams *h, const struct inventory *inventory,
                               uint64_t vocabulary, const struct footprint_request *request,
                               const ll_need *need, uint64_t room, ll_error *error)
{
    char nearest[96] = "fewer --gpu-layers need less";
    if (!request->host_embedding)
        name_precision(h, inventory, vocabulary, *request, room, nearest, sizeof nearest);
    return error_set(error, LL_NOMEM, "memory",
                     "the %s: weights %.0f MiB + KV cache of %zu tokens %.0f MiB + scratch "
                     "%.0f MiB + logits %.0f MiB = %.0f MiB, and %.0f MiB are free; %s",
                     request->host_embedding ? "layers for the GPU do not fit there" : "model does not fit",
                     room_mib(need->bytes[LL_WEIGHTS]), need->context, room_mib(need->bytes[LL_CACHE]),
                     room_mib(need->bytes[LL_SCRATCH]), room_mib(need->bytes[LL_LOGITS]),
                     room_mib(to_be_taken(need, request->device.kind)), room_mib(room), nearest);
}

static ll_status refuse_host(const ll_need *need, uint64_t room, ll_error *error)
{
    return error_set(
        error, LL_NOMEM, "memory",
        "what stays with the processor does not fit in the machine's memory: weights %.0f MiB + KV "
        "cache of %zu tokens %.0f MiB + scratch %.0f MiB = %.0f MiB, and %.0f MiB are free; more "
        "--gpu-layers or a smaller model need less",
        room_mib(need->host[LL_WEIGHTS]), need->context, room_mib(need->host[LL_CACHE]),
        room_mib(need->host[LL_SCRATCH]), room_mib(need->host_total - need->host[LL_PROGRAM]),
        room_mib(room));
}

ll_status room_check_load(ll_engine *engine, const struct backend_split *split, const struct gguf *gguf,
                          const struct model_hparams *hparams, ll_error *error)
{
    uint64_t tokens = hparams->context < LEAST_CONTEXT ? (uint64_t)hparams->context : LEAST_CONTEXT;
    struct footprint_request request = room_request(engine, split->device, tokens);
    const struct gguf_tensor *table = gguf_tensor_find(gguf, "token_embd.weight");
    uint64_t vocabulary = table ? table->shape[1] : 0, room = engine_room(engine, split->device);
    uint64_t host_room = split->host ? engine_room(engine, split->host) : UINT64_MAX;
    struct inventory inventory;
    ll_status status = LL_OK;
    ll_need need;
    if (vocabulary > 1u << 24) /* params_load refuses it by name */
        return LL_OK;
    LL_TRY(inventory_read(gguf, hparams, &inventory, error));
    request.host_embedding = split->host != NULL;
    request.host_layers = split->host ? split->first : 0;
    footprint_compute(hparams, &inventory, vocabulary, &request, &need);
    if (to_be_taken(&need, request.device.kind) > room)
        status = refuse_device(hparams, &inventory, vocabulary, &request, &need, room, error);
    else if (need.host_total - need.host[LL_PROGRAM] > host_room)
        status = refuse_host(&need, host_room, error);
    inventory_fini(&inventory);
    return status;
}

/* ---- a cache ---- */

void room_read(const ll_model *model, struct room *ret)
{
    struct backend_split split = model_split(model);
    ret->device = engine_room(model_engine(model), split.device);
    ret->host = split.host ? engine_room(model_engine(model), split.host) : 0;
}

double room_share(const ll_model *model, const struct room *room, uint64_t tokens, enum dtype type)
{
    const struct model_hparams *h = model_hparams(model);
    struct backend_split split = model_split(model);
    int per_block = split.device->block_tokens, border = split.host ? split.first : 0;
    double device = (double)estimate_layers(h, border, h->layers, per_block, tokens, type);
    double host = (double)estimate_layers(h, 0, border, per_block, tokens, type);
    double there = device > 0.0 ? device / ((double)room->device + 1.0) : 0.0;
    double here = host > 0.0 ? host / ((double)room->host + 1.0) : 0.0;
    return there > here ? there : here;
}

/* Tokens in whole blocks that `room` holds. */
static size_t tokens_in(const ll_model *model, int first, int end, enum dtype type, uint64_t room)
{
    uint64_t per_block = (uint64_t)model_backend(model)->block_tokens, block;
    if (dtype_row_bytes(type, (uint64_t)model_hparams(model)->head_dim) == 0)
        return 0;
    block = estimate_layers(model_hparams(model), first, end, (int)per_block, per_block * 1024, type) / 1024;
    uint64_t blocks = block ? room / block : 0;
    return blocks > 1 ? (size_t)((blocks - 1) * per_block) : 0; /* a session has one to spare */
}

ll_status room_check_cache(ll_model *model, int first, int end, uint64_t bytes, size_t tokens,
                           size_t sequences, enum dtype type, ll_error *error)
{
    struct backend_split split = model_split(model);
    const struct backend *backend = split_layer(&split, first);
    uint64_t room = engine_room(model_engine(model), backend);
    char smaller[128] = "";
    if (bytes <= room)
        return LL_OK;
    size_t here = tokens_in(model, first, end, type, room), q8 = tokens_in(model, first, end, DT_Q8_0, room);
    if (type != DT_Q8_0 && q8 >= tokens)
        snprintf(smaller, sizeof smaller, ", or all of them with q8_0 keys and values");
    else if (type != DT_Q8_0 && q8 > here)
        snprintf(smaller, sizeof smaller, ", or %zu with q8_0 keys and values", q8);
    return error_set(error, LL_NOMEM, "memory",
                     "a KV cache of %zu tokens%s in %s needs %.1f MiB and %.1f MiB are free; %zu tokens "
                     "would fit%s%s%s",
                     tokens, sequences > 1 ? " for all windows" : "", dtype_info(type)->name, room_mib(bytes),
                     room_mib(room), here, smaller, sequences > 1 ? "; fewer windows at once need less" : "",
                     backend->host_memory ? "" : "; fewer --gpu-layers leave more room for them");
}
