/* A cell's text as steps: magics first, then a prompt; or one magic that takes the whole rest.
 * SPDX-License-Identifier: Apache-2.0 */
#include "jupyter_kernel/script.h"

#include <string.h>

void script_begin(struct script *script, const char *code, size_t length)
{
    *script = (struct script){.code = code, .length = length};
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The line at `at` without its end; *ret_next is where the next one begins. */
static size_t line_at(const struct script *script, size_t at, size_t *ret_next)
{
    const char *start = script->code + at;
    const char *end = memchr(start, '\n', script->length - at);
    size_t length = end ? (size_t)(end - start) : script->length - at;
    *ret_next = at + length + (end != NULL);
    while (length && is_blank(start[length - 1]))
        length--;
    return length;
}

static bool line_is_blank(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!is_blank(line[i]))
            return false;
    return true;
}

static void skip_blank_lines(struct script *script)
{
    while (script->at < script->length) {
        size_t next, length = line_at(script, script->at, &next);
        if (!line_is_blank(script->code + script->at, length))
            return;
        script->at = next;
    }
}

/* ---- assignments ---- */

static size_t skip(const char *line, size_t length, size_t at)
{
    while (at < length && is_blank(line[at]))
        at++;
    return at;
}

static bool is_name(char c, bool first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (!first && ((c >= '0' && c <= '9') || c == '-'));
}

bool script_assignment(const char *line, size_t length, const char **ret_name, size_t *ret_name_length,
                       const char **ret_value, size_t *ret_value_length)
{
    size_t start = skip(line, length, 0), end = start;
    while (end < length && is_name(line[end], end == start))
        end++;
    size_t equals = skip(line, length, end);
    if (end == start || equals == length || line[equals] != '=')
        return false;
    size_t value = skip(line, length, equals + 1);
    while (length > value && is_blank(line[length - 1]))
        length--;
    if (length - value >= 2 && (line[value] == '"' || line[value] == '\'') &&
        line[length - 1] == line[value]) {
        value++;
        length--;
    }
    *ret_name = line + start;
    *ret_name_length = end - start;
    *ret_value = line + value;
    *ret_value_length = length - value;
    return true;
}

/* A cell whose first line is "# Parameters" and whose other lines are assignments or comments. */
static bool is_parameter_cell(const struct script *script, size_t *ret_body)
{
    static const char title[] = "# Parameters";
    size_t next, length = line_at(script, script->at, &next), assignments = 0;
    const char *name, *value;
    size_t name_length, value_length;
    if (length != sizeof title - 1 || memcmp(script->code + script->at, title, length) != 0)
        return false;
    *ret_body = next;
    for (size_t at = next; at < script->length; at = next) {
        const char *line = script->code + at;
        length = line_at(script, at, &next);
        if (line_is_blank(line, length) || line[0] == '#')
            continue;
        if (!script_assignment(line, length, &name, &name_length, &value, &value_length))
            return false;
        assignments++;
    }
    return assignments > 0;
}

/* ---- steps ---- */

static void take_rest(struct script *script, struct step *step, size_t from)
{
    size_t end = script->length;
    while (end > from && (is_blank(script->code[end - 1]) || script->code[end - 1] == '\n'))
        end--;
    step->body = script->code + from;
    step->body_length = end - from;
    script->at = script->length;
}

static void take_prompt(struct script *script, struct step *step)
{
    const char *start = script->code + script->at;
    bool escaped =
        script->length - script->at >= 2 && start[0] == '\\' && (start[1] == '%' || start[1] == '\\');
    step->kind = STEP_PROMPT;
    take_rest(script, step, script->at + escaped);
}

bool script_next(struct script *script, struct step *ret)
{
    *ret = (struct step){0};
    skip_blank_lines(script);
    if (script->at == script->length)
        return false;
    bool first = !script->begun;
    script->begun = true;
    const char *line = script->code + script->at;
    size_t next, length = line_at(script, script->at, &next), body;
    if (first && is_parameter_cell(script, &body)) {
        ret->kind = STEP_PARAMETERS;
        take_rest(script, ret, body);
    } else if (line[0] != '%') {
        take_prompt(script, ret);
    } else if (length > 1 && line[1] == '%') {
        *ret = (struct step){.kind = STEP_BLOCK, .line = line + 1, .line_length = length - 1};
        take_rest(script, ret, next);
    } else {
        *ret = (struct step){.kind = STEP_LINE, .line = line, .line_length = length};
        script->at = next;
    }
    return true;
}
