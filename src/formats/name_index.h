/* A hash index from names to item numbers, over names that live elsewhere.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_NAME_INDEX_H
#define FORMATS_NAME_INDEX_H

#include "formats/gguf.h"

#define NAME_NONE SIZE_MAX

typedef struct gguf_text (*name_of_fn)(const void *owner, size_t item);

struct name_index {
    uint32_t *slots; /* item + 1; 0: free */
    size_t mask;
    uint64_t seed; /* differs between runs, so that no file can be made to collide */
    name_of_fn name_of;
    const void *owner;
};

/* Room for count items (below 2^31). false: no memory. */
bool name_index_init(struct name_index *index, size_t count, name_of_fn name_of, const void *owner);
void name_index_fini(struct name_index *index);
/* Adds item; returns the earlier item of the same name, or NAME_NONE. */
size_t name_index_add(struct name_index *index, size_t item);
size_t name_index_find(const struct name_index *index, const char *name, size_t length); /* or NAME_NONE */

#endif
