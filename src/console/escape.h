/* Makes hostile characters of documents, models and file names visible on a terminal.
 * SPDX-License-Identifier: Apache-2.0
 *
 * C0 controls other than TAB and LF become their Unicode pictures, DEL too; C1 controls, bidirectional
 * overrides and bytes that are no UTF-8 are shown by number. Everything else passes unchanged. */
#ifndef CONSOLE_ESCAPE_H
#define CONSOLE_ESCAPE_H

#include "console/text.h"

void escape_append(struct text *out, const char *bytes, size_t length);
/* The same for one-line places such as messages: TAB and LF are shown, too. */
void escape_append_line(struct text *out, const char *string);
/* Bytes of the whole UTF-8 character at the start; 0 when it is not one. */
size_t escape_character(const char *bytes, size_t length, unsigned *ret_code);
/* Valid UTF-8 always: every byte that is no character becomes U+FFFD. */
void escape_repair(struct text *out, const char *bytes, size_t length);

#endif
