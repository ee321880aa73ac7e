/* One step: new tokens of several sequences through the model together.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_STEP_H
#define ENGINE_STEP_H

#include "cache/blocks.h"
#include "engine/model.h"
#include "model/forward.h"

enum step_outputs { STEP_NO_OUTPUT, STEP_LAST_OUTPUT, STEP_ALL_OUTPUTS };

struct step_part { /* count new tokens of one sequence, following its table's length */
    struct block_table *table;
    const ll_token *tokens;
    int64_t count;
    enum step_outputs outputs;
};

/* At most forward_rows() tokens in all. logits: [outputs in all, vocabulary], greatest: [outputs in all],
 * parts in order; either may be NULL. context: what the sequences may hold. On success the tables have
 * advanced; on failure they hold what they held before. Takes the engine's lock. */
ll_status step_run(ll_model *model, struct block_pool *pool, const struct step_part *parts, size_t count,
                   size_t context, const ll_cancel *cancel, float *logits, ll_token *greatest,
                   ll_error *error);

struct step_reach { /* of ALiBi's queries in the engine's last step; queries 0: none, or not counted */
    size_t farthest, queries;
    double mean;
};

void step_reach(ll_model *model, struct step_reach *ret);

#endif
