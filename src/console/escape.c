/* Makes hostile characters of documents, models and file names visible on a terminal.
 * SPDX-License-Identifier: Apache-2.0 */
#include "console/escape.h"

#include <string.h>

size_t escape_character(const char *bytes, size_t length, unsigned *ret_code)
{
    const unsigned char *b = (const unsigned char *)bytes;
    static const unsigned least[5] = {0, 0, 0x80, 0x800, 0x10000};
    if (!length)
        return 0;
    if (b[0] < 0x80) {
        *ret_code = b[0];
        return 1;
    }
    size_t size = b[0] >= 0xF0 ? 4 : b[0] >= 0xE0 ? 3 : 2;
    if (b[0] < 0xC2 || b[0] > 0xF4 || size > length)
        return 0;
    unsigned code = b[0] & (0xFFu >> (size + 1));
    for (size_t i = 1; i < size; i++) {
        if ((b[i] & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (b[i] & 0x3Fu);
    }
    if (code < least[size] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
        return 0;
    *ret_code = code;
    return size;
}

static bool is_direction(unsigned code)
{
    return code == 0x061C || code == 0x200E || code == 0x200F || (code >= 0x202A && code <= 0x202E) ||
           (code >= 0x2066 && code <= 0x2069);
}

static void picture_append(struct text *out, unsigned code)
{
    unsigned picture = code == 0x7F ? 0x2421 : 0x2400 + code;
    text_putc(out, (char)(0xE0 | picture >> 12));
    text_putc(out, (char)(0x80 | (picture >> 6 & 0x3F)));
    text_putc(out, (char)(0x80 | (picture & 0x3F)));
}

static void escape_some(struct text *out, const char *bytes, size_t length, bool one_line)
{
    for (size_t at = 0; at < length;) {
        unsigned code = 0;
        size_t size = escape_character(bytes + at, length - at, &code);
        bool layout = !one_line && (code == '\t' || code == '\n');
        if (!size) {
            text_printf(out, "\\x%02X", (unsigned char)bytes[at]);
            size = 1;
        } else if ((code < 0x20 && !layout) || code == 0x7F) {
            picture_append(out, code);
        } else if ((code >= 0x80 && code < 0xA0) || is_direction(code)) {
            text_printf(out, "\\u%04X", code);
        } else {
            text_append(out, bytes + at, size);
        }
        at += size;
    }
}

void escape_append(struct text *out, const char *bytes, size_t length)
{
    escape_some(out, bytes, length, false);
}

void escape_append_line(struct text *out, const char *string)
{
    escape_some(out, string, strlen(string), true);
}

void escape_repair(struct text *out, const char *bytes, size_t length)
{
    for (size_t at = 0; at < length;) {
        unsigned code;
        size_t size = escape_character(bytes + at, length - at, &code);
        if (size)
            text_append(out, bytes + at, size);
        else
            text_puts(out, "\xEF\xBF\xBD");
        at += size ? size : 1;
    }
}
