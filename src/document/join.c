/* Several documents in one, without reading their files again.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "document/document.h"

/* What is added to every position and number of a document when it goes behind others. */
struct shift {
    size_t text, titles, pages, sections, paragraphs, origins;
};

/* Room for `count` more; the caller fills it. NULL: no memory. */
static void *extend(void **items, size_t *capacity, size_t *count, size_t more, size_t size)
{
    if (!mem_grow(items, capacity, *count + more, size))
        return NULL;
    void *first = (char *)*items + *count * size;
    *count += more;
    return first;
}

#define EXTEND(document, name, from)                                                                         \
    extend((void **)&(document)->name##s, &(document)->name##_capacity, &(document)->name##_count,           \
           (from)->name##_count, sizeof *(document)->name##s)

static bool add_files(struct ll_document *d, const struct ll_document *from, const struct shift *by)
{
    struct doc_file *files = EXTEND(d, file, from);
    for (size_t i = 0; files && i < from->file_count; i++) {
        files[i] = from->files[i];
        files[i].first += by->text;
        files[i].last += by->text;
        files[i].first_page += by->pages;
        files[i].section += by->sections;
        files[i].first_origin += by->origins;
        files[i].name += by->titles;
    }
    return files != NULL;
}

static bool add_sections(struct ll_document *d, const struct ll_document *from, const struct shift *by)
{
    struct doc_section *sections = EXTEND(d, section, from);
    for (size_t i = 0; sections && i < from->section_count; i++) {
        sections[i] = from->sections[i];
        sections[i].title += by->titles;
        sections[i].first += by->text;
        sections[i].last += by->text;
        sections[i].body_last += by->text;
        sections[i].parent += by->sections;
    }
    return sections != NULL;
}

static bool add_spans(struct ll_document *d, const struct ll_document *from, const struct shift *by)
{
    struct doc_paragraph *paragraphs = EXTEND(d, paragraph, from);
    struct doc_sentence *sentences = EXTEND(d, sentence, from);
    for (size_t i = 0; paragraphs && i < from->paragraph_count; i++) {
        paragraphs[i] = from->paragraphs[i];
        paragraphs[i].first += by->text;
        paragraphs[i].last += by->text;
        paragraphs[i].section += by->sections;
    }
    for (size_t i = 0; sentences && i < from->sentence_count; i++) {
        sentences[i] = from->sentences[i];
        sentences[i].first += by->text;
        sentences[i].last += by->text;
        sentences[i].paragraph += by->paragraphs;
    }
    return (paragraphs || !from->paragraph_count) && (sentences || !from->sentence_count);
}

static bool add_places(struct ll_document *d, const struct ll_document *from, const struct shift *by)
{
    size_t *pages = EXTEND(d, page, from);
    struct reading_origin *origins = EXTEND(d, origin, from); /* counted from their file's beginning */
    for (size_t i = 0; pages && i < from->page_count; i++)
        pages[i] = from->pages[i] + by->text;
    if (origins && from->origin_count)
        memcpy(origins, from->origins, from->origin_count * sizeof *origins);
    struct reading_part *parts = EXTEND(d, part, from);
    for (size_t i = 0; parts && i < from->part_count; i++)
        parts[i] = (struct reading_part){from->parts[i].text + by->text, from->parts[i].name + by->titles};
    return (pages || !from->page_count) && (origins || !from->origin_count) && (parts || !from->part_count);
}

static bool add(struct ll_document *d, const struct ll_document *from)
{
    struct shift by = {.titles = d->titles.length,
                       .pages = d->page_count,
                       .sections = d->section_count,
                       .paragraphs = d->paragraph_count,
                       .origins = d->origin_count};
    if (d->text.length) /* files are an empty line apart */
        strbuf_puts(&d->text, d->text.text[d->text.length - 1] == '\n' ? "\n" : "\n\n");
    by.text = d->text.length;
    strbuf_append(&d->text, strbuf_text(&from->text), from->text.length);
    strbuf_append(&d->titles, strbuf_text(&from->titles), from->titles.length);
    for (size_t i = 0; i < from->notes.count; i++)
        notes_add(&d->notes, "%s", from->notes.items[i]);
    d->unread_pages += from->unread_pages;
    d->skipped += from->skipped;
    d->source_bytes += from->source_bytes;
    snprintf(d->encoding, sizeof d->encoding, "%s",
             !d->encoding[0] || strcmp(d->encoding, from->encoding) == 0 ? from->encoding : "several");
    return add_files(d, from, &by) && add_sections(d, from, &by) && add_spans(d, from, &by) &&
           add_places(d, from, &by) && !d->text.failed && !d->titles.failed;
}

ll_status ll_document_join(const ll_document *const *documents, size_t count, ll_document **ret,
                           ll_error *error)
{
    if (count == 0)
        return error_set(error, LL_ARGUMENT, "document", "no document was named");
    struct ll_document *d = mem_new(1, sizeof *d);
    bool room = d != NULL;
    for (size_t i = 0; room && i < count; i++)
        room = add(d, documents[i]);
    ll_status status = room ? document_finish(d, error) : error_nomem(error, "document", sizeof *d);
    if (status == LL_OK)
        *ret = d;
    else
        ll_document_close(d);
    return status;
}
