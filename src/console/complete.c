/* What may follow what is typed: commands, files, parameters and their values, models, marks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "console/complete.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "console/modelpath.h"
#include "console/parameter.h"
#include "console/text.h"

struct word {
    const char *begin;
    size_t length;
};

static void add(struct completion *c, const struct text *item)
{
    char **items = item->failed ? NULL : realloc(c->items, (c->count + 1) * sizeof *items);
    if (!items)
        return;
    c->items = items;
    items[c->count] = strdup(text_string(item));
    c->count += items[c->count] != NULL;
}

/* Adds sign and name when the name begins with the word. */
static void offer(struct completion *c, const struct word *word, char sign, const char *name)
{
    struct text item = {0};
    if (strncmp(name, word->begin, word->length) != 0)
        return;
    if (sign)
        text_putc(&item, sign);
    text_puts(&item, name);
    add(c, &item);
    text_fini(&item);
}

/* Other names are offered when no name begins so: "%summ" becomes "%summarize". */
static void offer_aliases(struct completion *c, const struct word *word, char sign, const char *aliases)
{
    while (aliases && *aliases) {
        struct text name = {0};
        size_t length = strcspn(aliases, " ");
        text_append(&name, aliases, length);
        offer(c, word, sign, text_string(&name));
        text_fini(&name);
        aliases += length + strspn(aliases + length, " ");
    }
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void settle(struct completion *c)
{
    size_t kept = 0;
    if (c->count)
        qsort(c->items, c->count, sizeof *c->items, compare);
    for (size_t i = 0; i < c->count; i++)
        if (kept && strcmp(c->items[kept - 1], c->items[i]) == 0)
            free(c->items[i]);
        else
            c->items[kept++] = c->items[i];
    c->count = kept;
}

/* ---- files ---- */

static void folder_of(const char *begin, size_t length, struct text *shown, struct text *real)
{
    size_t slash = length;
    while (slash && begin[slash - 1] != '/')
        slash--;
    text_append(shown, begin, slash);
    const char *home = getenv("HOME");
    if (slash >= 2 && begin[0] == '~' && begin[1] == '/' && home) {
        text_puts(real, home);
        text_append(real, begin + 1, slash - 1);
    } else {
        text_puts(real, slash ? text_string(shown) : ".");
    }
}

static bool is_folder(const char *folder, const char *name)
{
    struct text path = {0};
    struct stat about;
    text_printf(&path, "%s/%s", folder, name);
    bool is = !path.failed && stat(text_string(&path), &about) == 0 && S_ISDIR(about.st_mode);
    text_fini(&path);
    return is;
}

void complete_files(struct completion *c, const char *begin, size_t length)
{
    struct text shown = {0}, real = {0};
    folder_of(begin, length, &shown, &real);
    const char *name = begin + shown.length;
    size_t name_length = length - shown.length;
    DIR *folder = real.failed ? NULL : opendir(text_string(&real));
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        struct text item = {0};
        bool hidden = entry->d_name[0] == '.' && !(name_length && name[0] == '.');
        if (hidden || strncmp(entry->d_name, name, name_length) != 0 || !strcmp(entry->d_name, ".") ||
            !strcmp(entry->d_name, ".."))
            continue;
        text_printf(&item, "%s%s%s", text_string(&shown), entry->d_name,
                    is_folder(text_string(&real), entry->d_name) ? "/" : "");
        add(c, &item);
        text_fini(&item);
    }
    if (folder)
        closedir(folder);
    text_fini(&shown);
    text_fini(&real);
    settle(c);
}

/* ---- other words ---- */

static void offer_models(struct completion *c, const struct word *word)
{
    struct text path = {0};
    DIR *folder = modelpath_folder(&path) ? opendir(text_string(&path)) : NULL;
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        size_t length = strlen(entry->d_name);
        if (length > 5 && strcmp(entry->d_name + length - 5, ".gguf") == 0)
            offer(c, word, 0, entry->d_name);
    }
    if (folder)
        closedir(folder);
    text_fini(&path);
    complete_files(c, word->begin, word->length);
}

static void offer_values(struct completion *c, const struct word *word, enum option option)
{
    const struct option_row *row = option_row(option);
    for (size_t i = 0; row->choices && row->choices[i]; i++)
        offer(c, word, 0, row->choices[i]);
}

