/* .gitignore rules: which files of a tree are not meant to be looked at.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_IGNORE_H
#define READERS_IGNORE_H

#include <stdbool.h>
#include <stddef.h>

/* The rules of one folder; those of the folders above it hold too, but weigh less. */
struct ignore {
    const struct ignore *above;
    size_t base; /* bytes of the folder's path, with its slash, in the paths asked about */
    char *text;  /* the file; rules point into it */
    struct ignore_rule {
        const char *pattern;
        bool keep;      /* "!": not ignored after all */
        bool directory; /* for folders only */
        bool anchored;  /* holds a slash: matches from the folder on, else any last part */
    } * rules;
    size_t count, capacity;
};

/* text: the file's content; copied. false: no memory. */
bool ignore_load(struct ignore *ignore, const char *text, size_t length);
/* path: from the root of the tree, parts divided by "/". */
bool ignore_matches(const struct ignore *ignore, const char *path, bool directory);
/* Whether a pattern of .gitignore matches: * ? [a-z] inside of a part, ** over parts. At most
 * |pattern| * |path| steps. */
bool ignore_glob(const char *pattern, const char *path);
void ignore_fini(struct ignore *ignore);

#endif
