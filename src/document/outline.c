/* Headings to sections: contents lists told apart, levels made even, ranges and parents set.
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/outline.h"

#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

enum { CONTENTS_RUN = 5, LONGEST_TITLE = 160, MOST_RANKS = 96 };

bool outline_add(struct outline *outline, const struct outline_entry *entry)
{
    if (!mem_grow((void **)&outline->entries, &outline->capacity, outline->count + 1, sizeof *outline->entries))
        return false;
    outline->entries[outline->count++] = *entry;
    return true;
}

void outline_fini(struct outline *outline)
{
    mem_free(outline->entries);
    *outline = (struct outline){0};
}

/* ---- what is no heading after all ---------------------------------------------------------------------- */

/* Headings on headings without a line of text between them are a contents list; only the last few,
 * each deeper than the one before, lead into the text that follows. */
static void drop_contents(struct outline *outline, struct doc_paragraph *paragraphs)
{
    struct outline_entry *entries = outline->entries;
    size_t kept = 0;
    for (size_t first = 0, next; first < outline->count; first = next) {
        for (next = first + 1; next < outline->count && entries[next].paragraph == entries[next - 1].paragraph + 1;)
            next++;
        size_t lead = next - 1;
        while (lead > first && entries[lead - 1].rank < entries[lead].rank)
            lead--;
        if (next - first < CONTENTS_RUN)
            lead = first;
        for (size_t i = first; i < next; i++) {
            if (i >= lead)
                entries[kept++] = entries[i];
            else
                paragraphs[entries[i].paragraph].kind = PARAGRAPH_CONTENTS;
        }
    }
    outline->count = kept;
}

/* Where every other paragraph looks like a heading, the guess is wrong for this text: only marks made
 * on purpose count. */
static void drop_guesses(struct outline *outline, struct doc_paragraph *paragraphs, size_t count)
{
    size_t kept = 0;
    if (outline->count < 20 || outline->count * 5 < count * 2)
        return;
    for (size_t i = 0; i < outline->count; i++) {
        struct outline_entry *entry = &outline->entries[i];
        if (entry->rank < HEADING_CAPITALS || entry->rank >= HEADING_MARKDOWN)
            outline->entries[kept++] = *entry;
        else
            paragraphs[entry->paragraph].kind = PARAGRAPH_PROSE;
    }
    outline->count = kept;
}

/* ---- sections --------------------------------------------------------------------------------------------- */

/* Blanks folded, control characters out, cut to a readable length. */
static void put_title(struct ll_document *d, struct doc_section *section, const char *text, size_t length)
{
    section->title = d->titles.length;
    bool blank = false;
    for (size_t i = 0, step; i < length && d->titles.length - section->title < LONGEST_TITLE; i += step) {
        int32_t code = utf8_decode(text + i, length - i, &step);
        if (code <= ' ' || code == 0x7F || code == 0xA0) {
            blank = true;
            continue;
        }
        if (blank && d->titles.length > section->title)
            strbuf_putc(&d->titles, ' ');
        blank = false;
        strbuf_append(&d->titles, text + i, step);
    }
    section->title_length = d->titles.length - section->title;
    strbuf_putc(&d->titles, '\0');
}

static struct doc_section *push_section(struct ll_document *d)
{
    if (!mem_grow((void **)&d->sections, &d->section_capacity, d->section_count + 1, sizeof *d->sections))
        return NULL;
    d->sections[d->section_count] = (struct doc_section){0};
    return &d->sections[d->section_count++];
}

/* Ranks in use, as levels 2, 3, …: a text that numbers its chapters but has no parts starts at 2. */
static void rank_levels(const struct outline *outline, size_t first, int levels[MOST_RANKS])
{
    bool used[MOST_RANKS] = {false};
    int level = 2;
    for (size_t i = first; i < outline->count; i++)
        used[outline->entries[i].rank % MOST_RANKS] = true;
    for (int rank = 0; rank < MOST_RANKS; rank++) {
        levels[rank] = level;
        level += used[rank];
    }
}

/* The first heading names the whole text when it opens it and looks like a title, or is the only one
 * of its rank. */
static bool opens_as_title(const struct outline *outline, size_t first_paragraph)
{
    if (!outline->count || outline->entries[0].paragraph != first_paragraph)
        return false;
    if (outline->entries[0].rank < HEADING_CAPITALS)
        return false;
    bool only = true, highest = true;
    for (size_t i = 1; i < outline->count; i++) {
        only &= outline->entries[i].rank != outline->entries[0].rank;
        highest &= outline->entries[i].rank >= outline->entries[0].rank;
    }
    return highest && (outline->entries[0].title_like || only) &&
           (only || outline->entries[0].rank == HEADING_CAPITALS);
}

/* Opens a section: closes those of its level and below, and hangs it under what is still open. */
static struct doc_section *open_section(struct ll_document *d, size_t *open, int level, size_t first)
{
    while (*open != SIZE_MAX && d->sections[*open].level >= level) {
        struct doc_section *closed = &d->sections[*open];
        closed->last = first;
        closed->body_last = closed->body_last ? closed->body_last : first;
        *open = closed->parent == *open ? SIZE_MAX : closed->parent;
    }
    if (*open != SIZE_MAX && !d->sections[*open].body_last)
        d->sections[*open].body_last = first;
    struct doc_section *section = push_section(d);
    if (!section)
        return NULL;
    size_t index = d->section_count - 1;
    section->level = level;
    section->first = first;
    section->parent = *open == SIZE_MAX ? index : *open;
    *open = index;
    return section;
}

static void close_all(struct ll_document *d, size_t open, size_t last)
{
    for (; open != SIZE_MAX; open = d->sections[open].parent == open ? SIZE_MAX : d->sections[open].parent) {
        d->sections[open].last = last;
        if (!d->sections[open].body_last)
            d->sections[open].body_last = last;
    }
}

static bool add_sections(const struct outline *outline, size_t from, struct ll_document *d, struct doc_file *file,
                         size_t first_paragraph, size_t open)
{
    int levels[MOST_RANKS];
    size_t next = from;
    rank_levels(outline, from, levels);
    for (size_t p = first_paragraph; p < d->paragraph_count; p++) {
        if (next < outline->count && outline->entries[next].paragraph == p) {
            const struct outline_entry *entry = &outline->entries[next++];
            struct doc_section *section =
                open_section(d, &open, levels[entry->rank % MOST_RANKS], d->paragraphs[p].first);
            if (!section)
                return false;
            put_title(d, section, d->text.text + entry->first, entry->last - entry->first);
        }
        d->paragraphs[p].section = open;
    }
    close_all(d, open, file->last);
    return true;
}

bool outline_build(struct outline *outline, struct ll_document *document, struct doc_file *file,
                   size_t first_paragraph, const char *title, const char *name)
{
    drop_contents(outline, document->paragraphs);
    drop_guesses(outline, document->paragraphs, document->paragraph_count - first_paragraph);
    size_t open = SIZE_MAX;
    struct doc_section *root = open_section(document, &open, 1, file->first);
    if (!root)
        return false;
    file->section = open;
    bool titled = opens_as_title(outline, first_paragraph);
    if (*title)
        put_title(document, root, title, strlen(title));
    else if (titled)
        put_title(document, root, document->text.text + outline->entries[0].first,
                  outline->entries[0].last - outline->entries[0].first);
    else
        put_title(document, root, name, strlen(name));
    return add_sections(outline, titled, document, file, first_paragraph, open) && !document->titles.failed;
}
