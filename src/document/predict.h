/* How long a plan will take on this machine, told by timing a few short calls.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DOCUMENT_PREDICT_H
#define DOCUMENT_PREDICT_H

#include "document/plan.h"

/* Seconds of all calls with every answer as long as it may be. A second or so of work for a small model. */
ll_status predict_seconds(const struct ll_plan *plan, const struct llm *llm, const ll_run *run, double *ret,
                          ll_error *error);

#endif
