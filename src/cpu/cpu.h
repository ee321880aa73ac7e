/* The two CPU backends: the fast one and the plain reference.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CPU_CPU_H
#define CPU_CPU_H

#include "backend/backend.h"

/* SIMD and threads, the instruction set picked at run time (LONGLEAF_ISA lowers it to one of the
 * words of fast/isa.h). Its numbers do not depend on the thread count nor on how many rows share a step. */
extern const struct backend_table cpu_backend;
/* Plain loops, double accumulators, one thread: the truth the others are compared with. */
extern const struct backend_table reference_backend;

#endif
