/* Where the pieces of text stand on the pages of a PDF, as pdftohtml tells it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/geometry.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "readers/xml.h"

enum { FARTHEST = 1000000 };

struct font {
    int id, size;
    unsigned colour;
};

struct parsing {
    struct geometry *geometry;
    struct font *fonts;
    size_t font_count, font_capacity;
    bool in_text, in_bookmark, failed;
    size_t bold, bold_bytes; /* depth of bold elements, and what stood in them in this piece */
    int outline;             /* depth of bookmarks */
};

static int number_of(struct xml *xml, const char *name)
{
    char value[24];
    if (!xml_attribute(xml, name, value, sizeof value))
        return 0;
    long number = strtol(value, NULL, 10);
    return number > FARTHEST ? FARTHEST : number < -FARTHEST ? -FARTHEST : (int)number;
}

static void open_font(struct parsing *p, struct xml *xml)
{
    char colour[16] = "";
    if (!mem_grow((void **)&p->fonts, &p->font_capacity, p->font_count + 1, sizeof *p->fonts)) {
        p->failed = true;
        return;
    }
    struct font *font = &p->fonts[p->font_count++];
    xml_attribute(xml, "color", colour, sizeof colour);
    *font = (struct font){number_of(xml, "id"), number_of(xml, "size"),
                          colour[0] == '#' ? (unsigned)strtoul(colour + 1, NULL, 16) : 0};
}

static const struct font *find_font(const struct parsing *p, int id)
{
    if (id >= 0 && (size_t)id < p->font_count && p->fonts[id].id == id)
        return &p->fonts[id];
    for (size_t i = p->font_count; i-- > 0;)
        if (p->fonts[i].id == id)
            return &p->fonts[i];
    return NULL;
}

static void open_page(struct parsing *p, struct xml *xml)
{
    struct geometry *g = p->geometry;
    if (!mem_grow((void **)&g->pages, &g->page_capacity, g->page_count + 1, sizeof *g->pages))
        p->failed = true;
    else
        g->pages[g->page_count++] =
            (struct geometry_page){number_of(xml, "width"), number_of(xml, "height"), g->count, 0};
}

static void open_item(struct parsing *p, struct xml *xml)
{
    struct geometry *g = p->geometry;
    if (!g->page_count)
        return;
    if (!mem_grow((void **)&g->items, &g->capacity, g->count + 1, sizeof *g->items)) {
        p->failed = true;
        return;
    }
    const struct font *font = find_font(p, number_of(xml, "font"));
    g->items[g->count++] = (struct geometry_item){.left = number_of(xml, "left"),
                                                  .top = number_of(xml, "top"),
                                                  .width = number_of(xml, "width"),
                                                  .height = number_of(xml, "height"),
                                                  .size = font ? font->size : 12,
                                                  .colour = font ? font->colour : 0,
                                                  .text = g->texts.length};
    g->pages[g->page_count - 1].count++;
    p->in_text = true;
    p->in_bookmark = false;
    p->bold = p->bold_bytes = 0;
}

static void open_bookmark(struct parsing *p, struct xml *xml)
{
    struct geometry *g = p->geometry;
    int page = number_of(xml, "page");
    if (!mem_grow((void **)&g->bookmarks, &g->bookmark_capacity, g->bookmark_count + 1,
                  sizeof *g->bookmarks)) {
        p->failed = true;
        return;
    }
    g->bookmarks[g->bookmark_count++] =
        (struct geometry_bookmark){page > 0 ? (size_t)page : 0, p->outline, g->texts.length, 0};
    p->in_bookmark = true;
    p->in_text = false;
}

static bool open_element(void *user, const char *name, struct xml *xml)
{
    struct parsing *p = user;
    if (strcmp(name, "page") == 0)
        open_page(p, xml);
    else if (strcmp(name, "fontspec") == 0)
        open_font(p, xml);
    else if (strcmp(name, "text") == 0)
        open_item(p, xml);
    else if (strcmp(name, "b") == 0)
        p->bold++;
    else if (strcmp(name, "outline") == 0)
        p->outline++;
    else if (strcmp(name, "item") == 0 && p->outline)
        open_bookmark(p, xml);
    return true;
}

static void close_piece(struct parsing *p)
{
    struct geometry *g = p->geometry;
    struct geometry_item *item = &g->items[g->count - 1];
    item->length = g->texts.length - item->text;
    item->bold = item->length && p->bold_bytes * 10 >= item->length * 9;
    strbuf_putc(&g->texts, '\n');
    p->in_text = false;
}

static void close_bookmark(struct parsing *p)
{
    struct geometry *g = p->geometry;
    struct geometry_bookmark *bookmark = &g->bookmarks[g->bookmark_count - 1];
    bookmark->length = g->texts.length - bookmark->text;
    strbuf_putc(&g->texts, '\n');
    p->in_bookmark = false;
}

static void close_element(void *user, const char *name)
{
    struct parsing *p = user;
    if (strcmp(name, "b") == 0)
        p->bold -= p->bold > 0;
    else if (strcmp(name, "outline") == 0)
        p->outline -= p->outline > 0;
    else if (p->in_text && strcmp(name, "text") == 0)
        close_piece(p);
    else if (p->in_bookmark && strcmp(name, "item") == 0)
        close_bookmark(p);
}

static void put_text(void *user, const char *text, size_t length)
{
    struct parsing *p = user;
    if (!p->in_text && !p->in_bookmark)
        return;
    strbuf_append(&p->geometry->texts, text, length);
    p->bold_bytes += p->bold ? length : 0;
}

ll_status geometry_parse(const struct input *input, const char *xml, size_t length, struct geometry *ret)
{
    static const struct xml_handler handler = {open_element, close_element, put_text};
    struct parsing parsing = {.geometry = ret};
    ll_status status = xml_walk(input, "its layout", xml, length, &handler, &parsing);
    mem_free(parsing.fonts);
    if (status == LL_OK && (parsing.failed || ret->texts.failed))
        return error_nomem(input->error, "pdf", length);
    return status;
}

void geometry_fini(struct geometry *g)
{
    mem_free(g->items);
    mem_free(g->pages);
    mem_free(g->bookmarks);
    strbuf_fini(&g->texts);
    *g = (struct geometry){0};
}
