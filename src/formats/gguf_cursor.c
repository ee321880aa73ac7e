/* A place in a mapped file that only moves forward and never past the end.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/gguf_cursor.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"

void cursor_subject(struct gguf_cursor *cursor, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(cursor->subject, sizeof cursor->subject, format, args);
    va_end(args);
}

void cursor_subject_named(struct gguf_cursor *cursor, const char *kind, struct gguf_text name)
{
    char shown[CURSOR_SUBJECT - 16];
    utf8_printable(name.text, name.length, shown, sizeof shown);
    cursor_subject(cursor, "%s \"%s\"", kind, shown);
}

ll_status cursor_fail(const struct gguf_cursor *cursor, ll_status status, size_t offset, ll_error *error,
                      const char *format, ...)
{
    char sentence[384];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    return error_set_at(error, status, "gguf", (int64_t)offset, "%s (at byte %zu) %s", cursor->subject,
                        offset, sentence);
}

ll_status cursor_bytes(struct gguf_cursor *cursor, const char *part, uint64_t count, size_t size,
                       const unsigned char **ret, ll_error *error)
{
    uint64_t need;
    size_t left = cursor_left(cursor);
    if (!mem_multiply(count, size, &need))
        return cursor_fail(cursor, LL_FORMAT, cursor->at, error,
                           "claims %" PRIu64 " items for %s, more than any file holds; the file is damaged",
                           count, part);
    if (need > left)
        return cursor_fail(cursor, LL_FORMAT, cursor->at, error,
                           "needs %" PRIu64 " bytes for %s but the file ends %" PRIu64
                           " bytes too early; it is cut off or damaged, so fetch it again",
                           need, part, need - left);
    *ret = cursor->bytes + cursor->at;
    cursor->at += (size_t)need;
    return LL_OK;
}

ll_status cursor_u32(struct gguf_cursor *cursor, const char *part, uint32_t *ret, ll_error *error)
{
    const unsigned char *bytes;
    LL_TRY(cursor_bytes(cursor, part, 1, sizeof *ret, &bytes, error));
    memcpy(ret, bytes, sizeof *ret);
    return LL_OK;
}

ll_status cursor_u64(struct gguf_cursor *cursor, const char *part, uint64_t *ret, ll_error *error)
{
    const unsigned char *bytes;
    LL_TRY(cursor_bytes(cursor, part, 1, sizeof *ret, &bytes, error));
    memcpy(ret, bytes, sizeof *ret);
    return LL_OK;
}

ll_status cursor_text(struct gguf_cursor *cursor, const char *part, struct gguf_text *ret, ll_error *error)
{
    uint64_t length;
    const unsigned char *bytes;
    LL_TRY(cursor_u64(cursor, part, &length, error));
    LL_TRY(cursor_bytes(cursor, part, length, 1, &bytes, error));
    *ret = (struct gguf_text){(const char *)bytes, (size_t)length};
    return LL_OK;
}
