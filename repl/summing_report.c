/* A summary as a report: Markdown or HTML, every sentence linked to the page it rests on.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "console/human.h"
#include "repl/summing.h"

/* What differs between the two forms; everything from documents is escaped. */
struct form {
    bool html;
    void (*text)(struct output *output, const char *text, size_t length);
    const char *head, *foot, *title_open, *title_close, *section_open, *section_close;
    const char *item_open, *item_close, *list_open, *list_close, *paragraph_open, *paragraph_close;
    const char *strong_open, *strong_close, *unsupported;
};

/* ---- escaping -------------------------------------------------------------------------------- */

static void put_markdown(struct output *output, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\n')
            output_puts(output, " ");
        else if (text[i] && strchr("\\`*_{}[]<>#|&", text[i]))
            output_printf(output, "\\%c", text[i]);
        else if ((unsigned char)text[i] >= ' ')
            output_write(output, text + i, 1);
    }
}

static void put_html(struct output *output, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const char *name = text[i] == '&'   ? "&amp;"
                           : text[i] == '<' ? "&lt;"
                           : text[i] == '>' ? "&gt;"
                           : text[i] == '"' ? "&quot;"
                                            : NULL;
        if (name)
            output_puts(output, name);
        else if ((unsigned char)text[i] >= ' ' || text[i] == '\n')
            output_write(output, text + i, 1);
    }
}

/* The bytes of a file name as an address has them. */
static void put_address(struct output *output, const char *name)
{
    for (; *name; name++) {
        unsigned char c = (unsigned char)*name;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     strchr("/._-~", c) != NULL;
        if (plain)
            output_write(output, name, 1);
        else
            output_printf(output, "%%%02X", c);
    }
}

/* ---- links ----------------------------------------------------------------------------------- */

static bool is_pdf(const char *name)
{
    size_t length = strlen(name);
    return length > 4 && (strcmp(name + length - 4, ".pdf") == 0 || strcmp(name + length - 4, ".PDF") == 0);
}

/* The first words of the passage: browsers go to them and mark them. */
static void put_fragment(struct output *output, const char *text, size_t length)
{
    enum { WORDS = 6, BYTES = 60 };
    char words[BYTES + 1];
    size_t used = 0;
    for (size_t i = 0, count = 0; i < length && used < BYTES; i++) {
        bool blank = text[i] == ' ' || text[i] == '\n' || text[i] == '\t';
        if (blank && used && words[used - 1] != ' ' && ++count == WORDS)
            break;
        if (text[i] == '\n' && i + 1 < length && text[i + 1] == '\n')
            break;
        if (!blank)
            words[used++] = text[i];
        else if (used && words[used - 1] != ' ')
            words[used++] = ' ';
    }
    while (used && ((unsigned char)words[used - 1] >= 0x80 || words[used - 1] == ' '))
        used--; /* no half of a character */
    words[used] = '\0';
    if (used)
        output_puts(output, "#:~:text=");
    put_address(output, words);
}

static void put_target(struct output *output, const struct summing *summing, const ll_place *place,
                       uint64_t first, uint64_t last)
{
    size_t length;
    const char *text = ll_document_text(summing->document, &length);
    put_address(output, place->name);
    if (place->first_page && is_pdf(place->name))
        output_printf(output, "#page=%zu", place->first_page);
    else if (last <= length && first < last)
        put_fragment(output, text + first, (size_t)(last - first));
}

/* "p. 4" or "bytes 120-180", after the file's name where there are several. */
static void put_words(const struct form *form, struct output *output, const ll_place *place, bool named)
{
    if (named) {
        form->text(output, place->label, strlen(place->label));
        output_puts(output, ", ");
    }
    if (place->first_page)
        output_printf(output, place->first_page == place->last_page ? "p. %zu" : "pp. %zu-%zu",
                      place->first_page, place->last_page);
    else
        output_printf(output, "bytes %llu-%llu", (unsigned long long)place->first_byte,
                      (unsigned long long)place->last_byte);
}

/* "([p. 4](file.pdf#page=4))"; what came from standard input has no place to link to. */
static void put_link(const struct summing *summing, const struct form *form, struct output *output,
                     const ll_sentence *sentence)
{
    ll_place place = summing_place(summing, sentence->first_byte, sentence->last_byte);
    bool linked = *place.name && strcmp(place.name, "-") != 0;
    bool named = linked && summing->document_info.files > 1;
    output_puts(output, form->html ? " <small>" : " (");
    if (linked)
        output_puts(output, form->html ? "<a href=\"" : "[");
    if (linked && form->html) {
        put_target(output, summing, &place, sentence->first_byte, sentence->last_byte);
        output_puts(output, "\">");
    }
    put_words(form, output, &place, named);
    if (linked && form->html) {
        output_puts(output, "</a>");
    } else if (linked) {
        output_puts(output, "](");
        put_target(output, summing, &place, sentence->first_byte, sentence->last_byte);
        output_puts(output, ")");
    }
    output_puts(output, form->html ? "</small>" : ")");
}

/* ---- parts of the report --------------------------------------------------------------------- */

