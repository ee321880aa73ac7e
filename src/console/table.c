/* A Markdown table in columns of a terminal.
 * SPDX-License-Identifier: Apache-2.0 */
#include "console/table.h"

#include <stdlib.h>
#include <string.h>

#include "console/flow.h"

enum { MOST_CELLS = 32, LEAST_WIDTH = 4 };

struct cell {
    const char *text;
    size_t length;
};

struct table {
    size_t columns, cells; /* of the screen, of a row */
    size_t widths[MOST_CELLS];
    bool right[MOST_CELLS];
    bool styled, unicode;
};

/* The cells of a line; gives their number. */
static size_t split(const char *line, size_t length, struct cell *cells)
{
    size_t count = 0, at = 0;
    while (length && strchr(" \t|", line[length - 1]) && (length < 2 || line[length - 2] != '\\'))
        length--;
    while (at < length && line[at] != '|')
        at++;
    for (at++; at <= length && count < MOST_CELLS; at++) {
        size_t end = at;
        while (end < length && !(line[end] == '|' && line[end - 1] != '\\'))
            end++;
        size_t begin = at, stop = end;
        while (begin < stop && line[begin] == ' ')
            begin++;
        while (stop > begin && line[stop - 1] == ' ')
            stop--;
        cells[count++] = (struct cell){line + begin, stop - begin};
        at = end;
    }
    return count;
}

static bool is_ruler(const char *line, size_t length)
{
    size_t dashes = 0;
    for (size_t i = 0; i < length; i++) {
        if (!strchr("|:- \t", line[i]))
            return false;
        dashes += line[i] == '-';
    }
    return dashes > 0;
}

static size_t flow_cell(const struct table *table, const struct cell *cell, size_t width, unsigned style,
                        struct text *rows)
{
    struct flow flow = {width, table->styled, "", "", style};
    return flow_rows(&flow, cell->text, cell->length, rows, NULL, 0);
}

static void measure(struct table *table, const char *line, size_t length)
{
    struct cell cells[MOST_CELLS];
    size_t count = split(line, length, cells);
    if (count > table->cells)
        table->cells = count;
    for (size_t i = 0; i < count; i++) {
        struct text row = {0};
        if (is_ruler(line, length)) {
            table->right[i] =
                cells[i].length > 1 && cells[i].text[cells[i].length - 1] == ':' && cells[i].text[0] != ':';
            continue;
        }
        flow_cell(table, &cells[i], 10000, 0, &row);
        size_t width = row.length ? flow_columns(row.bytes, row.length - 1) : 0;
        table->widths[i] = width > table->widths[i] ? width : table->widths[i];
        text_fini(&row);
    }
}

/* The widest column gives way until all fit. */
static bool narrow(struct table *table)
{
    for (;;) {
        size_t total = 3 * (table->cells - 1), widest = 0;
        for (size_t i = 0; i < table->cells; i++) {
            total += table->widths[i];
            widest = table->widths[i] > table->widths[widest] ? i : widest;
        }
        if (total <= table->columns)
            return true;
        if (table->widths[widest] <= LEAST_WIDTH)
            return false;
        table->widths[widest]--;
    }
}

static void pad(struct text *out, size_t count)
{
    while (count--)
        text_putc(out, ' ');
}

static void print_cell(const struct table *table, size_t i, const char *row, size_t length, struct text *out)
{
    size_t used = flow_columns(row, length), rest = used < table->widths[i] ? table->widths[i] - used : 0;
    if (table->right[i])
        pad(out, rest);
    text_append(out, row, length);
    if (!table->right[i] && i + 1 < table->cells)
        pad(out, rest);
    if (i + 1 < table->cells)
        text_puts(out, table->unicode ? " │ " : " | ");
}

static void print_line(const struct table *table, const char *line, size_t length, bool head,
                       struct text *out)
{
    struct cell cells[MOST_CELLS] = {{0}};
    struct text parts[MOST_CELLS] = {{0}};
    const char *next[MOST_CELLS];
    size_t count = split(line, length, cells), most = 1;
    for (size_t i = 0; i < table->cells; i++) {
        size_t rows = flow_cell(table, &cells[i], table->widths[i] ? table->widths[i] : 1,
                                head && table->styled ? FLOW_BOLD : 0, &parts[i]);
        most = i < count && rows > most ? rows : most;
        next[i] = text_string(&parts[i]);
    }
    for (size_t row = 0; row < most; row++) {
        for (size_t i = 0; i < table->cells; i++) {
            size_t size = strcspn(next[i], "\n");
            print_cell(table, i, next[i], size, out);
            next[i] += size + (next[i][size] == '\n');
        }
        text_putc(out, '\n');
    }
    for (size_t i = 0; i < table->cells; i++)
        text_fini(&parts[i]);
}

static void print_ruler(const struct table *table, struct text *out)
{
    for (size_t i = 0; i < table->cells; i++) {
        for (size_t c = 0; c < table->widths[i]; c++)
            text_puts(out, table->unicode ? "─" : "-");
        if (i + 1 < table->cells)
            text_puts(out, table->unicode ? "─┼─" : "-+-");
    }
    text_putc(out, '\n');
}

void table_rows(const char *source, size_t columns, bool styled, bool unicode, struct text *out)
{
    struct table table = {.columns = columns, .styled = styled, .unicode = unicode};
    size_t index = 0;
    for (const char *line = source; *line; line += strcspn(line, "\n") + 1)
        measure(&table, line, strcspn(line, "\n"));
    if (!table.cells || !narrow(&table)) {
        text_puts(out, source);
        return;
    }
    for (const char *line = source; *line; index++) {
        size_t length = strcspn(line, "\n");
        if (is_ruler(line, length))
            print_ruler(&table, out);
        else
            print_line(&table, line, length, index == 0, out);
        line += length + 1;
    }
}
