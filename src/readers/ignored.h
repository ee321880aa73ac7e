/* Which members of an archive its own .gitignore files name.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The rules are those of a walk through folders: a folder's rules hold below it, deeper ones weigh more, and
 * nothing in an ignored folder can be kept. */
#ifndef READERS_IGNORED_H
#define READERS_IGNORED_H

#include "readers/ignore.h"
#include "readers/package.h"

struct ignored {
    struct ignored_folder { /* a folder with rules */
        const char *name;   /* its .gitignore's; borrowed from the member */
        size_t length;      /* bytes of the folder with its slash */
        struct ignore rules;
    } * folders;
    size_t count;
    size_t next;                  /* folder that the members asked about have not come to */
    const struct ignore *deepest; /* rules of the innermost folder with rules around the last member */
};

/* As a walk through folders would meet them: whatever stands in a folder stays together. */
int ignored_compare(const char *a, const char *b);
/* members in the order of ignored_compare; they have to outlive it. false: no memory. */
bool ignored_open(const struct package_member *members, size_t count, struct ignored *ret);
/* Asked about each member once, in their order. */
bool ignored_holds(struct ignored *ignored, const char *name);
void ignored_fini(struct ignored *ignored);

#endif