static void put_sentences(const struct summing *summing, const struct form *form, struct output *output)
{
    const char *before = NULL;
    bool alone = false;
    output_puts(output, form->paragraph_open);
    for (size_t i = 0; i < ll_summary_sentence_count(summing->summary); i++) {
        ll_sentence s;
        if (ll_summary_get_sentence(summing->summary, i, &s) != LL_OK)
            continue;
        if (before && (strcmp(before, s.file) != 0 || alone || s.line))
            output_printf(output, "%s%s", form->paragraph_close, form->paragraph_open);
        else if (before)
            output_puts(output, "\n");
        before = s.file;
        alone = s.line || s.counted;
        form->text(output, s.text, s.length);
        output_puts(output, s.supported ? "" : form->unsupported);
        put_link(summing, form, output, &s);
    }
    output_puts(output, form->paragraph_close);
}

static void put_part(const struct form *form, const ll_summary_node *node, const char *title,
                     struct output *output)
{
    output_puts(output, form->item_open);
    if (node->title && *node->title && (!title || strcmp(title, node->title) != 0)) {
        output_puts(output, form->strong_open);
        form->text(output, node->title, strlen(node->title));
        output_puts(output, form->strong_close);
    }
    form->text(output, node->text, node->length);
    if (node->first_page)
        output_printf(output, node->first_page == node->last_page ? " (p. %zu)" : " (pp. %zu-%zu)",
                      node->first_page, node->last_page);
    output_puts(output, form->item_close);
}

static void put_outline(const struct summing *summing, const struct form *form, struct output *output)
{
    const char *title = NULL;
    output_printf(output, "%sOutline%s%s", form->section_open, form->section_close, form->list_open);
    for (size_t i = 0; i < ll_summary_node_count(summing->summary); i++) {
        ll_summary_node node;
        if (ll_summary_get_node(summing->summary, i, &node) != LL_OK || !summing_is_part(summing, &node))
            continue;
        put_part(form, &node, title, output);
        title = node.title;
    }
    output_puts(output, form->list_close);
}

static void put_account(const struct summing *summing, const struct form *form, struct output *output)
{
    const ll_coverage *c = &summing->coverage;
    output_printf(output, "%sWhat this rests on%s%s", form->section_open, form->section_close,
                  form->list_open);
    output_printf(output, "%s%s of %s tokens read in %s, %s of the text%s", form->item_open,
                  human_count(c->read_tokens).text, human_count(c->document_tokens).text,
                  human_things(c->windows, "window").text, human_share(c->share).text, form->item_close);
    if (c->unread_pages)
        output_printf(output, "%s%zu of %zu pages hold no text%s", form->item_open, c->unread_pages, c->pages,
                      form->item_close);
    output_printf(output, "%smethod %s", form->item_open, summing_method_name(summing->plan_info.method));
    if (summing->model_name && summing_is_written(summing)) {
        output_puts(output, "; written by ");
        form->text(output, summing->model_name, strlen(summing->model_name));
    } else {
        output_puts(output, "; in the document's own words");
    }
    output_puts(output, form->item_close);
    for (size_t i = 0; i < ll_document_note_count(summing->document); i++) {
        const char *note = ll_document_note(summing->document, i);
        output_puts(output, form->item_open);
        form->text(output, note, strlen(note));
        output_puts(output, form->item_close);
    }
    output_puts(output, form->list_close);
}

static void put_report(const struct summing *summing, const struct form *form, struct output *output)
{
    const char *title = summing->document_info.title;
    output_puts(output, form->head);
    output_puts(output, form->title_open);
    form->text(output, title, strlen(title));
    output_puts(output, form->title_close);
    put_sentences(summing, form, output);
    put_outline(summing, form, output);
    put_account(summing, form, output);
    output_puts(output, form->foot);
}

void summing_print_markdown(const struct summing *summing, struct output *output)
{
    static const struct form form = {
        .text = put_markdown,
        .head = "",
        .foot = "",
        .title_open = "# ",
        .title_close = "\n\n",
        .section_open = "\n## ",
        .section_close = "\n\n",
        .item_open = "- ",
        .item_close = "\n",
        .list_open = "",
        .list_close = "",
        .paragraph_open = "",
        .paragraph_close = "\n\n",
        .strong_open = "**",
        .strong_close = "** ",
        .unsupported = " *\\[unsupported\\]*",
    };
    put_report(summing, &form, output);
}

void summing_print_html(const struct summing *summing, struct output *output)
{
    static const struct form form = {
        .html = true,
        .text = put_html,
        .head = "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Summary</title>\n"
                "<style>body{max-width:42em;margin:2em auto;padding:0 1em;font:1em/1.5 serif}"
                "small{color:#555}</style>\n",
        .foot = "</html>\n",
        .title_open = "<h1>",
        .title_close = "</h1>\n",
        .section_open = "<h2>",
        .section_close = "</h2>\n",
        .item_open = "<li>",
        .item_close = "</li>\n",
        .list_open = "<ul>\n",
        .list_close = "</ul>\n",
        .paragraph_open = "<p>",
        .paragraph_close = "</p>\n",
        .strong_open = "<strong>",
        .strong_close = "</strong> ",
        .unsupported = " <em>[unsupported]</em>",
    };
    put_report(summing, &form, output);
}
