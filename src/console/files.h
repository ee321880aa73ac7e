/* File names as people type them after a command: home folders, several at once, patterns, quotes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONSOLE_FILES_H
#define CONSOLE_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "console/text.h"

struct files {
    char **paths; /* owned */
    size_t count;
};

/* One name with all its spaces: "~/" is the home folder, quotes around the whole are taken away. */
void files_one(const char *typed, struct text *path);
/* What is typed is one name when a file is called so, or when no word of it names one: then the failure to
 * open it says the name as it was typed. Otherwise its words are names: quotes and backslashes keep blanks,
 * *, ? and [ are patterns, which may find several. False: no memory. */
bool files_read(struct files *files, const char *typed);
void files_fini(struct files *files);

#endif
