/* What HTML elements mean for the text: which are blocks, headings, lists, tables, and which say nothing.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/markup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"
#include "base/utf8.h"

enum role {
    ROLE_INLINE,
    ROLE_BLOCK,
    ROLE_SILENT,
    ROLE_HEADING,
    ROLE_LIST,
    ROLE_ITEM,
    ROLE_CODE,
    ROLE_TABLE,
    ROLE_ROW,
    ROLE_CELL,
    ROLE_LINE,
    ROLE_RULE,
    ROLE_PICTURE,
    ROLE_TERM,
    ROLE_NAVIGATION
};

struct role_row {
    const char *tag;
    enum role role;
};

static const struct role_row roles[] = {
    {"address", ROLE_BLOCK},   {"article", ROLE_BLOCK},    {"aside", ROLE_BLOCK},
    {"audio", ROLE_SILENT},    {"blockquote", ROLE_BLOCK}, {"body", ROLE_BLOCK},
    {"br", ROLE_LINE},         {"canvas", ROLE_SILENT},    {"caption", ROLE_ROW},
    {"center", ROLE_BLOCK},    {"datalist", ROLE_SILENT},  {"dd", ROLE_TERM},
    {"details", ROLE_BLOCK},   {"dialog", ROLE_BLOCK},     {"div", ROLE_BLOCK},
    {"dl", ROLE_BLOCK},        {"dt", ROLE_TERM},          {"embed", ROLE_SILENT},
    {"fieldset", ROLE_BLOCK},  {"figcaption", ROLE_BLOCK}, {"figure", ROLE_BLOCK},
    {"footer", ROLE_BLOCK},    {"form", ROLE_BLOCK},       {"h1", ROLE_HEADING},
    {"h2", ROLE_HEADING},      {"h3", ROLE_HEADING},       {"h4", ROLE_HEADING},
    {"h5", ROLE_HEADING},      {"h6", ROLE_HEADING},       {"head", ROLE_SILENT},
    {"header", ROLE_BLOCK},    {"hgroup", ROLE_BLOCK},     {"hr", ROLE_RULE},
    {"iframe", ROLE_SILENT},   {"img", ROLE_PICTURE},      {"legend", ROLE_BLOCK},
    {"li", ROLE_ITEM},         {"main", ROLE_BLOCK},       {"math", ROLE_INLINE},
    {"menu", ROLE_LIST},       {"nav", ROLE_NAVIGATION},   {"noembed", ROLE_SILENT},
    {"noframes", ROLE_SILENT}, {"noscript", ROLE_SILENT},  {"object", ROLE_INLINE},
    {"ol", ROLE_LIST},         {"optgroup", ROLE_TERM},    {"option", ROLE_TERM},
    {"p", ROLE_BLOCK},         {"plaintext", ROLE_CODE},   {"pre", ROLE_CODE},
    {"rp", ROLE_SILENT},       {"rt", ROLE_SILENT},        {"script", ROLE_SILENT},
    {"section", ROLE_BLOCK},   {"style", ROLE_SILENT},     {"summary", ROLE_BLOCK},
    {"svg", ROLE_SILENT},      {"table", ROLE_TABLE},      {"td", ROLE_CELL},
    {"template", ROLE_SILENT}, {"textarea", ROLE_CODE},    {"th", ROLE_CELL},
    {"title", ROLE_SILENT},    {"tr", ROLE_ROW},           {"ul", ROLE_LIST},
    {"video", ROLE_SILENT},    {"xmp", ROLE_CODE},
};

static int compare_tag(const void *key, const void *row)
{
    return strcmp(key, ((const struct role_row *)row)->tag);
}

static enum role role_of(const char *tag)
{
    const struct role_row *row =
        bsearch(tag, roles, sizeof roles / sizeof roles[0], sizeof roles[0], compare_tag);
    return row ? row->role : ROLE_INLINE;
}

/* ---- what nobody sees ------------------------------------------------------------------------ */

/* The value of a property in a style attribute, NULL when it is not there. */
static const char *style_value(const char *style, const char *name)
{
    for (const char *at = style; *at;) {
        at += strspn(at, " \t\r\n;");
        size_t length = strcspn(at, ":;");
        const char *colon = at + length;
        while (length && strchr(" \t\r\n", at[length - 1]))
            length--;
        const char *value = *colon == ':' ? colon + 1 + strspn(colon + 1, " \t\r\n") : colon;
        if (*colon == ':' && length == strlen(name) && strncasecmp(at, name, length) == 0)
            return value;
        at = value + strcspn(value, ";");
    }
    return NULL;
}

