/* A growing byte string for the front ends; remembers a refused allocation.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Zero-initialised storage is a valid empty text. After a refused allocation `failed` is set and
 * later appends do nothing: check it once, at the end. Bytes stay NUL-terminated. */
#ifndef CONSOLE_TEXT_H
#define CONSOLE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct text {
    char *bytes; /* NULL until the first append */
    size_t length, capacity;
    bool failed;
};

void text_fini(struct text *text);
void text_clear(struct text *text); /* keeps the memory */
void text_append(struct text *text, const char *bytes, size_t length);
void text_puts(struct text *text, const char *string);
void text_putc(struct text *text, char c);
void text_printf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *text_string(const struct text *text); /* "" when empty; borrowed */
/* Terminal columns that a UTF-8 string takes in the present locale; unprintable characters count 0. */
size_t text_columns(const char *string);
/* Bytes of the string's longest beginning that fits in so many columns. */
size_t text_fit(const char *string, size_t columns);

#endif
