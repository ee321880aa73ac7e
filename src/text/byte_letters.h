/* The byte alphabet of byte-level BPE: every byte has a printable letter.
 * SPDX-License-Identifier: Apache-2.0
 *
 * GPT-2's bijection: bytes that print keep their own code point, the other 68 take U+0100 and up in
 * order, so that the space is U+0120. */
#ifndef TEXT_BYTE_LETTERS_H
#define TEXT_BYTE_LETTERS_H

#include <stddef.h>
#include <stdint.h>

/* The code point that stands for a byte. */
int32_t byte_letter_of(unsigned char byte);
/* The byte a code point stands for, -1 when it is no letter of the alphabet. */
int byte_of_letter(int32_t code);
/* Writes the letters of `length` bytes as UTF-8; out has room for 2 * length. Returns the length. */
size_t byte_letters_write(const char *bytes, size_t length, char *out);

#endif
