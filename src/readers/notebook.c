/* Jupyter notebooks: sources and text outputs as Markdown; pictures and the like are named.
 * SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "readers/reader.h"

struct notebook {
    struct reading *reading;
    struct strbuf *out;
    const char *language;
    size_t rich; /* outputs named only */
};

/* ---- text of JSON ---------------------------------------------------------------------------- */

/* A string, or an array of strings that belong together. */
static void join_lines(const json_t *value, struct strbuf *out)
{
    if (json_is_string(value))
        strbuf_append(out, json_string_value(value), json_string_length(value));
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *line = json_array_get(value, i);
        if (json_is_string(line))
            strbuf_append(out, json_string_value(line), json_string_length(line));
    }
}

/* Colours and cursor moves of a traceback go, and of a progress line what it was overwritten by stays. */
static void put_plain(const struct strbuf *text, struct strbuf *out)
{
    const char *s = strbuf_text(text);
    size_t line = out->length;
    for (size_t i = 0; i < text->length; i++) {
        if (s[i] == '\x1B') {
            i += i + 1 < text->length && s[i + 1] == '[';
            while (i + 1 < text->length && !(s[i + 1] >= '@' && s[i + 1] <= '~'))
                i++;
            i += i + 1 < text->length;
        } else if (s[i] == '\r' && i + 1 < text->length && s[i + 1] != '\n') {
            strbuf_truncate(out, line);
        } else if (s[i] != '\r') {
            strbuf_putc(out, s[i]);
            line = s[i] == '\n' ? out->length : line;
        }
    }
}

/* ---- cells ----------------------------------------------------------------------------------- */

static void end_line(struct strbuf *out)
{
    if (out->length && out->text[out->length - 1] != '\n')
        strbuf_putc(out, '\n');
}

static void put_fenced(struct notebook *n, const char *label, const struct strbuf *text)
{
    const char *fence = strstr(strbuf_text(text), "```") ? "~~~" : "```";
    if (text->length == 0)
        return;
    strbuf_printf(n->out, "%s%s\n", fence, label);
    put_plain(text, n->out);
    end_line(n->out);
    strbuf_printf(n->out, "%s\n\n", fence);
}

static void put_data(struct notebook *n, const json_t *data)
{
    struct strbuf text = {0};
    const char *type;
    json_t *value;
    const json_t *plain = json_object_get(data, "text/plain"),
                 *markdown = json_object_get(data, "text/markdown");
    json_object_foreach((json_t *)(uintptr_t)data, type, value)
    {
        if (strncmp(type, "image/", 6) != 0 && strncmp(type, "audio/", 6) != 0 &&
            strncmp(type, "video/", 6) != 0)
            continue;
        struct strbuf packed = {0};
        join_lines(value, &packed);
        strbuf_printf(n->out, "[%.60s, %zu bytes]\n\n", type, packed.length / 4 * 3);
        strbuf_fini(&packed);
        n->rich++;
    }
    join_lines(plain ? plain : markdown, &text);
    put_fenced(n, "", &text);
    if (!plain && !markdown && json_object_get(data, "text/html")) {
        strbuf_puts(n->out, "[text/html output]\n\n");
        n->rich++;
    }
    strbuf_fini(&text);
}

static void put_output(struct notebook *n, const json_t *output)
{
    const char *type = json_string_value(json_object_get(output, "output_type"));
    struct strbuf text = {0};
    if (!type)
        return;
    if (strcmp(type, "stream") == 0) {
        join_lines(json_object_get(output, "text"), &text);
        put_fenced(n, "", &text);
    } else if (strcmp(type, "error") == 0 || strcmp(type, "pyerr") == 0) {
        const json_t *trace = json_object_get(output, "traceback");
        for (size_t i = 0; i < json_array_size(trace); i++) {
            join_lines(json_array_get(trace, i), &text);
            end_line(&text);
        }
        if (text.length == 0) {
            join_lines(json_object_get(output, "ename"), &text);
            strbuf_puts(&text, ": ");
            join_lines(json_object_get(output, "evalue"), &text);
        }
        put_fenced(n, "", &text);
    } else {
        const json_t *data = json_object_get(output, "data");
        put_data(n, data ? data : output);
    }
    strbuf_fini(&text);
}

static void put_cell(struct notebook *n, const json_t *cell)
{
    const char *type = json_string_value(json_object_get(cell, "cell_type"));
    const json_t *source = json_object_get(cell, "source"), *old = json_object_get(cell, "input");
    const json_t *outputs = json_object_get(cell, "outputs");
    struct strbuf text = {0};
    join_lines(source ? source : old, &text);
    if (type && strcmp(type, "code") == 0) {
        put_fenced(n, n->language, &text);
    } else if (text.length) {
        put_plain(&text, n->out);
        end_line(n->out);
        strbuf_putc(n->out, '\n');
    }
    for (size_t i = 0; i < json_array_size(outputs); i++)
        put_output(n, json_array_get(outputs, i));
    strbuf_fini(&text);
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Format 4 has its cells at the top, format 3 in worksheets. */
static void put_cells(struct notebook *n, const json_t *root)
{
    const json_t *cells = json_object_get(root, "cells"), *sheets = json_object_get(root, "worksheets");
    for (size_t i = 0; i < json_array_size(cells); i++)
        put_cell(n, json_array_get(cells, i));
    for (size_t s = 0; s < json_array_size(sheets); s++) {
        cells = json_object_get(json_array_get(sheets, s), "cells");
        for (size_t i = 0; i < json_array_size(cells); i++)
            put_cell(n, json_array_get(cells, i));
    }
}

ll_status read_notebook(struct input *input)
{
    struct reading *reading = input->reading;
    struct strbuf text = {0};
    json_error_t why;
    LL_TRY(input_decode(input, &text));
    json_t *root = json_loadb(strbuf_text(&text), text.length, 0, &why);
    strbuf_fini(&text);
    if (!root || !json_is_object(root)) {
        json_decref(root);
        return error_set(input->error, LL_UNREADABLE, "notebook", "%s is no notebook: line %d: %.100s",
                         reading->name, why.line, why.text);
    }
    const json_t *metadata = json_object_get(root, "metadata");
    const char *language =
        json_string_value(json_object_get(json_object_get(metadata, "language_info"), "name"));
    const char *title = json_string_value(json_object_get(metadata, "title"));
    struct notebook n = {reading, &reading->text, language && strlen(language) < 20 ? language : "", 0};
    put_cells(&n, root);
    if (title)
        strbuf_puts(&reading->title, title);
    if (n.rich)
        notes_add(reading->notes, "%s: %zu picture%s and other rich outputs are named, not read",
                  reading->name, n.rich, n.rich == 1 ? "" : "s");
    json_decref(root);
    return reading->text.failed ? error_nomem(input->error, "notebook", reading->text.length) : LL_OK;
}
