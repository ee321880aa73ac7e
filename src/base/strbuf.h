/* A growing byte string that stays NUL-terminated and remembers a failed allocation.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Appends never fail visibly: after a refused allocation `failed` is set and later appends do
 * nothing. Check it once at the end. Zero-initialised storage is a valid empty strbuf. */
#ifndef BASE_STRBUF_H
#define BASE_STRBUF_H

#include <stdbool.h>
#include <stddef.h>

struct strbuf {
    char *text; /* NULL until the first append */
    size_t length, capacity;
    bool failed;
};

void strbuf_fini(struct strbuf *buf);
void strbuf_clear(struct strbuf *buf); /* keeps the memory */
void strbuf_append(struct strbuf *buf, const char *text, size_t length);
void strbuf_puts(struct strbuf *buf, const char *text);
void strbuf_putc(struct strbuf *buf, char c);
void strbuf_printf(struct strbuf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
void strbuf_truncate(struct strbuf *buf, size_t length);
const char *strbuf_text(const struct strbuf *buf);            /* "" when empty; borrowed */
char *strbuf_take(struct strbuf *buf, size_t *ret_length);    /* ownership; NULL when failed */

#endif
