/* EPUB: the chapters in the order of the spine, navigation out; a bad chapter is skipped by name.
 * SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/mem.h"
#include "readers/encoding.h"
#include "readers/html.h"
#include "readers/relations.h"
#include "readers/xml.h"

struct epub {
    struct input *input;
    struct package package;
    struct prose prose;
    char opf[RELATION_NAME];
    struct relation_list manifest, spine;
    bool in_title, encrypted;
    ll_status status; /* of taking in its lists */
    size_t hidden, skipped, repeated;
};

/* ---- container, manifest, spine -------------------------------------------------------------- */

static bool open_container(void *user, const char *name, struct xml *xml)
{
    struct epub *e = user;
    char path[RELATION_NAME];
    if (!e->opf[0] && strcmp(name, "rootfile") == 0 && xml_attribute(xml, "full-path", path, sizeof path))
        relation_resolve("", path, e->opf);
    return true;
}

static void add_item(struct epub *e, struct xml *xml)
{
    struct relation item = {0};
    char href[RELATION_NAME], properties[64] = "";
    if (!xml_attribute(xml, "id", item.id, sizeof item.id) || !xml_attribute(xml, "href", href, sizeof href))
        return;
    xml_attribute(xml, "properties", properties, sizeof properties);
    xml_attribute(xml, "media-type", item.type, sizeof item.type);
    if (strstr(properties, "nav"))
        snprintf(item.type, sizeof item.type, "nav");
    relation_resolve(e->opf, href, item.name);
    if (e->status == LL_OK)
        e->status = relation_add(e->input, &e->manifest, &item);
}

static bool open_opf(void *user, const char *name, struct xml *xml)
{
    struct epub *e = user;
    char id[RELATION_ID];
    if (strcmp(name, "item") == 0)
        add_item(e, xml);
    else if (strcmp(name, "title") == 0)
        e->in_title = e->input->reading->title.length == 0;
    else if (strcmp(name, "itemref") == 0 && xml_attribute(xml, "idref", id, sizeof id)) {
        const struct relation *item = relation_find(&e->manifest, id);
        if (item && strcmp(item->type, "nav") != 0 && e->status == LL_OK)
            e->status = relation_add(e->input, &e->spine, item);
    }
    return true;
}

static void close_opf(void *user, const char *name)
{
    struct epub *e = user;
    if (strcmp(name, "title") == 0)
        e->in_title = false;
}

static void text_opf(void *user, const char *text, size_t length)
{
    struct epub *e = user;
    if (e->in_title)
        strbuf_append(&e->input->reading->title, text, length < 300 ? length : 300);
}

/* ---- chapters -------------------------------------------------------------------------------- */

static bool is_void_tag(const char *tag, size_t length)
{
    static const char *const tags[] = {"area",  "base", "br",   "col",   "embed",  "hr",    "img",
                                       "input", "link", "meta", "param", "source", "track", "wbr"};
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++)
        if (strlen(tags[i]) == length && strncasecmp(tag, tags[i], length) == 0)
            return true;
    return false;
}

/* XHTML may close any element by "/>", which HTML takes for an opening tag: "<title/>" would swallow the
 * chapter. Such elements get their closing tag. */
static void close_empty_elements(const char *text, size_t length, struct strbuf *out)
{
    size_t kept = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] != '<' || i + 1 >= length || !isalpha((unsigned char)text[i + 1]))
            continue;
        size_t tag = i + 1, end = tag;
        while (end < length && (isalnum((unsigned char)text[end]) || strchr(":-_", text[end])) && text[end])
            end++;
        const char *close = memchr(text + end, '>', length - end);
        if (!close)
            break;
        size_t last = (size_t)(close - text);
        if (text[last - 1] == '/' && last - 1 >= end && !is_void_tag(text + tag, end - tag)) {
            strbuf_append(out, text + kept, last - 1 - kept);
            strbuf_puts(out, "></");
            strbuf_append(out, text + tag, end - tag);
            strbuf_putc(out, '>');
            kept = last + 1;
        }
        i = last;
    }
    strbuf_append(out, text + kept, length - kept);
}

static void skip_chapter(struct epub *e, const char *name, const char *reason)
{
    e->skipped++;
    if (e->skipped <= 20)
        notes_add(e->input->reading->notes, "%s: the chapter %.200s was skipped: %s", e->input->reading->name,
                  name, reason);
}

