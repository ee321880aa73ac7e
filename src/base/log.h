/* The engine's log: a callback that may be absent.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "longleaf.h"

enum { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

struct log {
    ll_log_fn write; /* NULL: silent */
    void *user;
};

void log_printf(const struct log *log, int level, const char *module, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
