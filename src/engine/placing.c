/* Decides which layers of a model the device gets, and which stay with the processor.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine/placing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "engine/engine.h"
#include "engine/room.h"

enum { USUAL_TOKENS = 4096 };

struct choice {
    ll_engine *engine;
    const struct gguf *gguf;
    const struct model_hparams *hparams;
    const struct placing *placing;
    int foreign;     /* layers that the device cannot run, or that lie before one */
    const char *why; /* the name of a type of weights, or what else; NULL: it can run all */
    int fitting;     /* as footprint_layers has it */
    uint64_t room;
    int placed; /* layers that the device gets */
    bool front; /* and the embedding */
};

/* ---- what the device cannot run ---- */

/* The layer of "blk.N.…"; -1: none. */
static int layer_of(const char *name)
{
    return strncmp(name, "blk.", 4) == 0 ? atoi(name + 4) : -1;
}

/* All of them when it cannot make the output. */
static void count_foreign(struct choice *c)
{
    const struct backend *device = engine_backend(c->engine);
    int layers = c->hparams->layers;
    if (device->host_memory)
        return;
    if (c->placing->adapters || (c->hparams->experts && !device->table->experts)) {
        c->why = c->placing->adapters ? "models with adapters" : "mixtures of experts";
        c->foreign = layers;
        return;
    }
    bool tied = !gguf_tensor_find(c->gguf, "output.weight");
    for (size_t i = 0; i < gguf_tensor_count(c->gguf) && c->foreign < layers; i++) {
        const struct gguf_tensor *tensor = gguf_tensor_at(c->gguf, i);
        int layer = layer_of(tensor->name);
        bool end = strcmp(tensor->name, "output.weight") == 0 ||
                   (tied && strcmp(tensor->name, "token_embd.weight") == 0);
        if (!tensor->known || device->table->supports_weight(device, tensor->dtype) ||
            (!end && (layer < c->foreign || layer >= layers)))
            continue;
        c->foreign = end ? layers : layer + 1;
        c->why = dtype_info(tensor->dtype)->name;
    }
}

/* The embedding alone is of such a type: the host looks it up. */
static bool foreign_front(const struct backend *device, const struct gguf *gguf)
{
    const struct gguf_tensor *table = gguf_tensor_find(gguf, "token_embd.weight");
    return table && table->known && !device->table->supports_weight(device, table->dtype);
}

/* ---- what fits ---- */

static ll_status count_fitting(struct choice *c, ll_error *error)
{
    const struct model_hparams *h = c->hparams;
    struct backend *device = engine_backend(c->engine);
    uint64_t usual = h->context < USUAL_TOKENS ? (uint64_t)h->context : USUAL_TOKENS;
    uint64_t tokens = c->placing->tokens ? c->placing->tokens : usual;
    struct footprint_request request = room_request(c->engine, device, tokens);
    struct inventory inventory;
    LL_TRY(inventory_read(c->gguf, h, &inventory, error));
    c->room = engine_room(c->engine, device);
    c->fitting = footprint_layers(h, &inventory, gguf_tensor_find(c->gguf, "token_embd.weight")->shape[1],
                                  &request, c->room);
    inventory_fini(&inventory);
    return LL_OK;
}

/* ---- the choice ---- */

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* By what the kernels allow, by what is wanted, and by what fits: a backend in the host's memory takes its
 * share of that anyway. */
static ll_status choose(struct choice *c, ll_error *error)
{
    const struct placing *placing = c->placing;
    int layers = c->hparams->layers;
    bool ours = engine_backend(c->engine)->host_memory;
    int wanted = placing->wanted < 0 ? layers + 1 : placing->wanted;
    wanted = placing->most >= 0 ? smaller(wanted, placing->most) : wanted;
    c->placed = smaller(smaller(wanted, layers), layers - c->foreign);
    if (!ours)
        LL_TRY(count_fitting(c, error));
    if (!ours && placing->wanted >= 0 && c->placed > c->fitting)
        return error_set(error, LL_NOMEM, "memory",
                         "%d of %d layers on the GPU need more than the %.0f MiB that are free there; "
                         "--gpu-layers %d fits, and --gpu-layers auto takes what fits",
                         c->placed, layers, room_mib(c->room), c->fitting);
    if (!ours)
        c->placed = smaller(c->placed, c->fitting);
    c->front = c->placed == layers && wanted > layers && (ours || c->fitting > layers) &&
               !foreign_front(engine_backend(c->engine), c->gguf);
    return LL_OK;
}

