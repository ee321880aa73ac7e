/* Reads the configuration file: lines of "key = value", each error with its line number.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/escape.h"
#include "console/settings.h"
#include "console/suggest.h"

enum { MOST_BYTES = 1 << 20 };

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

/* All of the file; an endless or huge one is no configuration. False with errno set. */
static bool read_file(FILE *file, struct text *out)
{
    char block[4096];
    size_t got;
    while ((got = fread(block, 1, sizeof block, file)) > 0) {
        text_append(out, block, got);
        if (out->failed || out->length > MOST_BYTES) {
            errno = out->failed ? ENOMEM : EFBIG;
            return false;
        }
    }
    return !ferror(file);
}

static bool config_lines(struct settings *settings, struct text *content, size_t *number,
                         struct text *sentence)
{
    char *line = content->bytes, *end = line + content->length;
    if (content->length >= 3 && memcmp(line, "\xEF\xBB\xBF", 3) == 0)
        line += 3; /* the mark that some editors put before UTF-8 */
    for (; line < end; ++*number) {
        char *newline = memchr(line, '\n', (size_t)(end - line)), *next = newline ? newline + 1 : end;
        if (newline)
            *newline = '\0';
        if (memchr(line, '\0', (size_t)((newline ? newline : end) - line))) {
            text_puts(sentence, "holds a zero byte: this is no text");
            return false;
        }
        if (!config_line(settings, line, *number, sentence))
            return false;
        line = next;
    }
    return true;
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
    struct text content = {0}, sentence = {0};
    size_t number = 1;
    bool ok = read_file(file, &content);
    if (!ok)
        text_printf(problem, "%s: %s", path, strerror(errno));
    else if (content.length && !config_lines(settings, &content, &number, &sentence)) {
        text_printf(problem, "%s, line %zu: %s", path, number, text_string(&sentence));
        ok = false;
    }
    text_fini(&content);
    text_fini(&sentence);
    fclose(file);
    return ok;
}
