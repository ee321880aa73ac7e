/* The value of every option and where it comes from: built in, config file, environment, line.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* environ */
#include "console/settings.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "console/escape.h"
#include "console/suggest.h"

bool settings_init(struct settings *settings)
{
    *settings = (struct settings){0};
    struct text problem = {0};
    bool ok = true;
    for (int i = 0; i < OPTION_COUNT && ok; i++)
        if (option_row((enum option)i)->fallback)
            ok = settings_set(settings, (enum option)i, ORIGIN_BUILT_IN, 0,
                              option_row((enum option)i)->fallback, &problem);
    text_fini(&problem);
    return ok;
}

static void setting_clear_items(struct setting *setting)
{
    for (size_t i = 0; i < setting->item_count; i++)
        free(setting->items[i]);
    free(setting->items);
    setting->items = NULL;
    setting->item_count = 0;
}

void settings_fini(struct settings *settings)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        free(settings->values[i].text);
        setting_clear_items(&settings->values[i]);
    }
    *settings = (struct settings){0};
}

/* A whole number with an optional k, M or G; false when it is something else. */
static bool parse_count(const char *value, uint64_t *ret)
{
    if (!isdigit((unsigned char)value[0]))
        return false;
    char *end;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 10);
    int shift = *end == 'k' || *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    if (shift)
        end++;
    if (errno || *end || number > UINT64_MAX >> shift)
        return false;
    *ret = (uint64_t)number << shift;
    return true;
}

/* Decimal with a point whatever the locale; no hexadecimal, infinities or NaN. */
static bool parse_number(const char *value, double *ret)
{
    if (!*value || strspn(value, "0123456789.eE+-") != strlen(value))
        return false;
    char *end;
    errno = 0;
    double number = strtod(value, &end);
    if (errno == ERANGE || *end || !isfinite(number))
        return false;
    *ret = number;
    return true;
}

/* A whole number, also one that is negative or beyond 64 bits. */
static bool is_whole(const char *value)
{
    value += *value == '-';
    return *value && strspn(value, "0123456789") == strlen(value);
}

static bool parse_choice(const struct option_row *row, const char *value, uint64_t *ret)
{
    for (size_t i = 0; row->choices && row->choices[i]; i++)
        if (strcmp(row->choices[i], value) == 0) {
            *ret = i;
            return true;
        }
    return false;
}

static void describe_choices(const struct option_row *row, const char *value, struct text *problem)
{
    struct suggestion near;
    suggest_begin(&near, value);
    text_puts(problem, "is not one of");
    for (size_t i = 0; row->choices[i]; i++) {
        text_printf(problem, "%s %s", i ? "," : "", row->choices[i]);
        suggest_offer(&near, row->choices[i]);
    }
    if (near.best)
        text_printf(problem, "; did you mean %s?", near.best);
}

static bool parse_flag(const char *value, uint64_t *ret)
{
    static const char *const words[] = {"no", "yes", "off", "on", "false", "true", "0", "1"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], value) == 0) {
            *ret = i % 2;
            return true;
        }
    return false;
}

/* Checks value by its row and fills in count and number. */
static bool setting_parse(struct setting *setting, const struct option_row *row, const char *value,
                          struct text *problem)
{
    bool fits = true;
    switch (row->kind) {
    case OPTION_IS_FLAG:
        if (!parse_flag(value, &setting->count))
            text_puts(problem, "is neither yes nor no");
        break;
    case OPTION_IS_CHOICE:
        if (!parse_choice(row, value, &setting->count))
            describe_choices(row, value, problem);
        break;
    case OPTION_IS_COUNT:
        if (parse_choice(row, value, &setting->count))
            break;
        if (!parse_count(value, &setting->count) && is_whole(value))
            fits = false;
        else if (!parse_count(value, &setting->count))
            text_puts(problem, row->choices ? "is neither a whole number nor one of its words"
                                            : "is not a whole number");
        else
            fits = (double)setting->count >= row->least && (double)setting->count <= row->most;
        break;
    case OPTION_IS_NUMBER:
        if (!parse_number(value, &setting->number))
            text_puts(problem, "is not a number");
        else
            fits = setting->number >= row->least && setting->number <= row->most;
        break;
    case OPTION_IS_PATH:
        if (!*value)
            text_puts(problem, "is empty; it should be a file name");
        break;
    case OPTION_IS_TEXT:
    case OPTION_IS_LIST:
        break;
    }
    if (!fits)
        text_printf(problem, "is outside %.15g to %.15g", row->least, row->most);
    return !problem->length;
}

