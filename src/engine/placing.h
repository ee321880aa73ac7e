/* Decides which layers of a model the device gets, and which stay with the processor.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_PLACING_H
#define ENGINE_PLACING_H

#include "backend/split.h"
#include "base/log.h"
#include "formats/gguf.h"
#include "longleaf.h"
#include "model/hparams.h"

struct placing {
    int wanted;      /* layers on the device; negative: as many as fit */
    uint64_t tokens; /* of a session whose keys shall fit beside them; 0: 4096, or as trained */
    bool adapters;   /* which run on the processor only */
    int most;        /* layers on the device whatever is wanted; negative: all */
};

/* For the log, when not all is on the device that was chosen: a warning unless it is as it was wanted. */
struct placing_note {
    int level;
    char text[384]; /* empty: nothing is to be said */
};

/* Under the engine's lock. LL_NOMEM: as many layers as are wanted do not fit. */
ll_status placing_choose(ll_engine *engine, const struct gguf *gguf, const struct model_hparams *hparams,
                         const struct placing *placing, struct backend_split *ret, struct placing_note *note,
                         ll_error *error);
/* Whether a tensor is used from the host's memory. */
bool placing_is_here(const struct backend_split *split, const char *tensor);

#endif
