/* How large the structs are that kernels.py describes once more: it compares before it calls.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/attention_plan.h"
#include "cuda/place.h"

extern const size_t kernel_sizes[];
const size_t kernel_sizes[] = {sizeof(struct attention_sequence), sizeof(struct attention_call),
                               sizeof(struct place_call), sizeof(struct attention_shape),
                               sizeof(struct attention_counts)};
