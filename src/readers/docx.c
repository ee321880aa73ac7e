/* DOCX: paragraphs, headings by style, tables, notes; insertions in, deletions out.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "readers/package.h"
#include "readers/prose.h"
#include "readers/xml.h"

enum { STYLE_ID = 64, NO_LEVEL = -1 };

struct style {
    char id[STYLE_ID], base[STYLE_ID];
    int level; /* of a heading, from 1; 0: the title; NO_LEVEL */
};

struct docx {
    struct input *input;
    struct package package;
    struct prose prose;
    struct style *styles;
    size_t style_count, style_capacity;
    bool in_text; /* inside of w:t */
    size_t changes, hidden, comments;
    const char *note_label; /* while notes are read: what their numbers begin with */
    bool failed;
};

/* ---- styles ---------------------------------------------------------------------------------- */

static bool open_style(void *user, const char *name, struct xml *xml)
{
    struct docx *d = user;
    char value[STYLE_ID];
    if (strcmp(name, "style") == 0) {
        if (!mem_grow((void **)&d->styles, &d->style_capacity, d->style_count + 1, sizeof *d->styles)) {
            d->failed = true;
            return false;
        }
        struct style *style = &d->styles[d->style_count++];
        *style = (struct style){.level = NO_LEVEL};
        xml_attribute(xml, "styleId", style->id, sizeof style->id);
    }
    if (!d->style_count)
        return true;
    struct style *style = &d->styles[d->style_count - 1];
    if (strcmp(name, "name") == 0 && xml_attribute(xml, "val", value, sizeof value)) {
        if (strncmp(value, "heading ", 8) == 0 || strncmp(value, "Heading ", 8) == 0)
            style->level = atoi(value + 8);
        else if (strcmp(value, "Title") == 0)
            style->level = 0;
    } else if (strcmp(name, "basedOn") == 0) {
        xml_attribute(xml, "val", style->base, sizeof style->base);
    } else if (strcmp(name, "outlineLvl") == 0 && style->level == NO_LEVEL &&
               xml_attribute(xml, "val", value, sizeof value)) {
        style->level = atoi(value) < 9 ? atoi(value) + 1 : NO_LEVEL;
    }
    return true;
}

static void close_nothing(void *user, const char *name)
{
    (void)user;
    (void)name;
}

static void text_nothing(void *user, const char *text, size_t length)
{
    (void)user;
    (void)text;
    (void)length;
}

/* The level of a style or of one it is based on. */
static int level_of(const struct docx *d, const char *id)
{
    for (int hops = 0; hops < 8 && id[0]; hops++) {
        const struct style *found = NULL;
        for (size_t i = 0; i < d->style_count && !found; i++)
            if (strcmp(d->styles[i].id, id) == 0)
                found = &d->styles[i];
        if (!found)
            break;
        if (found->level != NO_LEVEL)
            return found->level;
        id = found->base;
    }
    return NO_LEVEL;
}

/* ---- the body -------------------------------------------------------------------------------- */

static void put_note_mark(struct docx *d, const char *label, struct xml *xml)
{
    char id[16], mark[40];
    if (!xml_attribute(xml, "id", id, sizeof id))
        return;
    snprintf(mark, sizeof mark, "[%s%.12s]", label, id);
    prose_puts(&d->prose, mark);
}

/* The separators above notes are notes of a type of their own. */
static bool open_note(struct docx *d, struct xml *xml)
{
    char type[32], mark[40], id[16];
    if (xml_attribute(xml, "type", type, sizeof type) && strcmp(type, "normal") != 0)
        return false;
    if (xml_attribute(xml, "id", id, sizeof id)) {
        snprintf(mark, sizeof mark, "[%s%.12s]", d->note_label, id);
        prose_label(&d->prose, mark);
    }
    return true;
}

static bool is_off(struct xml *xml)
{
    char value[8];
    return xml_attribute(xml, "val", value, sizeof value) &&
           (strcmp(value, "0") == 0 || strcmp(value, "false") == 0 || strcmp(value, "off") == 0);
}

static bool open_property(struct docx *d, const char *name, struct xml *xml)
{
    char value[STYLE_ID];
    if (strcmp(name, "pStyle") == 0 && xml_attribute(xml, "val", value, sizeof value)) {
        int level = level_of(d, value);
        if (level != NO_LEVEL)
            prose_heading(&d->prose, level < 1 ? 1 : level);
    } else if (strcmp(name, "numPr") == 0 && !d->prose.in_heading) {
        prose_item(&d->prose);
    } else if (strcmp(name, "vanish") == 0 && !is_off(xml)) {
        d->hidden++;
    }
    return true;
}

