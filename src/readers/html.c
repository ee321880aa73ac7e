/* HTML parsed by gumbo, its text written as prose.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/html.h"

#include <gumbo.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "readers/encoding.h"
#include "readers/markup.h"
#include "readers/reader.h"

enum { ARENA_BLOCK = 1 << 20, ALIGN = 16, CHECK_EVERY = 1024 };

/* ---- memory of one parse --------------------------------------------------------------------- */

/* gumbo frees its tree by recursion, which a page of a million open elements turns into an overflow of the
 * stack, and does not expect a refused allocation. So all its memory is one arena, freed as a whole, and
 * a refusal, a deadline or a cancel jumps out of the parser. */
struct block {
    struct block *next;
    size_t used, size;
};

struct arena {
    struct block *blocks;
    size_t left, calls;
    double deadline;
    const ll_cancel *cancel;
    jmp_buf out;
};

enum { OUT_OF_MEMORY = 1, OUT_OF_TIME, CANCELLED };

static void *arena_take(void *user, size_t size)
{
    struct arena *arena = user;
    size_t head = (sizeof(struct block) + ALIGN - 1) / ALIGN * ALIGN;
    if (++arena->calls % CHECK_EVERY == 0) {
        if (cancel_requested(arena->cancel))
            longjmp(arena->out, CANCELLED);
        if (clock_seconds() > arena->deadline)
            longjmp(arena->out, OUT_OF_TIME);
    }
    if (size > SIZE_MAX / 4)
        longjmp(arena->out, OUT_OF_MEMORY);
    size = (size + ALIGN - 1) / ALIGN * ALIGN;
    if (!arena->blocks || arena->blocks->size - arena->blocks->used < size) {
        size_t whole = head + (size > ARENA_BLOCK ? size : ARENA_BLOCK);
        struct block *block = whole > arena->left ? NULL : mem_new(1, whole);
        if (!block)
            longjmp(arena->out, OUT_OF_MEMORY);
        arena->left -= whole;
        *block = (struct block){arena->blocks, head, whole};
        arena->blocks = block;
    }
    void *memory = (char *)arena->blocks + arena->blocks->used;
    arena->blocks->used += size;
    return memory;
}

static void arena_give_back(void *user, void *memory)
{
    (void)user;
    (void)memory;
}

static void arena_fini(struct arena *arena)
{
    for (struct block *next; arena->blocks; arena->blocks = next) {
        next = arena->blocks->next;
        mem_free(arena->blocks);
    }
}

/* ---- the walk -------------------------------------------------------------------------------- */

static const char *attribute_of(const void *element, const char *name)
{
    const GumboElement *e = element;
    const GumboAttribute *found = gumbo_get_attribute(&e->attributes, name);
    return found ? found->value : NULL;
}

static const char *tag_of(const GumboElement *e)
{
    return e->tag == GUMBO_TAG_UNKNOWN ? "" : gumbo_normalized_tagname(e->tag);
}

static const GumboVector *children_of(const GumboNode *node)
{
    if (node->type == GUMBO_NODE_ELEMENT)
        return &node->v.element.children;
    return node->type == GUMBO_NODE_DOCUMENT ? &node->v.document.children : NULL;
}

struct walk {
    struct markup markup;
    struct prose *prose;
    const char *text; /* of the whole page */
    struct strbuf *title;
};

static void put_title(struct walk *w, const GumboNode *node)
{
    if (!w->title || w->title->length || node->v.element.children.length == 0)
        return;
    const GumboNode *child = node->v.element.children.data[0];
    if (child->type == GUMBO_NODE_TEXT || child->type == GUMBO_NODE_WHITESPACE)
        strbuf_puts(w->title, child->v.text.text);
}

/* The mark of a heading comes from where its words do. */
static void anchor(struct walk *w, size_t text, size_t source)
{
    struct prose *p = w->prose;
    if (p->in_heading && text == p->heading.title)
        p->failed |= !reading_origin(p->reading, p->heading.first, source);
    p->failed |= !reading_origin(p->reading, text, source);
}

/* Whether to go into the node. */
static bool enter(struct walk *w, const GumboNode *node)
{
    switch (node->type) {
    case GUMBO_NODE_TEXT:
    case GUMBO_NODE_CDATA:
    case GUMBO_NODE_WHITESPACE: {
        const char *source = node->v.text.original_text.data;
        size_t before = w->prose->reading->text.length;
        prose_puts(w->prose, node->v.text.text);
        struct strbuf *text = &w->prose->reading->text;
        while (before < text->length && (text->text[before] == '\n' || text->text[before] == ' '))
            before++;
        if (before < text->length && source && w->text)
            anchor(w, before, (size_t)(source - w->text));
        return false;
    }
    case GUMBO_NODE_DOCUMENT:
        return true;
    case GUMBO_NODE_ELEMENT: {
        const GumboElement *e = &node->v.element;
        if (e->tag == GUMBO_TAG_HEAD || e->tag == GUMBO_TAG_HTML)
            return true;
        if (e->tag == GUMBO_TAG_TITLE && e->tag_namespace == GUMBO_NAMESPACE_HTML)
            put_title(w, node);
        struct markup_element element = {tag_of(e), attribute_of, e};
        return markup_open(&w->markup, &element);
    }
    default:
        return false;
    }
}

