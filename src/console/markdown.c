/* Markdown as it streams in, for a terminal: finished rows, and how the unfinished end looks now.
 * SPDX-License-Identifier: Apache-2.0 */
#include "console/markdown.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "console/escape.h"
#include "console/flow.h"
#include "console/table.h"

enum { KEPT_ROWS = 2, MOST_PLACES = 64, MOST_INDENT = 24 };

void markdown_init(struct markdown *m, size_t columns, bool styled, bool unicode)
{
    *m = (struct markdown){.columns = columns, .styled = styled, .unicode = unicode};
}

void markdown_fini(struct markdown *m)
{
    text_fini(&m->line);
    text_fini(&m->table);
    text_fini(&m->done);
}

/* ---- what kind of line it is ---- */

struct block { /* of one source line */
    char first[MOST_INDENT + 16], rest[MOST_INDENT + 16];
    size_t skip; /* bytes that first stands for */
    unsigned style;
    bool whole; /* nothing is wrapped: code, a fence, a rule */
};

static size_t spaces_at(const char *line)
{
    size_t spaces = strspn(line, " ");
    return spaces < MOST_INDENT ? spaces : MOST_INDENT;
}

static size_t list_mark(const char *line)
{
    size_t digits = strspn(line, "0123456789");
    if (strchr("-*+", *line) && *line && line[1] == ' ')
        return 2;
    return digits && digits < 4 && strchr(".)", line[digits]) && line[digits] && line[digits + 1] == ' '
               ? digits + 2
               : 0;
}

static bool is_fence(const char *line)
{
    line += spaces_at(line);
    return strncmp(line, "```", 3) == 0 || strncmp(line, "~~~", 3) == 0;
}

static bool is_rule(const char *line)
{
    size_t length = strlen(line);
    return length >= 3 && strchr("-*_", *line) && strspn(line, (char[]){*line, '\0'}) == length;
}

static void read_heading(const struct markdown *m, const char *line, struct block *block)
{
    size_t marks = strspn(line, "#");
    block->style = FLOW_BOLD;
    block->skip = m->styled ? marks + 1 : 0;
}

static void read_list(const struct markdown *m, const char *line, size_t indent, size_t mark,
                      struct block *block)
{
    bool number = isdigit((unsigned char)line[indent]) != 0;
    snprintf(block->first, sizeof block->first, "%*s%.*s", (int)indent, "", number ? (int)mark : 0,
             line + indent);
    if (!number)
        snprintf(block->first, sizeof block->first, "%*s%s ", (int)indent, "", m->unicode ? "•" : "-");
    snprintf(block->rest, sizeof block->rest, "%*s", (int)(indent + mark), "");
    block->skip = indent + mark;
}

static void read_block(const struct markdown *m, struct block *block)
{
    const char *line = text_string(&m->line);
    size_t indent = spaces_at(line), marks = strspn(line, "#"), mark = list_mark(line + indent);
    *block = (struct block){.whole = m->code || (!m->verbatim && is_fence(line))};
    if (m->verbatim)
        snprintf(block->rest, sizeof block->rest, "  ");
    if (m->verbatim || block->whole)
        return;
    if (marks && marks <= 6 && line[marks] == ' ') {
        read_heading(m, line, block);
    } else if (mark) {
        read_list(m, line, indent, mark, block);
    } else if (line[0] == '>' && (line[1] == ' ' || !line[1])) {
        snprintf(block->first, sizeof block->first, "%s", m->unicode ? "│ " : "> ");
        snprintf(block->rest, sizeof block->rest, "%s", block->first);
        block->skip = line[1] ? 2 : 1;
    } else if (indent) {
        snprintf(block->first, sizeof block->first, "%*s", (int)indent, "");
        snprintf(block->rest, sizeof block->rest, "%s", block->first);
        block->skip = indent;
    }
    if (m->columns < strlen(block->rest) + 12) /* no room to hang */
        block->rest[0] = '\0';
}

/* ---- rows of the line under way ---- */

static void whole_rows(const struct markdown *m, struct text *out)
{
    const char *line = text_string(&m->line);
    char sequence[24];
    bool dim = m->styled && is_fence(line);
    text_puts(out, dim ? flow_sequence(FLOW_DIM, sequence) : "");
    for (size_t column = 0; *line; line++) {
        if (*line == '\t') {
            do
                text_putc(out, ' ');
            while (++column % 4);
            continue;
        }
        column += ((unsigned char)*line & 0xC0) != 0x80;
        text_putc(out, *line);
    }
    text_puts(out, dim ? "\033[0m\n" : "\n");
}

