/* One step: new tokens of several sequences through the model together.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine/step.h"

#include "base/error.h"
#include "engine/engine.h"

struct step_rows { /* what a backend_step points at */
    ll_token tokens[FORWARD_MAX_ROWS];
    int32_t positions[FORWARD_MAX_ROWS];
    int32_t outputs[FORWARD_MAX_ROWS];
    struct backend_sequence sequences[FORWARD_MAX_ROWS];
    struct backend_step step;
};

static void add_part(struct step_rows *rows, const struct step_part *part)
{
    struct backend_step *step = &rows->step;
    rows->sequences[step->sequence_count++] =
        (struct backend_sequence){.first_row = step->rows,
                                  .rows = part->count,
                                  .start = part->table->length,
                                  .blocks = part->table->blocks,
                                  .block_count = (int64_t)part->table->count};
    for (int64_t i = 0; i < part->count; i++) {
        rows->tokens[step->rows] = part->tokens[i];
        rows->positions[step->rows] = (int32_t)(part->table->length + i);
        if (part->outputs == STEP_ALL_OUTPUTS || (part->outputs == STEP_LAST_OUTPUT && i == part->count - 1))
            rows->outputs[step->output_count++] = (int32_t)step->rows;
        step->rows++;
    }
}

static ll_status fill(ll_model *model, struct block_pool *pool, const struct step_part *parts, size_t count,
                      struct step_rows *rows, ll_error *error)
{
    int64_t total = 0;
    uint64_t growth = 0;
    rows->step = (struct backend_step){0};
    for (size_t i = 0; i < count; i++)
        total += parts[i].count;
    int64_t most = forward_rows(model_backend(model));
    if (count > (size_t)most || total > most)
        return error_set(error, LL_INTERNAL, "step", "a step of %zu sequences and %lld tokens", count,
                         (long long)total);
    for (size_t i = 0; i < count; i++)
        growth += block_table_growth(pool, parts[i].table, parts[i].count);
    LL_TRY(engine_check_growth(model_engine(model), growth, error));
    for (size_t i = 0; i < count; i++) {
        LL_TRY(block_table_reserve(pool, parts[i].table, parts[i].count, error));
        add_part(rows, &parts[i]);
    }
    rows->step.tokens = rows->tokens;
    rows->step.positions = rows->positions;
    rows->step.sequences = rows->sequences;
    rows->step.outputs = rows->outputs;
    return LL_OK;
}

/* The engine's lock with the model's weights there: another thread may have let them go between steps. */
static ll_status lock_awake(ll_model *model, const ll_cancel *cancel, ll_error *error)
{
    ll_run run;
    ll_run_init(&run);
    run.cancel = (ll_cancel *)(uintptr_t)cancel; /* looked at only */
    for (;;) {
        LL_TRY(model_wake(model, &run, error));
        engine_lock(model_engine(model));
        if (!model_rests(model))
            return LL_OK;
        engine_unlock(model_engine(model));
    }
}

ll_status step_run(ll_model *model, struct block_pool *pool, const struct step_part *parts, size_t count,
                   size_t context, const ll_cancel *cancel, float *logits, ll_token *greatest,
                   ll_error *error)
{
    LL_TRY(lock_awake(model, cancel, error));
    struct step_rows *rows = model_step_room(model, sizeof *rows);
    ll_status status = rows ? LL_OK : error_nomem(error, "step", sizeof *rows);
    if (status == LL_OK)
        status = fill(model, pool, parts, count, rows, error);
    if (status == LL_OK)
        status = forward_run(model_forward(model), &rows->step, blocks_caches(pool), (int64_t)context, cancel,
                             logits, greatest, error);
    for (size_t i = 0; i < count && status == LL_OK; i++)
        block_table_advance(parts[i].table, parts[i].count);
    model_count_scratch(model);
    engine_unlock(model_engine(model));
    return status;
}

void step_reach(ll_model *model, struct step_reach *ret)
{
    engine_lock(model_engine(model));
    struct backend_reach reach = model_backend(model)->reach;
    engine_unlock(model_engine(model));
    *ret = (struct step_reach){.farthest = (size_t)reach.farthest, .queries = (size_t)reach.queries};
    if (reach.queries > 0)
        ret->mean = (double)reach.looked / (double)reach.queries;
}
