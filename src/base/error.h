/* Fills the caller's error record and propagates statuses.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rule: a function that fails has written *error (when not NULL) exactly once, with one sentence
 * that names what, where and what to do. No allocation happens on the error path. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "longleaf.h"

/* Returns status, so that a failing function reads `return error_set(...)`. */
ll_status error_set(ll_error *error, ll_status status, const char *where, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
ll_status error_set_at(ll_error *error, ll_status status, const char *where, int64_t offset,
                       const char *format, ...) __attribute__((format(printf, 5, 6)));
/* LL_NOMEM with the number of bytes wanted. */
ll_status error_nomem(ll_error *error, const char *where, size_t bytes);
/* LL_IO (or LL_NOT_FOUND for ENOENT) with strerror(errno_value) and the path, made printable. */
ll_status error_errno(ll_error *error, const char *where, const char *path, int errno_value);

#define LL_TRY(call)                        \
    do {                                    \
        ll_status try_status_ = (call);     \
        if (try_status_ != LL_OK)           \
            return try_status_;             \
    } while (0)

/* The same for functions that undo: sets `status` and jumps. */
#define LL_TRY_GOTO(call, label)            \
    do {                                    \
        status = (call);                    \
        if (status != LL_OK)                \
            goto label;                     \
    } while (0)

#endif