static void leave(struct walk *w, const GumboNode *node)
{
    if (node->type == GUMBO_NODE_ELEMENT && node->v.element.tag != GUMBO_TAG_HEAD &&
        node->v.element.tag != GUMBO_TAG_HTML)
        markup_close(&w->markup, tag_of(&node->v.element));
}

/* Without recursion: the tree is as deep as its author likes. */
static void walk_tree(struct walk *w, const GumboNode *root)
{
    const GumboNode *node = root;
    bool down = enter(w, node);
    for (;;) {
        const GumboVector *children = down ? children_of(node) : NULL;
        if (children && children->length) {
            node = children->data[0];
            down = enter(w, node);
            continue;
        }
        if (down)
            leave(w, node);
        while (node != root) {
            const GumboNode *parent = node->parent;
            const GumboVector *siblings = children_of(parent);
            size_t next = node->index_within_parent + 1;
            if (siblings && next < siblings->length) {
                node = siblings->data[next];
                down = enter(w, node);
                break;
            }
            node = parent;
            leave(w, node);
        }
        if (node == root)
            return;
    }
}

static ll_status explain(int reason, const struct html_page *page, size_t length, ll_error *error)
{
    if (reason == CANCELLED)
        return error_set(error, LL_CANCELLED, "html", "reading %s was cancelled", page->name);
    if (reason == OUT_OF_TIME)
        return error_set(error, LL_UNREADABLE, "html",
                         "%s is nested so deeply that it could not be read in %.0f s", page->name,
                         page->seconds);
    return error_set(error, LL_UNSUPPORTED, "html", "%s needs more than %zu bytes of memory (it has %zu)",
                     page->name, page->memory, length);
}

ll_status html_write(const char *text, size_t length, const struct html_page *page, struct prose *prose,
                     struct strbuf *title, size_t *ret_hidden, ll_error *error)
{
    struct arena *arena = mem_new(1, sizeof *arena);
    if (!arena)
        return error_nomem(error, "html", sizeof *arena);
    arena->left = page->memory;
    arena->deadline = clock_seconds() + page->seconds;
    arena->cancel = page->cancel;
    GumboOptions options = kGumboDefaultOptions;
    options.allocator = arena_take;
    options.deallocator = arena_give_back;
    options.userdata = arena;
    options.max_errors = 0;
    struct walk walk = {.markup = {prose, 0, !page->fragment_of_book},
                        .prose = prose,
                        .text = page->fragment_of_book ? NULL : text,
                        .title = title};
    int reason = setjmp(arena->out);
    if (reason == 0) {
        const GumboOutput *output = gumbo_parse_with_options(&options, text, length);
        walk_tree(&walk, output->document);
        *ret_hidden += walk.markup.hidden;
    }
    arena_fini(arena);
    mem_free(arena);
    return reason == 0 ? LL_OK : explain(reason, page, length, error);
}

/* ---- a file of its own ----------------------------------------------------------------------- */

bool html_charset(const char *bytes, size_t length, char *ret, size_t cap)
{
    size_t end = length < 4096 ? length : 4096;
    for (size_t i = 0; i + 8 < end; i++) {
        if (strncasecmp(bytes + i, "charset", 7) != 0)
            continue;
        size_t at = i + 7, used = 0;
        while (at < end && strchr(" \t\"'=", bytes[at]) && bytes[at])
            at++;
        while (at < end && used + 1 < cap && (unsigned char)bytes[at] > ' ' && !strchr("\"'>;/", bytes[at]))
            ret[used++] = bytes[at++];
        ret[used] = '\0';
        return used > 0;
    }
    return false;
}

/* What the page says of itself counts where the bytes do not speak for themselves. */
static ll_status decode_page(struct input *input, struct strbuf *text)
{
    ll_document_options options = *input->options;
    const ll_document_options *given = input->options;
    char charset[40];
    bool marked = input->length >= 2 && ((unsigned char)input->bytes[0] >= 0xEF || !input->bytes[0]);
    if (!options.encoding && !marked && !utf8_valid(input->bytes, input->length) &&
        html_charset(input->bytes, input->length, charset, sizeof charset) &&
        strncasecmp(charset, "utf-", 4) != 0 && encoding_is_known(charset))
        options.encoding = charset;
    input->options = &options;
    ll_status status = input_decode(input, text);
    input->options = given;
    return status;
}

ll_status read_html(struct input *input)
{
    struct reading *reading = input->reading;
    struct prose prose = {.reading = reading};
    struct strbuf text = {0};
    size_t hidden = 0;
    struct html_page page = {.seconds = input->allowance->limits.seconds,
                             .memory = (size_t)256 << 20,
                             .name = reading->name,
                             .cancel = input->cancel};
    ll_status status = decode_page(input, &text);
    page.memory += text.length < ((size_t)1 << 34) ? text.length * 24 : 0;
    if (status == LL_OK)
        status = html_write(strbuf_text(&text), text.length, &page, &prose, &reading->title, &hidden,
                            input->error);
    if (status == LL_OK)
        status = prose_finish(&prose, input->error);
    if (status == LL_OK && hidden)
        notes_add(reading->notes, "%s: %zu hidden element%s left out", reading->name, hidden,
                  hidden == 1 ? "" : "s");
    if (text.length != input->length) /* offsets are those of the converted text */
        reading->origins.count = 0;
    strbuf_fini(&text);
    return status;
}
