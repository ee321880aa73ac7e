/* Refuses what cannot fit in memory before any work, with the rows of the plan and the nearest that fits.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_ROOM_H
#define ENGINE_ROOM_H

#include "formats/gguf.h"
#include "longleaf.h"
#include "model/hparams.h"

/* LL_NOMEM when the weights of the file with a short context are more than there is room for. */
ll_status room_check_load(ll_engine *engine, const struct gguf *gguf, const struct model_hparams *hparams,
                          ll_error *error);
/* The same for a KV cache of `bytes`: `sequences` of `tokens` in all. */
ll_status room_check_cache(ll_model *model, uint64_t bytes, size_t tokens, size_t sequences, enum dtype type,
                           ll_error *error);

#endif
