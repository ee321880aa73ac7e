/* A model file with its matrices in another number format.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_REQUANTIZE_H
#define FORMATS_REQUANTIZE_H

#include "base/workers.h"
#include "formats/gguf.h"

/* "Q4_K", "q8_0" … to a type that quantize can write; LL_ARGUMENT lists them. */
ll_status requantize_type(const char *name, enum dtype *ret, ll_error *error);
/* Of weights as they are stored. */
#define REQUANTIZE_KEEP DT_COUNT

/* Writes a file whose matrices are of `type`: metadata as it was (general.file_type apart), vectors and
 * routers as they were, token table and output at Q6_K at least where `type` is finer than that in name
 * only (Q4_K, Q5_K). A matrix whose rows no block of `type` divides gets Q8_0, or F16. Memory: some rows
 * for each worker, and one tensor where its
 * bytes have to be made first. The path is replaced at once at the end, or left as it was. */
ll_status requantize(struct gguf *gguf, const char *path, enum dtype type, struct workers *workers,
                     const ll_run *run, ll_error *error);

#endif
