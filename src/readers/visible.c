/* What a reader of the pages sees: text that hides is left out, rows of tables are put in order.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/visible.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "readers/layout.h"
#include "readers/pictures.h"
#include "readers/words.h"

enum {
    TINY = 3,        /* in geometry's units: two points */
    WHITE = 0xF0,    /* each part of a colour, at least */
    LEAST_LOST = 6,  /* letters that only pdftotext sees: drawn invisibly */
    DOTS = 36,       /* per inch, for looking at what is behind white letters */
    UNITS_A_DOT = 3, /* of geometry */
};

struct page_state {
    size_t first, last;    /* of its text in raw */
    size_t letters, shown; /* as pdftotext and as pdftohtml see them */
    size_t hidden;         /* letters that nobody sees */
    bool right_to_left, layer, rewrite;
};

struct look {
    const struct pdf *pdf;
    struct strbuf *raw;
    struct geometry *geometry;
    struct page_state *pages;
    size_t count;
};

/* ---- letters --------------------------------------------------------------------------------- */

static size_t count_letters(const char *text, size_t length, bool *right_to_left)
{
    size_t count = 0;
    for (size_t i = 0, step; i < length; i += step) {
        int32_t code = utf8_decode(text + i, length - i, &step);
        bool word =
            (code >= '0' && code <= '9') || ((code | 0x20) >= 'a' && (code | 0x20) <= 'z') || code >= 0xC0;
        count += word && code != 0xFFFD;
        if (right_to_left)
            *right_to_left |= (code >= 0x590 && code <= 0x8FF) || (code >= 0xFB1D && code <= 0xFDFF) ||
                              (code >= 0xFE70 && code <= 0xFEFE);
    }
    return count;
}

static bool split_pages(struct look *l)
{
    size_t feeds = 0, at = 0;
    for (size_t i = 0; i < l->raw->length; i++)
        feeds += l->raw->text[i] == '\f';
    l->count = feeds < l->geometry->page_count ? feeds : l->geometry->page_count;
    l->pages = mem_new(l->count + 1, sizeof *l->pages);
    for (size_t i = 0; l->pages && i < l->count; i++) {
        struct page_state *page = &l->pages[i];
        page->first = at;
        page->last = at + strcspn(l->raw->text + at, "\f");
        at = page->last + 1;
        page->letters =
            count_letters(l->raw->text + page->first, page->last - page->first, &page->right_to_left);
    }
    return l->pages != NULL;
}

/* ---- what hides ------------------------------------------------------------------------------ */

static bool is_white(unsigned colour)
{
    return (colour >> 16 & 0xFF) >= WHITE && (colour >> 8 & 0xFF) >= WHITE && (colour & 0xFF) >= WHITE;
}

static bool is_off_page(const struct geometry_item *item, const struct geometry_page *page)
{
    return item->left + item->width <= 0 || item->top + item->height <= 0 || item->left >= page->width ||
           item->top >= page->height;
}

/* A grey picture of the page ("P5 width height 255" and bytes); pixels: into picture. */
static bool draw(const struct pdf *pdf, size_t page, struct strbuf *picture, size_t *pixels, size_t *width,
                 size_t *height)
{
    char number[24], dots[12];
    snprintf(number, sizeof number, "%zu", page + 1);
    snprintf(dots, sizeof dots, "%d", DOTS);
    const char *argv[] = {"pdftoppm", "-gray", "-r", dots, "-f", number, "-l", number, CHILD_INPUT, NULL};
    struct child_result result;
    int used = 0;
    if (pdf_run(pdf, argv, &result) != LL_OK)
        return false;
    *picture = result.out;
    result.out = (struct strbuf){0};
    child_result_fini(&result);
    if (sscanf(strbuf_text(picture), "P5 %zu %zu 255%n", width, height, &used) != 2 || used <= 0)
        return false;
    *pixels = (size_t)used + 1;
    return *width < 100000 && *height < 100000 && picture->length >= *pixels + *width * *height;
}

static bool is_blank_behind(const struct geometry_item *item, const unsigned char *pixels, size_t width,
                            size_t height)
{
    int left = item->left / UNITS_A_DOT, right = (item->left + item->width) / UNITS_A_DOT + 1;
    int top = item->top / UNITS_A_DOT, bottom = (item->top + item->height) / UNITS_A_DOT + 1;
    for (int y = top < 0 ? 0 : top; y < bottom && y < (int)height; y++)
        for (int x = left < 0 ? 0 : left; x < right && x < (int)width; x++)
            if (pixels[(size_t)y * width + (size_t)x] < WHITE)
                return false;
    return true;
}

static void judge_white(const struct look *l, size_t page)
{
    const struct geometry_page *g = &l->geometry->pages[page];
    struct strbuf picture = {0};
    size_t pixels, width, height;
    bool drawn = draw(l->pdf, page, &picture, &pixels, &width, &height);
    for (size_t i = g->first; drawn && i < g->first + g->count; i++) {
        struct geometry_item *item = &l->geometry->items[i];
        if (is_white(item->colour) &&
            is_blank_behind(item, (const unsigned char *)picture.text + pixels, width, height))
            item->hidden = true;
    }
    strbuf_fini(&picture);
}

