/* Headings of a PDF: what its bookmarks name, or what is printed larger or bolder than the rest.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The geometry says how a piece of text is printed, the clean text where it ended up: both are folded to
 * letters and digits, and equal ones on one page are the same line. */
#include "readers/titles.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"

enum {
    LONGEST = 120, /* bytes of a heading's line */
    LARGEST = 512, /* size of letters told apart */
    LEVELS = 6,
    LEAST_LARGER = 2, /* units of geometry above the size of the text */
    MOST_LINES = 3,   /* of one heading */
    MOST_SHARE = 4,   /* of this many bytes at most one may be in a style of headings */
};

struct candidate { /* a line that may be a heading */
    size_t page;
    uint64_t hash;
    int style; /* what is larger encloses what is smaller */
    int level; /* 0: not known yet */
    bool tail; /* does not begin like a heading: the second line of one at most */
    size_t bytes;
};

struct titles {
    const struct pdf *pdf;
    struct candidate *items;
    size_t count, capacity;
    bool from_bookmarks;
};

/* ---- lines compared -------------------------------------------------------------------------- */

static bool counts(unsigned char c)
{
    return c >= 0x80 || (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

/* 0: nothing to compare. */
static uint64_t fold(const char *text, size_t length)
{
    char folded[LONGEST];
    size_t used = 0, letters = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (!counts(c))
            continue;
        if (used == LONGEST)
            return 0;
        folded[used++] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
        letters += c > '9';
    }
    return letters >= 2 ? hash_bytes(folded, used, 3) | 1 : 0;
}

static bool add(struct titles *t, const struct candidate *candidate)
{
    if (!mem_grow((void **)&t->items, &t->capacity, t->count + 1, sizeof *t->items))
        return false;
    t->items[t->count++] = *candidate;
    return true;
}

static int compare(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->page != y->page)
        return x->page < y->page ? -1 : 1;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->style != y->style ? (x->style > y->style ? -1 : 1) : 0;
}

static const struct candidate *find(const struct titles *t, size_t page, uint64_t hash)
{
    size_t low = 0, high = t->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct candidate *c = &t->items[middle];
        if (c->page < page || (c->page == page && c->hash < hash))
            low = middle + 1;
        else
            high = middle;
    }
    const struct candidate *c = low < t->count ? &t->items[low] : NULL;
    return c && c->page == page && c->hash == hash && c->level ? c : NULL;
}

/* ---- bookmarks ------------------------------------------------------------------------------- */

static bool add_bookmarks(struct titles *t)
{
    const struct geometry *g = &t->pdf->geometry;
    for (size_t i = 0; i < g->bookmark_count; i++) {
        const struct geometry_bookmark *b = &g->bookmarks[i];
        struct candidate c = {
            b->page - 1, fold(strbuf_text(&g->texts) + b->text, b->length), 0, b->level, false, 0};
        c.level = c.level > LEVELS ? LEVELS : c.level;
        if (b->page && c.hash && !add(t, &c))
            return false;
    }
    t->from_bookmarks = t->count > 0;
    return true;
}

/* ---- letters --------------------------------------------------------------------------------- */

static int size_of(const struct geometry_item *item)
{
    return item->size < 0 ? 0 : item->size < LARGEST ? item->size : LARGEST - 1;
}

/* The size that most letters have. */
static int size_of_text(const struct geometry *g)
{
    size_t letters[LARGEST] = {0};
    int best = 0;
    for (size_t i = 0; i < g->count; i++)
        letters[size_of(&g->items[i])] += g->items[i].length;
    for (int i = 1; i < LARGEST; i++)
        best = letters[i] > letters[best] ? i : best;
    return best;
}

static bool is_one_row(const struct geometry_item *a, const struct geometry_item *b)
{
    int apart = a->top + a->height / 2 - b->top - b->height / 2;
    return (apart < 0 ? -apart : apart) * 3 <= a->height;
}

static int style_of(const struct geometry_item *item, int text)
{
    int size = size_of(item);
    if (size >= text + LEAST_LARGER && size * 8 >= text * 9)
        return size * 2 + item->bold;
    return item->bold && size >= text ? size * 2 + 1 : 0;
}

static bool begins_like_heading(const char *text)
{
    text += strspn(text, " ");
    return !(text[0] >= 'a' && text[0] <= 'z') && strchr("-*+(", text[0]) == NULL;
}

static bool ends_like_heading(const char *text, size_t length)
{
    while (length && text[length - 1] == ' ')
        length--;
    return length >= 3 && length <= LONGEST && !strchr(".,;", text[length - 1]);
}