static bool open_body(void *user, const char *name, struct xml *xml)
{
    static const char *const left_out[] = {"del",       "moveFrom",  "instrText", "delText",     "Fallback",
                                           "rPrChange", "pPrChange", "sectPr",    "delInstrText"};
    struct docx *d = user;
    struct prose *p = &d->prose;
    for (size_t i = 0; i < sizeof left_out / sizeof left_out[0]; i++)
        if (strcmp(name, left_out[i]) == 0) {
            d->changes += i < 2;
            return false;
        }
    if (strcmp(name, "p") == 0)
        prose_block(p);
    else if (strcmp(name, "t") == 0)
        d->in_text = true;
    else if (strcmp(name, "tab") == 0 || strcmp(name, "noBreakHyphen") == 0)
        prose_text(p, name[0] == 't' ? " " : "-", 1);
    else if (strcmp(name, "br") == 0 || strcmp(name, "cr") == 0)
        prose_line(p);
    else if (strcmp(name, "tr") == 0)
        prose_row(p);
    else if (strcmp(name, "tc") == 0) {
        prose_cell(p);
        p->tables++;
    } else if (strcmp(name, "footnoteReference") == 0)
        put_note_mark(d, "note ", xml);
    else if (strcmp(name, "endnoteReference") == 0)
        put_note_mark(d, "endnote ", xml);
    else if (strcmp(name, "commentReference") == 0)
        d->comments++;
    else if (strcmp(name, "footnote") == 0 || strcmp(name, "endnote") == 0)
        return open_note(d, xml);
    else
        return open_property(d, name, xml);
    return true;
}

static void close_body(void *user, const char *name)
{
    struct docx *d = user;
    struct prose *p = &d->prose;
    if (strcmp(name, "p") == 0) {
        prose_heading_end(p);
        prose_block(p);
    } else if (strcmp(name, "t") == 0) {
        d->in_text = false;
    } else if (strcmp(name, "tc") == 0) {
        p->tables -= p->tables > 0;
        p->space = false;
    } else if (strcmp(name, "tr") == 0) {
        prose_row(p);
    } else if (strcmp(name, "tbl") == 0) {
        prose_block(p);
    }
}

static void text_body(void *user, const char *text, size_t length)
{
    struct docx *d = user;
    if (d->in_text)
        prose_text(&d->prose, text, length);
}

static const struct xml_handler styles_handler = {open_style, close_nothing, text_nothing};
static const struct xml_handler body_handler = {open_body, close_body, text_body};

/* ---- the file -------------------------------------------------------------------------------- */

static bool wants(void *user, const char *name)
{
    (void)user;
    return strcmp(name, "word/document.xml") == 0 || strcmp(name, "word/styles.xml") == 0 ||
           strcmp(name, "word/footnotes.xml") == 0 || strcmp(name, "word/endnotes.xml") == 0;
}

static ll_status read_member(struct docx *d, const char *name, const struct xml_handler *handler)
{
    const struct package_member *member = package_find(&d->package, name);
    if (!member)
        return LL_OK;
    if (member->broken)
        return error_set(d->input->error, LL_UNREADABLE, "docx", "%s: %s could not be unpacked: %s",
                         d->input->reading->name, name, member->complaint);
    d->prose.failed |= handler == &body_handler && !reading_part(d->input->reading, name);
    ll_status status =
        xml_walk(d->input, name, strbuf_text(&member->bytes), member->bytes.length, handler, d);
    return status == LL_OK && d->failed ? error_nomem(d->input->error, "docx", 0) : status;
}

static ll_status read_all(struct docx *d)
{
    struct reading *reading = d->input->reading;
    LL_TRY(package_load(d->input, wants, NULL, &d->package));
    if (!package_find(&d->package, "word/document.xml"))
        return error_set(d->input->error, LL_UNREADABLE, "docx", "%s holds no word/document.xml",
                         reading->name);
    LL_TRY(read_member(d, "word/styles.xml", &styles_handler));
    LL_TRY(read_member(d, "word/document.xml", &body_handler));
    d->note_label = "note ";
    LL_TRY(read_member(d, "word/footnotes.xml", &body_handler));
    d->note_label = "endnote ";
    LL_TRY(read_member(d, "word/endnotes.xml", &body_handler));
    if (d->changes)
        notes_add(reading->notes, "%s: %zu tracked deletion%s left out; insertions are in", reading->name,
                  d->changes, d->changes == 1 ? "" : "s");
    if (d->hidden)
        notes_add(reading->notes, "%s: %zu piece%s of text set hidden in Word are in the text", reading->name,
                  d->hidden, d->hidden == 1 ? "" : "s");
    if (d->comments)
        notes_add(reading->notes, "%s: %zu comment%s left out", reading->name, d->comments,
                  d->comments == 1 ? "" : "s");
    return prose_finish(&d->prose, d->input->error);
}

ll_status read_docx(struct input *input)
{
    struct docx d = {.input = input, .prose = {.reading = input->reading}};
    ll_status status = read_all(&d);
    package_fini(&d.package);
    mem_free(d.styles);
    return status;
}
