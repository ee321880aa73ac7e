/* Refuses what cannot fit in memory before any work, with the rows of the plan and the nearest that fits.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_ROOM_H
#define ENGINE_ROOM_H

#include "backend/split.h"
#include "formats/gguf.h"
#include "longleaf.h"
#include "memory/footprint.h"
#include "model/hparams.h"

static inline double room_mib(uint64_t bytes)
{
    return (double)bytes / 1048576.0;
}

/* What a session of `tokens` on one of the engine's backends asks for; nothing is split. */
struct footprint_request room_request(const ll_engine *engine, const struct backend *backend,
                                      uint64_t tokens);
/* LL_NOMEM when the weights of the file with a short context are more than there is room for, on either
 * side. */
ll_status room_check_load(ll_engine *engine, const struct backend_split *split, const struct gguf *gguf,
                          const struct model_hparams *hparams, ll_error *error);
/* What is free where the model's layers are, read once. */
struct room {
    uint64_t device, host;
};
void room_read(const ll_model *model, struct room *ret);
/* The share of it that a cache of one sequence takes, on the side where it is larger; above 1: too much. */
double room_share(const ll_model *model, const struct room *room, uint64_t tokens, enum dtype type);
/* The same for the layers first … end-1 of a KV cache, `bytes` on one backend: `sequences` of `tokens` in
 * all. */
ll_status room_check_cache(ll_model *model, int first, int end, uint64_t bytes, size_t tokens,
                           size_t sequences, enum dtype type, ll_error *error);

#endif
