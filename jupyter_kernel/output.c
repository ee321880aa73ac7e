/* What one cell shows: streams, displays, its result, and how it failed.
 * SPDX-License-Identifier: Apache-2.0 */
#include "jupyter_kernel/output.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/escape.h"
#include "jupyter_kernel/raster.h"

enum { MOST_RECORD = 1 << 16 };

void output_init(struct output *output, struct channel *channel, const struct message *request)
{
    *output = (struct output){.channel = channel, .request = request};
    wire_moment(output->started);
}

void output_fini(struct output *output)
{
    text_fini(&output->name);
    text_fini(&output->value);
    text_fini(&output->record);
    json_decref(output->traceback);
    *output = (struct output){0};
}

static void record(struct output *output, const char *bytes, size_t length)
{
    if (length <= MOST_RECORD - output->record.length)
        text_append(&output->record, bytes, length);
}

void output_stream(struct output *output, const char *stream, const char *bytes, size_t length)
{
    struct text shown = {0};
    if (output->silent)
        return;
    escape_append(&shown, bytes, length);
    if (!shown.failed)
        publisher_stream(&output->channel->publisher, stream, &output->request->header, text_string(&shown),
                         shown.length);
    record(output, text_string(&shown), shown.length);
    text_fini(&shown);
}

/* Notebook front ends draw JSON as a tree in place of any text beside it. They name the cell in the
 * request's metadata; for them the JSON has a name of its own, which notebooks keep and nobody draws. */
static json_t *suit(const struct output *output, json_t *bundle)
{
    json_t *object = json_object_get(bundle, "application/json");
    if (!object || !output->request->has_metadata)
        return bundle;
    json_object_set(bundle, BUNDLE_JSON, object);
    json_object_del(bundle, "application/json");
    return bundle;
}

void output_display(struct output *output, json_t *bundle, const char *display_id, bool update)
{
    output_display_by(output, &output->channel->publisher, bundle, display_id, update);
}

void output_display_by(struct output *output, struct publisher *publisher, json_t *bundle,
                       const char *display_id, bool update)
{
    json_t *transient = json_object();
    if (display_id)
        json_put_string(transient, "display_id", display_id);
    json_t *content =
        json_pack("{s:o, s:{}, s:o}", "data", suit(output, bundle), "metadata", "transient", transient);
    if (output->silent)
        json_decref(content);
    else
        publisher_send(publisher, update ? "update_display_data" : "display_data", &output->request->header,
                       NULL, content);
}

void output_picture(struct output *output, const char *title, const struct text *picture)
{
    json_t *bundle = bundle_new(title, strlen(title));
    bundle_add_picture(bundle, picture);
    output_display(output, bundle, NULL, false);
}

void output_result(struct output *output, json_t *bundle)
{
    size_t length = 0;
    const char *plain = json_get_string(bundle, "text/plain", &length);
    if (plain)
        record(output, plain, length);
    json_t *content = json_pack("{s:I, s:o, s:{}}", "execution_count", (json_int_t)output->count, "data",
                                suit(output, bundle), "metadata");
    if (output->silent)
        json_decref(content);
    else
        channel_publish(output->channel, output->request, "execute_result", content);
}

/* ---- failures ---- */

/* Broken at blanks, as front ends break long lines anywhere. */
static void make_traceback(struct output *output)
{
    enum { COLUMNS = 96 };
    struct text line = {0};
    const char *at = text_string(&output->value);
    size_t used = output->name.length + 2;
    output->traceback = json_array();
    text_printf(&line, "\033[1;31m%s\033[0m:", text_string(&output->name));
    while (*at) {
        size_t word = strcspn(at, " ");
        if (used > 2 && used + word > COLUMNS) {
            json_array_append_new(output->traceback, json_make_text(text_string(&line), line.length));
            text_clear(&line);
            used = 0;
        }
        text_putc(&line, ' ');
        text_append(&line, at, word);
        used += word + 1;
        at += word + (at[word] == ' ');
    }
    json_array_append_new(output->traceback, json_make_text(text_string(&line), line.length));
    text_fini(&line);
}

