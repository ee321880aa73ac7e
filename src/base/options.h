/* Reads a caller's options struct of any known size: fields it lacks keep their defaults.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include <string.h>

#include "base/error.h"

/* into: a struct whose first member is `size_t size`. given may be NULL (all defaults). Returns
 * LL_VERSION from the enclosing function when the struct is not one this library knows. */
#define OPTIONS_READ(into, given, init, error)                                                     \
    do {                                                                                           \
        init(&(into));                                                                             \
        if ((given) && ((given)->size < sizeof(size_t) || (given)->size > sizeof(into)))           \
            return error_set((error), LL_VERSION, "options",                                       \
                             "an options struct of %zu bytes where this library knows %zu; call its _init", \
                             (given)->size, sizeof(into));                                         \
        if (given)                                                                                 \
            memcpy(&(into), (given), (given)->size);                                               \
    } while (0)

/* A run is used where the caller keeps it, so it must be whole. NULL is one that does nothing. */
static inline ll_status run_check(const ll_run *run, ll_error *error)
{
    if (!run || run->size == sizeof *run)
        return LL_OK;
    return error_set(error, LL_VERSION, "run",
                     "a run of %zu bytes where this library knows %zu; call ll_run_init", run->size,
                     sizeof *run);
}

#endif
