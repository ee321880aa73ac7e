/* A conversation's forms on disk: pages for people, JSON for programs and for opening again.
 * SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "console/conversation.h"
#include "console/escape.h"

enum { VERSION = 1, MOST_MESSAGES = 100000 };

enum conversation_form conversation_form(const char *name, size_t length)
{
    static const char *const names[] = {"md", "html", "json"};
    for (int i = 0; i < FORM_UNKNOWN; i++)
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
            return (enum conversation_form)i;
    if (length == 8 && memcmp(name, "markdown", 8) == 0)
        return FORM_MARKDOWN;
    return FORM_UNKNOWN;
}

static bool is_user(const struct conversation_message *message)
{
    return strcmp(message->role, "user") == 0;
}

/* ---- pages ---- */

static void export_markdown(const struct conversation *c, const char *assistant, struct text *out)
{
    text_puts(out, "# A conversation\n");
    if (c->system)
        text_printf(out, "\n*System message:* %s\n", c->system);
    for (size_t i = 0; i < c->now.count; i++) {
        const struct conversation_message *message = c->now.messages[i];
        size_t length;
        const char *typed = conversation_typed(message, &length);
        text_printf(out, "\n## %s\n\n", is_user(message) ? "You" : assistant);
        if (message->prefix)
            text_printf(out, "*(%zu bytes of %s went with this message)*\n\n", message->prefix,
                        message->fused ? "the summary of what was said before and documents" : "documents");
        text_append(out, typed, length);
        text_puts(out, message->partial ? "\n\n*(stopped here)*\n" : "\n");
    }
}

static void append_html(struct text *out, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        switch (bytes[i]) {
        case '&':
            text_puts(out, "&amp;");
            break;
        case '<':
            text_puts(out, "&lt;");
            break;
        case '>':
            text_puts(out, "&gt;");
            break;
        case '"':
            text_puts(out, "&quot;");
            break;
        default:
            text_putc(out, bytes[i]);
        }
}

static void export_html(const struct conversation *c, const char *assistant, struct text *out)
{
    text_puts(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                   "<title>A conversation</title>\n<style>\n"
                   "body { max-width: 46em; margin: 2em auto; padding: 0 1em; font: 1em/1.5 sans-serif; }\n"
                   "section { white-space: pre-wrap; overflow-wrap: anywhere; margin: 1em 0; }\n"
                   "section.user { background: #f0f0ee; padding: 0.6em 1em; border-radius: 0.5em; }\n"
                   "h2 { font-size: 0.9em; margin: 0; }\n</style>\n</head>\n<body>\n"
                   "<h1>A conversation</h1>\n");
    for (size_t i = 0; i < c->now.count; i++) {
        const struct conversation_message *message = c->now.messages[i];
        size_t length;
        const char *typed = conversation_typed(message, &length);
        text_printf(out, "<section class=\"%s\"><h2>", is_user(message) ? "user" : "assistant");
        append_html(out, is_user(message) ? "You" : assistant, strlen(is_user(message) ? "You" : assistant));
        text_puts(out, "</h2>");
        append_html(out, typed, length);
        text_puts(out, message->partial ? " <em>(stopped here)</em></section>\n" : "</section>\n");
    }
    text_puts(out, "</body>\n</html>\n");
}

/* ---- JSON ---- */

static json_t *json_words(const char *bytes, size_t length)
{
    struct text clean = {0};
    escape_repair(&clean, bytes, length);
    json_t *value = clean.failed ? NULL : json_stringn(text_string(&clean), clean.length);
    text_fini(&clean);
    return value;
}

static void print_json(json_t *value, size_t flags, struct text *out)
{
    char *line = value ? json_dumps(value, flags) : NULL;
    if (!line)
        out->failed = true;
    else
        text_puts(out, line);
    text_putc(out, '\n');
    free(line);
    json_decref(value);
}

static void export_json(const struct conversation *c, struct text *out)
{
    json_t *list = json_array();
    if (c->system)
        json_array_append_new(list, json_pack("{s:s, s:o}", "role", "system", "content",
                                              json_words(c->system, strlen(c->system))));
    for (size_t i = 0; i < c->now.count; i++) {
        const struct conversation_message *message = c->now.messages[i];
        json_array_append_new(list, json_pack("{s:s, s:o}", "role", message->role, "content",
                                              json_words(message->text, message->length)));
    }
    print_json(list, JSON_INDENT(2), out);
}

void conversation_export(const struct conversation *c, enum conversation_form form, const char *assistant,
                         struct text *out)
{
    if (form == FORM_MARKDOWN)
        export_markdown(c, assistant, out);
    else if (form == FORM_HTML)
        export_html(c, assistant, out);
    else
        export_json(c, out);
}

/* ---- writing all of it ---- */

/* Messages are listed once; states are lists of places in that list. */
static json_t *state_json(const struct conversation_state *state, json_t *messages,
                          const struct conversation_message ***known, size_t *known_count)
{
    json_t *places = json_array();
    for (size_t i = 0; i < state->count; i++) {
        const struct conversation_message *message = state->messages[i];
        size_t place = 0;
        while (place < *known_count && (*known)[place] != message)
            place++;
        if (place == *known_count) {
            const struct conversation_message **grown = realloc(*known, (place + 1) * sizeof *grown);
            if (!grown)
                break;
            *known = grown;
            grown[(*known_count)++] = message;
            json_array_append_new(messages, json_pack("{s:s, s:o, s:I, s:b, s:b}", "role", message->role,
                                                      "text", json_words(message->text, message->length),
                                                      "prefix", (json_int_t)message->prefix, "partial",
                                                      (int)message->partial, "fused", (int)message->fused));
        }
        json_array_append_new(places, json_integer((json_int_t)place));
    }
    return places;
}