/* Why the processor has layers; "" when it is as it was asked for. */
static void explain(const struct choice *c, char *why, size_t cap)
{
    const struct placing *placing = c->placing;
    const struct backend *device = engine_backend(c->engine);
    int layers = c->hparams->layers, there = c->placed;
    why[0] = '\0';
    if (c->why && layers - there == c->foreign)
        snprintf(why, cap, "%s has no kernels for %s", device->device, c->why);
    else if (placing->most >= 0 && there == placing->most)
        snprintf(why, cap, "%s is full", device->device);
    else if (there < layers && placing->wanted < 0)
        snprintf(why, cap, "%s has %.0f MiB free", device->device, room_mib(c->room));
    else if (there == layers && (placing->wanted < 0 || placing->wanted > layers))
        snprintf(why, cap, "%s %s the embedding", device->device,
                 foreign_front(device, c->gguf) ? "has no kernels for" : "has no room for");
}

static void describe(const struct choice *c, bool host, struct placing_note *note)
{
    char why[224];
    int layers = c->hparams->layers, here = layers - c->placed;
    if (!host) {
        note->level = LOG_WARNING;
        if (c->placing->wanted > 0 && !c->front)
            snprintf(note->text, sizeof note->text,
                     "there is no GPU here to take %d layers; the processor runs them all",
                     smaller(c->placing->wanted, layers));
        return;
    }
    explain(c, why, sizeof why);
    note->level = why[0] ? LOG_WARNING : LOG_INFO;
    int length = snprintf(note->text, sizeof note->text, "%s%s", why, why[0] ? ": " : "");
    char *at = note->text + length;
    size_t cap = sizeof note->text - (size_t)length;
    if (c->placed == 0)
        snprintf(at, cap, "the whole model runs on the processor");
    else if (here == 0)
        snprintf(at, cap, "embeddings stay with the processor, all %d layers run on the GPU", layers);
    else
        snprintf(at, cap, "the first %d of %d layers run on the processor, %d on the GPU", here, layers,
                 c->placed);
}

ll_status placing_choose(ll_engine *engine, const struct gguf *gguf, const struct model_hparams *hparams,
                         const struct placing *placing, struct backend_split *ret, struct placing_note *note,
                         ll_error *error)
{
    struct backend *device = engine_backend(engine), *host = NULL;
    const struct gguf_tensor *table = gguf_tensor_find(gguf, "token_embd.weight");
    struct choice c = {.engine = engine, .gguf = gguf, .hparams = hparams, .placing = placing};
    *note = (struct placing_note){.level = LOG_INFO};
    *ret = split_none(device);
    if ((placing->wanted < 0 && device->host_memory) || !table || table->shape[1] > 1u << 24)
        return LL_OK; /* params_load refuses such a table by name */
    count_foreign(&c);
    LL_TRY(choose(&c, error));
    if (!c.front)
        LL_TRY(engine_host(engine, &host, error));
    describe(&c, host != NULL, note);
    if (host && c.placed == 0)
        *ret = split_none(host);
    else if (host)
        *ret = (struct backend_split){device, host, hparams->layers - c.placed};
    return LL_OK;
}

bool placing_is_here(const struct backend_split *split, const char *tensor)
{
    int layer = layer_of(tensor);
    if (split->device->host_memory)
        return true;
    return split->host && (strncmp(tensor, "token_embd", 10) == 0 || (layer >= 0 && layer < split->first));
}
