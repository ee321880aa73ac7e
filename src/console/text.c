/* A growing byte string for the front ends; remembers a refused allocation.
 * SPDX-License-Identifier: Apache-2.0 */
#include "console/text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

void text_fini(struct text *text)
{
    free(text->bytes);
    *text = (struct text){0};
}

void text_clear(struct text *text)
{
    text->length = 0;
    text->failed = false;
    if (text->bytes)
        text->bytes[0] = '\0';
}

static bool text_room(struct text *text, size_t more)
{
    if (text->failed || more > SIZE_MAX / 4 || text->length > SIZE_MAX / 4) {
        text->failed = true;
        return false;
    }
    size_t needed = text->length + more + 1;
    if (needed <= text->capacity)
        return true;
    size_t capacity = needed < 64 ? 64 : needed + needed / 2;
    char *bytes = realloc(text->bytes, capacity);
    if (!bytes) {
        text->failed = true;
        return false;
    }
    text->bytes = bytes;
    text->capacity = capacity;
    return true;
}

void text_append(struct text *text, const char *bytes, size_t length)
{
    if (!length || !text_room(text, length))
        return;
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = '\0';
}

void text_puts(struct text *text, const char *string)
{
    text_append(text, string, strlen(string));
}

void text_putc(struct text *text, char c)
{
    text_append(text, &c, 1);
}

void text_printf(struct text *text, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int length = vsnprintf(NULL, 0, format, list);
    va_end(list);
    if (length < 0 || !text_room(text, (size_t)length)) {
        text->failed = true;
        return;
    }
    va_start(list, format);
    vsnprintf(text->bytes + text->length, (size_t)length + 1, format, list);
    va_end(list);
    text->length += (size_t)length;
}

const char *text_string(const struct text *text)
{
    return text->bytes && text->length ? text->bytes : "";
}

/* Steps over one character; its columns come through ret. Bytes that are no character count one. */
static size_t character_step(const char *string, mbstate_t *state, size_t *ret_columns)
{
    wchar_t wide;
    size_t bytes = mbrtowc(&wide, string, strlen(string), state);
    if (bytes == 0 || bytes == (size_t)-1 || bytes == (size_t)-2) {
        *state = (mbstate_t){0};
        *ret_columns = 1;
        return 1;
    }
    int width = wcwidth(wide);
    *ret_columns = width > 0 ? (size_t)width : 0;
    return bytes;
}

size_t text_columns(const char *string)
{
    mbstate_t state = {0};
    size_t sum = 0;
    while (*string) {
        size_t columns;
        string += character_step(string, &state, &columns);
        sum += columns;
    }
    return sum;
}

size_t text_fit(const char *string, size_t columns)
{
    mbstate_t state = {0};
    size_t used = 0, taken = 0;
    while (string[taken]) {
        size_t width;
        size_t step = character_step(string + taken, &state, &width);
        if (used + width > columns)
            break;
        used += width;
        taken += step;
    }
    return taken;
}