void output_fail(struct output *output, const char *name, const char *format, ...)
{
    struct text sentence = {0};
    char fixed[2048];
    va_list list;
    if (output->failed)
        return;
    va_start(list, format);
    vsnprintf(fixed, sizeof fixed, format, list);
    va_end(list);
    escape_append(&sentence, fixed, strlen(fixed));
    output->failed = true;
    text_puts(&output->name, name);
    text_append(&output->value, text_string(&sentence), sentence.length);
    make_traceback(output);
    text_fini(&sentence);
}

void output_fail_error(struct output *output, const char *name, const ll_error *error)
{
    switch (error->status) {
    case LL_CANCELLED:
        output_fail(output, FAIL_INTERRUPT, "stopped");
        return;
    case LL_NOMEM:
    case LL_DEVICE_MEMORY:
        name = FAIL_MEMORY;
        break;
    case LL_UNREADABLE:
        name = FAIL_DOCUMENT;
        break;
    case LL_CONTEXT_FULL:
        name = FAIL_CONTEXT;
        break;
    default:
        break;
    }
    output_fail(output, name, "%s%s%s", error->where, error->where[0] ? ": " : "", error->text);
}

json_t *output_failure(const struct output *output)
{
    json_t *failure = json_object();
    json_put_text(failure, "ename", &output->name);
    json_put_text(failure, "evalue", &output->value);
    json_put(failure, "traceback", json_deep_copy(output->traceback));
    return failure;
}

void output_publish_failure(struct output *output)
{
    if (!output->silent)
        channel_publish(output->channel, output->request, "error", output_failure(output));
}

/* ---- bundles ---- */

json_t *bundle_new(const char *plain, size_t length)
{
    json_t *bundle = json_object();
    json_put_bytes(bundle, "text/plain", plain, length);
    return bundle;
}

json_t *bundle_line(const char *format, ...)
{
    char line[1024];
    struct text shown = {0}, markdown = {0};
    va_list list;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    escape_append_line(&shown, line);
    json_t *bundle = bundle_new(text_string(&shown), shown.length);
    markdown_append(&markdown, text_string(&shown), shown.length);
    bundle_add(bundle, "text/markdown", &markdown);
    json_t *object = json_object();
    json_put_text(object, "text", &shown);
    json_put(bundle, "application/json", object);
    text_fini(&shown);
    text_fini(&markdown);
    return bundle;
}

json_t *bundle_object(const json_t *bundle)
{
    return json_object_get(bundle, "application/json");
}

/* The fence is longer than any row of its characters in the text. */
void bundle_add_code(json_t *bundle, const struct text *text)
{
    struct text markdown = {0};
    size_t fence = 3, row = 0;
    for (size_t i = 0; i < text->length; i++) {
        row = text->bytes[i] == '`' ? row + 1 : 0;
        fence = row >= fence ? row + 1 : fence;
    }
    for (size_t i = 0; i < fence; i++)
        text_putc(&markdown, '`');
    text_puts(&markdown, "text\n");
    text_append(&markdown, text_string(text), text->length);
    if (text->length && text->bytes[text->length - 1] != '\n')
        text_putc(&markdown, '\n');
    for (size_t i = 0; i < fence; i++)
        text_putc(&markdown, '`');
    bundle_add(bundle, "text/markdown", &markdown);
    text_fini(&markdown);
}

void bundle_add(json_t *bundle, const char *mime, const struct text *text)
{
    json_put_text(bundle, mime, text);
}

/* Notebooks that nobody trusts yet, and programs that make pages of notebooks, show PNG but no SVG. */
void bundle_add_picture(json_t *bundle, const struct text *picture)
{
    struct text png = {0};
    bundle_add(bundle, "image/svg+xml", picture);
    if (raster_png(picture, &png))
        bundle_add(bundle, "image/png", &png);
    text_fini(&png);
}

void markdown_append(struct text *out, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        char c = bytes[i];
        if (c == '&')
            text_puts(out, "&amp;");
        else if (c == '<')
            text_puts(out, "&lt;");
        else {
            if (c && strchr("\\`*_[]!#|$~>", c))
                text_putc(out, '\\');
            text_putc(out, c);
        }
    }
}

void html_append(struct text *out, const char *string)
{
    for (; *string; string++)
        if (*string == '&')
            text_puts(out, "&amp;");
        else if (*string == '<')
            text_puts(out, "&lt;");
        else if (*string == '>')
            text_puts(out, "&gt;");
        else if (*string == '"')
            text_puts(out, "&quot;");
        else
            text_putc(out, *string);
}
