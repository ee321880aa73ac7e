/* Refuses what cannot fit in memory before any work, with the rows of the plan and the nearest that fits.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine/room.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "engine/engine.h"
#include "engine/model.h"
#include "memory/estimate.h"
#include "memory/footprint.h"
#include "model/forward.h"

enum { LEAST_CONTEXT = 512 };

static double mib(uint64_t bytes)
{
    return (double)bytes / 1048576.0;
}

/* ---- a model ---- */

static struct footprint_request load_request(const ll_engine *engine, const struct model_hparams *h)
{
    const struct backend *backend = engine_backend(engine);
    uint64_t context = h->context < LEAST_CONTEXT ? (uint64_t)h->context : LEAST_CONTEXT;
    struct footprint_request request = {.device = footprint_device(engine_kind(engine), 0),
                                        .cache = DT_F16,
                                        .context = context,
                                        .sequences = 1};
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
                 mib(to_be_taken(&need, request.device.kind)));
        return;
    }
}

ll_status room_check_load(ll_engine *engine, const struct gguf *gguf, const struct model_hparams *hparams,
                          ll_error *error)
{
    struct footprint_request request = load_request(engine, hparams);
    const struct gguf_tensor *table = gguf_tensor_find(gguf, "token_embd.weight");
    uint64_t vocabulary = table ? table->shape[1] : 0, room = engine_room(engine);
    struct inventory inventory;
    ll_need need;
    char nearest[96];
    if (vocabulary > 1u << 24) /* params_load refuses it by name */
        return LL_OK;
    LL_TRY(inventory_read(gguf, hparams, &inventory, error));
    footprint_compute(hparams, &inventory, vocabulary, &request, &need);
    bool fits = to_be_taken(&need, request.device.kind) <= room;
    if (!fits)
        name_precision(hparams, &inventory, vocabulary, request, room, nearest, sizeof nearest);
    inventory_fini(&inventory);
    if (fits)
        return LL_OK;
    return error_set(error, LL_NOMEM, "memory",
                     "the model does not fit: weights %.0f MiB + KV cache of %zu tokens %.0f MiB + scratch "
                     "%.0f MiB + logits %.0f MiB = %.0f MiB, and %.0f MiB are free; %s",
                     mib(need.bytes[LL_WEIGHTS]), need.context, mib(need.bytes[LL_CACHE]),
                     mib(need.bytes[LL_SCRATCH]), mib(need.bytes[LL_LOGITS]),
                     mib(to_be_taken(&need, request.device.kind)), mib(room), nearest);
}

/* ---- a cache ---- */

/* Tokens in whole blocks that `room` holds. */
static size_t tokens_in(const ll_model *model, enum dtype type, uint64_t room)
{
    uint64_t per_block = (uint64_t)engine_backend(model_engine(model))->block_tokens, block;
    if (dtype_row_bytes(type, (uint64_t)model_hparams(model)->head_dim) == 0)
        return 0;
    block = estimate_cache(model_hparams(model), (int)per_block, per_block * 1024, type) / 1024;
    uint64_t blocks = block ? room / block : 0;
    return blocks > 1 ? (size_t)((blocks - 1) * per_block) : 0; /* a session has one to spare */
}

ll_status room_check_cache(ll_model *model, uint64_t bytes, size_t tokens, size_t sequences, enum dtype type,
                           ll_error *error)
{
    uint64_t room = engine_room(model_engine(model));
    char smaller[128] = "";
    if (bytes <= room)
        return LL_OK;
    size_t here = tokens_in(model, type, room), q8 = tokens_in(model, DT_Q8_0, room);
    if (type != DT_Q8_0 && q8 >= tokens)
        snprintf(smaller, sizeof smaller, ", or all of them with q8_0 keys and values");
    else if (type != DT_Q8_0 && q8 > here)
        snprintf(smaller, sizeof smaller, ", or %zu with q8_0 keys and values", q8);
    return error_set(
        error, LL_NOMEM, "memory",
        "a KV cache of %zu tokens%s in %s needs %.1f MiB and %.1f MiB are free; %zu tokens "
        "would fit%s%s%s",
        tokens, sequences > 1 ? " for all windows" : "", dtype_info(type)->name, mib(bytes), mib(room), here,
        smaller, sequences > 1 ? "; fewer windows at once need less" : "",
        engine_kind(model_engine(model)) == LL_CPU ? "" : "; --device cpu takes the machine's memory");
}