static bool is_small_number(const char *value, double least)
{
    char *end;
    double number = value ? number_parse(value, &end) : least;
    return value && end > value && number < least && *end != 'e' && *end != 'r' && *end != '%';
}

static bool hides(const char *style)
{
    const char *display = style_value(style, "display"), *visible = style_value(style, "visibility");
    return (display && strncasecmp(display, "none", 4) == 0) ||
           (visible && strncasecmp(visible, "hidden", 6) == 0) ||
           is_small_number(style_value(style, "opacity"), 0.05) ||
           is_small_number(style_value(style, "font-size"), 2);
}

static bool is_hidden(const struct markup_element *e)
{
    const char *style = e->attribute(e->element, "style");
    if (style && hides(style))
        return true;
    const char *type = strcmp(e->tag, "input") == 0 ? e->attribute(e->element, "type") : NULL;
    return (type && strcasecmp(type, "hidden") == 0) || e->attribute(e->element, "hidden") != NULL;
}

/* ---- elements -------------------------------------------------------------------------------- */

/* Base64 of a picture would be thousands of words that say nothing. */
static void put_picture(struct markup *m, const struct markup_element *e)
{
    const char *alt = e->attribute(e->element, "alt"), *source = e->attribute(e->element, "src");
    char line[400], kind[40] = "picture";
    if (source && strncasecmp(source, "data:", 5) == 0) {
        utf8_printable(source + 5, strcspn(source + 5, ";,"), kind, sizeof kind);
        snprintf(line, sizeof line, "[%s, %zu bytes]", kind[0] ? kind : "data",
                 strlen(source + 5 + strcspn(source + 5, ",")) / 4 * 3);
        prose_puts(m->prose, line);
    }
    if (alt && strspn(alt, " \t\r\n") < strlen(alt)) {
        prose_puts(m->prose, " [picture: ");
        prose_puts(m->prose, alt);
        prose_puts(m->prose, "] ");
    }
}

bool markup_open(struct markup *m, const struct markup_element *e)
{
    struct prose *p = m->prose;
    enum role role = role_of(e->tag);
    if (role == ROLE_SILENT || (role == ROLE_NAVIGATION && !m->keep_navigation))
        return false;
    if (is_hidden(e)) {
        m->hidden++;
        return false;
    }
    switch (role) {
    case ROLE_HEADING: /* such a cell is there for the layout */
        p->tables = 0;
        prose_heading(p, e->tag[1] - '0');
        break;
    case ROLE_LIST:
        if (p->items++ == 0)
            prose_block(p);
        break;
    case ROLE_ITEM:
        prose_item(p);
        break;
    case ROLE_CODE:
        prose_code(p);
        break;
    case ROLE_TABLE:
        p->tables = 0;
        prose_block(p);
        break;
    case ROLE_ROW:
        prose_row(p);
        break;
    case ROLE_CELL:
        prose_cell(p);
        p->tables++;
        break;
    case ROLE_LINE:
        if (p->code)
            prose_text(p, "\n", 1);
        else
            prose_line(p);
        break;
    case ROLE_TERM:
        prose_line(p);
        break;
    case ROLE_PICTURE:
        put_picture(m, e);
        break;
    case ROLE_BLOCK:
    case ROLE_RULE:
    case ROLE_NAVIGATION:
        prose_block(p);
        break;
    default:
        break;
    }
    return true;
}

void markup_close(struct markup *m, const char *tag)
{
    struct prose *p = m->prose;
    switch (role_of(tag)) {
    case ROLE_HEADING:
        prose_heading_end(p);
        break;
    case ROLE_LIST:
        if (p->items && --p->items == 0)
            prose_block(p);
        break;
    case ROLE_ITEM:
    case ROLE_TERM:
        prose_line(p);
        break;
    case ROLE_CODE:
        prose_code_end(p);
        break;
    case ROLE_CELL:
        p->tables -= p->tables > 0;
        p->space = false;
        break;
    case ROLE_ROW:
        prose_row(p);
        break;
    case ROLE_BLOCK:
    case ROLE_TABLE:
    case ROLE_NAVIGATION:
        prose_block(p);
        break;
    default:
        break;
    }
}
