/* Long runs of base64 in a text become a few words that say what stood there.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/blob.h"

#include <string.h>

enum { LINE_LEAST = 60, TYPE_LONGEST = 60 };

static bool is_base64(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/' || c == '-' || c == '_' || c == '=';
}

/* Packed bytes use all kinds of characters; long words, rulers and sequences of genes do not. */
static bool looks_packed(const char *text, size_t length)
{
    size_t upper = 0, lower = 0, digits = 0, look = length < 4096 ? length : 4096;
    bool seen[128] = {false};
    size_t different = 0;
    for (size_t i = 0; i < look; i++) {
        unsigned char c = (unsigned char)text[i] & 0x7F;
        upper += c >= 'A' && c <= 'Z';
        lower += c >= 'a' && c <= 'z';
        digits += c >= '0' && c <= '9';
        different += !seen[c];
        seen[c] = true;
    }
    return different >= 24 && upper * 20 > look && lower * 20 > look && digits * 50 > look;
}

/* The end of a run that begins at `first`: one line, or lines of equal length. */
static size_t run_end(const char *text, size_t length, size_t first)
{
    size_t at = first, width = 0;
    for (;;) {
        size_t start = at;
        while (at < length && is_base64((unsigned char)text[at]))
            at++;
        size_t line = at - start;
        if (width && (line == 0 || line > width)) /* the line is not of the run */
            return start - 1;
        bool go_on = at + 1 < length && text[at] == '\n' && line >= LINE_LEAST && (!width || line == width);
        if (!go_on)
            return at;
        width = line;
        at++;
    }
}

/* "data:image/png;base64," right before the run: where it begins, and its type. */
static size_t uri_start(const char *text, size_t from, size_t first, const char **type, size_t *type_length)
{
    static const char mark[] = ";base64,";
    size_t n = sizeof mark - 1;
    if (first < from + n || memcmp(text + first - n, mark, n) != 0)
        return first;
    size_t at = first - n;
    while (at > from && first - n - at < TYPE_LONGEST && text[at - 1] != ':')
        at--;
    if (at < from + 5 || memcmp(text + at - 5, "data:", 5) != 0)
        return first;
    *type = text + at;
    *type_length = strcspn(text + at, ";");
    return at - 5;
}

static size_t next_blob(const char *text, size_t length, size_t from, size_t *ret_end)
{
    for (size_t at = from; at < length;) {
        if (!is_base64((unsigned char)text[at])) {
            at++;
            continue;
        }
        size_t line = at;
        while (line < length && line - at < LINE_LEAST && is_base64((unsigned char)text[line]))
            line++;
        if (line - at < LINE_LEAST) {
            at = line;
            continue;
        }
        size_t end = run_end(text, length, at);
        if (end - at >= BLOB_LEAST && looks_packed(text + at, end - at)) {
            *ret_end = end;
            return at;
        }
        at = end > at ? end : at + 1;
    }
    return length;
}

bool blob_any(const char *text, size_t length)
{
    size_t end;
    return next_blob(text, length, 0, &end) < length;
}

size_t blob_fold(const char *text, size_t length, struct strbuf *out)
{
    size_t from = 0, count = 0, end = 0;
    for (size_t at; (at = next_blob(text, length, from, &end)) < length; from = end) {
        const char *type = "base64";
        size_t type_length = 6, start = uri_start(text, from, at, &type, &type_length);
        strbuf_append(out, text + from, start - from);
        strbuf_printf(out, "[%.*s, %zu bytes]", (int)type_length, type, (end - at) / 4 * 3);
        count++;
    }
    strbuf_append(out, text + from, length - from);
    return count;
}
