/* A hash index from names to item numbers, over names that live elsewhere.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/name_index.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

bool name_index_init(struct name_index *index, size_t count, name_of_fn name_of, const void *owner)
{
    size_t slots = 8;
    while (slots < count * 2)
        slots *= 2;
    index->slots = mem_new(slots, sizeof *index->slots);
    index->mask = slots - 1;
    index->seed = (uint64_t)(uintptr_t)index->slots;
    index->name_of = name_of;
    index->owner = owner;
    return index->slots;
}

void name_index_fini(struct name_index *index)
{
    mem_free(index->slots);
    index->slots = NULL;
}

/* The slot that holds the name, or the free slot where it belongs. */
static size_t slot_of(const struct name_index *index, const char *name, size_t length)
{
    size_t slot = (size_t)hash_bytes(name, length, index->seed) & index->mask;
    for (; index->slots[slot]; slot = (slot + 1) & index->mask) {
        struct gguf_text other = index->name_of(index->owner, index->slots[slot] - 1);
        if (other.length == length && memcmp(other.text, name, length) == 0)
            break;
    }
    return slot;
}

size_t name_index_add(struct name_index *index, size_t item)
{
    struct gguf_text name = index->name_of(index->owner, item);
    size_t slot = slot_of(index, name.text, name.length);
    if (index->slots[slot])
        return index->slots[slot] - 1;
    index->slots[slot] = (uint32_t)item + 1;
    return NAME_NONE;
}

size_t name_index_find(const struct name_index *index, const char *name, size_t length)
{
    uint32_t found = index->slots[slot_of(index, name, length)];
    return found ? found - 1 : NAME_NONE;
}
