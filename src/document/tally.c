/* What a table comes to: how many rows, and what stands in each column.
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/tally.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/number.h"
#include "readers/words.h"

enum { MOST_COLUMNS = 24, SHOWN_VALUES = 6, LONGEST_VALUE = 24, LONGEST_NAME = 40 };

struct column {
    size_t filled, numbers;
    double least, most;
    size_t least_at, least_length, most_at, most_length; /* in the text: as written */
    struct word_set values;
    size_t shown_at[SHOWN_VALUES], shown_length[SHOWN_VALUES];
};

static bool read_number(const char *text, size_t length, double *ret)
{
    char copy[LONGEST_VALUE + 1], *end;
    if (length == 0 || length > LONGEST_VALUE)
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    *ret = number_parse(copy, &end);
    return *end == '\0' && copy[strspn(copy, "+-.0123456789eE")] == '\0';
}

static bool count_cell(struct column *c, const char *text, size_t at, size_t length)
{
    double number;
    if (length == 0)
        return true;
    c->filled++;
    if (read_number(text + at, length, &number)) {
        if (c->numbers == 0 || number < c->least) {
            c->least = number;
            c->least_at = at;
            c->least_length = length;
        }
        if (c->numbers == 0 || number > c->most) {
            c->most = number;
            c->most_at = at;
            c->most_length = length;
        }
        c->numbers++;
    }
    uint64_t hash = hash_bytes(text + at, length, 3) | 1;
    if (word_set_has(&c->values, hash))
        return true;
    if (c->values.count < SHOWN_VALUES) {
        c->shown_at[c->values.count] = at;
        c->shown_length[c->values.count] = length < LONGEST_VALUE ? length : LONGEST_VALUE;
    }
    return word_set_add(&c->values, hash);
}

static bool count_row(struct column *columns, size_t count, const char *text, size_t at, size_t end)
{
    for (size_t i = 0; i < count && at <= end; i++) {
        const char *tab = memchr(text + at, '\t', end - at);
        size_t last = tab ? (size_t)(tab - text) : end;
        if (!count_cell(&columns[i], text, at, last - at))
            return false;
        at = last + 1;
    }
    return true;
}

static void put_value(struct strbuf *out, const char *text, size_t length)
{
    while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80)
        length--;
    strbuf_append(out, text, length);
}

static void put_column(struct strbuf *out, const char *text, const struct column *c)
{
    if (c->numbers && c->numbers * 10 >= c->filled * 9) {
        strbuf_puts(out, " from ");
        strbuf_append(out, text + c->least_at, c->least_length);
        strbuf_puts(out, " to ");
        strbuf_append(out, text + c->most_at, c->most_length);
    } else if (c->values.count > SHOWN_VALUES) {
        strbuf_printf(out, " with %zu different values", c->values.count);
    } else {
        for (size_t i = 0; i < c->values.count; i++) {
            strbuf_puts(out, i ? ", " : ": ");
            put_value(out, text + c->shown_at[i], c->shown_length[i]);
        }
    }
}

static void put_table(struct strbuf *out, const char *text, size_t at, size_t end,
                      const struct column *columns, size_t count, size_t all, size_t rows)
{
    strbuf_printf(out, "A table of %zu row%s and %zu column%s", rows, rows == 1 ? "" : "s", all,
                  all == 1 ? "" : "s");
    for (size_t i = 0; i < count && at <= end; i++) {
        const char *tab = memchr(text + at, '\t', end - at);
        size_t last = tab ? (size_t)(tab - text) : end;
        strbuf_puts(out, "; ");
        put_value(out, text + at, last - at < LONGEST_NAME ? last - at : LONGEST_NAME);
        put_column(out, text, &columns[i]);
        at = last + 1;
    }
    strbuf_puts(out, all > count ? "; and more columns." : ".");
}

static size_t line_end(const char *text, size_t at, size_t last)
{
    const char *newline = memchr(text + at, '\n', last - at);
    return newline ? (size_t)(newline - text) : last;
}

/* The reader's account of a long table: its first line, then one for each column up to an empty line. */
static void take_account(const char *text, size_t at, size_t last, struct strbuf *out)
{
    size_t end = line_end(text, at, last), columns = 0;
    strbuf_append(out, text + at, end - at - (end > at && text[end - 1] == '.'));
    for (at = end + 2; at < last && columns < MOST_COLUMNS && text[at] != '\n'; at = end + 1, columns++) {
        end = line_end(text, at, last);
        strbuf_puts(out, "; ");
        strbuf_append(out, text + at, end - at);
    }
    strbuf_putc(out, '.');
}

bool tally_describe(const struct ll_document *d, const struct doc_file *file, struct strbuf *out)
{
    static const char account[] = "A table of ";
    const char *text = d->text.text;
    size_t at = file->first, last = file->last, end = line_end(text, at, last), all = 1, rows = 0;
    if (last - at > sizeof account && memcmp(text + at, account, sizeof account - 1) == 0) {
        take_account(text, at, last, out);
        return !out->failed;
    }
    for (size_t i = at; i < end; i++)
        all += text[i] == '\t';
    size_t count = all < MOST_COLUMNS ? all : MOST_COLUMNS;
    struct column *columns = mem_new(count, sizeof *columns);
    bool room = columns != NULL;
    for (size_t row = end + 1, next; room && row < last; row = next + 1) {
        next = line_end(text, row, last);
        rows += next > row;
        room = next == row || count_row(columns, count, text, row, next);
    }
    if (room && rows)
        put_table(out, text, at, end, columns, count, all, rows);
    for (size_t i = 0; columns && i < count; i++)
        word_set_fini(&columns[i].values);
    mem_free(columns);
    return room && !out->failed;
}
