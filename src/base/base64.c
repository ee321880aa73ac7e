/* Bytes written as base64, of the usual alphabet or the one for addresses.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/base64.h"

static int value_of(unsigned char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

void base64_decode(const char *text, size_t length, struct strbuf *out)
{
    unsigned bits = 0, count = 0;
    for (size_t i = 0; i < length && text[i] != '='; i++) {
        int value = value_of((unsigned char)text[i]);
        if (value < 0)
            continue;
        bits = bits << 6 | (unsigned)value;
        count += 6;
        if (count >= 8) {
            count -= 8;
            strbuf_putc(out, (char)(bits >> count & 0xFF));
        }
    }
}
