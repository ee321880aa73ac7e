/* Opens GGUF files: header, then values, then tensors; and hands out what was found.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/gguf.h"

#include <string.h>

#include "base/error.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "formats/gguf_parts.h"

enum { OLDEST_VERSION = 2, NEWEST_VERSION = 3 };

static ll_status check_version(uint32_t version, ll_error *error)
{
    if (version >= OLDEST_VERSION && version <= NEWEST_VERSION)
        return LL_OK;
    if (version == 1)
        return error_set_at(error, LL_UNSUPPORTED, "gguf", 4,
                            "this is GGUF version 1 (of August 2023), which is no longer read; get a newer "
                            "file of the model");
    uint32_t swapped = __builtin_bswap32(version);
    if (swapped >= 1 && swapped <= 255)
        return error_set_at(
            error, LL_UNSUPPORTED, "gguf", 4,
            "this is a big-endian GGUF file (version %u); get or convert to the little-endian form", swapped);
    return error_set_at(error, version > NEWEST_VERSION && version < 256 ? LL_UNSUPPORTED : LL_FORMAT, "gguf",
                        4, "this file says it is GGUF version %u; versions %d and %d are read", version,
                        OLDEST_VERSION, NEWEST_VERSION);
}

static ll_status read_all(struct gguf *gguf, ll_error *error)
{
    struct gguf_cursor cursor = {.bytes = gguf->bytes, .size = gguf->size};
    uint64_t tensors, values;
    LL_TRY(gguf_check_magic(gguf->bytes, gguf->size, error));
    cursor_subject(&cursor, "the header");
    cursor.at = 4;
    LL_TRY(cursor_u32(&cursor, "the version", &gguf->version, error));
    LL_TRY(check_version(gguf->version, error));
    LL_TRY(cursor_u64(&cursor, "the number of tensors", &tensors, error));
    LL_TRY(cursor_u64(&cursor, "the number of keys", &values, error));
    LL_TRY(gguf_read_values(gguf, &cursor, values, error));
    return gguf_read_tensors(gguf, &cursor, tensors, error);
}

static ll_status finish_open(struct gguf *gguf, struct gguf **ret, ll_error *error)
{
    ll_status status = read_all(gguf, error);
    if (status != LL_OK) {
        gguf_close(gguf);
        return status;
    }
    *ret = gguf;
    return LL_OK;
}

ll_status gguf_open_memory(const void *bytes, size_t size, struct gguf **ret, ll_error *error)
{
    struct gguf *gguf = mem_new(1, sizeof *gguf);
    if (!gguf)
        return error_nomem(error, "gguf", sizeof *gguf);
    gguf->bytes = bytes;
    gguf->size = size;
    return finish_open(gguf, ret, error);
}

ll_status gguf_open_source(struct strbuf *head, const struct gguf_source *source, struct gguf **ret,
                           ll_error *error)
{
    struct gguf *gguf = mem_new(1, sizeof *gguf);
    if (!gguf) {
        source->close(source->owner);
        strbuf_fini(head);
        return error_nomem(error, "gguf", sizeof *gguf);
    }
    gguf->source = *source;
    gguf->head = *head;
    *head = (struct strbuf){0};
    gguf->bytes = (const unsigned char *)gguf->head.text;
    gguf->size = gguf->head.length;
    return finish_open(gguf, ret, error);
}

bool gguf_has_source(const struct gguf *gguf)
{
    return gguf->source.hold != NULL;
}

ll_status gguf_hold(struct gguf *gguf, size_t tensor, ll_error *error)
{
    struct gguf_tensor *held = &gguf->tensors[tensor].tensor;
    if (!gguf->source.hold || held->data)
        return LL_OK;
    return gguf->source.hold(gguf->source.owner, tensor, &held->data, error);
}

void gguf_drop(struct gguf *gguf, size_t tensor)
{
    if (!gguf->source.hold || !gguf->tensors[tensor].tensor.data)
        return;
    gguf->source.drop(gguf->source.owner, tensor);
    gguf->tensors[tensor].tensor.data = NULL;
}

/* The last of the path that fits becomes the error's place. */
static void name_file(ll_error *error, const char *path)
{
    if (!error)
        return;
    size_t length = strlen(path), most = sizeof error->where - 1;
    const char *tail = length > most ? path + length - most : path;
    const char *slash = strrchr(tail, '/');
    tail = slash && slash[1] ? slash + 1 : tail;
    utf8_printable(tail, strlen(tail), error->where, sizeof error->where);
}

