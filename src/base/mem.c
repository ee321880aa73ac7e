/* Checked allocation: products cannot wrap, failures return NULL.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

bool mem_multiply(uint64_t a, uint64_t b, uint64_t *ret)
{
    return !__builtin_mul_overflow(a, b, ret);
}

bool mem_add(uint64_t a, uint64_t b, uint64_t *ret)
{
    return !__builtin_add_overflow(a, b, ret);
}

void *mem_new(size_t count, size_t size)
{
    if (count == 0 || size == 0)
        return calloc(1, 1);
    return calloc(count, size); /* calloc checks the product */
}

void *mem_aligned(size_t bytes, size_t alignment)
{
    if (bytes > SIZE_MAX - alignment)
        return NULL;
    size_t rounded = (bytes + alignment - 1) & ~(alignment - 1);
    void *memory = aligned_alloc(alignment, rounded ? rounded : alignment);
    if (memory)
        memset(memory, 0, rounded);
    return memory;
}

bool mem_grow(void **items, size_t *capacity, size_t need, size_t size)
{
    if (need <= *capacity)
        return true;
    size_t wanted = *capacity > SIZE_MAX / 2 ? need : *capacity * 2;
    if (wanted < need)
        wanted = need;
    if (wanted < 16)
        wanted = 16;
    size_t bytes;
    if (__builtin_mul_overflow(wanted, size, &bytes))
        return false;
    void *grown = realloc(*items, bytes);
    if (!grown)
        return false;
    *items = grown;
    *capacity = wanted;
    return true;
}

void mem_free(void *memory)
{
    free(memory);
}

char *mem_copy_text(const char *text, size_t length)
{
    if (length == SIZE_MAX)
        return NULL;
    char *copy = malloc(length + 1);
    if (!copy)
        return NULL;
    if (length)
        memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

int mem_compare(const void *a, size_t a_length, const void *b, size_t b_length)
{
    size_t both = a_length < b_length ? a_length : b_length;
    int order = both ? memcmp(a, b, both) : 0;
    return order ? order : (a_length > b_length) - (a_length < b_length);
}