static void judge_page(struct look *l, size_t index)
{
    struct page_state *page = &l->pages[index];
    const struct geometry_page *g = &l->geometry->pages[index];
    const char *texts = strbuf_text(&l->geometry->texts);
    size_t white = 0;
    for (size_t i = g->first; i < g->first + g->count; i++) {
        struct geometry_item *item = &l->geometry->items[i];
        item->hidden = item->size < TINY || is_off_page(item, g);
        white += is_white(item->colour);
    }
    if (white)
        judge_white(l, index);
    for (size_t i = g->first; i < g->first + g->count; i++) {
        const struct geometry_item *item = &l->geometry->items[i];
        size_t letters = count_letters(texts + item->text, item->length, NULL);
        page->shown += letters;
        page->hidden += item->hidden ? letters : 0;
    }
    bool lost = page->letters > page->shown && page->letters - page->shown >= LEAST_LOST;
    page->layer = lost && page->shown * 10 < page->letters;
    page->hidden += lost ? page->letters - page->shown : 0;
}

/* Invisible text is the OCR layer of a scan where the page shows a large picture. */
static ll_status judge_layers(struct look *l)
{
    bool any = false, known = true;
    for (size_t i = 0; i < l->count; i++)
        any |= l->pages[i].layer;
    if (!any)
        return LL_OK;
    bool *pictured = mem_new(l->count + 1, sizeof *pictured);
    if (!pictured)
        return error_nomem(l->pdf->error, "pdf", l->count);
    for (size_t i = 0; i < l->count; i++)
        pictured[i] = l->pages[i].layer;
    ll_status status = pictures_find(l->pdf, pictured, l->count, &known);
    for (size_t i = 0; i < l->count; i++)
        if (l->pages[i].layer && (pictured[i] || !known))
            l->pages[i].hidden = 0;
        else
            l->pages[i].layer = false;
    mem_free(pictured);
    return status;
}

/* ---- hyphens --------------------------------------------------------------------------------- */

/* pdftotext joins words over line ends whatever they are. Where the word with its hyphen stands inside of a
 * line elsewhere, it gets the hyphen back. */
static bool learn_compounds(const struct look *l, struct word_set *known)
{
    struct words walk = words_of(l->raw->text, l->raw->length);
    struct word word;
    while (words_next(&walk, &word))
        if (memchr(l->raw->text + word.first, '-', word.last - word.first) &&
            !word_set_add(known, word.exact))
            return false;
    return true;
}

static uint64_t exact_of(const struct strbuf *text)
{
    struct words walk = words_of(strbuf_text(text), text->length);
    struct word word = {0};
    return words_next(&walk, &word) && word.last - word.first == text->length ? word.exact : 0;
}

/* The compound over the end of an item and the beginning of the next one; false: there is none. */
static bool compound_of(const struct look *l, const struct geometry_item *item,
                        const struct geometry_item *next, struct strbuf *compound, size_t *ret_hyphen)
{
    const char *texts = strbuf_text(&l->geometry->texts), *end = texts + item->text + item->length;
    size_t before = 0, after = 0;
    if (item->length < 3 || end[-1] != '-')
        return false;
    while (before + 1 < item->length && end[-2 - (ptrdiff_t)before] != ' ')
        before++;
    while (after < next->length && texts[next->text + after] >= 'a' && texts[next->text + after] <= 'z')
        after++;
    strbuf_clear(compound);
    strbuf_append(compound, end - 1 - before, before + 1);
    strbuf_append(compound, texts + next->text, after);
    *ret_hyphen = before;
    return before > 0 && after > 0 && !compound->failed;
}

/* Where the joined word stands from `at` on, alone on its page; SIZE_MAX: nowhere. */
static size_t find_joined(const struct look *l, const struct page_state *page, size_t at,
                          const struct strbuf *compound, size_t hyphen)
{
    const char *text = l->raw->text;
    size_t length = compound->length - 1;
    while (at + length <= page->last) {
        const char *found = memchr(text + at, compound->text[0], page->last - length - at + 1);
        if (!found)
            break;
        at = (size_t)(found - text);
        if (memcmp(found, compound->text, hyphen) == 0 &&
            memcmp(found + hyphen, compound->text + hyphen + 1, length - hyphen) == 0)
            return at;
        at++;
    }
    return SIZE_MAX;
}

struct places { /* of raw, where a hyphen is missing */
    size_t *items;
    size_t count, capacity;
};

/* Pieces come in the order of the text, more or less: each word is looked for behind the one before it, and
 * only then from the page's beginning. */
static bool find_hyphens(const struct look *l, size_t page, const struct word_set *known,
                         struct strbuf *compound, struct places *places)
{
    const struct geometry_page *g = &l->geometry->pages[page];
    const struct page_state *state = &l->pages[page];
    size_t hyphen, from = state->first;
    for (size_t k = g->first; k + 1 < g->first + g->count; k++) {
        if (!compound_of(l, &l->geometry->items[k], &l->geometry->items[k + 1], compound, &hyphen) ||
            !word_set_has(known, exact_of(compound)))
            continue;
        size_t at = find_joined(l, state, from, compound, hyphen);
        if (at == SIZE_MAX && from > state->first)
            at = find_joined(l, state, state->first, compound, hyphen);
        if (at == SIZE_MAX)
            continue;
        from = at + compound->length - 1;
        if (!mem_grow((void **)&places->items, &places->capacity, places->count + 1, sizeof *places->items))
            return false;
        places->items[places->count++] = at + hyphen;
    }
    return !compound->failed;
}

