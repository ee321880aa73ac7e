/* .gitignore rules: which files of a tree are not meant to be looked at.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/ignore.h"

#include <string.h>

#include "base/mem.h"

/* ---- patterns -------------------------------------------------------------------------------- */

/* "[a-z]", "[!x]": *pattern stands behind "["; moved behind "]". An open one matches nothing. */
static bool match_set(const char **pattern, char c)
{
    const char *p = *pattern;
    bool negated = *p == '!' || *p == '^', met = false, first = true;
    p += negated;
    for (; *p && (first || *p != ']'); first = false) {
        p += *p == '\\' && p[1];
        char low = *p++, high = low;
        if (*p == '-' && p[1] && p[1] != ']') {
            p += 1 + (p[1] == '\\' && p[2]);
            high = *p++;
        }
        met |= (unsigned char)c >= (unsigned char)low && (unsigned char)c <= (unsigned char)high;
    }
    if (!*p)
        return false;
    *pattern = p + 1;
    return met != negated;
}

/* One character against one place of the pattern, which is moved on. */
static bool match_one(const char **pattern, char c)
{
    const char *p = *pattern;
    if (*p == '?') {
        *pattern = p + 1;
        return true;
    }
    if (*p == '[') {
        *pattern = p + 1;
        return match_set(pattern, c);
    }
    p += *p == '\\' && p[1];
    *pattern = p + 1;
    return *p == c;
}

/* One part of a path. The last "*" alone is ever tried again, so no pattern takes long. */
static bool match_part(const char *pattern, const char *pattern_end, const char *text, const char *text_end)
{
    const char *star = NULL, *again = NULL;
    while (text < text_end) {
        if (pattern < pattern_end && *pattern == '*') {
            star = ++pattern;
            again = text;
            continue;
        }
        const char *next = pattern;
        if (pattern < pattern_end && match_one(&next, *text) && next <= pattern_end) {
            pattern = next;
            text++;
        } else if (star) {
            pattern = star;
            text = ++again;
        } else {
            return false;
        }
    }
    while (pattern < pattern_end && *pattern == '*')
        pattern++;
    return pattern == pattern_end;
}

static const char *part_end(const char *at)
{
    return at + strcspn(at, "/");
}

static const char *next_part(const char *end)
{
    return *end ? end + 1 : end;
}

bool ignore_glob(const char *pattern, const char *path)
{
    const char *star = NULL, *again = NULL;
    while (*path) {
        const char *p_end = part_end(pattern), *t_end = part_end(path);
        if (p_end - pattern == 2 && memcmp(pattern, "**", 2) == 0) {
            star = pattern = next_part(p_end);
            again = path;
            if (!*pattern)
                return true;
            continue;
        }
        if (*pattern && match_part(pattern, p_end, path, t_end)) {
            pattern = next_part(p_end);
            path = next_part(t_end);
        } else if (star) {
            pattern = star;
            again = next_part(part_end(again));
            path = again;
        } else {
            return false;
        }
    }
    return !*pattern;
}

/* ---- rules ----------------------------------------------------------------------------------- */

static bool add_rule(struct ignore *ignore, char *line)
{
    struct ignore_rule rule = {0};
    size_t length = strcspn(line, "\r");
    while (length && line[length - 1] == ' ' && !(length > 1 && line[length - 2] == '\\'))
        length--;
    line[length] = '\0';
    if (line[0] == '\0' || line[0] == '#')
        return true;
    rule.keep = line[0] == '!';
    line += rule.keep;
    length = strlen(line);
    if (length && line[length - 1] == '/') {
        rule.directory = true;
        line[--length] = '\0';
    }
    rule.anchored = strchr(line, '/') != NULL;
    rule.pattern = line + (line[0] == '/');
    if (!rule.pattern[0])
        return true;
    if (!mem_grow((void **)&ignore->rules, &ignore->capacity, ignore->count + 1, sizeof *ignore->rules))
        return false;
    ignore->rules[ignore->count++] = rule;
    return true;
}

bool ignore_load(struct ignore *ignore, const char *text, size_t length)
{
    ignore->text = mem_copy_text(text, length);
    if (!ignore->text)
        return false;
    for (char *line = ignore->text; line;) {
        char *newline = strchr(line, '\n');
        if (newline)
            *newline = '\0';
        if (!add_rule(ignore, line))
            return false;
        line = newline ? newline + 1 : NULL;
    }
    return true;
}

static bool rule_matches(const struct ignore_rule *rule, const char *path, bool directory)
{
    if (rule->directory && !directory)
        return false;
    if (rule->anchored)
        return ignore_glob(rule->pattern, path);
    const char *slash = strrchr(path, '/');
    return ignore_glob(rule->pattern, slash ? slash + 1 : path);
}

bool ignore_matches(const struct ignore *ignore, const char *path, bool directory)
{
    for (; ignore; ignore = ignore->above)
        for (size_t i = ignore->count; i-- > 0;)
            if (rule_matches(&ignore->rules[i], path + ignore->base, directory))
                return !ignore->rules[i].keep;
    return false;
}

void ignore_fini(struct ignore *ignore)
{
    mem_free(ignore->rules);
    mem_free(ignore->text);
    *ignore = (struct ignore){0};
}
