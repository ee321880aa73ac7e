/* PPTX: slides in their order as pages, titles as headings, tables, speaker notes.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "readers/prose.h"
#include "readers/relations.h"
#include "readers/xml.h"

struct pptx {
    struct input *input;
    struct package package;
    struct prose prose;
    struct relation_list order; /* of the slides */
    struct relation_list parts; /* of the presentation */
    bool in_text, in_notes, title, hidden_slide, skip_shape;
    size_t hidden;
    ll_status status; /* of taking in the order */
};

/* ---- the order of slides --------------------------------------------------------------------- */

static bool open_presentation(void *user, const char *name, struct xml *xml)
{
    struct pptx *x = user;
    char id[RELATION_ID];
    if (strcmp(name, "sldId") != 0)
        return true;
    /* Two attributes are called id: the one of the relation begins with letters. */
    if (!xml_attribute_in(xml, "id", "relationships", id, sizeof id))
        return true;
    const struct relation *part = relation_find(&x->parts, id);
    if (part && x->status == LL_OK)
        x->status = relation_add(x->input, &x->order, part);
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

/* ---- one slide ------------------------------------------------------------------------------- */

static void open_placeholder(struct pptx *x, struct xml *xml)
{
    char type[32] = "body";
    xml_attribute(xml, "type", type, sizeof type);
    x->title = !x->in_notes && (strcmp(type, "title") == 0 || strcmp(type, "ctrTitle") == 0);
    x->skip_shape = strcmp(type, "sldNum") == 0 || strcmp(type, "dt") == 0 || strcmp(type, "ftr") == 0 ||
                    strcmp(type, "hdr") == 0;
}

static bool open_slide(void *user, const char *name, struct xml *xml)
{
    struct pptx *x = user;
    struct prose *p = &x->prose;
    char value[8];
    if (strcmp(name, "Fallback") == 0)
        return false;
    if (strcmp(name, "sld") == 0 && xml_attribute(xml, "show", value, sizeof value) && value[0] == '0') {
        x->hidden++;
        return false;
    }
    if (strcmp(name, "sp") == 0) {
        x->title = x->skip_shape = false;
        prose_block(p);
    } else if (strcmp(name, "ph") == 0) {
        open_placeholder(x, xml);
    } else if (strcmp(name, "txBody") == 0) {
        if (x->skip_shape)
            return false;
        if (x->title)
            prose_heading(p, 2);
    } else if (strcmp(name, "p") == 0 && !x->title) {
        prose_line(p);
    } else if (strcmp(name, "br") == 0) {
        if (x->title)
            prose_text(p, " ", 1);
        else
            prose_line(p);
    } else if (strcmp(name, "t") == 0) {
        x->in_text = true;
    } else if (strcmp(name, "tr") == 0) {
        prose_row(p);
    } else if (strcmp(name, "tc") == 0) {
        prose_cell(p);
        p->tables++;
    }
    return true;
}

static void close_slide(void *user, const char *name)
{
    struct pptx *x = user;
    struct prose *p = &x->prose;
    if (strcmp(name, "t") == 0) {
        x->in_text = false;
    } else if (strcmp(name, "p") == 0) {
        if (x->title)
            prose_text(p, " ", 1);
        else
            prose_line(p);
    } else if (strcmp(name, "txBody") == 0) {
        prose_heading_end(p);
        x->title = false;
        prose_block(p);
    } else if (strcmp(name, "tc") == 0) {
        p->tables -= p->tables > 0;
        p->space = false;
    } else if (strcmp(name, "tr") == 0) {
        prose_row(p);
    } else if (strcmp(name, "tbl") == 0) {
        prose_block(p);
    }
}

static void text_slide(void *user, const char *text, size_t length)
{
    struct pptx *x = user;
    if (x->in_text)
        prose_text(&x->prose, text, length);
}

/* ---- the file -------------------------------------------------------------------------------- */

static bool wants(void *user, const char *name)
{
    size_t length = strlen(name);
    (void)user;
    return strncmp(name, "ppt/", 4) == 0 &&
           (strcmp(name, "ppt/presentation.xml") == 0 ||
            strcmp(name, "ppt/_rels/presentation.xml.rels") == 0 || strncmp(name, "ppt/slides/", 11) == 0 ||
            strncmp(name, "ppt/notesSlides/", 16) == 0) &&
           length > 4 && (strcmp(name + length - 4, ".xml") == 0 || strcmp(name + length - 5, ".rels") == 0);
}

static ll_status read_part(struct pptx *x, const char *name)
{
    static const struct xml_handler handler = {open_slide, close_slide, text_slide};
    const struct package_member *member = package_find(&x->package, name);
    if (!member || member->broken) {
        notes_add(x->input->reading->notes, "%s: %s was skipped: %s", x->input->reading->name, name,
                  member ? member->complaint : "it is missing");
        return LL_OK;
    }
    x->prose.failed |= !reading_part(x->input->reading, name);
    return xml_walk(x->input, name, strbuf_text(&member->bytes), member->bytes.length, &handler, x);
}

static ll_status read_notes(struct pptx *x, const char *slide)
{
    struct relation_list parts = {0};
    ll_status status = relations_read(x->input, &x->package, slide, &parts);
    for (size_t i = 0; i < parts.count && status == LL_OK; i++) {
        if (!strstr(parts.items[i].type, "/notesSlide"))
            continue;
        prose_block(&x->prose);
        prose_puts(&x->prose, "Notes:");
        x->in_notes = true;
        status = read_part(x, parts.items[i].name);
        x->in_notes = false;
    }
    relation_list_fini(&parts);
    return status;
}

static ll_status read_all(struct pptx *x)
{
    static const struct xml_handler handler = {open_presentation, close_nothing, text_nothing};
    const char *main_part = "ppt/presentation.xml";
    struct reading *reading = x->input->reading;
    LL_TRY(package_load(x->input, wants, NULL, &x->package));
    LL_TRY(relations_read(x->input, &x->package, main_part, &x->parts));
    const struct package_member *member = package_find(&x->package, main_part);
    if (!member || member->broken)
        return error_set(x->input->error, LL_UNREADABLE, "pptx", "%s: %s %s", reading->name, main_part,
                         member ? member->complaint : "is missing");
    LL_TRY(xml_walk(x->input, main_part, strbuf_text(&member->bytes), member->bytes.length, &handler, x));
    LL_TRY(x->status);
    for (size_t i = 0; i < x->order.count; i++) {
        size_t hidden = x->hidden;
        prose_page(&x->prose);
        LL_TRY(read_part(x, x->order.items[i].name));
        if (x->hidden == hidden)
            LL_TRY(read_notes(x, x->order.items[i].name));
    }
    if (x->hidden)
        notes_add(reading->notes, "%s: %zu hidden slide%s left out", reading->name, x->hidden,
                  x->hidden == 1 ? "" : "s");
    return prose_finish(&x->prose, x->input->error);
}

ll_status read_pptx(struct input *input)
{
    struct pptx x = {.input = input, .prose = {.reading = input->reading}};
    ll_status status = read_all(&x);
    package_fini(&x.package);
    relation_list_fini(&x.order);
    relation_list_fini(&x.parts);
    return status;
}
