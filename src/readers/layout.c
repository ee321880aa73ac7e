/* The text of a page from where its pieces stand: columns one after another, cells of tables by TABs.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pieces at one height are a row. Rows that leave the same upright gap free are a band; a band of short
 * pieces is a table, one of long pieces are columns, which are laid out in turn. A row that crosses the
 * gap ends the band. */
#include "readers/layout.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum {
    LEAST_ROWS = 3, /* of a table */
    MOST_GAPS = 32,
    DEEPEST = 4,    /* columns in columns */
    CELL_WORDS = 4, /* more on average: prose */
};

struct row {
    size_t first, last; /* items in order */
    int top, bottom;
};

struct span {
    int left, right;
};

struct band {
    struct span spans[MOST_GAPS]; /* what the rows cover, from left to right, apart from each other */
    size_t count;
};

struct page {
    const struct geometry *geometry;
    const struct geometry_item **items;
    size_t count;
    struct row *rows;
    size_t row_count;
    bool *table; /* set when one is met */
};

/* ---- rows ------------------------------------------------------------------------------------ */

static int compare_top(const void *a, const void *b)
{
    const struct geometry_item *x = *(const struct geometry_item *const *)a;
    const struct geometry_item *y = *(const struct geometry_item *const *)b;
    int mid_x = 2 * x->top + x->height, mid_y = 2 * y->top + y->height;
    return mid_x != mid_y ? (mid_x < mid_y ? -1 : 1) : x < y ? -1 : x > y;
}

static int compare_left(const void *a, const void *b)
{
    const struct geometry_item *x = *(const struct geometry_item *const *)a;
    const struct geometry_item *y = *(const struct geometry_item *const *)b;
    return x->left != y->left ? (x->left < y->left ? -1 : 1) : x < y ? -1 : x > y;
}

static bool find_rows(struct page *p)
{
    p->rows = mem_new(p->count + 1, sizeof *p->rows);
    if (!p->rows)
        return false;
    qsort(p->items, p->count, sizeof *p->items, compare_top);
    for (size_t i = 0, next; i < p->count; i = next) {
        const struct geometry_item *head = p->items[i];
        struct row row = {i, i, head->top, head->top + head->height};
        int middle = head->top + head->height / 2;
        for (next = i; next < p->count; next++) {
            const struct geometry_item *item = p->items[next];
            if (item->top + item->height / 2 > middle + (head->height > 4 ? head->height / 2 : 2))
                break;
            row.bottom = item->top + item->height > row.bottom ? item->top + item->height : row.bottom;
        }
        row.last = next;
        qsort(p->items + row.first, row.last - row.first, sizeof *p->items, compare_left);
        p->rows[p->row_count++] = row;
    }
    return true;
}

/* ---- bands ----------------------------------------------------------------------------------- */

static int gap_least(const struct geometry_item *item)
{
    return item->height > 8 ? item->height * 2 / 3 : 6;
}

static bool add_span(struct band *b, struct span span, int least)
{
    struct span merged[MOST_GAPS];
    size_t count = 0;
    bool placed = false;
    for (size_t i = 0; i < b->count; i++) {
        if (b->spans[i].right + least > span.left && span.right + least > b->spans[i].left) {
            span.left = b->spans[i].left < span.left ? b->spans[i].left : span.left;
            span.right = b->spans[i].right > span.right ? b->spans[i].right : span.right;
            continue;
        }
        if (!placed && span.left < b->spans[i].left) {
            if (count == MOST_GAPS)
                return false;
            merged[count++] = span;
            placed = true;
        }
        if (count == MOST_GAPS)
            return false;
        merged[count++] = b->spans[i];
    }
    if (!placed && count == MOST_GAPS)
        return false;
    if (!placed)
        merged[count++] = span;
    memcpy(b->spans, merged, count * sizeof *merged);
    b->count = count;
    return true;
}

/* Adds a row if a gap stays free; else leaves the band as it is. */
static bool add_row(const struct page *p, const struct row *row, struct band *b)
{
    struct band grown = *b;
    for (size_t i = row->first; i < row->last; i++) {
        const struct geometry_item *item = p->items[i];
        if (!add_span(&grown, (struct span){item->left, item->left + item->width}, gap_least(item)))
            return false;
    }
    bool crosses = grown.count < b->count && row->last - row->first == 1;
    if (grown.count < 2 || crosses)
        return false;
    *b = grown;
    return true;
}

/* The column of the band that an item stands in. */
static size_t column_of(const struct band *b, const struct geometry_item *item)
{
    size_t column = 0;
    while (column + 1 < b->count && b->spans[column].right <= item->left)
        column++;
    return column;
}

/* The rest of cells that take more than one line: close below, nothing in the first column, words and no
 * numbers, since two amounts must never become one. */
