/* JSON text to template values: tools, and what else a caller gives a template.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TEXT_TEMPLATE_JSON_H
#define TEXT_TEMPLATE_JSON_H

#include "text/template_run.h"

/* Every text in it is foreign. VALUE_MISSING: no JSON, or no memory. */
struct value template_from_json(struct arena *arena, const char *bytes, size_t length);

#endif
