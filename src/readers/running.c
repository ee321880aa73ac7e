/* Running headers, footers and page numbers: lines that come back at the same edge of most pages.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/running.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

enum { LONGEST = 160, NO_NUMBER = INT32_MIN };

struct edge { /* one line near an edge of its page */
    uint64_t masked, exact;
    int64_t first_offset, last_offset; /* numbers at the line's ends minus its page */
    size_t line, page;
    bool outermost; /* among the first two or last two lines of its page */
    bool words;     /* holds letters, not only numbers, and stands at the top */
};

/* ---- one line -------------------------------------------------------------------------------- */

static int32_t roman_value(const char *text, size_t length)
{
    static const char letters[] = "ivxlcdm";
    static const int values[] = {1, 5, 10, 50, 100, 500, 1000};
    int32_t sum = 0, previous = 0;
    if (length == 0 || length > 8)
        return NO_NUMBER;
    for (size_t i = length; i-- > 0;) {
        const char *found = memchr(letters, text[i] | 0x20, sizeof letters - 1);
        if (!found)
            return NO_NUMBER;
        int32_t value = values[found - letters];
        sum += value < previous ? -value : value;
        previous = value;
    }
    return sum;
}

/* A line with its blanks left out; masked also hides digits and case. */
struct folded {
    char masked[LONGEST], exact[LONGEST];
    size_t masked_length, exact_length, letters;
    int64_t leading;     /* the first number */
    int64_t first, last; /* the numbers that stand before all letters and after all letters */
};

static void fold_number(struct folded *f, const char *digits, size_t count)
{
    int64_t value = 0;
    for (size_t i = 0; i < count; i++) {
        value = value < 1000000 ? value * 10 + (digits[i] - '0') : value;
        if (f->exact_length < LONGEST)
            f->exact[f->exact_length++] = digits[i];
    }
    f->masked[f->masked_length++] = '#';
    if (f->leading == NO_NUMBER)
        f->leading = value;
    if (f->letters == 0 && f->first == NO_NUMBER)
        f->first = value;
    f->last = value;
}

static void fold_line(struct folded *f, const char *text, const struct page_line *line)
{
    for (size_t i = line->first; i < line->last && f->masked_length < LONGEST && f->exact_length < LONGEST;) {
        unsigned char c = (unsigned char)text[i];
        size_t digits = 0;
        while (i + digits < line->last && text[i + digits] >= '0' && text[i + digits] <= '9')
            digits++;
        if (digits) {
            fold_number(f, text + i, digits);
            i += digits;
            continue;
        }
        i++;
        if (c == ' ' || c == '\t')
            continue;
        f->exact[f->exact_length++] = (char)c;
        f->masked[f->masked_length++] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
        if ((c | 0x20) >= 'a' && ((c | 0x20) <= 'z' || c >= 0x80)) {
            f->letters++;
            f->last = NO_NUMBER;
        }
    }
}

static struct edge describe(const char *text, const struct page_line *line, bool bottom)
{
    struct folded f = {.leading = NO_NUMBER, .first = NO_NUMBER, .last = NO_NUMBER};
    fold_line(&f, text, line);
    bool label = f.letters == 4 && memcmp(f.masked, "page", 4) == 0;
    if (f.masked_length == 8 && memcmp(f.masked, "page#of#", 8) == 0) {
        f.last = f.leading;
        label = true;
    }
    int32_t roman = roman_value(f.masked, f.masked_length);
    if (roman != NO_NUMBER) {
        f.masked[0] = '#';
        f.masked_length = 1;
        f.first = f.last = roman;
    }
    struct edge edge = {.masked = hash_bytes(f.masked, f.masked_length, bottom),
                        .exact = hash_bytes(f.exact, f.exact_length, 0),
                        .page = line->page,
                        .words = !bottom && !label && roman == NO_NUMBER && f.letters >= 3};
    edge.first_offset = f.first == NO_NUMBER ? NO_NUMBER : f.first - (int64_t)line->page;
    edge.last_offset = f.last == NO_NUMBER ? NO_NUMBER : f.last - (int64_t)line->page;
    return edge;
}

/* ---- groups of equal lines ------------------------------------------------------------------- */

static int compare_edges(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    if (x->masked != y->masked)
        return x->masked < y->masked ? -1 : 1;
    if (x->exact != y->exact)
        return x->exact < y->exact ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

/* How often the commonest offset occurs, if it is a majority (a vote, then a count). */
static size_t constant_offsets(const struct edge *edges, size_t count, bool last)
{
    int64_t candidate = NO_NUMBER;
    size_t votes = 0, agreeing = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t offset = last ? edges[i].last_offset : edges[i].first_offset;
        if (votes == 0)
            candidate = offset;
        votes += offset == candidate ? 1 : (size_t)-1;
    }
    for (size_t i = 0; i < count; i++)
        agreeing += (last ? edges[i].last_offset : edges[i].first_offset) == candidate;
    return candidate == NO_NUMBER ? 0 : agreeing;
}