static ll_status read_chapter(struct epub *e, const struct relation *item)
{
    struct package_member *member = package_find(&e->package, item->name);
    struct input *input = e->input;
    if (member && member->used) { /* a spine names each chapter once */
        e->repeated++;
        return LL_OK;
    }
    if (member)
        member->used = true;
    if (!member || member->broken || member->bytes.length == 0) {
        skip_chapter(e, item->name,
                     !member          ? "it is missing"
                     : member->broken ? member->complaint
                                      : "it is empty");
        return LL_OK;
    }
    struct html_page page = {true, input->allowance->limits.seconds, (size_t)256 << 20, input->reading->name,
                             input->cancel};
    struct strbuf text = {0}, closed = {0};
    ll_error reason = {0};
    struct notes quiet = {0};
    char encoding[40];
    ll_status status = encoding_decode(strbuf_text(&member->bytes), member->bytes.length, NULL, item->name,
                                       input->cancel, &text, encoding, &quiet, &reason);
    notes_fini(&quiet);
    if (status == LL_OK) {
        e->prose.failed |= !reading_part(input->reading, item->name);
        close_empty_elements(strbuf_text(&text), text.length, &closed);
        prose_block(&e->prose);
        status = closed.failed ? error_nomem(&reason, "epub", text.length)
                               : html_write(strbuf_text(&closed), closed.length, &page, &e->prose, NULL,
                                            &e->hidden, &reason);
        prose_heading_end(&e->prose);
        while (e->prose.code)
            prose_code_end(&e->prose);
        e->prose.tables = e->prose.items = 0;
    }
    strbuf_fini(&text);
    strbuf_fini(&closed);
    if (status == LL_CANCELLED || status == LL_NOMEM)
        return error_set(input->error, status, "epub", "%s", reason.text);
    if (status != LL_OK)
        skip_chapter(e, item->name, reason.text);
    return LL_OK;
}

/* ---- the file -------------------------------------------------------------------------------- */

static bool wants(void *user, const char *name)
{
    struct epub *e = user;
    e->encrypted |= strcmp(name, "META-INF/rights.xml") == 0;
    return strcmp(name, "META-INF/container.xml") == 0 || kind_name_ends(name, ".opf .xhtml .html .htm .xml");
}

static ll_status read_xml(struct epub *e, const char *name, const struct xml_handler *handler)
{
    const struct package_member *member = package_find(&e->package, name);
    if (!member || member->broken)
        return error_set(e->input->error, LL_UNREADABLE, "epub", "%s: %.200s %s", e->input->reading->name,
                         name, member ? member->complaint : "is missing");
    return xml_walk(e->input, name, strbuf_text(&member->bytes), member->bytes.length, handler, e);
}

static ll_status read_all(struct epub *e)
{
    static const struct xml_handler container = {open_container, close_opf, text_opf};
    static const struct xml_handler opf = {open_opf, close_opf, text_opf};
    struct reading *reading = e->input->reading;
    LL_TRY(package_load(e->input, wants, e, &e->package));
    LL_TRY(read_xml(e, "META-INF/container.xml", &container));
    LL_TRY(read_xml(e, e->opf, &opf));
    LL_TRY(e->status);
    if (e->encrypted)
        return error_set(e->input->error, LL_UNREADABLE, "epub",
                         "%s is locked by its seller (DRM) and cannot be read", reading->name);
    for (size_t i = 0; i < e->spine.count; i++) {
        LL_TRY(input_check(e->input));
        LL_TRY(read_chapter(e, &e->spine.items[i]));
    }
    reading->skipped += e->skipped;
    if (e->skipped > 20)
        notes_add(reading->notes, "%s: %zu chapters were skipped in all", reading->name, e->skipped);
    if (e->repeated)
        notes_add(reading->notes, "%s: its spine names chapters again %zu time%s; each was read once",
                  reading->name, e->repeated, e->repeated == 1 ? "" : "s");
    if (e->hidden)
        notes_add(reading->notes, "%s: %zu hidden element%s left out", reading->name, e->hidden,
                  e->hidden == 1 ? "" : "s");
    return prose_finish(&e->prose, e->input->error);
}

ll_status read_epub(struct input *input)
{
    struct epub e = {.input = input, .prose = {.reading = input->reading}};
    ll_status status = read_all(&e);
    package_fini(&e.package);
    relation_list_fini(&e.manifest);
    relation_list_fini(&e.spine);
    return status;
}
