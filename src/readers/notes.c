/* Sentences a person must know about a document: what was guessed, repaired or left out.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/notes.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"

void notes_add(struct notes *notes, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    utf8_trim_partial(text);
    struct strbuf copy = {0};
    strbuf_puts(&copy, text);
    char *item = strbuf_take(&copy, NULL);
    if (!item ||
        !mem_grow((void **)&notes->items, &notes->capacity, notes->count + 1, sizeof *notes->items)) {
        mem_free(item);
        notes->failed = true;
        return;
    }
    notes->items[notes->count++] = item;
}

void notes_fini(struct notes *notes)
{
    for (size_t i = 0; i < notes->count; i++)
        mem_free(notes->items[i]);
    mem_free(notes->items);
    *notes = (struct notes){0};
}
