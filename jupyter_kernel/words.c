/* What a front end asks about a cell that is being typed: completion, help, whether it is whole.
 * SPDX-License-Identifier: Apache-2.0 */
#include "jupyter_kernel/words.h"

#include <stdlib.h>
#include <string.h>

#include "console/complete.h"
#include "jupyter_kernel/magic.h"

/* ---- code points ---- */

static bool begins_character(char c)
{
    return ((unsigned char)c & 0xC0) != 0x80;
}

/* The byte where the code point begins; the end for positions past it. */
static size_t byte_of(const char *code, size_t length, int64_t position)
{
    size_t at = 0;
    for (int64_t seen = -1; at < length; at++)
        if (begins_character(code[at]) && ++seen == position)
            break;
    return at;
}

static int64_t position_of(const char *code, size_t byte)
{
    int64_t seen = 0;
    for (size_t i = 0; i < byte; i++)
        seen += begins_character(code[i]);
    return seen;
}

/* ---- the magic that the cursor is in ---- */

struct place {
    const char *code;
    size_t length, cursor; /* bytes */
    size_t start, end;     /* of the cursor's line */
    size_t sign;           /* of its last % */
};

static bool take_place(const json_t *request, struct place *place)
{
    place->code = json_get_string(request, "code", &place->length);
    if (!place->code)
        return false;
    place->cursor =
        byte_of(place->code, place->length, json_get_integer(request, "cursor_pos", (int64_t)place->length));
    return true;
}

/* True when the cursor's line is a magic: it begins with %, and so do all lines above it. */
static bool in_magic(struct place *place)
{
    size_t start = 0;
    for (;;) {
        const char *newline = memchr(place->code + start, '\n', place->length - start);
        size_t end = newline ? (size_t)(newline - place->code) : place->length;
        bool magic = end > start && place->code[start] == '%';
        bool block = magic && end > start + 1 && place->code[start + 1] == '%';
        if (place->cursor <= end) {
            place->start = start;
            place->end = end;
            place->sign = start + block;
            return magic;
        }
        if ((!magic && end > start) || block)
            return false;
        start = end + 1;
    }
}

/* ---- completion ---- */

struct matches {
    json_t *list;
    const char *word;
    size_t length;
};

static void offer_parameter(void *user, const char *name, const char *value, const char *help)
{
    struct matches *matches = user;
    (void)value;
    (void)help;
    for (size_t i = 0; i < matches->length; i++) {
        char c = matches->word[i] == '-' ? '_' : matches->word[i];
        if (name[i] != c)
            return;
    }
    json_array_append_new(matches->list, json_make_string(name));
}

static void offer_value(struct matches *matches, const char *name, size_t name_length)
{
    const char *const *values = params_choices(name, name_length);
    for (; values && *values; values++)
        if (strncmp(*values, matches->word, matches->length) == 0)
            json_array_append_new(matches->list, json_make_string(*values));
}

/* The last word of the line: a name, or the value after its "=". Gives where it begins. */
static size_t complete_parameter(const struct talk *talk, const struct place *place, size_t from,
                                 json_t *list)
{
    size_t word = place->cursor;
    while (word > from && !strchr(" \t", place->code[word - 1]))
        word--;
    const char *equals = memchr(place->code + word, '=', place->cursor - word);
    if (!equals) {
        struct matches matches = {list, place->code + word, place->cursor - word};
        params_each(talk, offer_parameter, &matches);
        return word;
    }
    size_t value = (size_t)(equals + 1 - place->code);
    struct matches matches = {list, place->code + value, place->cursor - value};
    offer_value(&matches, place->code + word, (size_t)(equals - place->code) - word);
    return value;
}

static const char **mark_names(const struct conversation *conversation)
{
    const char **names = calloc(conversation->mark_count + 1, sizeof *names);
    for (size_t i = 0; names && i < conversation->mark_count; i++)
        names[i] = conversation->marks[i].name;
    return names;
}

/* Does a magic of that name, with one % before it, belong to a line that begins with one % or with two? */
static bool suits(const char *item, bool block)
{
    enum command command = command_find(IN_NOTEBOOK, item + 1, strlen(item + 1));
    return command == COMMAND_COUNT || magic_row(command)->body != (block ? BODY_NONE : BODY_MUST);
}

