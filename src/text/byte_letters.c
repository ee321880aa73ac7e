/* The byte alphabet of byte-level BPE: every byte has a printable letter.
 * SPDX-License-Identifier: Apache-2.0 */
#include "text/byte_letters.h"

#include "base/utf8.h"

/* The bytes without a printing Latin-1 character are 00-20, 7F-A0 and AD: 33 + 34 + 1. */
int32_t byte_letter_of(unsigned char byte)
{
    if (byte <= 0x20)
        return 0x100 + byte;
    if (byte >= 0x7F && byte <= 0xA0)
        return 0x121 + (byte - 0x7F);
    if (byte == 0xAD)
        return 0x143;
    return byte;
}

int byte_of_letter(int32_t code)
{
    if (code >= 0x100 && code <= 0x120)
        return code - 0x100;
    if (code >= 0x121 && code <= 0x142)
        return code - 0x121 + 0x7F;
    if (code == 0x143)
        return 0xAD;
    if ((code > 0x20 && code < 0x7F) || (code > 0xA0 && code <= 0xFF && code != 0xAD))
        return code;
    return -1;
}

size_t byte_letters_write(const char *bytes, size_t length, char *out)
{
    size_t used = 0;
    for (size_t i = 0; i < length; i++)
        used += utf8_encode(byte_letter_of((unsigned char)bytes[i]), out + used);
    return used;
}
