/* UTF-8: validation, stepping, whole-character cuts, text made safe to print.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

static size_t expected_length(unsigned char lead)
{
    if (lead < 0x80)
        return 1;
    if (lead >= 0xC2 && lead <= 0xDF)
        return 2;
    if (lead >= 0xE0 && lead <= 0xEF)
        return 3;
    if (lead >= 0xF0 && lead <= 0xF4)
        return 4;
    return 0;
}

int32_t utf8_decode(const char *text, size_t length, size_t *ret_length)
{
    static const int32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)text;
    *ret_length = length ? 1 : 0;
    if (!length)
        return UTF8_BAD;
    size_t need = expected_length(s[0]);
    if (need == 1)
        return s[0];
    if (need == 0 || need > length)
        return UTF8_BAD;
    int32_t code = s[0] & (0x7F >> need);
    for (size_t i = 1; i < need; i++) {
        if ((s[i] & 0xC0) != 0x80)
            return UTF8_BAD;
        code = (code << 6) | (s[i] & 0x3F);
    }
    if (code < least[need] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
        return UTF8_BAD;
    *ret_length = need;
    return code;
}

size_t utf8_encode(int32_t code, char out[4])
{
    if (code < 0 || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
        code = 0xFFFD;
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const int lead[5] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = length - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (code & 0x3F));
        code >>= 6;
    }
    out[0] = (char)(lead[length] | code);
    return length;
}

bool utf8_valid(const char *text, size_t length)
{
    size_t step;
    for (size_t i = 0; i < length; i += step)
        if (utf8_decode(text + i, length - i, &step) == UTF8_BAD)
            return false;
    return true;
}

size_t utf8_whole(const char *text, size_t length)
{
    for (size_t back = 1; back <= 3 && back <= length; back++) {
        unsigned char c = (unsigned char)text[length - back];
        if ((c & 0xC0) == 0x80)
            continue;
        return expected_length(c) > back ? length - back : length;
    }
    return length;
}

void utf8_trim_partial(char *text)
{
    text[utf8_whole(text, strlen(text))] = '\0';
}

/* Characters that move the cursor, colour the screen or reorder text. */
static bool unsafe(int32_t code)
{
    return code == UTF8_BAD || code < 0x20 || (code >= 0x7F && code <= 0x9F) ||
           (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) ||
           code == 0x200E || code == 0x200F || code == 0x061C;
}

static size_t visible(int32_t code, char *out, size_t room)
{
    char form[16];
    if (code == UTF8_BAD)
        snprintf(form, sizeof form, "\xEF\xBF\xBD");
    else if (code == '\t' || code == '\n')
        snprintf(form, sizeof form, " ");
    else if (code < 0x20 || code == 0x7F)
        snprintf(form, sizeof form, "^%c", (char)(code ^ 0x40));
    else
        snprintf(form, sizeof form, "<U+%04X>", (unsigned)code);
    size_t length = strlen(form);
    if (length > room)
        return 0;
    memcpy(out, form, length);
    return length;
}

size_t utf8_printable(const char *text, size_t length, char *out, size_t cap)
{
    size_t used = 0, step;
    if (cap == 0)
        return 0;
    for (size_t i = 0; i < length; i += step) {
        int32_t code = utf8_decode(text + i, length - i, &step);
        size_t room = cap - 1 - used, wrote;
        if (unsafe(code)) {
            wrote = visible(code, out + used, room);
        } else {
            wrote = step <= room ? step : 0;
            memcpy(out + used, text + i, wrote);
        }
        if (wrote == 0)
            break;
        used += wrote;
    }
    out[used] = '\0';
    return used;
}