static bool setting_add_item(struct setting *setting, const char *value)
{
    char **items = realloc(setting->items, (setting->item_count + 1) * sizeof *items);
    if (!items)
        return false;
    setting->items = items;
    items[setting->item_count] = strdup(value);
    return items[setting->item_count] && ++setting->item_count;
}

bool settings_set(struct settings *settings, enum option option, enum origin origin, size_t line,
                  const char *value, struct text *problem)
{
    struct setting *setting = &settings->values[option];
    const struct option_row *row = option_row(option);
    struct text shown = {0};
    struct setting parsed = {.origin = origin, .line = line, .given = true};
    if (!setting_parse(&parsed, row, value, &shown)) {
        text_printf(problem, "%s%s: “", origin == ORIGIN_LINE ? "--" : "", row->name);
        escape_append_line(problem, value);
        text_printf(problem, "” %s", text_string(&shown));
        text_fini(&shown);
        return false;
    }
    parsed.text = strdup(value);
    bool ok = parsed.text;
    if (setting->origin != origin)
        setting_clear_items(setting);
    parsed.items = setting->items;
    parsed.item_count = setting->item_count;
    free(setting->text);
    *setting = parsed;
    if (row->kind == OPTION_IS_LIST)
        ok = ok && setting_add_item(setting, value);
    if (!ok)
        text_puts(problem, "out of memory");
    return ok;
}

void settings_variable(enum option option, struct text *name)
{
    text_puts(name, "LONGLEAF_");
    for (const char *c = option_row(option)->name; *c; c++)
        text_putc(name, *c == '-' ? '_' : (char)toupper((unsigned char)*c));
}

/* Variables of the program that are no options. */
static const char *const other_variables[] = {"LONGLEAF_MODELS", "LONGLEAF_PASSWORD", "LONGLEAF_ISA",
                                              "LONGLEAF_PLUGINS", "LONGLEAF_CUDA_GRAPHS"};

static bool variable_known(const char *name)
{
    bool known = false;
    for (size_t i = 0; i < sizeof other_variables / sizeof *other_variables; i++)
        known |= strcmp(other_variables[i], name) == 0;
    for (int i = 0; i < OPTION_COUNT && !known; i++) {
        struct text variable = {0};
        settings_variable((enum option)i, &variable);
        known = !option_row((enum option)i)->line_only && strcmp(text_string(&variable), name) == 0;
        text_fini(&variable);
    }
    return known;
}

void settings_unknown_variables(struct text *names)
{
    for (char **at = environ; *at; at++) {
        char name[64];
        size_t length = strcspn(*at, "=");
        if (strncmp(*at, "LONGLEAF_", 9) != 0)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), *at);
        if (variable_known(name))
            continue;
        text_puts(names, names->length ? ", " : "");
        escape_append_line(names, name);
    }
}

bool settings_read_environment(struct settings *settings, struct text *problem)
{
    bool ok = true;
    for (int i = 0; i < OPTION_COUNT && ok; i++) {
        if (option_row((enum option)i)->line_only)
            continue;
        struct text name = {0};
        settings_variable((enum option)i, &name);
        const char *value = getenv(text_string(&name));
        if (value && *value)
            ok = settings_set(settings, (enum option)i, ORIGIN_ENVIRONMENT, 0, value, problem);
        if (!ok)
            text_printf(problem, " (from the variable %s)", text_string(&name));
        text_fini(&name);
    }
    return ok;
}

bool settings_given(const struct settings *settings, enum option option)
{
    return settings->values[option].given;
}

bool settings_flag(const struct settings *settings, enum option option)
{
    return settings->values[option].given && settings->values[option].count;
}

const char *settings_text(const struct settings *settings, enum option option)
{
    return settings->values[option].text;
}

uint64_t settings_count(const struct settings *settings, enum option option, uint64_t fallback)
{
    return settings->values[option].given ? settings->values[option].count : fallback;
}

double settings_number(const struct settings *settings, enum option option)
{
    return settings->values[option].number;
}