static void offer_parameters(struct completion *c, const char *argument, size_t length, size_t at)
{
    size_t end = 0;
    while (end < length && argument[end] != ' ' && argument[end] != '=')
        end++;
    struct word word = {argument, length};
    if (end == length) {
        for (int i = 0; i < OPTION_COUNT; i++)
            if (parameter_is((enum option)i))
                offer(c, &word, 0, option_row((enum option)i)->name);
        return;
    }
    enum option option = parameter_find(argument, end);
    c->from = at + end + 1;
    word = (struct word){argument + end + 1, length - end - 1};
    if (option != OPTION_COUNT)
        offer_values(c, &word, option);
}

static void offer_export(struct completion *c, const char *argument, size_t length, size_t at)
{
    const char *space = memchr(argument, ' ', length);
    struct word word = {argument, length};
    if (space) {
        c->from = at + (size_t)(space + 1 - argument);
        complete_files(c, space + 1, length - (size_t)(space + 1 - argument));
        return;
    }
    offer(c, &word, 0, "md");
    offer(c, &word, 0, "html");
    offer(c, &word, 0, "json");
}

/* False: it is the only one. */
static bool last_word(struct word *word)
{
    size_t blank = word->length;
    while (blank && word->begin[blank - 1] != ' ')
        blank--;
    word->begin += blank;
    word->length -= blank;
    return blank > 0;
}

static const char *const memory_words[] = {"trim", "json", "prometheus"};

static void offer_argument(struct completion *c, enum command_place place, enum command command,
                           const char *line, size_t length, const char *const *marks)
{
    struct word word = {line + c->from, length - c->from};
    switch (command_row(command)->shape) {
    case SHAPE_FILE:
        complete_files(c, word.begin, word.length);
        break;
    case SHAPE_FILES:
        complete_files(c, word.begin, word.length);
        if (!c->count && last_word(&word)) {
            c->from = (size_t)(word.begin - line);
            complete_files(c, word.begin, word.length);
        }
        break;
    case SHAPE_MODEL:
        offer_models(c, &word);
        break;
    case SHAPE_PARAMETER:
        offer_parameters(c, word.begin, word.length, c->from);
        break;
    case SHAPE_EXPORT:
        offer_export(c, word.begin, word.length, c->from);
        break;
    case SHAPE_LOG:
        offer(c, &word, 0, "--curve");
        offer(c, &word, 0, "--compare");
        break;
    case SHAPE_MARK:
        for (; marks && *marks; marks++)
            offer(c, &word, 0, *marks);
        break;
    case SHAPE_COMMAND:
        for (int i = 0; i < COMMAND_COUNT; i++)
            if (command_is_in((enum command)i, place))
                offer(c, &word, 0, command_row((enum command)i)->name);
        break;
    case SHAPE_MEMORY:
        for (size_t i = 0; i < sizeof memory_words / sizeof *memory_words; i++)
            offer(c, &word, 0, memory_words[i]);
        break;
    case SHAPE_NONE:
    case SHAPE_TEXT:
    case SHAPE_NUMBER:
        break;
    }
}

void complete_line(struct completion *c, enum command_place place, const char *line, size_t length,
                   const char *const *marks)
{
    *c = (struct completion){.final = true};
    if (!length || (line[0] != '/' && line[0] != '%'))
        return;
    size_t end = 1;
    while (end < length && line[end] != ' ')
        end++;
    if (end == length) {
        struct word word = {line + 1, length - 1};
        for (int i = 0; i < COMMAND_COUNT; i++)
            if (command_is_in((enum command)i, place))
                offer(c, &word, line[0], command_row((enum command)i)->name);
        for (int i = 0; i < COMMAND_COUNT && !c->count; i++)
            if (command_is_in((enum command)i, place))
                offer_aliases(c, &word, line[0], command_row((enum command)i)->aliases);
    } else {
        enum command command = command_find(place, line + 1, end - 1);
        c->from = end + 1;
        if (command != COMMAND_COUNT)
            offer_argument(c, place, command, line, length, marks);
    }
    settle(c);
}

void completion_fini(struct completion *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->items[i]);
    free(c->items);
    *c = (struct completion){0};
}

size_t completion_common(const struct completion *c)
{
    size_t common = c->count ? strlen(c->items[0]) : 0;
    for (size_t i = 1; i < c->count; i++) {
        size_t same = 0;
        while (same < common && c->items[i][same] == c->items[0][same])
            same++;
        common = same;
    }
    while (common && c->count && ((unsigned char)c->items[0][common] & 0xC0) == 0x80)
        common--; /* no half characters */
    return common;
}
