/* Bytes written as base64, of the usual alphabet or the one for addresses.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/strbuf.h"

/* Appends the bytes, up to the first "="; other characters that do not belong are passed over. */
void base64_decode(const char *text, size_t length, struct strbuf *out);

#endif
