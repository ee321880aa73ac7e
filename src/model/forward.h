/* One pass of a step through all layers, as a plain list of backend calls.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_FORWARD_H
#define MODEL_FORWARD_H

#include "model/params.h"

struct forward;

enum {
    FORWARD_ROWS = 512,     /* tokens that a step holds where the backend has no wish of its own */
    FORWARD_MAX_ROWS = 2048 /* that any backend's step may hold */
};

/* Tokens a step may hold on this backend, at most FORWARD_MAX_ROWS; longer prompts are cut into steps. */
int64_t forward_rows(const struct backend *backend);
/* Borrows the backends and both others. Scratch for the device's forward_rows() is taken at once, for logits
 * as needed. params must have been loaded for the same split. */
ll_status forward_open(const struct backend_split *split, const struct model_hparams *hparams,
                       const struct model_params *params, struct forward **ret, ll_error *error);
void forward_close(struct forward *forward);
/* What forward_open takes, and what a step with so many output rows takes besides (it is kept). */
uint64_t forward_step_bytes(const struct model_hparams *hparams, enum dtype residual, enum dtype activation,
                            int64_t rows /* forward_rows() */);
/* Bytes of that on one of its backends which no step has written to yet: pages of the host that are only
 * promised. */
uint64_t forward_idle_bytes(const struct forward *forward, const struct backend *backend);
uint64_t forward_output_bytes(const struct model_hparams *hparams, enum dtype activation, int64_t outputs);
/* caches: [layers]. context: tokens that the step's sessions may hold; longrope's angles go by it, so that
 * a session never changes them. logits: host, [output_count, vocabulary]; greatest: host, [output_count], the
 * best token of each row (-1: none is a number). Either may be NULL: what is not wanted is not copied.
 * On LL_CANCELLED and on errors the caches hold garbage in the step's rows only. */
ll_status forward_run(struct forward *forward, const struct backend_step *step,
                      const struct backend_cache *caches, int64_t context, const ll_cancel *cancel,
                      float *logits, ll_token *greatest, ll_error *error);

#endif
