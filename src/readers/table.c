/* CSV and TSV: cells apart by TABs; a long table by its columns, its first rows and its last.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/utf8.h"
#include "readers/reader.h"
#include "readers/table.h"
#include "readers/words.h"

enum {
    WHOLE_BYTES = 64 << 10, /* smaller tables are given whole */
    FIRST_ROWS = 40,
    LAST_ROWS = 10,
    MOST_COLUMNS = 200,
    MOST_VALUES = 1000, /* different ones counted in a column */
    SHOWN_VALUES = 8,
    VALUE_BYTES = 60
};

struct column {
    size_t filled, numbers;
    double least, most;
    char least_text[VALUE_BYTES], most_text[VALUE_BYTES]; /* as written */
    struct word_set values;
    char shown[SHOWN_VALUES][VALUE_BYTES];
    size_t shown_count;
};

struct table {
    const char *text;
    size_t length, at;
    char separator;
    struct strbuf row; /* the one read last, cells apart by TABs */
    size_t cells[MOST_COLUMNS], cell_count, whole_cells;
};

/* ---- rows ------------------------------------------------------------------------------------ */

static void put_cell_byte(struct strbuf *row, char c)
{
    strbuf_putc(row, c == '\t' || c == '\n' || c == '\r' ? ' ' : c);
}

/* Reads one cell; returns whether another one follows in the row. */
static bool read_cell(struct table *t)
{
    bool quoted = t->at < t->length && t->text[t->at] == '"';
    t->at += quoted;
    while (t->at < t->length) {
        char c = t->text[t->at++];
        if (quoted && c == '"') {
            if (t->at < t->length && t->text[t->at] == '"')
                t->at++;
            else {
                quoted = false;
                continue;
            }
        } else if (!quoted && c == t->separator) {
            return true;
        } else if (!quoted && c == '\n') {
            return false;
        }
        put_cell_byte(&t->row, c);
    }
    return false;
}

static bool next_row(struct table *t)
{
    if (t->at >= t->length)
        return false;
    strbuf_clear(&t->row);
    t->cell_count = t->whole_cells = 0;
    bool more = true;
    while (more) {
        if (t->whole_cells)
            strbuf_putc(&t->row, '\t');
        if (t->cell_count < MOST_COLUMNS)
            t->cells[t->cell_count++] = t->row.length;
        t->whole_cells++;
        more = read_cell(t);
    }
    return true;
}

/* The mark that divides the first lines into equally many cells. */
static char find_separator(const char *text, size_t length)
{
    static const char marks[] = "\t,;|";
    char best = ',';
    size_t best_score = 0;
    for (size_t m = 0; marks[m]; m++) {
        struct table t = {.text = text, .length = length, .separator = marks[m]};
        size_t first = 0, equal = 0, rows = 0;
        while (rows < 30 && next_row(&t)) {
            first = rows == 0 ? t.whole_cells : first;
            equal += t.whole_cells == first && first > 1;
            rows++;
        }
        strbuf_fini(&t.row);
        size_t score = equal * 1000 + (first < 100 ? first : 100);
        if (equal && score > best_score) {
            best = marks[m];
            best_score = score;
        }
    }
    return best;
}

bool table_is_plausible(const char *text, size_t length)
{
    struct table t = {.text = text, .length = length, .separator = find_separator(text, length)};
    size_t first = 0, equal = 0, rows = 0, wide = 0;
    while (rows < 30 && t.at < length && next_row(&t)) {
        first = rows == 0 ? t.whole_cells : first;
        equal += t.whole_cells == first;
        wide += t.row.length > 2000;
        rows++;
    }
    /* Sentences have commas too, but not equally many in each line; the last row may be cut off. */
    bool prose = strstr(strbuf_text(&t.row), ". ") != NULL && t.separator == ',' && first < 4;
    strbuf_fini(&t.row);
    return first >= 2 && rows >= 3 && equal + 1 >= rows && !prose && wide * 2 < rows;
}

/* ---- columns --------------------------------------------------------------------------------- */

static void copy_value(char *out, const char *text, size_t length)
{
    size_t whole = utf8_whole(text, length < VALUE_BYTES - 1 ? length : VALUE_BYTES - 1);
    memcpy(out, text, whole);
    out[whole] = '\0';
}

static bool count_value(struct column *c, const char *text, size_t length)
{
    char value[VALUE_BYTES], *end;
    if (length == 0)
        return true;
    copy_value(value, text, length);
    c->filled++;
    double number = number_parse(value, &end);
    if (end > value && *end == '\0' && length < VALUE_BYTES) {
        if (c->numbers == 0 || number < c->least) {
            c->least = number;
            memcpy(c->least_text, value, sizeof value);
        }
        if (c->numbers == 0 || number > c->most) {
            c->most = number;
            memcpy(c->most_text, value, sizeof value);
        }
        c->numbers++;
    }
    uint64_t hash = hash_bytes(text, length, 1) | 1;
    if (c->values.count >= MOST_VALUES || word_set_has(&c->values, hash))
        return true;
    if (c->shown_count < SHOWN_VALUES)
        memcpy(c->shown[c->shown_count++], value, sizeof value);
    return word_set_add(&c->values, hash);
}

static bool count_row(const struct table *t, struct column *columns, size_t count)
{
    const char *row = strbuf_text(&t->row);
    for (size_t i = 0; i < t->cell_count && i < count; i++) {
        size_t first = t->cells[i], last = i + 1 < t->cell_count ? t->cells[i + 1] - 1 : t->row.length;
        if (t->whole_cells > MOST_COLUMNS && i + 1 == t->cell_count)
            last = first + strcspn(row + first, "\t");
        if (!count_value(&columns[i], row + first, last - first))
            return false;
    }
    return true;
}

