/* The engine's log: a callback that may be absent.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

void log_printf(const struct log *log, int level, const char *module, const char *format, ...)
{
    char text[1024];
    if (!log || !log->write)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    log->write(log->user, level, module, text);
}
