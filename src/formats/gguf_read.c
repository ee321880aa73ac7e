/* Reads the keys and values of a GGUF file, refusing whatever does not add up.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "formats/gguf_parts.h"

enum {
    LEAST_ENTRY = 8 + 1 + 4 + 1, /* bytes of the shortest key with its value */
    ALIGNMENT_DEFAULT = 32,
    ALIGNMENT_MAX = 1 << 20,
};

static ll_status read_type(struct gguf_cursor *cursor, const char *part, enum gguf_type *ret, ll_error *error)
{
    size_t at = cursor->at;
    uint32_t number;
    LL_TRY(cursor_u32(cursor, part, &number, error));
    if (number > GGUF_F64)
        return cursor_fail(cursor, LL_FORMAT, at, error,
                           "has the unknown value type %u; the file is damaged or newer than this program",
                           number);
    *ret = (enum gguf_type)number;
    return LL_OK;
}

static ll_status read_scalars(struct gguf_cursor *cursor, enum gguf_type type, uint64_t count,
                              const unsigned char **ret, ll_error *error)
{
    size_t at = cursor->at;
    LL_TRY(cursor_bytes(cursor, "its value", count, gguf_type_info(type)->size, ret, error));
    for (uint64_t i = 0; type == GGUF_BOOL && i < count; i++)
        if ((*ret)[i] > 1)
            return cursor_fail(cursor, LL_FORMAT, at + i, error,
                               "is a truth value of %d; only 0 and 1 are allowed, so the file is damaged",
                               (*ret)[i]);
    return LL_OK;
}

/* Steps over a length-prefixed string; false, without moving, when it does not fit. Vocabularies hold
 * hundreds of thousands, so the good case is kept short. */
static inline bool skip_text(struct gguf_cursor *cursor)
{
    uint64_t length;
    size_t left = cursor_left(cursor);
    if (left < sizeof length)
        return false;
    memcpy(&length, cursor->bytes + cursor->at, sizeof length);
    if (length > left - sizeof length)
        return false;
    cursor->at += sizeof length + (size_t)length;
    return true;
}

/* Walks the strings once, noting where each begins. */
static ll_status read_texts(struct gguf_cursor *cursor, struct gguf_entry *entry, ll_error *error)
{
    struct gguf_text text;
    size_t start = cursor->at;
    uint64_t count = entry->value.count;
    entry->value.data = cursor->bytes + start;
    if (count > cursor_left(cursor) / 8)
        return cursor_fail(cursor, LL_FORMAT, start, error,
                           "claims %" PRIu64
                           " strings but only %zu bytes follow; the file is cut off or damaged",
                           count, cursor_left(cursor));
    entry->positions = mem_new((size_t)count, sizeof *entry->positions);
    if (!entry->positions)
        return error_nomem(error, "gguf", (size_t)count * sizeof *entry->positions);
    for (uint64_t i = 0; i < count; i++) {
        if (cursor->at - start > UINT32_MAX)
            return cursor_fail(cursor, LL_UNSUPPORTED, start, error, "holds more than 4 GiB of strings");
        entry->positions[i] = (uint32_t)(cursor->at - start);
        if (!skip_text(cursor))
            return cursor_text(cursor, "a string of its array", &text, error); /* fails, and says why */
    }
    return LL_OK;
}

static ll_status read_array(struct gguf_cursor *cursor, struct gguf_entry *entry, ll_error *error)
{
    size_t at = cursor->at;
    struct gguf_value *value = &entry->value;
    LL_TRY(read_type(cursor, "the type of its elements", &value->element, error));
    if (value->element == GGUF_ARRAY)
        return cursor_fail(cursor, LL_UNSUPPORTED, at, error,
                           "is an array of arrays, which no known model needs");
    LL_TRY(cursor_u64(cursor, "the length of its array", &value->count, error));
    if (value->element == GGUF_STRING)
        return read_texts(cursor, entry, error);
    return read_scalars(cursor, value->element, value->count, &value->data, error);
}

