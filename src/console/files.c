/* File names as people type them after a command: home folders, several at once, patterns, quotes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "console/files.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

static void put_home(const char *typed, struct text *path)
{
    const char *home = typed[0] == '~' && typed[1] == '/' ? getenv("HOME") : NULL;
    text_puts(path, home ? home : "");
    text_puts(path, typed + (home ? 1 : 0));
}

void files_one(const char *typed, struct text *path)
{
    size_t length = strlen(typed);
    bool quoted = length > 2 && (typed[0] == '"' || typed[0] == '\'') && typed[length - 1] == typed[0] &&
                  !memchr(typed + 1, typed[0], length - 2) && access(typed, F_OK) != 0;
    if (quoted)
        text_append(path, typed + 1, length - 2);
    else
        put_home(typed, path);
}

static bool keep(struct files *files, const char *path)
{
    char **paths = realloc(files->paths, (files->count + 1) * sizeof *paths);
    if (!paths)
        return false;
    files->paths = paths;
    paths[files->count] = strdup(path);
    return paths[files->count] && ++files->count;
}

/* A pattern that finds nothing stands for itself. */
static bool keep_found(struct files *files, const char *pattern, bool *ret_exists)
{
    glob_t found = {0};
    int status = glob(pattern, GLOB_NOCHECK, NULL, &found);
    bool ok = status == 0;
    for (size_t i = 0; ok && i < found.gl_pathc; i++) {
        ok = keep(files, found.gl_pathv[i]);
        *ret_exists = *ret_exists || access(found.gl_pathv[i], F_OK) == 0;
    }
    if (status == 0)
        globfree(&found);
    return ok;
}

/* One word without its quotes; what was quoted of it is no pattern. Returns where it ends. */
static const char *take_word(const char *at, struct text *word)
{
    char quote = 0;
    for (; *at && (quote || !is_blank(*at)); at++) {
        if (quote ? *at == quote : *at == '"' || *at == '\'') {
            quote = quote ? 0 : *at;
            continue;
        }
        bool escaped = *at == '\\' && at[1] && quote != '\'';
        at += escaped;
        if ((quote || escaped) && strchr("*?[\\", *at))
            text_putc(word, '\\');
        text_putc(word, *at);
    }
    return at;
}

static bool read_words(struct files *files, const char *typed, bool *ret_exists)
{
    bool ok = true;
    while (ok && *(typed += strspn(typed, " \t\n"))) {
        struct text word = {0}, path = {0};
        typed = take_word(typed, &word);
        put_home(text_string(&word), &path);
        ok = !word.failed && !path.failed && keep_found(files, text_string(&path), ret_exists);
        text_fini(&word);
        text_fini(&path);
    }
    return ok;
}

bool files_read(struct files *files, const char *typed)
{
    struct text whole = {0};
    bool exists = false, ok;
    *files = (struct files){0};
    files_one(typed, &whole);
    ok = !whole.failed;
    if (ok && access(text_string(&whole), F_OK) != 0)
        ok = read_words(files, typed, &exists);
    if (ok && !exists) {
        files_fini(files);
        ok = keep(files, text_string(&whole));
    }
    text_fini(&whole);
    return ok;
}

void files_fini(struct files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->paths[i]);
    free(files->paths);
    *files = (struct files){0};
}
