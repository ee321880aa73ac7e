/* Metadata that a caller puts in place of a file's own: "key=type:value".
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/utf8.h"
#include "formats/gguf_parts.h"

enum { OVERRIDES_MAX = 64 };

static const struct {
    const char *name;
    enum gguf_type type;
    size_t bytes;
} types[] = {{"u32", GGUF_U32, 4},
             {"i32", GGUF_I32, 4},
             {"f32", GGUF_F32, 4},
             {"bool", GGUF_BOOL, 1},
             {"str", GGUF_STRING, 0}};

static bool read_integer(const char *text, long long least, long long most, unsigned char *out)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    uint32_t bits = (uint32_t)value;
    memcpy(out, &bits, sizeof bits);
    return *text && *end == '\0' && errno == 0 && value >= least && value <= most;
}

static bool read_float(const char *text, unsigned char *out)
{
    char *end;
    float value = (float)number_parse(text, &end);
    memcpy(out, &value, sizeof value);
    return *text && *end == '\0' && isfinite(value);
}

static bool read_value(enum gguf_type type, const char *text, unsigned char *out)
{
    uint64_t length = strlen(text);
    switch (type) {
    case GGUF_U32:
        return read_integer(text, 0, UINT32_MAX, out);
    case GGUF_I32:
        return read_integer(text, INT32_MIN, INT32_MAX, out);
    case GGUF_F32:
        return read_float(text, out);
    case GGUF_BOOL:
        *out = strcmp(text, "true") == 0;
        return *out || strcmp(text, "false") == 0;
    default:
        memcpy(out, &length, sizeof length);
        memcpy(out + sizeof length, text, length);
        return true;
    }
}

static ll_status refuse(const char *given, ll_error *error)
{
    char shown[80];
    utf8_printable(given, strlen(given), shown, sizeof shown);
    return error_set(
        error, LL_ARGUMENT, "metadata",
        "\"%s\" is no metadata to set: key=type:value is needed, with a type of u32, i32, f32, bool "
        "or str and a value of that type",
        shown);
}

/* One piece of memory: the key, then the value as a file would hold it. */
static ll_status keep(struct gguf *gguf, const char *text, size_t key_length, size_t type, ll_error *error)
{
    const char *value = text + key_length + 1 + strlen(types[type].name) + 1;
    size_t room = types[type].bytes ? types[type].bytes : 8 + strlen(value);
    char *memory = mem_new(1, key_length + room);
    if (!memory)
        return error_nomem(error, "metadata", key_length + room);
    memcpy(memory, text, key_length);
    unsigned char *data = (unsigned char *)memory + key_length;
    if (gguf->override_count == OVERRIDES_MAX || !read_value(types[type].type, value, data)) {
        mem_free(memory);
        return refuse(text, error);
    }
    if (!mem_grow((void **)&gguf->overrides, &gguf->override_capacity, gguf->override_count + 1,
                  sizeof *gguf->overrides)) {
        mem_free(memory);
        return error_nomem(error, "metadata", sizeof *gguf->overrides);
    }
    gguf->overrides[gguf->override_count++] =
        (struct gguf_value){.key = {memory, key_length}, .type = types[type].type, .count = 1, .data = data};
    return LL_OK;
}

static ll_status put_override(struct gguf *gguf, const char *text, ll_error *error)
{
    const char *equals = strchr(text, '='), *colon = equals ? strchr(equals, ':') : NULL;
    if (!colon || equals == text)
        return refuse(text, error);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if ((size_t)(colon - equals - 1) == strlen(types[i].name) &&
            memcmp(equals + 1, types[i].name, strlen(types[i].name)) == 0)
            return keep(gguf, text, (size_t)(equals - text), i, error);
    return refuse(text, error);
}

ll_status gguf_override(struct gguf *gguf, const char *text, ll_error *error)
{
    struct strbuf whole = {0};
    struct gguf_text family = {NULL, 0};
    if (text[0] == '*' && text[1] == '.') { /* of the model's architecture */
        LL_TRY(gguf_get_text(gguf, "general.architecture", &family, error));
        strbuf_append(&whole, family.text ? family.text : "*", family.text ? family.length : 1);
        strbuf_puts(&whole, text + 1);
        ll_status status = whole.failed ? error_nomem(error, "metadata", strlen(text))
                                        : put_override(gguf, whole.text, error);
        strbuf_fini(&whole);
        return status;
    }
    return put_override(gguf, text, error);
}

const struct gguf_value *gguf_overridden(const struct gguf *gguf, const char *key)
{
    for (size_t i = gguf->override_count; i > 0; i--) /* the last one given wins */
        if (gguf_text_equals(gguf->overrides[i - 1].key, key))
            return &gguf->overrides[i - 1];
    return NULL;
}

size_t gguf_override_count(const struct gguf *gguf)
{
    return gguf->override_count;
}

const struct gguf_value *gguf_override_at(const struct gguf *gguf, size_t index)
{
    return &gguf->overrides[index];
}

void gguf_drop_overrides(struct gguf *gguf)
{
    for (size_t i = 0; i < gguf->override_count; i++) {
        union {
            const char *read;
            void *own;
        } memory = {.read = gguf->overrides[i].key.text};
        mem_free(memory.own);
    }
    mem_free(gguf->overrides);
}