/* Gives the byte where the candidates begin. */
static size_t complete_magic(const struct talk *talk, const struct place *place, json_t *list)
{
    const char *line = place->code + place->sign;
    size_t length = place->cursor - place->sign, name = 1;
    while (name < length && line[name] != ' ')
        name++;
    if (name < length && command_find(IN_NOTEBOOK, line + 1, name - 1) == COMMAND_PARAMS)
        return complete_parameter(talk, place, place->sign + name + 1, list);
    struct completion completion;
    const char **marks = mark_names(&talk->conversation);
    complete_line(&completion, IN_NOTEBOOK, line, length, marks);
    for (size_t i = 0; i < completion.count; i++) {
        struct text item = {0};
        bool block = place->sign > place->start;
        if (!completion.from && !suits(completion.items[i], block))
            continue;
        if (!completion.from && block)
            text_putc(&item, '%');
        text_puts(&item, completion.items[i]);
        json_array_append_new(list, json_make_text(text_string(&item), item.length));
        text_fini(&item);
    }
    size_t from = completion.from ? place->sign + completion.from : place->start;
    completion_fini(&completion);
    free(marks);
    return from;
}

json_t *words_complete(const struct talk *talk, const json_t *request)
{
    struct place place = {0};
    json_t *list = json_array();
    bool sound = take_place(request, &place);
    size_t from = place.cursor;
    if (sound && in_magic(&place) && place.cursor > place.sign)
        from = complete_magic(talk, &place, list);
    int64_t end = position_of(place.code, place.cursor);
    int64_t start = json_array_size(list) ? position_of(place.code, from) : end;
    return json_pack("{s:s, s:o, s:I, s:I, s:{}}", "status", "ok", "matches", list, "cursor_start",
                     (json_int_t)start, "cursor_end", (json_int_t)end, "metadata");
}

/* ---- help ---- */

static json_t *not_found(void)
{
    return json_pack("{s:s, s:b, s:{}, s:{}}", "status", "ok", "found", 0, "data", "metadata");
}

static json_t *found(const struct text *plain, const struct text *markdown)
{
    json_t *bundle = bundle_new(text_string(plain), plain->length);
    bundle_add(bundle, "text/markdown", markdown);
    return json_pack("{s:s, s:b, s:o, s:{}}", "status", "ok", "found", 1, "data", bundle, "metadata");
}

static bool describe_parameter(const struct talk *talk, const struct place *place, size_t from,
                               struct text *plain, struct text *markdown)
{
    size_t start = place->cursor, end = place->cursor;
    const char *help;
    struct text value = {0};
    while (start > from && !strchr(" \t=", place->code[start - 1]))
        start--;
    while (end < place->end && !strchr(" \t=", place->code[end]))
        end++;
    bool known = params_describe(talk, place->code + start, end - start, &value, &help);
    if (known) {
        text_printf(plain, "%.*s: %s\nnow %s", (int)(end - start), place->code + start, help,
                    text_string(&value));
        text_printf(markdown, "`%.*s`: %s\n\nnow `%s`", (int)(end - start), place->code + start, help,
                    text_string(&value));
    }
    text_fini(&value);
    return known;
}

static void add_value(void *user, const char *name, const char *value, const char *help)
{
    struct text *out = user;
    (void)help;
    text_printf(out, "\n    %-18s %s", name, value ? value : "-");
}

json_t *words_inspect(const struct talk *talk, const json_t *request)
{
    struct place place = {0};
    struct text plain = {0}, markdown = {0};
    if (!take_place(request, &place) || !in_magic(&place))
        return not_found();
    size_t name = place.sign + 1, end = name;
    while (end < place.end && !strchr(" \t", place.code[end]))
        end++;
    enum command command = command_find(IN_NOTEBOOK, place.code + name, end - name);
    bool known = command != COMMAND_COUNT;
    bool of_parameter = command == COMMAND_PARAMS && place.cursor > end &&
                        describe_parameter(talk, &place, end, &plain, &markdown);
    if (known && !of_parameter) {
        magic_help_text(command, &plain, &markdown);
        if (command == COMMAND_PARAMS && json_get_integer(request, "detail_level", 0) > 0) {
            text_puts(&plain, "\n");
            text_puts(&markdown, "\n");
            params_each(talk, add_value, &plain);
            params_each(talk, add_value, &markdown);
        }
    }
    json_t *answer = known ? found(&plain, &markdown) : not_found();
    text_fini(&plain);
    text_fini(&markdown);
    return answer;
}

/* ---- whole or not ---- */

json_t *words_is_complete(const json_t *request)
{
    size_t length = 0;
    const char *code = json_get_string(request, "code", &length);
    struct script script;
    struct step step;
    bool whole = true;
    script_begin(&script, code, code ? length : 0);
    while (script_next(&script, &step)) {
        if (step.kind == STEP_BLOCK)
            whole = step.body_length > 0;
        else if (step.kind == STEP_PROMPT)
            whole = step.body[step.body_length - 1] != '\\';
        else if (step.kind == STEP_LINE)
            whole = step.line[step.line_length - 1] != '\\';
    }
    if (whole)
        return json_pack("{s:s}", "status", "complete");
    return json_pack("{s:s, s:s}", "status", "incomplete", "indent", "");
}
