/* How the template interpreter says what went wrong: the construct and the line.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TEXT_TEMPLATE_FAULT_H
#define TEXT_TEMPLATE_FAULT_H

#include <stdbool.h>

#include "longleaf.h"

struct template_fault {
    ll_status status; /* LL_OK until the first fault; later ones are dropped */
    ll_error *error;
};

/* "line N: …"; returns false, so that a failing function reads `return template_fail(…)`. */
bool template_fail(struct template_fault *fault, ll_status status, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
