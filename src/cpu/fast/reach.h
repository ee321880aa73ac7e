/* How far back an ALiBi query must look: a bound that is a proof, not a guess.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CPU_FAST_REACH_H
#define CPU_FAST_REACH_H

#include "cpu/kernels/kernels.h"

/* For every row of `rows` the first key that it need look at: those before it hold together at most
 * attention->reach of its softmax. False when nothing may be skipped at all. key: scratch for one key. */
bool reach_find(const struct kernels *kernels, const struct attention_rows *rows, float *key, int64_t *reach);

#endif
