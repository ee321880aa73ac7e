/* The text of a structured document being written: blocks, headings, lists, tables, with their marks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/prose.h"

#include <string.h>

#include "base/error.h"

enum { DEEPEST_INDENT = 8, LEVELS = 6 };

/* ---- what is owed ---------------------------------------------------------------------------- */

static void pay(struct prose *p)
{
    struct strbuf *text = &p->reading->text;
    if (text->length == 0 || p->prefixed) {
        p->owed = 0;
        p->space = p->cell = false;
    }
    if (p->cell) {
        strbuf_putc(text, '\t');
    } else if (p->owed) {
        p->listing &= p->owed == 1;
        for (int i = 0; i < p->owed; i++)
            strbuf_putc(text, '\n');
    } else if (p->space) {
        strbuf_putc(text, ' ');
    }
    p->owed = 0;
    p->space = p->cell = p->prefixed = false;
    if (p->origin_due)
        p->failed |= !reading_origin(p->reading, text->length, p->origin);
    p->origin_due = false;
    if (p->code && !p->code_open && !p->in_heading && !p->tables) {
        p->code_first = text->length;
        p->code_open = true;
    }
}

void prose_block(struct prose *p)
{
    if (p->tables)
        p->space = true;
    else
        p->owed = 2;
}

void prose_line(struct prose *p)
{
    if (p->tables)
        p->space = true;
    else if (p->owed < 1)
        p->owed = 1;
}

/* ---- text ------------------------------------------------------------------------------------ */

