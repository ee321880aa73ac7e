/* Picks the kernels for the processor at hand.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CPU_FAST_ISA_H
#define CPU_FAST_ISA_H

#include <stddef.h>

#include "cpu/kernels/kernels.h"

/* The sets this architecture has, plainest first: "scalar", then "avx2" and "avx512", or "neon", "dotprod"
 * and "i8mm"; NULL past the last. */
const char *isa_word(int index);
/* All of them, as words for a sentence. */
#if defined(__x86_64__)
#define ISA_WORDS "scalar, avx2 or avx512"
#elif defined(__aarch64__)
#define ISA_WORDS "scalar, neon, dotprod or i8mm"
#else
#define ISA_WORDS "scalar"
#endif
/* The best set the processor runs, no higher than `limit` (one of the words; NULL: no limit). NULL when
 * `limit` is none of them. */
const struct kernels *isa_pick(const char *limit);
/* The processor's own name, or the architecture's. */
void isa_device_name(char *out, size_t cap);

#endif