static void put_column(struct strbuf *out, const char *name, int name_length, const struct column *c)
{
    strbuf_printf(out, "%.*s: %zu filled", name_length, name, c->filled);
    if (c->numbers && c->numbers * 10 >= c->filled * 9)
        strbuf_printf(out, ", numbers from %s to %s", c->least_text, c->most_text);
    if (c->values.count >= MOST_VALUES) {
        strbuf_printf(out, ", more than %d different", MOST_VALUES);
    } else {
        strbuf_printf(out, ", %zu different", c->values.count);
        for (size_t i = 0; i < c->shown_count && c->values.count <= SHOWN_VALUES; i++)
            strbuf_printf(out, "%s%s", i ? ", " : ": ", c->shown[i]);
    }
    strbuf_putc(out, '\n');
}

/* ---- long tables ----------------------------------------------------------------------------- */

struct fold {
    struct strbuf head, names;
    struct strbuf last[LAST_ROWS];
    struct column *columns;
    size_t name_cells[MOST_COLUMNS], column_count, rows;
};

static bool take_row(struct fold *f, const struct table *t)
{
    if (f->rows == 0) {
        strbuf_append(&f->names, strbuf_text(&t->row), t->row.length);
        memcpy(f->name_cells, t->cells, sizeof f->name_cells);
        f->column_count = t->cell_count;
        f->columns = mem_new(f->column_count, sizeof *f->columns);
        if (!f->columns)
            return false;
    } else if (!count_row(t, f->columns, f->column_count)) {
        return false;
    }
    if (f->rows <= FIRST_ROWS) {
        strbuf_append(&f->head, strbuf_text(&t->row), t->row.length);
        strbuf_putc(&f->head, '\n');
    }
    struct strbuf *slot = &f->last[f->rows % LAST_ROWS];
    strbuf_clear(slot);
    strbuf_append(slot, strbuf_text(&t->row), t->row.length);
    f->rows++;
    return !slot->failed && !f->head.failed;
}

static void put_fold(const struct fold *f, struct strbuf *out)
{
    size_t data = f->rows - 1, tail = data > FIRST_ROWS + LAST_ROWS ? LAST_ROWS : 0;
    strbuf_printf(out, "A table of %zu rows and %zu columns.\n\n", data, f->column_count);
    for (size_t i = 0; i < f->column_count; i++) {
        const char *name = strbuf_text(&f->names) + f->name_cells[i];
        put_column(out, name, (int)strcspn(name, "\t"), &f->columns[i]);
    }
    strbuf_putc(out, '\n');
    strbuf_append(out, strbuf_text(&f->head), f->head.length);
    if (tail)
        strbuf_printf(out, "[rows %d to %zu]\n", FIRST_ROWS + 1, data - tail);
    for (size_t i = f->rows - tail; i < f->rows; i++) {
        strbuf_append(out, strbuf_text(&f->last[i % LAST_ROWS]), f->last[i % LAST_ROWS].length);
        strbuf_putc(out, '\n');
    }
}

static void fold_fini(struct fold *f)
{
    for (size_t i = 0; i < f->column_count && f->columns; i++)
        word_set_fini(&f->columns[i].values);
    for (size_t i = 0; i < LAST_ROWS; i++)
        strbuf_fini(&f->last[i]);
    mem_free(f->columns);
    strbuf_fini(&f->head);
    strbuf_fini(&f->names);
}

static ll_status fold_table(struct input *input, struct table *t)
{
    struct fold f = {0};
    bool good = true;
    ll_status status = LL_OK;
    while (good && status == LL_OK && next_row(t)) {
        good = take_row(&f, t) && !t->row.failed;
        if (f.rows % 4096 == 0)
            status = input_check(input);
    }
    if (!good)
        status = error_nomem(input->error, "table", t->length);
    if (status == LL_OK) {
        put_fold(&f, &input->reading->text);
        notes_add(
            input->reading->notes,
            "%s: a table of %zu rows, given by its columns, its first %d rows and its last %d; with kind "
            "text each row is read",
            input->reading->name, f.rows - 1, FIRST_ROWS, LAST_ROWS);
    }
    fold_fini(&f);
    return status;
}

static ll_status whole_table(struct input *input, struct table *t)
{
    struct strbuf *out = &input->reading->text;
    bool same = t->length == input->length; /* else its offsets are not the file's */
    for (size_t from = t->at; next_row(t); from = t->at) {
        if (t->row.length == 0)
            continue;
        if (same && !reading_origin(input->reading, out->length, from))
            return error_nomem(input->error, "table", out->length);
        strbuf_append(out, strbuf_text(&t->row), t->row.length);
        strbuf_putc(out, '\n');
    }
    return LL_OK;
}

ll_status read_table(struct input *input)
{
    struct strbuf text = {0}, *out = &input->reading->text;
    LL_TRY(input_decode(input, &text));
    struct table t = {.text = strbuf_text(&text), .length = text.length};
    t.separator = find_separator(t.text, t.length);
    ll_status status = text.length <= WHOLE_BYTES ? whole_table(input, &t) : fold_table(input, &t);
    strbuf_fini(&t.row);
    strbuf_fini(&text);
    struct reading_mark mark = {0, out->length, MARK_LINES, 0, 0, 0};
    if (status == LL_OK && (out->failed || (out->length && !reading_mark(input->reading, &mark))))
        return error_nomem(input->error, "table", out->length);
    return status;
}