static bool is_wrapped(const struct page *p, size_t row, const struct band *b)
{
    const struct row *here = &p->rows[row];
    if (here->top - p->rows[row - 1].bottom > (here->bottom - here->top) / 2 ||
        column_of(b, p->items[here->first]) == 0)
        return false;
    for (size_t i = here->first; i < here->last; i++) {
        const char *text = strbuf_text(&p->geometry->texts) + p->items[i]->text;
        for (size_t k = 0; k < p->items[i]->length; k++)
            if (text[k] >= '0' && text[k] <= '9')
                return false;
    }
    return true;
}

static size_t band_end(const struct page *p, size_t first, struct band *b)
{
    size_t last = first;
    *b = (struct band){.count = 0};
    while (last < p->row_count && add_row(p, &p->rows[last], b))
        last++;
    if (last == first)
        return last;
    while (last - first > 1 && p->rows[last - 1].last - p->rows[last - 1].first < 2 &&
           !is_wrapped(p, last - 1, b))
        last--; /* lines below the columns that happen to be short */
    return last;
}

static size_t count_words(const struct page *p, const struct geometry_item *item)
{
    const char *text = strbuf_text(&p->geometry->texts) + item->text;
    size_t words = 0;
    for (size_t i = 0; i < item->length; i++)
        words += text[i] != ' ' && (i == 0 || text[i - 1] == ' ');
    return words;
}