static ll_status read_value(struct gguf_cursor *cursor, struct gguf_entry *entry, ll_error *error)
{
    struct gguf_value *value = &entry->value;
    value->count = 1;
    LL_TRY(read_type(cursor, "its type", &value->type, error));
    if (value->type == GGUF_ARRAY)
        return read_array(cursor, entry, error);
    if (value->type != GGUF_STRING)
        return read_scalars(cursor, value->type, 1, &value->data, error);
    struct gguf_text text;
    value->data = cursor->bytes + cursor->at;
    return cursor_text(cursor, "its text", &text, error);
}

static ll_status read_key(struct gguf_cursor *cursor, struct gguf_text *ret, ll_error *error)
{
    size_t at = cursor->at;
    LL_TRY(cursor_text(cursor, "its name", ret, error));
    if (ret->length == 0)
        return cursor_fail(cursor, LL_FORMAT, at, error, "has an empty name; the file is damaged");
    if (ret->length > GGUF_KEY_MAX)
        return cursor_fail(cursor, LL_FORMAT, at, error, "has a name of %zu bytes; at most %d are allowed",
                           ret->length, GGUF_KEY_MAX);
    if (memchr(ret->text, 0, ret->length))
        return cursor_fail(cursor, LL_FORMAT, at, error, "has a NUL byte in its name; the file is damaged");
    cursor_subject_named(cursor, "key", *ret);
    return LL_OK;
}

static struct gguf_text entry_name(const void *owner, size_t item)
{
    return ((const struct gguf *)owner)->entries[item].value.key;
}

static ll_status index_keys(struct gguf *gguf, struct gguf_cursor *cursor, ll_error *error)
{
    if (!name_index_init(&gguf->keys, gguf->entry_count, entry_name, gguf))
        return error_nomem(error, "gguf", gguf->entry_count * 8);
    for (size_t i = 0; i < gguf->entry_count; i++) {
        if (name_index_add(&gguf->keys, i) == NAME_NONE)
            continue;
        struct gguf_text key = gguf->entries[i].value.key;
        cursor_subject_named(cursor, "key", key);
        return cursor_fail(cursor, LL_FORMAT, (size_t)((const unsigned char *)key.text - cursor->bytes),
                           error, "occurs twice, so its meaning is not certain; the file is damaged");
    }
    return LL_OK;
}

static ll_status read_alignment(struct gguf *gguf, struct gguf_cursor *cursor, ll_error *error)
{
    const struct gguf_value *value = gguf_find(gguf, "general.alignment");
    gguf->alignment = ALIGNMENT_DEFAULT;
    if (!value)
        return LL_OK;
    uint32_t alignment;
    size_t at = (size_t)(value->data - gguf->bytes);
    cursor_subject_named(cursor, "key", value->key);
    if (value->type != GGUF_U32)
        return cursor_fail(cursor, LL_FORMAT, at, error, "is not a 32-bit whole number as it must be");
    memcpy(&alignment, value->data, sizeof alignment);
    if (alignment < 8 || alignment > ALIGNMENT_MAX || (alignment & (alignment - 1)))
        return cursor_fail(cursor, LL_FORMAT, at, error, "is %u; a power of two from 8 to %d is allowed",
                           alignment, ALIGNMENT_MAX);
    gguf->alignment = alignment;
    return LL_OK;
}

ll_status gguf_read_values(struct gguf *gguf, struct gguf_cursor *cursor, uint64_t count, ll_error *error)
{
    size_t left = cursor_left(cursor);
    if (count > left / LEAST_ENTRY || count > INT32_MAX)
        return cursor_fail(
            cursor, LL_FORMAT, 16, error,
            "claims %" PRIu64 " keys but only %zu bytes follow; the file is cut off or damaged", count, left);
    for (uint64_t i = 0; i < count; i++) {
        struct gguf_entry entry = {0};
        cursor_subject(cursor, "key %" PRIu64 " of %" PRIu64, i + 1, count);
        LL_TRY(read_key(cursor, &entry.value.key, error));
        if (!mem_grow((void **)&gguf->entries, &gguf->entry_capacity, gguf->entry_count + 1, sizeof entry))
            return error_nomem(error, "gguf", gguf->entry_count * sizeof entry);
        ll_status status = read_value(cursor, &entry, error);
        gguf->entries[gguf->entry_count++] = entry;
        LL_TRY(status);
    }
    LL_TRY(index_keys(gguf, cursor, error));
    return read_alignment(gguf, cursor, error);
}
