/* Which members of an archive its own .gitignore files name.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/ignored.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { LONGEST_RULES = 1 << 20, LONGEST_PATH = 4096 };

static const char rules_name[] = ".gitignore";

/* By bytes, but a slash before all that a name may hold. */
static int compare_paths(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t both = a_length < b_length ? a_length : b_length;
    for (size_t i = 0; i < both; i++) {
        unsigned char s = (unsigned char)a[i], t = (unsigned char)b[i];
        if (s != t)
            return (s == '/' ? 1 : s) - (t == '/' ? 1 : t);
    }
    return (a_length > b_length) - (a_length < b_length);
}

int ignored_compare(const char *a, const char *b)
{
    return compare_paths(a, strlen(a), b, strlen(b));
}

/* Bytes of the folder and its slash. */
static size_t folder_length(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? (size_t)(slash - name) + 1 : 0;
}

static bool is_rules(const struct package_member *member)
{
    return !member->broken && member->bytes.length < LONGEST_RULES &&
           strcmp(member->name + folder_length(member->name), rules_name) == 0;
}

/* In the order of their folders, which is not that of the files: "-x/" stands before ".gitignore". */
static int compare_folders(const void *a, const void *b)
{
    const struct ignored_folder *x = a, *y = b;
    return compare_paths(x->name, x->length, y->name, y->length);
}

static bool encloses(const struct ignored_folder *folder, const char *name)
{
    return strncmp(folder->name, name, folder->length) == 0;
}

/* The folder that the rules belong to. */
static const struct ignored_folder *folder_of(const struct ignore *rules)
{
    return (const struct ignored_folder *)((const char *)rules - offsetof(struct ignored_folder, rules));
}

static void leave(struct ignored *ignored, const char *name)
{
    while (ignored->deepest && !encloses(folder_of(ignored->deepest), name))
        ignored->deepest = ignored->deepest->above;
}

bool ignored_open(const struct package_member *members, size_t count, struct ignored *ret)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += is_rules(&members[i]);
    *ret = (struct ignored){0};
    if (found && !(ret->folders = mem_new(found, sizeof *ret->folders)))
        return false;
    for (size_t i = 0; i < count; i++)
        if (is_rules(&members[i])) {
            struct ignored_folder *folder = &ret->folders[ret->count++];
            folder->name = members[i].name;
            folder->length = folder->rules.base = folder_length(members[i].name);
            if (!ignore_load(&folder->rules, strbuf_text(&members[i].bytes), members[i].bytes.length))
                return false;
        }
    if (ret->count)
        qsort(ret->folders, ret->count, sizeof *ret->folders, compare_folders);
    return true;
}

/* Rules of the folders around the member, now that its turn has come. */
static void enter(struct ignored *ignored, const char *name)
{
    leave(ignored, name);
    while (ignored->next < ignored->count) {
        struct ignored_folder *folder = &ignored->folders[ignored->next];
        if (!encloses(folder, name) && ignored_compare(folder->name, name) > 0)
            return;
        ignored->next++;
        leave(ignored, folder->name);
        if (ignored->deepest && folder_of(ignored->deepest)->length == folder->length)
            continue; /* a second file of that name */
        folder->rules.above = ignored->deepest;
        ignored->deepest = &folder->rules;
    }
    leave(ignored, name);
}

/* The rules that hold in a folder of that many bytes. */
static const struct ignore *rules_of(const struct ignore *rules, size_t length)
{
    while (rules && rules->base > length)
        rules = rules->above;
    return rules;
}

bool ignored_holds(struct ignored *ignored, const char *name)
{
    char path[LONGEST_PATH];
    size_t length = strlen(name), folder = 0;
    enter(ignored, name);
    if (!ignored->deepest || length >= sizeof path)
        return false;
    memcpy(path, name, length + 1);
    for (size_t i = 0; i < length; i++) {
        if (path[i] != '/')
            continue;
        path[i] = '\0';
        if (ignore_matches(rules_of(ignored->deepest, folder), path, true))
            return true;
        path[i] = '/';
        folder = i + 1;
    }
    return ignore_matches(ignored->deepest, path, false);
}

void ignored_fini(struct ignored *ignored)
{
    for (size_t i = 0; i < ignored->count; i++)
        ignore_fini(&ignored->folders[i].rules);
    mem_free(ignored->folders);
    *ignored = (struct ignored){0};
}