static bool is_table(const struct page *p, size_t first, size_t last)
{
    size_t words = 0, items = 0, multiple = 0;
    for (size_t r = first; r < last; r++) {
        multiple += p->rows[r].last - p->rows[r].first >= 2;
        for (size_t i = p->rows[r].first; i < p->rows[r].last; i++, items++)
            words += count_words(p, p->items[i]);
    }
    return multiple * 2 >= last - first && multiple >= LEAST_ROWS && words <= items * CELL_WORDS;
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool write_page(struct page *p, size_t depth, struct strbuf *out);

static void put_item(const struct page *p, const struct geometry_item *item, struct strbuf *out)
{
    strbuf_append(out, strbuf_text(&p->geometry->texts) + item->text, item->length);
}

static int gap_before(const struct page *p, const struct row *row, size_t item)
{
    const struct geometry_item *before = item > row->first ? p->items[item - 1] : NULL;
    return before ? p->items[item]->left - before->left - before->width : 0;
}

static void put_row(const struct page *p, const struct row *row, struct strbuf *out)
{
    for (size_t i = row->first; i < row->last; i++) {
        if (gap_before(p, row, i) > 1)
            strbuf_putc(out, ' ');
        put_item(p, p->items[i], out);
    }
    strbuf_putc(out, '\n');
}

/* Rows [first, last) as one row of cells, each in its column; empty ones keep their place. */
static void put_cells(const struct page *p, size_t first, size_t last, const struct band *b,
                      struct strbuf *out)
{
    size_t end = 0;
    for (size_t column = 0; column < b->count; column++) {
        bool any = false;
        for (size_t r = first; r < last; r++)
            for (size_t i = p->rows[r].first; i < p->rows[r].last; i++) {
                if (column_of(b, p->items[i]) != column)
                    continue;
                bool apart = any && r == first && gap_before(p, &p->rows[r], i) >= gap_least(p->items[i]);
                if (any)
                    strbuf_putc(out, apart ? '\t' : ' ');
                put_item(p, p->items[i], out);
                any = true;
            }
        end = any ? out->length : end;
        strbuf_putc(out, '\t');
    }
    strbuf_truncate(out, end ? end : out->length);
    strbuf_putc(out, '\n');
}

static void put_table(const struct page *p, size_t first, size_t last, const struct band *b,
                      struct strbuf *out)
{
    for (size_t next; first < last; first = next) {
        for (next = first + 1; next < last && is_wrapped(p, next, b);)
            next++;
        put_cells(p, first, next, b, out);
    }
}

/* Items of the band's rows on one side of its widest gap, as a page of their own. */
static bool write_side(const struct page *p, size_t first, size_t last, int gap, bool right, size_t depth,
                       struct strbuf *out)
{
    size_t from = p->rows[first].first, to = p->rows[last - 1].last;
    struct page side = {
        .geometry = p->geometry, .items = mem_new(to - from + 1, sizeof *side.items), .table = p->table};
    if (!side.items)
        return false;
    for (size_t i = from; i < to; i++)
        if ((p->items[i]->left >= gap) == right)
            side.items[side.count++] = p->items[i];
    bool good = side.count == 0 || write_page(&side, depth + 1, out);
    mem_free(side.items);
    return good;
}

static int widest_gap(const struct band *b)
{
    size_t best = 0;
    for (size_t i = 1; i + 1 < b->count; i++)
        if (b->spans[i + 1].left - b->spans[i].right > b->spans[best + 1].left - b->spans[best].right)
            best = i;
    return (b->spans[best].right + b->spans[best + 1].left) / 2;
}

static void put_break(const struct page *p, size_t row, struct strbuf *out)
{
    if (row == 0 || row >= p->row_count)
        return;
    int height = p->rows[row].bottom - p->rows[row].top;
    if (p->rows[row].top - p->rows[row - 1].bottom > height * 7 / 10)
        strbuf_putc(out, '\n');
}

static bool write_page(struct page *p, size_t depth, struct strbuf *out)
{
    bool good = find_rows(p);
    for (size_t r = 0; good && r < p->row_count;) {
        struct band band;
        size_t last = band_end(p, r, &band);
        bool table = last > r && is_table(p, r, last);
        bool columns = !table && last - r >= LEAST_ROWS && band.count >= 2 && depth < DEEPEST;
        put_break(p, r, out);
        if (columns) {
            int gap = widest_gap(&band);
            good = write_side(p, r, last, gap, false, depth, out);
            strbuf_putc(out, '\n');
            good = good && write_side(p, r, last, gap, true, depth, out);
            r = last;
            continue;
        }
        if (table)
            put_table(p, r, last, &band, out);
        else
            put_row(p, &p->rows[r], out);
        *p->table |= table;
        r = table ? last : r + 1;
    }
    mem_free(p->rows);
    p->rows = NULL;
    return good;
}

static bool load(const struct geometry *g, size_t page, struct page *ret)
{
    const struct geometry_page *from = &g->pages[page];
    *ret = (struct page){.geometry = g, .items = mem_new(from->count + 1, sizeof *ret->items)};
    if (!ret->items)
        return false;
    for (size_t i = from->first; i < from->first + from->count; i++)
        if (!g->items[i].hidden && g->items[i].length)
            ret->items[ret->count++] = &g->items[i];
    return true;
}

static bool write_all(const struct geometry *geometry, size_t page, bool *table, struct strbuf *out)
{
    struct page p;
    bool good = load(geometry, page, &p);
    p.table = table;
    good = good && write_page(&p, 0, out) && !out->failed;
    mem_free(p.items);
    return good;
}

bool layout_write(const struct geometry *geometry, size_t page, struct strbuf *out)
{
    bool table = false;
    return write_all(geometry, page, &table, out);
}

/* A table may stand in one of several columns, so the way there is that of writing. */
bool layout_has_table(const struct geometry *geometry, size_t page)
{
    struct strbuf out = {0};
    bool table = false;
    bool good = write_all(geometry, page, &table, &out);
    strbuf_fini(&out);
    return good && table;
}

/* ---- columns that another reader has mixed --------------------------------------------------- */

static const char *find(const char *text, size_t length, const char *what, size_t what_length)
{
    for (const char *at = text, *end = text + length; (size_t)(end - at) >= what_length; at++) {
        at = memchr(at, what[0], (size_t)(end - at) - what_length + 1);
        if (!at)
            return NULL;
        if (memcmp(at, what, what_length) == 0)
            return at;
    }
    return NULL;
}

/* Whether the right piece of a row stands between its left piece and the left piece of the next row. */
static bool is_row_mixed(const struct page *p, size_t row, const char *text, size_t length)
{
    const char *places[3];
    const struct geometry_item *items[3] = {p->items[p->rows[row].first], p->items[p->rows[row + 1].first],
                                            p->items[p->rows[row].last - 1]};
    for (size_t i = 0; i < 3; i++) {
        size_t most = items[i]->length < 24 ? items[i]->length : 24;
        places[i] =
            most < 4 ? NULL : find(text, length, strbuf_text(&p->geometry->texts) + items[i]->text, most);
        if (!places[i])
            return false;
    }
    return places[0] < places[2] && places[2] < places[1];
}

bool layout_is_mixed(const struct geometry *geometry, size_t page, const char *text, size_t length)
{
    struct page p;
    size_t mixed = 0, pairs = 0;
    if (load(geometry, page, &p) && find_rows(&p)) {
        for (size_t r = 0, last; r < p.row_count; r = last) {
            struct band band;
            last = band_end(&p, r, &band);
            for (size_t i = r; last - r >= 2 * LEAST_ROWS && i + 1 < last && pairs < 60; i++) {
                bool both =
                    p.rows[i].last - p.rows[i].first >= 2 && p.rows[i + 1].last - p.rows[i + 1].first >= 2;
                pairs += both;
                mixed += both && is_row_mixed(&p, i, text, length);
            }
            last += last == r;
        }
    }
    mem_free(p.rows);
    mem_free(p.items);
    return mixed >= LEAST_ROWS && mixed * 2 > pairs;
}
