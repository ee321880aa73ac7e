/* The escapes of a template's string literals.
 * SPDX-License-Identifier: Apache-2.0 */
#include "text/template_escape.h"

#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

static int digit_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : 99;
}

/* Up to `most` digits; returns how many there were. */
static size_t read_code(const char *text, size_t length, int base, size_t most, int32_t *ret)
{
    size_t count = 0;
    for (*ret = 0; count < most && count < length && digit_of(text[count]) < base; count++)
        *ret = *ret < 0x1000000 ? *ret * base + digit_of(text[count]) : *ret;
    return count;
}

static char plain_escape(char c)
{
    static const char from[] = "\\'\"abfnrtv", to[] = "\\'\"\a\b\f\n\r\t\v";
    const char *found = c ? strchr(from, c) : NULL;
    return found ? to[found - from] : '\0';
}

bool template_unescape(const char *text, size_t length, char *out, size_t *ret_length)
{
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] != '\\' || i + 1 == length) {
            out[used++] = text[i];
            continue;
        }
        char kind = text[++i], plain = plain_escape(kind);
        size_t wanted = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
        int32_t code;
        if (plain)
            out[used++] = plain;
        else if (wanted) {
            if (read_code(text + i + 1, length - i - 1, 16, wanted, &code) != wanted || code > 0x10FFFF)
                return false;
            used += utf8_encode(code, out + used);
            i += wanted;
        } else if (kind >= '0' && kind <= '7') {
            size_t digits = read_code(text + i, length - i, 8, 3, &code);
            used += utf8_encode(code, out + used);
            i += digits - 1;
        } else if (kind == 'N')
            return false;
        else if (kind != '\n') { /* a newline after a backslash joins two lines */
            out[used++] = '\\';
            out[used++] = kind;
        }
    }
    *ret_length = used;
    return true;
}
