/* A place in a mapped file that only moves forward and never past the end.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every taker either returns LL_OK and has moved, or has written an LL_FORMAT error that says what
 * was being read, where, and how many bytes are missing. */
#ifndef FORMATS_GGUF_CURSOR_H
#define FORMATS_GGUF_CURSOR_H

#include "formats/gguf.h"

#define CURSOR_SUBJECT 112

struct gguf_cursor {
    const unsigned char *bytes;
    size_t size, at;
    char subject[CURSOR_SUBJECT]; /* what is being read, for error sentences: `key "general.name"` */
};

void cursor_subject(struct gguf_cursor *cursor, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The subject becomes: kind "name", with the name made printable and cut. */
void cursor_subject_named(struct gguf_cursor *cursor, const char *kind, struct gguf_text name);
static inline size_t cursor_left(const struct gguf_cursor *cursor)
{
    return cursor->size - cursor->at;
}
/* An LL_FORMAT (or other) error about the subject at byte `offset`; format continues its sentence. */
ll_status cursor_fail(const struct gguf_cursor *cursor, ll_status status, size_t offset, ll_error *error,
                      const char *format, ...) __attribute__((format(printf, 5, 6)));
ll_status cursor_u32(struct gguf_cursor *cursor, const char *part, uint32_t *ret, ll_error *error);
ll_status cursor_u64(struct gguf_cursor *cursor, const char *part, uint64_t *ret, ll_error *error);
/* count items of size bytes each: the product is checked, *ret points into the file. */
ll_status cursor_bytes(struct gguf_cursor *cursor, const char *part, uint64_t count, size_t size,
                       const unsigned char **ret, ll_error *error);
/* A length-prefixed string. */
ll_status cursor_text(struct gguf_cursor *cursor, const char *part, struct gguf_text *ret, ll_error *error);

#endif