/* Items [first, last) stand in one row and are printed alike. */
static bool add_row(struct titles *t, size_t page, size_t first, size_t last, int text)
{
    const struct geometry *g = &t->pdf->geometry;
    const struct geometry_item *head = &g->items[first];
    struct candidate c = {.page = page, .style = style_of(head, text)};
    struct strbuf line = {0};
    bool alike = c.style > 0;
    for (size_t i = first; i < last && alike; i++) {
        const struct geometry_item *item = &g->items[i];
        alike = !item->hidden && style_of(item, text) == c.style && line.length <= LONGEST;
        if (i > first && item->left - (item - 1)->left - (item - 1)->width > 4 * item->height)
            alike = false; /* cells of a table */
        strbuf_append(&line, strbuf_text(&g->texts) + item->text, item->length);
        strbuf_putc(&line, ' ');
    }
    c.hash = alike && ends_like_heading(strbuf_text(&line), line.length) ? fold(line.text, line.length) : 0;
    c.tail = c.hash && !begins_like_heading(line.text);
    c.bytes = line.length;
    bool good = !line.failed && (!c.hash || add(t, &c));
    strbuf_fini(&line);
    return good;
}

static bool add_large(struct titles *t)
{
    const struct geometry *g = &t->pdf->geometry;
    int text = size_of_text(g);
    for (size_t p = 0; p < g->page_count; p++) {
        size_t end = g->pages[p].first + g->pages[p].count;
        for (size_t first = g->pages[p].first, last; first < end; first = last) {
            for (last = first + 1; last < end && is_one_row(&g->items[first], &g->items[last]);)
                last++;
            if (!add_row(t, p, first, last, text))
                return false;
        }
    }
    return true;
}

/* Styles become levels, the largest first. One that a good part of all lines has is no style of headings. */
static void give_levels(struct titles *t)
{
    size_t used[2 * LARGEST] = {0};
    int level_of[2 * LARGEST] = {0}, level = 0;
    for (size_t i = 0; i < t->count; i++)
        used[t->items[i].style] += t->items[i].bytes;
    for (int style = 2 * LARGEST - 1; style > 0; style--)
        if (used[style] && used[style] * MOST_SHARE <= t->pdf->geometry.texts.length)
            level_of[style] = level < LEVELS ? ++level : LEVELS;
    for (size_t i = 0; i < t->count; i++)
        t->items[i].level = level_of[t->items[i].style];
}

/* ---- marks ----------------------------------------------------------------------------------- */

static size_t line_end(const struct strbuf *text, size_t at)
{
    const char *newline = memchr(text->text + at, '\n', text->length - at);
    return newline ? (size_t)(newline - text->text) : text->length;
}

struct heading_run { /* lines of one heading */
    struct reading_mark mark;
    size_t lines, page;
    int style;
};

static bool finish_run(struct titles *t, struct heading_run *run)
{
    bool good = run->lines == 0 || reading_mark(t->pdf->reading, &run->mark);
    run->lines = 0;
    return good;
}

static bool take_line(struct titles *t, struct heading_run *run, size_t at, size_t end, size_t page)
{
    const char *text = strbuf_text(&t->pdf->reading->text);
    uint64_t hash = end - at <= LONGEST ? fold(text + at, end - at) : 0;
    const struct candidate *found = hash ? find(t, page, hash) : NULL;
    if (!found)
        return finish_run(t, run);
    bool goes_on = run->lines && run->lines < MOST_LINES && !t->from_bookmarks &&
                   run->style == found->style && run->page == page && run->mark.last + 1 == at;
    if (goes_on) {
        run->mark.last = run->mark.title_end = end;
        run->lines++;
        return true;
    }
    bool good = finish_run(t, run);
    if (found->tail)
        return good;
    size_t title = at;
    while (title < end && text[title] == ' ')
        title++;
    run->mark = (struct reading_mark){at, end, MARK_HEADING, found->level, title, end};
    run->lines = 1;
    run->page = page;
    run->style = found->style;
    return good;
}

static bool mark_lines(struct titles *t)
{
    const struct reading *reading = t->pdf->reading;
    const struct page_list *pages = &reading->pages;
    struct heading_run run = {.lines = 0};
    size_t page = 0;
    bool good = true;
    for (size_t at = 0, end; good && at < reading->text.length; at = end + 1) {
        end = line_end(&reading->text, at);
        while (page + 1 < pages->count && pages->starts[page + 1] <= at)
            page++;
        good = take_line(t, &run, at, end, page);
    }
    return good && finish_run(t, &run);
}

ll_status titles_mark(const struct pdf *pdf)
{
    struct titles t = {.pdf = pdf};
    bool good = add_bookmarks(&t);
    if (good && !t.from_bookmarks) {
        good = add_large(&t);
        give_levels(&t);
    }
    if (good && t.count) {
        qsort(t.items, t.count, sizeof *t.items, compare);
        good = mark_lines(&t);
    }
    mem_free(t.items);
    return good ? LL_OK : error_nomem(pdf->error, "pdf", t.count);
}
