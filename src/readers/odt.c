/* OpenDocument (ODT, ODS, ODP): headings, paragraphs, lists, tables, notes; deletions out.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "readers/package.h"
#include "readers/prose.h"
#include "readers/xml.h"

struct odt {
    struct input *input;
    struct prose prose;
    size_t text_depth; /* inside of paragraphs and headings: only there blanks between elements count */
    size_t changes, comments;
};

static bool is_left_out(struct odt *o, const char *name)
{
    if (strcmp(name, "tracked-changes") == 0) {
        o->changes++;
        return true;
    }
    o->comments += strcmp(name, "annotation") == 0;
    return strcmp(name, "annotation") == 0 || strcmp(name, "automatic-styles") == 0 ||
           strcmp(name, "table-of-content") == 0 || strcmp(name, "sequence-decls") == 0 ||
           strcmp(name, "forms") == 0 || strcmp(name, "scripts") == 0;
}

static void open_heading(struct odt *o, struct xml *xml)
{
    char level[8];
    prose_heading(&o->prose, xml_attribute(xml, "outline-level", level, sizeof level) ? atoi(level) : 1);
    o->text_depth++;
}

static bool open_element(void *user, const char *name, struct xml *xml)
{
    struct odt *o = user;
    struct prose *p = &o->prose;
    if (is_left_out(o, name))
        return false;
    if (strcmp(name, "h") == 0) {
        open_heading(o, xml);
    } else if (strcmp(name, "p") == 0) {
        prose_block(p);
        o->text_depth++;
    } else if (strcmp(name, "s") == 0 || strcmp(name, "tab") == 0) {
        prose_text(p, " ", 1);
    } else if (strcmp(name, "line-break") == 0) {
        prose_line(p);
    } else if (strcmp(name, "list") == 0) {
        p->items++;
    } else if (strcmp(name, "list-item") == 0) {
        prose_item(p);
    } else if (strcmp(name, "table-row") == 0) {
        prose_row(p);
    } else if (strcmp(name, "table-cell") == 0) {
        prose_cell(p);
        p->tables++;
    } else if (strcmp(name, "note-body") == 0) {
        prose_puts(p, " [note: ");
        p->tables++; /* its paragraphs stay in the line */
    } else if (strcmp(name, "note-citation") == 0) {
        return false;
    } else if (strcmp(name, "page") == 0) {
        prose_page(p);
    }
    return true;
}

static void close_element(void *user, const char *name)
{
    struct odt *o = user;
    struct prose *p = &o->prose;
    if (strcmp(name, "h") == 0 || strcmp(name, "p") == 0) {
        o->text_depth -= o->text_depth > 0;
        if (name[0] == 'h')
            prose_heading_end(p);
        prose_block(p);
    } else if (strcmp(name, "list") == 0) {
        if (p->items && --p->items == 0)
            prose_block(p);
    } else if (strcmp(name, "table-cell") == 0) {
        p->tables -= p->tables > 0;
        p->space = false;
    } else if (strcmp(name, "table-row") == 0) {
        prose_row(p);
    } else if (strcmp(name, "table") == 0) {
        prose_block(p);
    } else if (strcmp(name, "note-body") == 0) {
        p->tables -= p->tables > 0;
        p->space = false;
        prose_puts(p, "] ");
    }
}

static void put_text(void *user, const char *text, size_t length)
{
    struct odt *o = user;
    if (o->text_depth)
        prose_text(&o->prose, text, length);
}

static bool wants(void *user, const char *name)
{
    (void)user;
    return strcmp(name, "content.xml") == 0;
}

static ll_status read_content(struct odt *o, const struct package *package)
{
    static const struct xml_handler handler = {open_element, close_element, put_text};
    const struct package_member *content = package_find(package, "content.xml");
    struct reading *reading = o->input->reading;
    if (!content || content->broken)
        return error_set(o->input->error, LL_UNREADABLE, "odt", "%s: content.xml %s", reading->name,
                         content ? content->complaint : "is missing (the file may be encrypted)");
    o->prose.failed |= !reading_part(reading, "content.xml");
    LL_TRY(
        xml_walk(o->input, "content.xml", strbuf_text(&content->bytes), content->bytes.length, &handler, o));
    if (o->changes)
        notes_add(reading->notes, "%s: tracked deletions are left out; insertions are in", reading->name);
    if (o->comments)
        notes_add(reading->notes, "%s: %zu comment%s left out", reading->name, o->comments,
                  o->comments == 1 ? "" : "s");
    return prose_finish(&o->prose, o->input->error);
}

ll_status read_odt(struct input *input)
{
    struct odt o = {.input = input, .prose = {.reading = input->reading}};
    struct package package = {0};
    ll_status status = package_load(input, wants, NULL, &package);
    if (status == LL_OK)
        status = read_content(&o, &package);
    package_fini(&package);
    return status;
}
