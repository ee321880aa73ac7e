/* Unicode composition (NFC) of valid text, for models whose tokenizer composes first.
 * SPDX-License-Identifier: Apache-2.0 */
#include "text/compose.h"

#include <stdlib.h>
#include <utf8proc.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"

#define MARKS_MAX 512

/* Characters below U+0300 neither combine nor change. */
static size_t plain_run(const char *text, size_t length)
{
    size_t at = 0;
    while (at < length && (unsigned char)text[at] < 0xCC)
        at++;
    return at;
}

/* The end of the stretch from `at` that composes on its own: up to a plain ASCII character. */
static size_t stretch_end(const char *text, size_t length, size_t at)
{
    size_t marks = 0, step;
    while (at < length) {
        int32_t code = utf8_decode(text + at, length - at, &step);
        if (code >= 0 && code < 0x80)
            break;
        marks = utf8proc_get_property(code)->combining_class ? marks + 1 : 0;
        at += step;
        if (marks == MARKS_MAX)
            break;
    }
    return at;
}

/* Steps back over the character before `at`: a mark may combine with it. */
static size_t character_before(const char *text, size_t at, size_t floor)
{
    while (at > floor) {
        at--;
        if (((unsigned char)text[at] & 0xC0) != 0x80)
            break;
    }
    return at;
}

static bool append_composed(struct strbuf *out, const char *text, size_t length)
{
    utf8proc_uint8_t *made = NULL;
    utf8proc_ssize_t size = utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)length, &made,
                                         UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    if (size < 0)
        return false;
    strbuf_append(out, (const char *)made, (size_t)size);
    free(made);
    return !out->failed;
}

bool compose_text(const char *text, size_t length, char **ret, size_t *ret_length)
{
    *ret = NULL;
    *ret_length = length;
    if (plain_run(text, length) == length)
        return true;
    struct strbuf out = {0};
    for (size_t at = 0; at < length;) {
        size_t plain = at + plain_run(text + at, length - at);
        size_t start = plain < length ? character_before(text, plain, at) : plain;
        strbuf_append(&out, text + at, start - at);
        if (plain == length)
            break;
        size_t end = stretch_end(text, length, plain);
        if (!append_composed(&out, text + start, end - start))
            out.failed = true;
        at = end;
    }
    *ret = strbuf_take(&out, ret_length);
    return *ret != NULL;
}
