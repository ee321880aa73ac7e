/* What the reader of one file hands on: clean text, spans over it, what was learned on the way.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/reading.h"

#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

bool reading_mark(struct reading *reading, const struct reading_mark *mark)
{
    struct mark_list *list = &reading->marks;
    if (!mem_grow((void **)&list->items, &list->capacity, list->count + 1, sizeof *list->items))
        return false;
    list->items[list->count++] = *mark;
    return true;
}

/* A place that follows from the one before it is not kept. */
bool reading_origin(struct reading *reading, size_t text, size_t source)
{
    struct origin_list *list = &reading->origins;
    const struct reading_origin *last = list->count ? &list->items[list->count - 1] : NULL;
    if (last && last->source + (text - last->text) == source)
        return true;
    if (last && last->text == text) {
        list->items[list->count - 1].source = source;
        return true;
    }
    if (!mem_grow((void **)&list->items, &list->capacity, list->count + 1, sizeof *list->items))
        return false;
    list->items[list->count++] = (struct reading_origin){text, source};
    return true;
}

bool reading_part(struct reading *reading, const char *member)
{
    struct part_list *list = &reading->parts;
    char shown[256];
    if (!mem_grow((void **)&list->items, &list->capacity, list->count + 1, sizeof *list->items))
        return false;
    list->items[list->count++] = (struct reading_part){reading->text.length, list->names.length};
    utf8_printable(member, strlen(member), shown, sizeof shown);
    strbuf_puts(&list->names, shown);
    strbuf_putc(&list->names, '\0');
    return !list->names.failed;
}

void reading_fini(struct reading *reading)
{
    strbuf_fini(&reading->text);
    strbuf_fini(&reading->title);
    page_list_fini(&reading->pages);
    mem_free(reading->marks.items);
    mem_free(reading->origins.items);
    mem_free(reading->parts.items);
    strbuf_fini(&reading->parts.names);
    reading->parts = (struct part_list){0};
    reading->marks = (struct mark_list){0};
    reading->origins = (struct origin_list){0};
}
