/* Sentences a person must know about a document: what was guessed, repaired or left out.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_NOTES_H
#define READERS_NOTES_H

#include <stdbool.h>
#include <stddef.h>

struct notes { /* zero-initialised storage is an empty list */
    char **items;
    size_t count, capacity;
    bool failed; /* an allocation was refused; a note may be missing */
};

void notes_add(struct notes *notes, const char *format, ...) __attribute__((format(printf, 2, 3)));
void notes_fini(struct notes *notes);

#endif
