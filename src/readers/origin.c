/* From bytes of decoded text back to bytes of the file, line by line.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/origin.h"

#include <string.h>

struct lines { /* a walk over the line ends of a source */
    const char *bytes;
    size_t length, at, unit;
    bool big; /* big-endian units */
};

/* The unit at `at` when it is an ASCII character, else 0xFF. */
static unsigned char unit_at(const struct lines *l, size_t at)
{
    size_t value = l->big ? at + l->unit - 1 : at;
    if (at + l->unit > l->length)
        return 0xFF;
    for (size_t i = at; i < at + l->unit; i++)
        if (i != value && l->bytes[i])
            return 0xFF;
    return (unsigned char)l->bytes[value];
}

/* Moves behind the next line end: LF, CR, CR LF, VT. false at the end. */
static bool next_line(struct lines *l)
{
    if (l->unit == 1) { /* the usual case, fast */
        const char *from = l->bytes + l->at, *newline = memchr(from, '\n', l->length - l->at);
        size_t reach = newline ? (size_t)(newline - from) : l->length - l->at;
        const char *cr = memchr(from, '\r', reach),
                   *vt = memchr(from, '\v', cr ? (size_t)(cr - from) : reach);
        const char *end = vt ? vt : cr ? cr : newline;
        if (!end)
            return false;
        l->at = (size_t)(end - l->bytes) + 1;
        l->at += *end == '\r' && l->at < l->length && l->bytes[l->at] == '\n';
        return true;
    }
    for (; l->at + l->unit <= l->length; l->at += l->unit) {
        unsigned char c = unit_at(l, l->at);
        if (c != '\n' && c != '\r' && c != '\v')
            continue;
        l->at += l->unit;
        if (c == '\r' && unit_at(l, l->at) == '\n')
            l->at += l->unit;
        return true;
    }
    return false;
}

static size_t mark_length(const char *bytes, size_t length)
{
    if (length >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0)
        return 3;
    if (length >= 4 && (memcmp(bytes, "\xFF\xFE\0\0", 4) == 0 || memcmp(bytes, "\0\0\xFE\xFF", 4) == 0))
        return 4;
    return length >= 2 && (memcmp(bytes, "\xFF\xFE", 2) == 0 || memcmp(bytes, "\xFE\xFF", 2) == 0) ? 2 : 0;
}

bool origins_by_line(const char *source, size_t length, const char *encoding, const struct strbuf *text,
                     struct reading *reading)
{
    struct lines l = {.bytes = source, .length = length, .at = mark_length(source, length), .unit = 1};
    l.unit = strncmp(encoding, "UTF-16", 6) == 0 ? 2 : strncmp(encoding, "UTF-32", 6) == 0 ? 4 : 1;
    l.big = strlen(encoding) == 8 && strcmp(encoding + 6, "BE") == 0;
    size_t at = 0;
    bool good = reading_origin(reading, 0, l.at);
    while (good) {
        const char *newline = at < text->length ? memchr(text->text + at, '\n', text->length - at) : NULL;
        bool more = next_line(&l);
        if (!newline || !more) {
            if ((newline != NULL) != more) /* other line ends than these */
                reading->origins.count = 0;
            break;
        }
        at = (size_t)(newline - text->text) + 1;
        good = reading_origin(reading, at, l.at);
    }
    return good;
}
