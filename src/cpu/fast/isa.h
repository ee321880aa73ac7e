/* Picks the kernels for the processor at hand.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CPU_FAST_ISA_H
#define CPU_FAST_ISA_H

#include <stddef.h>

#include "cpu/kernels/kernels.h"

/* The best set the processor runs, no higher than `limit` ("scalar", "avx2", "avx512"; NULL: no limit).
 * NULL when `limit` is none of these words. */
const struct kernels *isa_pick(const char *limit);
/* The processor's own name, or the architecture's. */
void isa_device_name(char *out, size_t cap);

#endif
