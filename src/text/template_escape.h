/* The escapes of a template's string literals.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TEXT_TEMPLATE_ESCAPE_H
#define TEXT_TEMPLATE_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

/* As in a Python string; unknown escapes stay as they are. out: room for length bytes. false: broken. */
bool template_unescape(const char *text, size_t length, char *out, size_t *ret_length);

#endif
