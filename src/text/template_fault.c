/* How the template interpreter says what went wrong: the construct and the line.
 * SPDX-License-Identifier: Apache-2.0 */
#include "text/template_fault.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"

bool template_fail(struct template_fault *fault, ll_status status, int line, const char *format, ...)
{
    char text[200];
    va_list args;
    if (fault->status != LL_OK)
        return false;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fault->status = error_set(fault->error, status, "chat template", "line %d: %s", line, text);
    return false;
}
