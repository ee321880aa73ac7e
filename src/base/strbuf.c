/* A growing byte string that stays NUL-terminated and remembers a failed allocation.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/strbuf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

void strbuf_fini(struct strbuf *buf)
{
    mem_free(buf->text);
    *buf = (struct strbuf){0};
}

void strbuf_clear(struct strbuf *buf)
{
    strbuf_truncate(buf, 0);
}

static bool reserve(struct strbuf *buf, size_t more)
{
    if (buf->failed || more > SIZE_MAX - buf->length - 1 ||
        !mem_grow((void **)&buf->text, &buf->capacity, buf->length + more + 1, 1))
        buf->failed = true;
    return !buf->failed;
}

void strbuf_append(struct strbuf *buf, const char *text, size_t length)
{
    if (!reserve(buf, length))
        return;
    if (length)
        memcpy(buf->text + buf->length, text, length);
    buf->length += length;
    buf->text[buf->length] = '\0';
}

void strbuf_puts(struct strbuf *buf, const char *text)
{
    strbuf_append(buf, text, strlen(text));
}

void strbuf_putc(struct strbuf *buf, char c)
{
    strbuf_append(buf, &c, 1);
}

void strbuf_printf(struct strbuf *buf, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length >= 0 && reserve(buf, (size_t)length)) {
        vsnprintf(buf->text + buf->length, (size_t)length + 1, format, again);
        buf->length += (size_t)length;
    }
    va_end(again);
}

void strbuf_truncate(struct strbuf *buf, size_t length)
{
    if (length >= buf->length)
        return;
    buf->length = length;
    buf->text[length] = '\0';
}

const char *strbuf_text(const struct strbuf *buf)
{
    return buf->text ? buf->text : "";
}

char *strbuf_take(struct strbuf *buf, size_t *ret_length)
{
    if (!buf->text)
        strbuf_append(buf, "", 0);
    char *text = buf->failed ? NULL : buf->text;
    if (buf->failed)
        mem_free(buf->text);
    if (ret_length)
        *ret_length = buf->length;
    *buf = (struct strbuf){0};
    return text;
}
