/* Headings to sections: contents lists told apart, levels made even, ranges and parents set.
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/outline.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "document/sentence.h"

enum {
    CONTENTS_RUN = 5,
    LONGEST_TITLE = 160,
    LONGEST_FIRST_LINE = 90,
    TITLE_PARAGRAPHS = 4,
    TITLE_INDENT = 8
};

bool outline_add(struct outline *outline, const struct outline_entry *entry)
{
    if (!mem_grow((void **)&outline->entries, &outline->capacity, outline->count + 1,
                  sizeof *outline->entries))
        return false;
    outline->entries[outline->count++] = *entry;
    return true;
}

void outline_fini(struct outline *outline)
{
    mem_free(outline->entries);
    *outline = (struct outline){0};
}

/* ---- what is no heading after all ------------------------------------------------------------ */

/* Headings on headings without a line of text between them are a contents list; only the last few,
 * each deeper than the one before, lead into the text that follows. */
static void drop_contents(struct outline *outline, struct doc_paragraph *paragraphs)
{
    struct outline_entry *entries = outline->entries;
    size_t kept = 0;
    for (size_t first = 0, next; first < outline->count; first = next) {
        for (next = first + 1;
             next < outline->count && entries[next].paragraph == entries[next - 1].paragraph + 1;)
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

/* ---- sections -------------------------------------------------------------------------------- */

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

/* Opens a section: closes those of its rank and below, and hangs it under what is still open. */
static struct doc_section *open_section(struct ll_document *d, size_t *open, int rank, size_t first)
{
    while (*open != SIZE_MAX && d->sections[*open].rank >= rank) {
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
    section->rank = rank;
    section->level = *open == SIZE_MAX ? 1 : d->sections[*open].level + 1;
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

/* The letters of a title, without "Chapter" and numbers: "Chapter 3: Utilities" is "3 Utilities". */
static uint64_t title_key(const char *text, size_t length)
{
    static const char *const labels[] = {"chapter", "appendix", "section", "part"};
    char key[LONGEST_TITLE];
    size_t used = 0, start = 0;
    for (size_t i = 0; i < length && used < sizeof key; i++) {
        unsigned char c = (unsigned char)text[i];
        if ((c | 0x20) >= 'a' && (c | 0x20) <= 'z')
            key[used++] = (char)(c | 0x20);
        else if (c >= 0x80)
            key[used++] = (char)c;
    }
    for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++) {
        size_t n = strlen(labels[i]);
        if (used >= n && memcmp(key, labels[i], n) == 0)
            start = n;
    }
    return used - start < 4 ? 0 : hash_bytes(key + start, used - start, 0);
}

/* Running heads that survived repeat the title of the chapter they stand in. */
static bool repeats_open_title(const struct ll_document *d, size_t open, const char *text, size_t length)
{
    uint64_t key = title_key(text, length);
    for (size_t at = open; key; at = d->sections[at].parent) {
        const struct doc_section *section = &d->sections[at];
        if (section->parent == at)
            return false;
        if (title_key(d->titles.text + section->title, section->title_length) == key)
            return true;
    }
    return false;
}

static bool add_sections(const struct outline *outline, size_t from, struct ll_document *d,
                         struct doc_file *file, size_t first_paragraph, size_t open)
{
    size_t next = from;
    for (size_t p = first_paragraph; p < d->paragraph_count; p++) {
        if (next < outline->count && outline->entries[next].paragraph == p) {
            const struct outline_entry *entry = &outline->entries[next++];
            if (repeats_open_title(d, open, d->text.text + entry->first, entry->last - entry->first)) {
                d->paragraphs[p].kind = PARAGRAPH_CONTENTS;
                d->paragraphs[p].section = open;
                continue;
            }
            struct doc_section *section = open_section(d, &open, entry->rank, d->paragraphs[p].first);
            if (!section)
                return false;
            put_title(d, section, d->text.text + entry->first, entry->last - entry->first);
        }
        d->paragraphs[p].section = open;
    }
    close_all(d, open, file->last);
    return true;
}

/* The first line of a paragraph when it could name the text: short, no sentence; 0 bytes when it cannot. */
static size_t title_line(const struct ll_document *d, const struct doc_paragraph *p, size_t most_lines)
{
    const char *text = d->text.text + p->first;
    size_t lines = 1, length = p->last - p->first;
    const char *newline = memchr(text, '\n', length);
    size_t line = newline ? (size_t)(newline - text) : length;
    for (size_t i = 0; i < length && lines <= most_lines; i++)
        lines += text[i] == '\n';
    bool open =
        line >= 3 && !sentence_is_closed(text, line) && text[line - 1] != ',' && text[line - 1] != ':';
    return p->kind == PARAGRAPH_PROSE && lines <= most_lines && line <= LONGEST_FIRST_LINE && open ? line : 0;
}

/* The title on a cover or the name on a letter: a line set to the middle among the first few paragraphs
 * (below the sender and the date of a memo), else the first line. */
static size_t find_title_line(const struct ll_document *d, size_t first_paragraph, size_t *ret_paragraph)
{
    for (size_t p = first_paragraph; p < d->paragraph_count && p < first_paragraph + TITLE_PARAGRAPHS; p++) {
        const char *text = d->text.text + d->paragraphs[p].first;
        size_t line = title_line(d, &d->paragraphs[p], 2), indent = 0;
        while (indent < line && text[indent] == ' ')
            indent++;
        *ret_paragraph = p;
        if (line && indent >= TITLE_INDENT && line - indent > 5)
            return line;
    }
    *ret_paragraph = first_paragraph;
    return first_paragraph < d->paragraph_count ? title_line(d, &d->paragraphs[first_paragraph], 5) : 0;
}

/* Where sections carry numbers, a single word in capitals inside a PDF is a term or a table's head. */
static void drop_terms(struct outline *outline, struct ll_document *d, const struct doc_file *file)
{
    size_t kept = 0, numbered = 0;
    for (size_t i = 0; i < outline->count; i++)
        numbered +=
            outline->entries[i].rank > HEADING_NUMBERED && outline->entries[i].rank < HEADING_MARKDOWN;
    if (file->kind != KIND_PDF || numbered < 3)
        return;
    for (size_t i = 0; i < outline->count; i++) {
        struct outline_entry *entry = &outline->entries[i];
        const char *title = d->text.text + entry->first;
        if (entry->rank != HEADING_CAPITALS || memchr(title, ' ', entry->last - entry->first))
            outline->entries[kept++] = *entry;
        else
            d->paragraphs[entry->paragraph].kind = PARAGRAPH_PROSE;
    }
    outline->count = kept;
}

bool outline_build(struct outline *outline, struct ll_document *document, struct doc_file *file,
                   size_t first_paragraph, const char *title, const char *name)
{
    drop_contents(outline, document->paragraphs);
    drop_guesses(outline, document->paragraphs, document->paragraph_count - first_paragraph);
    drop_terms(outline, document, file);
    size_t open = SIZE_MAX;
    struct doc_section *root = open_section(document, &open, 0, file->first);
    if (!root)
        return false;
    file->section = open;
    bool titled = opens_as_title(outline, first_paragraph);
    size_t titled_by, line = find_title_line(document, first_paragraph, &titled_by);
    if (*title)
        put_title(document, root, title, strlen(title));
    else if (titled)
        put_title(document, root, document->text.text + outline->entries[0].first,
                  outline->entries[0].last - outline->entries[0].first);
    else if (line)
        put_title(document, root, document->text.text + document->paragraphs[titled_by].first, line);
    else
        put_title(document, root, name, strlen(name));
    return add_sections(outline, titled, document, file, first_paragraph, open) && !document->titles.failed;
}
