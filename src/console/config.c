/* Reads the configuration file: lines of "key = value", each error with its line number.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/escape.h"
#include "console/settings.h"
#include "console/suggest.h"

void settings_config_path(struct text *path)
{
    const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (base && base[0] == '/')
        text_printf(path, "%s/longleaf/config", base);
    else if (home && *home)
        text_printf(path, "%s/.config/longleaf/config", home);
}

static char *trim(char *text)
{
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length && strchr(" \t\r\n", text[length - 1]))
        text[--length] = '\0';
    return text;
}

static void unknown_key(const char *key, struct text *problem)
{
    struct suggestion near;
    suggest_begin(&near, key);
    for (int i = 0; i < OPTION_COUNT; i++)
        if (!option_row((enum option)i)->line_only)
            suggest_offer(&near, option_row((enum option)i)->name);
    text_puts(problem, "there is no setting “");
    escape_append_line(problem, key);
    text_puts(problem, "”");
    if (near.best)
        text_printf(problem, "; did you mean %s?", near.best);
}

/* A value may stand in double quotes, to keep spaces at its ends. */
static char *unquote(char *value)
{
    size_t length = strlen(value);
    if (length < 2 || value[0] != '"' || value[length - 1] != '"')
        return value;
    value[length - 1] = '\0';
    return value + 1;
}

static bool config_line(struct settings *settings, char *line, size_t number, struct text *problem)
{
    char *key = trim(line);
    if (!*key || *key == '#')
        return true;
    char *equals = strchr(key, '=');
    if (!equals) {
        text_puts(problem, "expected “key = value”");
        return false;
    }
    *equals = '\0';
    key = trim(key);
    enum option option = option_find(key);
    if (option == OPTION_COUNT || option_row(option)->line_only) {
        if (option == OPTION_COUNT)
            unknown_key(key, problem);
        else
            text_printf(problem, "%s belongs on the command line, not in a configuration file", key);
        return false;
    }
    return settings_set(settings, option, ORIGIN_FILE, number, unquote(trim(equals + 1)), problem);
}

bool settings_read_config(struct settings *settings, const char *path, struct text *problem)
{
    FILE *file = *path ? fopen(path, "re") : NULL;
    if (!file) {
        if (!*path || errno == ENOENT || errno == ENOTDIR)
            return true;
        text_printf(problem, "%s: %s", path, strerror(errno));
        return false;
    }
    char *line = NULL;
    size_t capacity = 0, number = 0;
    bool ok = true;
    struct text sentence = {0};
    while (ok && getline(&line, &capacity, file) >= 0)
        ok = config_line(settings, line, ++number, &sentence);
    if (!ok)
        text_printf(problem, "%s, line %zu: %s", path, number, text_string(&sentence));
    if (ok && ferror(file)) {
        text_printf(problem, "%s: %s", path, strerror(errno));
        ok = false;
    }
    text_fini(&sentence);
    free(line);
    fclose(file);
    return ok;
}