static bool is_blank(unsigned char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void put_code(struct prose *p, const char *text, size_t length)
{
    size_t first = 0;
    while (!p->code_open && first < length && (text[first] == '\n' || text[first] == '\r'))
        first++;
    if (first == length)
        return;
    pay(p);
    for (size_t i = first; i < length; i++)
        if (text[i] != '\r')
            strbuf_putc(&p->reading->text, text[i] == '\f' || text[i] == '\v' ? '\n' : text[i]);
}

void prose_text(struct prose *p, const char *text, size_t length)
{
    if (p->code && !p->tables && !p->in_heading) {
        put_code(p, text, length);
        return;
    }
    for (size_t i = 0; i < length;) {
        size_t last = i;
        while (last < length && !is_blank((unsigned char)text[last]))
            last++;
        if (last > i) {
            pay(p);
            strbuf_append(&p->reading->text, text + i, last - i);
        }
        p->space |= last < length;
        i = last + (last < length);
    }
}

void prose_puts(struct prose *p, const char *text)
{
    prose_text(p, text, strlen(text));
}

/* ---- headings, lists, code ------------------------------------------------------------------- */

/* Takes back the mark of a list item that has said nothing yet: a block of its own kind follows. */
static void drop_prefix(struct prose *p)
{
    struct strbuf *text = &p->reading->text;
    if (!p->prefixed)
        return;
    while (text->length && (text->text[text->length - 1] == ' ' || text->text[text->length - 1] == '-'))
        strbuf_truncate(text, text->length - 1);
    p->prefixed = false;
    p->owed = 0;
    while (text->length && text->text[text->length - 1] == '\n') {
        strbuf_truncate(text, text->length - 1);
        p->owed = p->owed < 2 ? p->owed + 1 : 2;
    }
}

static void put_prefix(struct prose *p, const char *prefix)
{
    pay(p);
    strbuf_puts(&p->reading->text, prefix);
    p->prefixed = true;
}

void prose_label(struct prose *p, const char *label)
{
    prose_block(p);
    pay(p);
    strbuf_printf(&p->reading->text, "%s ", label);
    p->prefixed = true;
}

void prose_heading(struct prose *p, int level)
{
    static const char hashes[] = "###### ";
    if (p->in_heading)
        prose_heading_end(p);
    if (p->tables || p->code) /* code is one block, whatever stands in it */
        return;
    drop_prefix(p);
    level = level < 1 ? 1 : level > LEVELS ? LEVELS : level;
    prose_block(p);
    put_prefix(p, hashes + (LEVELS - level));
    p->heading = (struct reading_mark){.kind = MARK_HEADING, .level = level};
    p->heading.title = p->reading->text.length;
    p->heading.first = p->heading.title - (size_t)level - 1;
    p->in_heading = true;
}

/* A heading that says nothing is taken back. */
void prose_heading_end(struct prose *p)
{
    struct strbuf *text = &p->reading->text;
    if (!p->in_heading)
        return;
    p->in_heading = false;
    p->prefixed = false;
    if (text->length <= p->heading.title) {
        strbuf_truncate(text, p->heading.first);
        while (text->length && text->text[text->length - 1] == '\n')
            strbuf_truncate(text, text->length - 1);
    } else {
        p->heading.last = p->heading.title_end = text->length;
        p->failed |= !reading_mark(p->reading, &p->heading);
    }
    prose_block(p);
}

void prose_item(struct prose *p)
{
    if (p->tables)
        return;
    drop_prefix(p);
    if (p->listing)
        p->owed = 1;
    prose_line(p);
    pay(p);
    p->listing = true;
    for (size_t i = 1; i < p->items && i < DEEPEST_INDENT; i++)
        strbuf_puts(&p->reading->text, "  ");
    strbuf_puts(&p->reading->text, "- ");
    p->prefixed = true;
}

void prose_code(struct prose *p)
{
    if (p->code == 0) {
        drop_prefix(p);
        prose_block(p);
    }
    p->code++;
}

void prose_code_end(struct prose *p)
{
    struct strbuf *text = &p->reading->text;
    if (p->code == 0 || --p->code > 0)
        return;
    if (p->code_open) {
        drop_prefix(p); /* of an item that stands in it: taken back later it would leave the mark too long */
        while (text->length > p->code_first && is_blank((unsigned char)text->text[text->length - 1]))
            strbuf_truncate(text, text->length - 1);
        struct reading_mark mark = {p->code_first, text->length, MARK_CODE, 0, 0, 0};
        if (mark.last > mark.first)
            p->failed |= !reading_mark(p->reading, &mark);
        p->code_open = false;
    }
    prose_block(p);
}

/* ---- tables and pages ------------------------------------------------------------------------ */

void prose_row(struct prose *p)
{
    if (p->tables) { /* of a table in a cell */
        p->space = true;
        return;
    }
    p->space = p->cell = false;
    if (p->owed < 1)
        p->owed = 1;
}

void prose_cell(struct prose *p)
{
    if (p->tables) {
        p->space = true;
        return;
    }
    const struct strbuf *text = &p->reading->text;
    if (p->owed == 0 && !p->prefixed && text->length)
        p->cell = true;
}

void prose_page(struct prose *p)
{
    p->owed = 2;
    p->space = p->cell = false;
    size_t due = p->reading->text.length ? 2 : 0;
    p->failed |= !page_list_add(&p->reading->pages, p->reading->text.length + due);
}

void prose_origin(struct prose *p, size_t source)
{
    p->origin_due = true;
    p->origin = source;
}

ll_status prose_finish(struct prose *p, ll_error *error)
{
    struct strbuf *text = &p->reading->text;
    prose_heading_end(p);
    drop_prefix(p);
    while (p->code)
        prose_code_end(p);
    while (text->length && is_blank((unsigned char)text->text[text->length - 1]))
        strbuf_truncate(text, text->length - 1);
    if (text->length)
        strbuf_putc(text, '\n');
    struct page_list *pages = &p->reading->pages;
    for (size_t i = 0; i < pages->count; i++)
        if (pages->starts[i] > text->length)
            pages->starts[i] = text->length;
    return p->failed || text->failed ? error_nomem(error, "document", text->length) : LL_OK;
}
