/* What the parts of a packed document are called by: ids to member names.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_RELATIONS_H
#define READERS_RELATIONS_H

#include "readers/package.h"

enum { RELATION_ID = 128, RELATION_NAME = 512 };

struct relation {
    char id[RELATION_ID];
    char name[RELATION_NAME]; /* of a member, from the package's root */
    char type[160];           /* how it is meant, as the file says */
};

struct relation_list { /* zero-initialised storage is empty */
    struct relation *items;
    size_t count, capacity;
    size_t *by_id; /* set up by the first search */
    size_t indexed;
};

/* Each takes one of the entries that the call allows. */
ll_status relation_add(const struct input *input, struct relation_list *list,
                       const struct relation *relation);
/* Of several with one id the first. NULL: there is none, or no memory to look. */
const struct relation *relation_find(struct relation_list *list, const char *id);
/* target, as written in the member `from`, as a name from the root: "../a/b%20c#d" in "x/y/z" is "x/a/b c".
 */
void relation_resolve(const char *from, const char *target, char ret[RELATION_NAME]);
/* Reads the .rels member that belongs to `part`; none there is no error. */
ll_status relations_read(const struct input *input, const struct package *package, const char *part,
                         struct relation_list *ret);
void relation_list_fini(struct relation_list *list);

#endif
