/* UTF-8: validation, stepping, whole-character cuts, text made safe to print.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_BAD ((int32_t)-1)

/* Decodes one code point; *ret_length is the bytes used (≥ 1 when length ≥ 1). Overlong forms,
 * surrogates and values above U+10FFFF give UTF8_BAD with length 1. */
int32_t utf8_decode(const char *text, size_t length, size_t *ret_length);
/* Writes 1 … 4 bytes; returns how many. Invalid code points become U+FFFD. */
size_t utf8_encode(int32_t code, char out[4]);
bool utf8_valid(const char *text, size_t length);
/* Longest prefix that does not end inside a character. A broken byte counts as a character. */
size_t utf8_whole(const char *text, size_t length);
/* Cuts an incomplete character off the end of a C string. */
void utf8_trim_partial(char *text);
/* Copies with control characters, escapes, bidi controls and broken bytes shown as visible
 * symbols; cut at a character border to fit cap; NUL-terminated. Returns the length. */
size_t utf8_printable(const char *text, size_t length, char *out, size_t cap);

#endif