void conversation_write(const struct conversation *c, const char *const *documents, size_t document_count,
                        struct text *out)
{
    const struct conversation_message **known = NULL;
    size_t known_count = 0;
    json_t *root = json_object(), *messages = json_array(), *past = json_array(), *marks = json_array(),
           *paths = json_array();
    json_object_set_new(root, "version", json_integer(VERSION));
    json_object_set_new(root, "system", c->system ? json_words(c->system, strlen(c->system)) : json_null());
    json_object_set_new(root, "now", state_json(&c->now, messages, &known, &known_count));
    for (size_t i = 0; i < c->past_count; i++)
        json_array_append_new(past, state_json(&c->past[i], messages, &known, &known_count));
    for (size_t i = 0; i < c->mark_count; i++)
        json_array_append_new(
            marks, json_pack("{s:o, s:o}", "name", json_words(c->marks[i].name, strlen(c->marks[i].name)),
                             "messages", state_json(&c->marks[i].state, messages, &known, &known_count)));
    for (size_t i = 0; i < document_count; i++)
        json_array_append_new(paths, json_words(documents[i], strlen(documents[i])));
    json_object_set_new(root, "past", past);
    json_object_set_new(root, "marks", marks);
    json_object_set_new(root, "messages", messages);
    json_object_set_new(root, "documents", paths);
    free(known);
    print_json(root, JSON_COMPACT, out);
}

/* ---- reading it: the file is not trusted ---- */

static bool damaged(struct text *problem)
{
    text_puts(problem, "the conversation in it is damaged or of another version");
    return false;
}

static bool read_message(struct conversation_state *all, json_t *row, struct text *problem)
{
    json_t *text = json_object_get(row, "text");
    const char *role = json_string_value(json_object_get(row, "role"));
    json_int_t prefix = json_integer_value(json_object_get(row, "prefix"));
    size_t length = json_string_length(text);
    if (!json_is_string(text) || !role || (strcmp(role, "user") && strcmp(role, "assistant")) || prefix < 0 ||
        (size_t)prefix > length)
        return damaged(problem);
    struct conversation holder = {.now = *all};
    bool ok = conversation_add(&holder, role, json_string_value(text), length, (size_t)prefix,
                               json_is_true(json_object_get(row, "partial")));
    *all = holder.now;
    if (!ok)
        text_puts(problem, "there is no memory for the conversation");
    else
        all->messages[all->count - 1]->fused = json_is_true(json_object_get(row, "fused"));
    return ok;
}

/* Makes the empty present state the one that places tell. */
static bool read_state(const struct conversation_state *all, json_t *places, struct conversation *c,
                       struct text *problem)
{
    size_t count = json_array_size(places);
    if (!json_is_array(places) || count > MOST_MESSAGES)
        return damaged(problem);
    for (size_t i = 0; i < count; i++) {
        json_t *place = json_array_get(places, i);
        if (!json_is_integer(place) || json_integer_value(place) < 0 ||
            (size_t)json_integer_value(place) >= all->count)
            return damaged(problem);
    }
    struct conversation_message **messages = calloc(count + 1, sizeof *messages);
    if (!messages) {
        text_puts(problem, "there is no memory for the conversation");
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        messages[i] = all->messages[json_integer_value(json_array_get(places, i))];
        messages[i]->holders++;
    }
    free(c->now.messages);
    c->now = (struct conversation_state){messages, count};
    return true;
}

static void empty_present(struct conversation *c)
{
    while (c->now.count)
        conversation_drop_last(c);
}

static bool read_parts(struct conversation *c, json_t *root, const struct conversation_state *all,
                       struct text *problem)
{
    json_t *past = json_object_get(root, "past"), *marks = json_object_get(root, "marks"), *row;
    size_t i;
    if (json_array_size(past) > MOST_MESSAGES || json_array_size(marks) > MOST_MESSAGES)
        return damaged(problem);
    json_array_foreach(past, i, row)
    {
        if (!read_state(all, row, c, problem) || !conversation_keep(c))
            return false;
        empty_present(c);
    }
    json_array_foreach(marks, i, row)
    {
        const char *name = json_string_value(json_object_get(row, "name"));
        if (!name || !*name)
            return damaged(problem);
        if (!read_state(all, json_object_get(row, "messages"), c, problem) || !conversation_mark(c, name))
            return false;
        empty_present(c);
    }
    return read_state(all, json_object_get(root, "now"), c, problem);
}

bool conversation_read(struct conversation *c, const char *bytes, size_t length,
                       void (*each)(void *user, const char *document), void *user, struct text *problem)
{
    json_error_t where;
    json_t *root = json_loadb(bytes, length, JSON_ALLOW_NUL, &where), *row;
    struct conversation_state all = {0};
    size_t i;
    bool ok = json_is_object(root) && json_integer_value(json_object_get(root, "version")) == VERSION &&
              json_array_size(json_object_get(root, "messages")) <= MOST_MESSAGES;
    if (!ok)
        damaged(problem);
    json_array_foreach(json_object_get(root, "messages"), i, row)
    {
        ok = ok && read_message(&all, row, problem);
    }
    ok = ok && read_parts(c, root, &all, problem);
    const char *system = json_string_value(json_object_get(root, "system"));
    if (ok && !conversation_set_system(c, system)) {
        text_puts(problem, "there is no memory for the conversation");
        ok = false;
    }
    json_array_foreach(json_object_get(root, "documents"), i, row)
    {
        if (ok && each && json_is_string(row))
            each(user, json_string_value(row));
    }
    struct conversation holder = {.now = all};
    conversation_fini(&holder);
    if (!ok)
        conversation_fini(c);
    json_decref(root);
    return ok;
}
