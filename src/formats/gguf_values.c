/* Typed look-ups in a GGUF file's metadata and access to array elements.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "formats/gguf_parts.h"

static ll_status wrong_type(const struct gguf *gguf, const struct gguf_value *value, const char *wanted,
                            ll_error *error)
{
    char shown[96];
    utf8_printable(value->key.text, value->key.length, shown, sizeof shown);
    bool array = value->type == GGUF_ARRAY;
    const struct gguf_type_info *have = gguf_type_info(array ? value->element : value->type);
    return error_set_at(error, LL_FORMAT, "gguf", value->data - gguf->bytes,
                        "key \"%s\" holds %s%s where %s is needed; the file is damaged or of an unknown kind",
                        shown, array ? "an array, each element " : "", have->name, wanted);
}

static enum gguf_kind kind_of(enum gguf_type type)
{
    return gguf_type_info(type)->kind;
}

/* Any scalar's bytes as a number without sign. */
static uint64_t load_bits(enum gguf_type type, const unsigned char *data, uint64_t index)
{
    uint64_t bits = 0;
    size_t size = gguf_type_info(type)->size;
    memcpy(&bits, data + index * size, size); /* little-endian, as configure makes sure */
    return bits;
}

/* u64 above INT64_MAX saturates: every count that large is refused by whoever asked. */
static int64_t load_int(enum gguf_type type, const unsigned char *data, uint64_t index)
{
    uint64_t bits = load_bits(type, data, index);
    switch (type) {
    case GGUF_I8:
        return (int8_t)bits;
    case GGUF_I16:
        return (int16_t)bits;
    case GGUF_I32:
        return (int32_t)bits;
    case GGUF_U64:
        return bits > INT64_MAX ? INT64_MAX : (int64_t)bits;
    default:
        return (int64_t)bits;
    }
}

static double load_float(enum gguf_type type, const unsigned char *data, uint64_t index)
{
    uint64_t bits = load_bits(type, data, index);
    if (type == GGUF_F32) {
        float value;
        memcpy(&value, &bits, sizeof value);
        return (double)value;
    }
    if (type == GGUF_F64) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    return type == GGUF_U64 ? (double)bits : (double)load_int(type, data, index);
}

ll_status gguf_get_uint(const struct gguf *gguf, const char *key, uint64_t fallback, uint64_t *ret,
                        ll_error *error)
{
    const struct gguf_value *value = gguf_find(gguf, key);
    if (!value) {
        *ret = fallback;
        return LL_OK;
    }
    if (kind_of(value->type) != KIND_INTEGER)
        return wrong_type(gguf, value, "a whole number", error);
    if (value->type == GGUF_U64) {
        *ret = load_bits(GGUF_U64, value->data, 0);
        return LL_OK;
    }
    int64_t number = load_int(value->type, value->data, 0);
    if (number < 0)
        return error_set_at(error, LL_FORMAT, "gguf", value->data - gguf->bytes,
                            "key \"%s\" is %lld where a size or count is needed; the file is damaged", key,
                            (long long)number);
    *ret = (uint64_t)number;
    return LL_OK;
}

ll_status gguf_get_float(const struct gguf *gguf, const char *key, double fallback, double *ret,
                         ll_error *error)
{
    const struct gguf_value *value = gguf_find(gguf, key);
    if (value && kind_of(value->type) != KIND_FLOAT && kind_of(value->type) != KIND_INTEGER)
        return wrong_type(gguf, value, "a number", error);
    *ret = value ? load_float(value->type, value->data, 0) : fallback;
    return LL_OK;
}

ll_status gguf_get_bool(const struct gguf *gguf, const char *key, bool fallback, bool *ret, ll_error *error)
{
    const struct gguf_value *value = gguf_find(gguf, key);
    if (value && value->type != GGUF_BOOL)
        return wrong_type(gguf, value, "a truth value", error);
    *ret = value ? value->data[0] == 1 : fallback;
    return LL_OK;
}

static struct gguf_text load_text(const unsigned char *prefix)
{
    uint64_t length;
    memcpy(&length, prefix, sizeof length);
    return (struct gguf_text){(const char *)prefix + sizeof length, (size_t)length};
}

ll_status gguf_get_text(const struct gguf *gguf, const char *key, struct gguf_text *ret, ll_error *error)
{
    const struct gguf_value *value = gguf_find(gguf, key);
    if (value && value->type != GGUF_STRING)
        return wrong_type(gguf, value, "text", error);
    *ret = value ? load_text(value->data) : (struct gguf_text){NULL, 0};
    return LL_OK;
}

static bool element_serves(enum gguf_type have, enum gguf_type want)
{
    return kind_of(have) == kind_of(want) || (kind_of(have) == KIND_INTEGER && kind_of(want) == KIND_FLOAT);
}

ll_status gguf_get_array(const struct gguf *gguf, const char *key, enum gguf_type element,
                         const struct gguf_value **ret, ll_error *error)
{
    const struct gguf_value *value = gguf_find(gguf, key);
    if (value && (value->type != GGUF_ARRAY || !element_serves(value->element, element))) {
        char wanted[64] = "an array, each element ";
        strncat(wanted, gguf_type_info(element)->name, sizeof wanted - strlen(wanted) - 1);
        return wrong_type(gguf, value, wanted, error);
    }
    *ret = value;
    return LL_OK;
}

struct gguf_text gguf_array_text(const struct gguf *gguf, const struct gguf_value *value, uint64_t index)
{
    (void)gguf;
    const struct gguf_entry *entry = (const struct gguf_entry *)value;
    return load_text(value->data + (value->type == GGUF_ARRAY ? entry->positions[index] : 0));
}

static enum gguf_type scalar_type(const struct gguf_value *value)
{
    return value->type == GGUF_ARRAY ? value->element : value->type;
}

double gguf_array_float(const struct gguf_value *value, uint64_t index)
{
    return load_float(scalar_type(value), value->data, index);
}

int64_t gguf_array_int(const struct gguf_value *value, uint64_t index)
{
    return load_int(scalar_type(value), value->data, index);
}

struct gguf_text gguf_value_text(const struct gguf_value *value)
{
    return load_text(value->data);
}

bool gguf_text_equals(struct gguf_text text, const char *other)
{
    size_t length = strlen(other);
    return text.text && text.length == length && memcmp(text.text, other, length) == 0;
}

const unsigned char *gguf_value_end(const struct gguf *gguf, const struct gguf_value *value)
{
    enum gguf_type type = value->type == GGUF_ARRAY ? value->element : value->type;
    if (type != GGUF_STRING)
        return value->data + value->count * gguf_type_info(type)->size;
    if (value->count == 0)
        return value->data;
    struct gguf_text last =
        value->type == GGUF_ARRAY ? gguf_array_text(gguf, value, value->count - 1) : gguf_value_text(value);
    return (const unsigned char *)last.text + last.length;
}
