/* Checked allocation: products cannot wrap, failures return NULL.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All return zeroed (mem_new, mem_aligned) or grown memory, NULL when the product wraps or the
 * allocator refuses. count 0 gives a valid pointer. Freed with mem_free, which accepts NULL. */
void *mem_new(size_t count, size_t size);
void *mem_aligned(size_t bytes, size_t alignment); /* alignment: a power of two */
/* Ensures room for `need` items: doubles *capacity. On failure returns false and leaves both. */
bool mem_grow(void **items, size_t *capacity, size_t need, size_t size);
void mem_free(void *memory);
char *mem_copy_text(const char *text, size_t length); /* NUL-terminated copy */
/* Below, at or above 0 where a comes before, with or after b by its bytes; a beginning comes first. */
int mem_compare(const void *a, size_t a_length, const void *b, size_t b_length);

/* false when a*b (a+b) does not fit. */
bool mem_multiply(uint64_t a, uint64_t b, uint64_t *ret);
bool mem_add(uint64_t a, uint64_t b, uint64_t *ret);

#endif