static bool is_running(const struct edge *edges, size_t count, size_t pages)
{
    if (count * 2 <= pages && !(count >= 5 && count * 3 > pages))
        return false;
    size_t different = 1;
    for (size_t i = 1; i < count; i++)
        different += edges[i].exact != edges[i - 1].exact;
    return different * 2 <= count || constant_offsets(edges, count, true) * 5 >= count * 3 ||
           constant_offsets(edges, count, false) * 5 >= count * 3;
}

/* The head of a chapter: the same words at the top of pages that follow each other or face each other.
 * Its first page keeps it, for that may be the chapter's only title. */
static void mark_neighbours(struct edge *edges, size_t count, struct page_line *lines)
{
    for (size_t i = 1; i < count; i++)
        if (edges[i].exact == edges[i - 1].exact && edges[i].masked == edges[i - 1].masked &&
            edges[i].outermost && edges[i - 1].outermost && edges[i].page - edges[i - 1].page <= 2 &&
            edges[i].page > edges[i - 1].page)
            lines[edges[i].line].dropped = true;
}

/* What stands on most pages goes, but for a title at the top of the first page. What stands on a third
 * of them heads a chapter: the first of each stays. */
static void mark_group(const struct edge *edges, size_t count, size_t pages, struct page_line *lines)
{
    bool most = count * 2 > pages;
    for (size_t i = 0; i < count; i++) {
        bool first = most ? edges[i].page == 0 : i == 0 || edges[i].exact != edges[i - 1].exact;
        lines[edges[i].line].dropped = !(first && edges[i].words);
    }
}

static void mark_groups(struct edge *edges, size_t count, size_t pages, struct page_line *lines)
{
    qsort(edges, count, sizeof *edges, compare_edges);
    for (size_t first = 0, next; first < count; first = next) {
        for (next = first + 1; next < count && edges[next].masked == edges[first].masked;)
            next++;
        if (is_running(edges + first, next - first, pages))
            mark_group(edges + first, next - first, pages, lines);
    }
    mark_neighbours(edges, count, lines);
}

static size_t collect(const char *text, const struct page_line *lines, size_t first, size_t next,
                      struct edge *edges)
{
    size_t used = 0, seen = 0, filled = 0;
    for (size_t i = first; i < next; i++)
        filled += lines[i].last > lines[i].first;
    for (size_t i = first; i < next; i++) {
        if (lines[i].last == lines[i].first)
            continue;
        bool top = seen < RUNNING_DEPTH, bottom = filled - seen <= RUNNING_DEPTH;
        seen++;
        if (!top && !bottom)
            continue;
        bool low = !top || (bottom && seen > filled / 2);
        edges[used] = describe(text, &lines[i], low);
        edges[used].outermost = seen <= 2 || filled - seen < 2;
        edges[used++].line = i;
    }
    return used;
}

static bool says_something(const char *text, const struct page_line *line)
{
    struct folded f = {.leading = NO_NUMBER, .first = NO_NUMBER, .last = NO_NUMBER};
    fold_line(&f, text, line);
    return f.letters > 4 && roman_value(f.masked, f.masked_length) == NO_NUMBER; /* more than "page 3" */
}

/* Forms, cards and slides repeat most of what they say. What is said twice is a lesser evil than a
 * text of which most is gone, so all words stay and only the page numbers go. */
static void spare_repetitive(const char *text, struct page_line *lines, size_t count)
{
    size_t all = 0, lost = 0;
    for (size_t i = 0; i < count; i++) {
        all += lines[i].last - lines[i].first;
        lost += lines[i].dropped ? lines[i].last - lines[i].first : 0;
    }
    if (lost * 5 <= all * 2)
        return;
    for (size_t i = 0; i < count; i++)
        if (lines[i].dropped && says_something(text, &lines[i]))
            lines[i].dropped = false;
}

bool running_mark(const char *text, struct page_line *lines, size_t count, size_t pages)
{
    if (pages < 3)
        return true;
    size_t most = pages < count / (2 * RUNNING_DEPTH) ? pages * 2 * RUNNING_DEPTH : count;
    struct edge *edges = mem_new(most, sizeof *edges);
    if (!edges)
        return false;
    size_t used = 0;
    for (size_t first = 0, next; first < count; first = next) {
        for (next = first + 1; next < count && lines[next].page == lines[first].page;)
            next++;
        used += collect(text, lines, first, next, edges + used);
    }
    mark_groups(edges, used, pages, lines);
    spare_repetitive(text, lines, count);
    mem_free(edges);
    return true;
}