ll_status gguf_open(const char *path, struct gguf **ret, ll_error *error)
{
    struct gguf *gguf = mem_new(1, sizeof *gguf);
    if (!gguf)
        return error_nomem(error, "gguf", sizeof *gguf);
    ll_status status = file_map_open(path, &gguf->map, error);
    if (status != LL_OK) {
        mem_free(gguf);
        return status;
    }
    gguf->bytes = gguf->map.bytes;
    gguf->size = gguf->map.size;
    status = finish_open(gguf, ret, error);
    if (status != LL_OK)
        name_file(error, path);
    return status;
}

void gguf_close(struct gguf *gguf)
{
    if (!gguf)
        return;
    for (size_t i = 0; i < gguf->entry_count; i++)
        mem_free(gguf->entries[i].positions);
    mem_free(gguf->entries);
    mem_free(gguf->tensors);
    gguf_drop_overrides(gguf);
    name_index_fini(&gguf->keys);
    name_index_fini(&gguf->names);
    file_map_close(&gguf->map);
    if (gguf->source.close)
        gguf->source.close(gguf->source.owner);
    strbuf_fini(&gguf->head);
    mem_free(gguf);
}

bool gguf_made(const struct gguf *gguf, size_t tensor)
{
    return gguf->source.made && gguf->source.made(gguf->source.owner, tensor);
}

ll_status gguf_check(const struct gguf *gguf, ll_error *error)
{
    if (gguf->source.check)
        return gguf->source.check(gguf->source.owner, error);
    return file_map_check(&gguf->map, error);
}

uint64_t gguf_forget(const struct gguf *gguf)
{
    if (gguf->source.forget)
        return gguf->source.forget(gguf->source.owner);
    return file_map_forget(&gguf->map);
}

uint64_t gguf_cached(const struct gguf *gguf)
{
    if (gguf->source.cached)
        return gguf->source.cached(gguf->source.owner);
    return gguf->map.bytes ? machine_cached(gguf->map.bytes, gguf->map.size) : 0;
}

uint32_t gguf_version(const struct gguf *gguf)
{
    return gguf->version;
}

const void *gguf_bytes(const struct gguf *gguf)
{
    return gguf->bytes;
}

uint64_t gguf_file_bytes(const struct gguf *gguf)
{
    return gguf->source.hold ? gguf->source.bytes : gguf->size;
}

size_t gguf_value_count(const struct gguf *gguf)
{
    return gguf->entry_count;
}

const struct gguf_value *gguf_value_at(const struct gguf *gguf, size_t index)
{
    return &gguf->entries[index].value;
}

const struct gguf_value *gguf_find(const struct gguf *gguf, const char *key)
{
    const struct gguf_value *overridden = gguf_overridden(gguf, key);
    if (overridden)
        return overridden;
    size_t item = name_index_find(&gguf->keys, key, strlen(key));
    return item == NAME_NONE ? NULL : &gguf->entries[item].value;
}

size_t gguf_tensor_count(const struct gguf *gguf)
{
    return gguf->tensor_count;
}

const struct gguf_tensor *gguf_tensor_at(const struct gguf *gguf, size_t index)
{
    return &gguf->tensors[index].tensor;
}

size_t gguf_tensor_index(const struct gguf *gguf, const char *name)
{
    size_t item = name_index_find(&gguf->names, name, strlen(name));
    return item == NAME_NONE ? SIZE_MAX : item;
}

const struct gguf_tensor *gguf_tensor_find(const struct gguf *gguf, const char *name)
{
    size_t item = gguf_tensor_index(gguf, name);
    return item == SIZE_MAX ? NULL : &gguf->tensors[item].tensor;
}