/* Flows what is not taken of the line; places as flow_rows gives them, from the line's start. */
static size_t line_rows(const struct markdown *m, struct text *out, struct flow_place *places, size_t cap)
{
    struct block block;
    read_block(m, &block);
    if (block.whole) {
        whole_rows(m, out);
        return 1;
    }
    size_t from = m->taken ? m->taken : block.skip < m->line.length ? block.skip : m->line.length;
    struct flow flow = {m->columns, m->styled && !m->verbatim, m->taken ? block.rest : block.first,
                        block.rest, m->taken ? m->style : block.style};
    size_t rows = flow_rows(&flow, text_string(&m->line) + from, m->line.length - from, out, places, cap);
    for (size_t i = 0; i < rows && i < cap; i++)
        places[i].offset += from;
    return rows;
}

static const char *after_rows(const char *text, size_t rows)
{
    while (rows--)
        text += strcspn(text, "\n") + 1;
    return text;
}

/* Rows far enough before the end stand fast: they are finished while the line still grows. */
static void take_rows(struct markdown *m)
{
    struct text rows = {0};
    struct flow_place places[MOST_PLACES] = {{0}};
    size_t count = line_rows(m, &rows, places, MOST_PLACES);
    size_t take = count > KEPT_ROWS ? count - KEPT_ROWS : 0;
    if (take >= MOST_PLACES)
        take = MOST_PLACES - 1;
    if (take) {
        text_append(&m->done, rows.bytes, (size_t)(after_rows(rows.bytes, take) - rows.bytes));
        m->taken = places[take].offset;
        m->style = places[take].style;
    }
    text_fini(&rows);
}

/* ---- lines ---- */

static bool is_table_line(const struct markdown *m)
{
    const char *line = text_string(&m->line);
    line += spaces_at(line);
    return !m->code && !m->verbatim && *line == '|' && strchr(line + 1, '|');
}

static void end_table(struct markdown *m)
{
    if (m->table.length)
        table_rows(text_string(&m->table), m->columns, m->styled, m->unicode, &m->done);
    text_clear(&m->table);
}

static void rule_row(const struct markdown *m, struct text *out)
{
    for (size_t i = 0; i < m->columns && i < 60; i++)
        text_puts(out, m->unicode ? "─" : "-");
    text_putc(out, '\n');
}

static void end_line(struct markdown *m)
{
    if (is_table_line(m)) {
        text_append(&m->table, m->line.bytes, m->line.length);
        text_putc(&m->table, '\n');
    } else {
        end_table(m);
        if (!m->code && !m->verbatim && is_rule(text_string(&m->line)))
            rule_row(m, &m->done);
        else
            line_rows(m, &m->done, NULL, 0);
        if (!m->verbatim && is_fence(text_string(&m->line)))
            m->code = !m->code;
    }
    text_clear(&m->line);
    m->taken = 0;
    m->style = 0;
}

void markdown_feed(struct markdown *m, const char *bytes, size_t length)
{
    while (length) {
        const char *newline = memchr(bytes, '\n', length);
        size_t part = newline ? (size_t)(newline - bytes) : length;
        size_t shown = newline && part && bytes[part - 1] == '\r' ? part - 1 : part;
        escape_append(&m->line, bytes, shown);
        if (newline)
            end_line(m);
        bytes += part + (newline != NULL);
        length -= part + (newline != NULL);
    }
    if (m->line.length > m->columns && !m->code && !is_table_line(m))
        take_rows(m);
}

void markdown_finish(struct markdown *m)
{
    if (m->line.length)
        end_line(m);
    end_table(m);
    m->code = false;
}

void markdown_rest(const struct markdown *m, struct text *out)
{
    if (m->table.length) {
        struct text all = {0};
        text_append(&all, m->table.bytes, m->table.length);
        if (m->line.length) {
            text_append(&all, m->line.bytes, m->line.length);
            text_puts(&all, strchr(m->line.bytes + 1, '|') ? "\n" : " |\n");
        }
        table_rows(text_string(&all), m->columns, m->styled, m->unicode, out);
        text_fini(&all);
    } else if (m->line.length) {
        line_rows(m, out, NULL, 0);
    }
}

bool markdown_is_empty(const struct markdown *m)
{
    return !m->line.length && !m->table.length;
}
