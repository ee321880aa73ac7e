/* Which bytes an operation reads and writes: whether a tensor is read again before it is written anew.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CUDA_RANGE_H
#define CUDA_RANGE_H

#include "cuda/op.h"

/* True when nothing after operation `last` reads the tensor before it is overwritten, so that it need not be
 * written at all. False at the list's end: somebody may read it after the step. */
bool range_is_dead(const struct op_list *ops, size_t last, const struct tensor *tensor);
bool range_same(const struct tensor *a, const struct tensor *b);

#endif
