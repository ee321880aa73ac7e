/* Attention for what the tensor-core kernels do not take: any head size, fp32 and mixed caches.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CUDA_ATTENTION_ANY_H
#define CUDA_ATTENTION_ANY_H

#include "cuda/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of the call's fields: no tiles, parts, partial or tickets; dtype and out_type may be F32 too, cache_type
 * F32, BF16, F16 or Q8_0; head_dim at most 1024. Nothing is skipped. */
int attention_any(const struct attention_call *call, int sequence_count, void *stream);

#ifdef __cplusplus
}
#endif
#endif