static int compare_places(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? -1 : x > y;
}

static void move_pages(struct look *l, const struct places *places)
{
    size_t before = 0;
    for (struct page_state *page = l->pages; page < l->pages + l->count; page++) {
        while (before < places->count && places->items[before] < page->first)
            before++;
        page->first += before;
        while (before < places->count && places->items[before] < page->last)
            before++;
        page->last += before;
    }
}

static bool put_hyphens(struct look *l, struct places *places)
{
    struct strbuf out = {0};
    size_t kept = 0, count = 0;
    if (places->count == 0)
        return true;
    qsort(places->items, places->count, sizeof *places->items, compare_places);
    for (size_t i = 0; i < places->count; i++)
        if (i == 0 || places->items[i] != places->items[count - 1])
            places->items[count++] = places->items[i];
    places->count = count;
    for (size_t i = 0; i < count; kept = places->items[i++]) {
        strbuf_append(&out, l->raw->text + kept, places->items[i] - kept);
        strbuf_putc(&out, '-');
    }
    strbuf_append(&out, l->raw->text + kept, l->raw->length - kept);
    if (out.failed) {
        strbuf_fini(&out);
        return false;
    }
    strbuf_fini(l->raw);
    *l->raw = out;
    move_pages(l, places);
    return true;
}

static ll_status restore_hyphens(struct look *l)
{
    struct word_set known = {0};
    struct strbuf compound = {0};
    struct places places = {0};
    bool good = learn_compounds(l, &known);
    for (size_t i = 0; good && known.count && i < l->count; i++)
        good = find_hyphens(l, i, &known, &compound, &places);
    good = good && put_hyphens(l, &places);
    word_set_fini(&known);
    strbuf_fini(&compound);
    mem_free(places.items);
    return good ? LL_OK : error_nomem(l->pdf->error, "pdf", l->raw->length);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void report(const struct look *l)
{
    bool *marked = mem_new(l->count + 1, sizeof *marked);
    struct strbuf list = {0};
    size_t pages = 0, letters = 0;
    for (size_t i = 0; marked && i < l->count; i++) {
        marked[i] = l->pages[i].hidden > 0 && l->pages[i].rewrite;
        pages += marked[i];
        letters += marked[i] ? l->pages[i].hidden : 0;
    }
    if (pages) {
        pdf_name_pages(marked, l->count, &list);
        notes_add(
            l->pdf->reading->notes,
            "%s: text that nobody sees on the page was left out (%zu letters, %s %s): invisible, white on "
            "white, tiny or off the page",
            l->pdf->reading->name, letters, pages == 1 ? "page" : "pages", strbuf_text(&list));
    }
    strbuf_fini(&list);
    mem_free(marked);
}

static ll_status rewrite(struct look *l)
{
    struct strbuf out = {0};
    bool good = true;
    for (size_t i = 0; i < l->count && good; i++) {
        const struct page_state *page = &l->pages[i];
        if (page->rewrite)
            good = layout_write(l->geometry, i, &out);
        else
            strbuf_append(&out, l->raw->text + page->first, page->last - page->first);
        strbuf_putc(&out, '\f');
    }
    size_t rest = l->count ? l->pages[l->count - 1].last + 1 : 0;
    if (rest < l->raw->length)
        strbuf_append(&out, l->raw->text + rest, l->raw->length - rest);
    if (!good || out.failed) {
        strbuf_fini(&out);
        return error_nomem(l->pdf->error, "pdf", l->raw->length);
    }
    strbuf_fini(l->raw);
    *l->raw = out;
    return LL_OK;
}

static ll_status judge(struct look *l)
{
    bool any = false;
    if (!split_pages(l))
        return error_nomem(l->pdf->error, "pdf", l->raw->length);
    for (size_t i = 0; i < l->count; i++) {
        LL_TRY(input_check(l->pdf->input));
        judge_page(l, i);
    }
    LL_TRY(judge_layers(l));
    LL_TRY(restore_hyphens(l));
    for (size_t i = 0; i < l->count; i++) {
        struct page_state *page = &l->pages[i];
        page->rewrite =
            !page->right_to_left && !page->layer &&
            (page->hidden > 0 || layout_has_table(l->geometry, i) ||
             layout_is_mixed(l->geometry, i, l->raw->text + page->first, page->last - page->first));
        any |= page->rewrite;
    }
    report(l);
    return any ? rewrite(l) : LL_OK;
}

ll_status visible_text(struct pdf *pdf, struct strbuf *raw)
{
    struct look look = {.pdf = pdf, .raw = raw, .geometry = &pdf->geometry};
    ll_status status = judge(&look);
    mem_free(look.pages);
    return status;
}
