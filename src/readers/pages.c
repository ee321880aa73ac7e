/* Paged text to running text: page map kept, headers and footers dropped, hyphenated words joined.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/pages.h"

#include <string.h>
#include <utf8proc.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "readers/running.h"
#include "readers/words.h"

struct cleaner {
    const char *text;
    size_t length;
    bool repair;
    const ll_cancel *cancel;
    struct page_line *lines;
    size_t count, capacity;
    struct word_set known; /* words and compounds that stand inside a line */
    struct strbuf *out;
    struct page_list *pages;
};

void page_list_fini(struct page_list *list)
{
    mem_free(list->starts);
    mem_free(list->letters);
    *list = (struct page_list){0};
}

bool page_list_add(struct page_list *list, size_t start)
{
    if (!mem_grow((void **)&list->starts, &list->capacity, list->count + 1, sizeof *list->starts) ||
        !mem_grow((void **)&list->letters, &list->letter_capacity, list->count + 1, sizeof *list->letters))
        return false;
    list->starts[list->count] = start;
    list->letters[list->count++] = 0;
    return true;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bool add_line(struct cleaner *c, size_t first, size_t last, size_t page)
{
    while (last > first && (c->text[last - 1] == ' ' || c->text[last - 1] == '\t'))
        last--;
    if (!mem_grow((void **)&c->lines, &c->capacity, c->count + 1, sizeof *c->lines))
        return false;
    c->lines[c->count++] = (struct page_line){first, last, page, false};
    return true;
}

/* Returns the number of pages through ret_pages. */
static bool split_lines(struct cleaner *c, size_t *ret_pages)
{
    size_t first = 0, page = 0;
    for (size_t i = 0; i < c->length; i++) {
        if (c->text[i] != '\n' && c->text[i] != '\f')
            continue;
        if (!add_line(c, first, i, page))
            return false;
        page += c->text[i] == '\f';
        first = i + 1;
    }
    bool rest = false;
    for (size_t i = first; i < c->length; i++)
        rest |= c->text[i] != ' ' && c->text[i] != '\t';
    if (rest && !add_line(c, first, c->length, page))
        return false;
    bool open_page = c->count && c->lines[c->count - 1].page == page;
    bool written = false;
    for (size_t i = c->count; open_page && i-- > 0 && c->lines[i].page == page;)
        written |= c->lines[i].last > c->lines[i].first;
    while (open_page && !written && c->count && c->lines[c->count - 1].page == page)
        c->count--;
    *ret_pages = page + (open_page && written);
    return true;
}

static const struct page_line *next_written(const struct cleaner *c, size_t line)
{
    for (size_t i = line + 1; i < c->count && i < line + 64; i++)
        if (!c->lines[i].dropped && c->lines[i].last > c->lines[i].first)
            return &c->lines[i];
    return NULL;
}

/* ---- hyphens --------------------------------------------------------------------------------- */

/* Bytes of the hyphen that ends the line after a letter, 0 when there is none. */
static size_t hyphen_at_end(const struct cleaner *c, const struct page_line *line, bool *soft)
{
    const char *text = c->text;
    size_t last = line->last, first = line->first;
    *soft = last - first >= 3 && memcmp(text + last - 2, "\xC2\xAD", 2) == 0;
    size_t size = *soft ? 2 : 0;
    if (!size && last - first >= 2 && text[last - 1] == '-')
        size = 1;
    if (!size && last - first >= 4 && memcmp(text + last - 3, "\xE2\x80\x90", 3) == 0)
        size = 3;
    if (!size)
        return 0;
    unsigned char before = (unsigned char)text[last - size - 1];
    return (before | 0x20) >= 'a' && (before | 0x20) <= 'z' ? size : before >= 0x80 ? size : 0;
}

static bool begins_lower(const char *text, const struct page_line *line)
{
    size_t at = line->first, step;
    while (at < line->last && (text[at] == ' ' || text[at] == '\t'))
        at++;
    int32_t code = utf8_decode(text + at, line->last - at, &step);
    return code > 0 && utf8proc_category(code) == UTF8PROC_CATEGORY_LL;
}

static bool last_word(const struct cleaner *c, size_t first, size_t last, struct word *ret)
{
    size_t start = last > first + 80 ? last - 80 : first;
    while (start < last && ((unsigned char)c->text[start] & 0xC0) == 0x80)
        start++;
    struct words walk = words_of(c->text + start, last - start);
    struct word word;
    bool any = false;
    while (words_next(&walk, &word)) {
        *ret = word;
        any = true;
    }
    ret->first += start;
    ret->last += start;
    return any;
}

static uint64_t joined_hash(const struct cleaner *c, const struct word *a, const struct word *b,
                            const char *between)
{
    struct strbuf text = {0};
    strbuf_append(&text, c->text + a->first, a->last - a->first);
    strbuf_puts(&text, between);
    strbuf_append(&text, c->text + b->first, b->last - b->first);
    struct words walk = words_of(strbuf_text(&text), text.length);
    struct word word = {0};
    bool any = words_next(&walk, &word);
    strbuf_fini(&text);
    return any ? word.exact : 0;
}

/* A hyphen stays when the hyphenated word stands elsewhere in a line, or when both halves do and the
 * joined word does not. */
static bool keeps_hyphen(const struct cleaner *c, const struct page_line *line, size_t hyphen,
                         const struct page_line *next)
{
    struct word a = {0}, b = {0};
    struct words walk = words_of(c->text + next->first, next->last - next->first);
    if (!last_word(c, line->first, line->last - hyphen, &a) || !words_next(&walk, &b))
        return true;
    b.first += next->first;
    b.last += next->first;
    if (word_set_has(&c->known, joined_hash(c, &a, &b, "-")))
        return true;
    if (word_set_has(&c->known, joined_hash(c, &a, &b, "")))
        return false;
    return word_set_has(&c->known, a.exact) && word_set_has(&c->known, b.exact) && !a.common && !b.common &&
           b.last - b.first > 3 && a.last - a.first > 3;
}

static bool learn_words(struct cleaner *c)
{
    bool soft, after_hyphen = false;
    for (size_t i = 0; i < c->count; i++) {
        const struct page_line *line = &c->lines[i];
        if (line->dropped || line->last == line->first)
            continue;
        struct words walk = words_of(c->text + line->first, line->last - line->first);
        struct word word;
        bool hyphen = hyphen_at_end(c, line, &soft) > 0, skip = after_hyphen;
        size_t inner = line->last - line->first - (hyphen ? 4 : 0);
        while (words_next(&walk, &word)) {
            if (!skip && !(hyphen && word.last >= inner) && !word_set_add(&c->known, word.exact))
                return false;
            skip = false;
        }
        after_hyphen = hyphen;
        if (i % 65536 == 0 && cancel_requested(c->cancel))
            return true;
    }
    return true;
}

/* ---- writing --------------------------------------------------------------------------------- */

static const char *ligature(const char *s, size_t length)
{
    static const char *const forms[] = {"ff", "fi", "fl", "ffi", "ffl", "st", "st"};
    if (length < 3 || (unsigned char)s[0] != 0xEF || (unsigned char)s[1] != 0xAC)
        return NULL;
    unsigned char third = (unsigned char)s[2];
    return third >= 0x80 && third <= 0x86 ? forms[third - 0x80] : NULL;
}

static void put(struct cleaner *c, size_t first, size_t last)
{
    size_t *letters = c->pages->count ? &c->pages->letters[c->pages->count - 1] : NULL;
    for (size_t i = first; i < last;) {
        unsigned char byte = (unsigned char)c->text[i];
        if (letters && byte > 0x20)
            ++*letters;
        const char *form = c->repair ? ligature(c->text + i, last - i) : NULL;
        if (form) {
            strbuf_puts(c->out, form);
            i += 3;
        } else if (c->repair && byte == 0xC2 && i + 1 < last && (unsigned char)c->text[i + 1] == 0xAD) {
            i += 2;
        } else if (c->repair && byte < 0x20 && byte != '\t') {
            i++;
        } else {
            strbuf_putc(c->out, (char)byte);
            i++;
        }
    }
}

/* A sentence runs over the page break when it has not ended and goes on in lower case. */
static bool runs_on(const struct cleaner *c, const struct page_line *next)
{
    if (!c->out->length || !begins_lower(c->text, next))
        return false;
    char last = c->out->text[c->out->length - 1];
    return !strchr(".!?:;", last);
}

struct writing {
    size_t page; /* the last page begun */
    bool blank;  /* a paragraph break is due */
    bool any;    /* something has been written */
    bool joined; /* the last line ended in half a word that must be met */
};

static bool begin_pages(struct cleaner *c, struct writing *w, const struct page_line *line)
{
    bool first = true;
    while (c->pages->count <= line->page) {
        if (first && w->any && !w->joined) {
            w->blank = !runs_on(c, line);
            first = false;
        }
        /* A page begins where its first byte will stand: after the line end that is still due. */
        size_t due = !w->any || w->joined ? 0 : w->blank ? 2 : 1;
        if (!page_list_add(c->pages, c->out->length + due))
            return false;
    }
    return true;
}

/* First word of a line whose beginning belongs to the line before. */
static size_t first_word_end(const struct cleaner *c, const struct page_line *line)
{
    size_t at = line->first;
    while (at < line->last && c->text[at] == ' ')
        at++;
    while (at < line->last && c->text[at] != ' ' && c->text[at] != '\t')
        at++;
    return at;
}

static bool write_line(struct cleaner *c, struct writing *w, size_t index)
{
    struct page_line line = c->lines[index];
    bool soft;
    if (w->joined) {
        size_t end = first_word_end(c, &line);
        while (line.first < end && c->text[line.first] == ' ')
            line.first++;
        put(c, line.first, end);
        for (line.first = end; line.first < line.last && c->text[line.first] == ' ';)
            line.first++;
        w->joined = false;
        w->blank = false;
        if (line.first == line.last) /* its page begins with the next line that is written */
            return true;
        if (!begin_pages(c, w, &line))
            return false;
        strbuf_putc(c->out, '\n');
    } else {
        if (!begin_pages(c, w, &line))
            return false;
        if (w->any)
            strbuf_puts(c->out, w->blank ? "\n\n" : "\n");
    }
    const struct page_line *next = c->repair ? next_written(c, index) : NULL;
    size_t hyphen = next && begins_lower(c->text, next) ? hyphen_at_end(c, &line, &soft) : 0;
    bool adjacent = hyphen && (next == &c->lines[index + 1] || next->page != line.page);
    if (adjacent && line.last > line.first + hyphen) {
        bool keep = !soft && keeps_hyphen(c, &line, hyphen, next);
        put(c, line.first, line.last - (keep ? 0 : hyphen));
        w->joined = true;
    } else {
        put(c, line.first, line.last);
    }
    w->any = true;
    w->blank = false;
    return true;
}

/* The longest line left out tells best what these lines are. */
static void count_left_out(struct cleaner *c)
{
    const struct page_line *longest = NULL;
    for (size_t i = 0; i < c->count; i++) {
        const struct page_line *line = &c->lines[i];
        if (!line->dropped)
            continue;
        c->pages->left_out++;
        longest = longest && longest->last - longest->first >= line->last - line->first ? longest : line;
    }
    if (longest)
        utf8_printable(c->text + longest->first, longest->last - longest->first, c->pages->example,
                       sizeof c->pages->example);
}

static ll_status write_all(struct cleaner *c, ll_error *error)
{
    struct writing w = {0};
    for (size_t i = 0; i < c->count; i++) {
        if (i % 4096 == 0 && cancel_requested(c->cancel))
            return error_set(error, LL_CANCELLED, "pages", "reading was cancelled");
        if (c->lines[i].dropped)
            continue;
        if (c->lines[i].last == c->lines[i].first)
            w.blank = true;
        else if (!write_line(c, &w, i))
            return error_nomem(error, "pages", c->length);
    }
    return LL_OK;
}

static ll_status clean(struct cleaner *c, ll_error *error)
{
    size_t pages = 0;
    if (!split_lines(c, &pages) || !running_mark(c->text, c->lines, c->count, pages) ||
        (c->repair && !learn_words(c)))
        return error_nomem(error, "pages", c->length);
    LL_TRY(write_all(c, error));
    count_left_out(c);
    while (c->pages->count < pages) /* blank pages at the end */
        if (!page_list_add(c->pages, c->out->length))
            return error_nomem(error, "pages", pages);
    strbuf_putc(c->out, '\n');
    return c->out->failed ? error_nomem(error, "pages", c->length) : LL_OK;
}

ll_status pages_clean(const char *text, size_t length, bool repair, const ll_cancel *cancel,
                      struct strbuf *out, struct page_list *pages, ll_error *error)
{
    struct cleaner c = {
        .text = text, .length = length, .repair = repair, .cancel = cancel, .out = out, .pages = pages};
    ll_status status = clean(&c, error);
    mem_free(c.lines);
    word_set_fini(&c.known);
    return status;
}

void pages_note(const struct page_list *pages, const char *name, struct notes *notes)
{
    if (pages->left_out)
        notes_add(notes, "%s: %zu line%s of running heads and page numbers left out (such as \"%s\")", name,
                  pages->left_out, pages->left_out == 1 ? "" : "s", pages->example);
}
