/* Reads the safetensors files of a model folder: a directory of tensors, all checked before use.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A file is the length of its header (8 bytes), the header (a JSON object: name to dtype, shape and
 * data_offsets), and the data. */
#include "formats/safetensors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/machine.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "formats/json_file.h"
#include "formats/name_index.h"

enum { HEADER_MOST = 32 << 20, INDEX_MOST = 64 << 20, NAME_MOST = 1024, SHARDS_MOST = 4096 };

static const char where[] = "safetensors";

struct safetensors {
    struct file_map *maps; /* [map_count] */
    size_t map_count, map_capacity;
    struct safetensor *tensors;
    size_t count, capacity;
    struct name_index names;
    uint64_t file_bytes;
};

struct shard {
    struct safetensors *weights;
    const unsigned char *data; /* behind the header */
    uint64_t data_bytes;
    ll_error *error;
};

static ll_status refuse(const struct shard *shard, const char *name, const char *what)
{
    char shown[120];
    utf8_printable(name, strlen(name), shown, sizeof shown);
    return error_set(shard->error, LL_FORMAT, where, "tensor \"%s\" %s; the file is damaged", shown, what);
}

/* ---- one tensor ---- */

static void read_type(struct safetensor *tensor, const char *type)
{
    static const struct {
        const char *name;
        enum dtype dtype;
    } known[] = {{"F32", DT_F32}, {"F16", DT_F16}, {"BF16", DT_BF16}};
    utf8_printable(type, strlen(type), tensor->type, sizeof tensor->type);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(type, known[i].name) == 0) {
            tensor->known = true;
            tensor->dtype = known[i].dtype;
        }
}

static ll_status read_shape(const struct shard *shard, struct safetensor *tensor, const json_t *shape,
                            uint64_t *elements)
{
    size_t dims = json_array_size(shape);
    if (!json_is_array(shape) || dims > 4)
        return refuse(shard, tensor->name, "has no shape of at most 4 dimensions");
    tensor->dims = dims ? (int)dims : 1;
    *elements = 1;
    for (size_t i = 0; i < 4; i++) {
        const json_t *size = json_array_get(shape, i);
        tensor->shape[i] = 1;
        if (i >= dims)
            continue;
        if (!json_is_integer(size) || json_integer_value(size) < 1)
            return refuse(shard, tensor->name, "has a dimension that is no positive whole number");
        tensor->shape[i] = (uint64_t)json_integer_value(size);
        if (!mem_multiply(*elements, tensor->shape[i], elements) || *elements > INT64_MAX)
            return refuse(shard, tensor->name, "has more elements than any file holds");
    }
    return LL_OK;
}

static ll_status read_place(const struct shard *shard, struct safetensor *tensor, const json_t *offsets,
                            uint64_t elements)
{
    const json_t *first = json_array_get(offsets, 0), *last = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(first) || !json_is_integer(last) ||
        json_integer_value(first) < 0 || json_integer_value(last) < json_integer_value(first))
        return refuse(shard, tensor->name, "has no data_offsets of two ascending numbers");
    uint64_t start = (uint64_t)json_integer_value(first), end = (uint64_t)json_integer_value(last), need;
    if (end > shard->data_bytes) {
        char shown[120];
        utf8_printable(tensor->name, strlen(tensor->name), shown, sizeof shown);
        return error_set(shard->error, LL_FORMAT, where,
                         "tensor \"%s\" ends at byte %" PRIu64 " of the data but the file has only %" PRIu64
                         "; the download is incomplete or the file damaged, so fetch it again",
                         shown, end, shard->data_bytes);
    }
    tensor->data = shard->data + start;
    tensor->bytes = end - start;
    if (tensor->known &&
        (!mem_multiply(elements, tensor->dtype == DT_F32 ? 4 : 2, &need) || need != tensor->bytes))
        return refuse(shard, tensor->name, "has another number of bytes than its shape and type ask for");
    return LL_OK;
}

static ll_status add_tensor(const struct shard *shard, const char *name, const json_t *entry)
{
    struct safetensors *weights = shard->weights;
    struct safetensor tensor = {0};
    const char *type = json_member_text(entry, "dtype");
    uint64_t elements;
    if (strlen(name) == 0 || strlen(name) > NAME_MOST)
        return refuse(shard, name, "has an empty name or a very long one");
    if (!mem_grow((void **)&weights->tensors, &weights->capacity, weights->count + 1, sizeof tensor))
        return error_nomem(shard->error, where, sizeof tensor);
    tensor.name = mem_copy_text(name, strlen(name));
    if (!tensor.name)
        return error_nomem(shard->error, where, strlen(name));
    struct safetensor *kept = &weights->tensors[weights->count++];
    *kept = tensor;
    if (!type)
        return refuse(shard, name, "has no dtype");
    read_type(kept, type);
    LL_TRY(read_shape(shard, kept, json_object_get(entry, "shape"), &elements));
    return read_place(shard, kept, json_object_get(entry, "data_offsets"), elements);
}

/* ---- one file ---- */

static int by_place(const void *a, const void *b)
{
    const struct safetensor *left = a, *right = b;
    if (left->data != right->data)
        return left->data < right->data ? -1 : 1;
    return (left->bytes > right->bytes) - (left->bytes < right->bytes);
}

static ll_status read_directory(const struct shard *shard, json_t *header)
{
    struct safetensors *weights = shard->weights;
    size_t first = weights->count;
    const char *name;
    json_t *entry;
    if (!json_is_object(header))
        return error_set(shard->error, LL_FORMAT, where, "the header is no JSON object; the file is damaged");
    json_object_foreach(header, name, entry) if (strcmp(name, "__metadata__") != 0)
        LL_TRY(add_tensor(shard, name, entry));
    if (weights->count > first)
        qsort(weights->tensors + first, weights->count - first, sizeof *weights->tensors, by_place);
    for (size_t i = first + 1; i < weights->count; i++) {
        const struct safetensor *before = &weights->tensors[i - 1];
        if (before->data + before->bytes > weights->tensors[i].data)
            return refuse(shard, weights->tensors[i].name, "shares bytes with another one");
    }
    return LL_OK;
}

static ll_status read_file(struct safetensors *weights, const unsigned char *bytes, size_t size,
                           ll_error *error)
{
    uint64_t length;
    json_t *header = NULL;
    if (size < sizeof length)
        return error_set(error, LL_FORMAT, where, "a file of %zu bytes is no safetensors file", size);
    memcpy(&length, bytes, sizeof length);
    if (length > size - sizeof length || length > HEADER_MOST)
        return error_set(error, LL_FORMAT, where,
                         "the header claims %" PRIu64
                         " bytes of a file of %zu (at most %d are read); it is no "
                         "safetensors file, or its download is incomplete",
                         length, size, HEADER_MOST);
    struct shard shard = {.weights = weights,
                          .data = bytes + sizeof length + length,
                          .data_bytes = size - sizeof length - length,
                          .error = error};
    LL_TRY(json_file_parse((const char *)bytes + sizeof length, (size_t)length, where, &header, error));
    ll_status status = read_directory(&shard, header);
    json_decref(header);
    return status;
}

static struct gguf_text tensor_name(const void *owner, size_t item)
{
    const char *name = ((const struct safetensors *)owner)->tensors[item].name;
    return (struct gguf_text){name, strlen(name)};
}

static ll_status index_names(struct safetensors *weights, ll_error *error)
{
    struct shard shard = {.error = error};
    if (weights->count >= INT32_MAX ||
        !name_index_init(&weights->names, weights->count, tensor_name, weights))
        return error_nomem(error, where, weights->count * 8);
    for (size_t i = 0; i < weights->count; i++)
        if (name_index_add(&weights->names, i) != NAME_NONE)
            return refuse(&shard, weights->tensors[i].name, "occurs twice");
    return weights->count ? LL_OK : error_set(error, LL_FORMAT, where, "there are no tensors in the files");
}

/* ---- folders ---- */

static ll_status open_shard(struct safetensors *weights, const char *folder, const char *name,
                            ll_error *error)
{
    struct strbuf path = {0};
    struct file_map map = {0};
    strbuf_printf(&path, "%s/%s", folder, name);
    ll_status status = path.failed ? error_nomem(error, where, strlen(name)) : LL_OK;
    if (status == LL_OK)
        status = file_map_open(path.text, &map, error);
    strbuf_fini(&path);
    LL_TRY(status);
    if (!mem_grow((void **)&weights->maps, &weights->map_capacity, weights->map_count + 1, sizeof map)) {
        file_map_close(&map);
        return error_nomem(error, where, sizeof map);
    }
    weights->maps[weights->map_count++] = map;
    weights->file_bytes += map.size;
    size_t before = weights->count;
    status = read_file(weights, map.bytes, map.size, error);
    for (size_t i = before; i < weights->count; i++)
        weights->tensors[i].mapped = true;
    if (status != LL_OK && error)
        utf8_printable(name, strlen(name), error->where, sizeof error->where);
    return status;
}

/* Names in an index come from outside: only plain ones of this folder are opened. */
static bool plain_name(const char *name)
{
    size_t length = strlen(name);
    return length > 12 && length < 256 && !strchr(name, '/') && name[0] != '.' &&
           strcmp(name + length - 12, ".safetensors") == 0;
}

static ll_status open_listed(struct safetensors *weights, const char *folder, json_t *map, ll_error *error)
{
    json_t *seen = json_object();
    const char *name;
    json_t *file;
    ll_status status = seen ? LL_OK : error_nomem(error, where, 64);
    json_object_foreach(map, name, file)
    {
        const char *shard = json_string_value(file);
        if (status != LL_OK)
            break;
        if (!shard || !plain_name(shard) || json_object_size(seen) >= SHARDS_MOST)
            status =
                error_set(error, LL_FORMAT, where, "the index names a file that is no shard of this folder");
        else if (!json_object_get(seen, shard)) {
            status = open_shard(weights, folder, shard, error);
            json_object_set_new(seen, shard, json_true());
        }
    }
    json_decref(seen);
    return status;
}

static ll_status check_listed(const struct safetensors *weights, json_t *map, ll_error *error)
{
    const char *name;
    json_t *file;
    struct shard shard = {.error = error};
    json_object_foreach(map, name, file) if (!safetensors_find(weights, name)) return refuse(
        &shard, name, "is named by the index and in none of the shards");
    return LL_OK;
}

static ll_status open_all(struct safetensors *weights, const char *folder, ll_error *error)
{
    json_t *index = NULL;
    ll_status status = json_file_read(folder, "model.safetensors.index.json", INDEX_MOST, &index, error);
    if (status == LL_NOT_FOUND) {
        LL_TRY(open_shard(weights, folder, "model.safetensors", error));
        return index_names(weights, error);
    }
    json_t *map = json_object_get(index, "weight_map");
    if (status == LL_OK && !json_is_object(map))
        status = error_set(error, LL_FORMAT, where, "the index has no weight_map");
    if (status == LL_OK)
        status = open_listed(weights, folder, map, error);
    if (status == LL_OK)
        status = index_names(weights, error);
    if (status == LL_OK)
        status = check_listed(weights, map, error);
    json_decref(index);
    return status;
}

static ll_status finish(struct safetensors *weights, ll_status status, struct safetensors **ret)
{
    if (status == LL_OK)
        *ret = weights;
    else
        safetensors_close(weights);
    return status;
}

ll_status safetensors_open(const char *folder, struct safetensors **ret, ll_error *error)
{
    struct safetensors *weights = mem_new(1, sizeof *weights);
    return weights ? finish(weights, open_all(weights, folder, error), ret)
                   : error_nomem(error, where, sizeof *weights);
}

ll_status safetensors_open_memory(const void *bytes, size_t size, struct safetensors **ret, ll_error *error)
{
    struct safetensors *weights = mem_new(1, sizeof *weights);
    if (!weights)
        return error_nomem(error, where, sizeof *weights);
    ll_status status = read_file(weights, bytes, size, error);
    weights->file_bytes = size;
    return finish(weights, status == LL_OK ? index_names(weights, error) : status, ret);
}

void safetensors_close(struct safetensors *weights)
{
    if (!weights)
        return;
    for (size_t i = 0; i < weights->count; i++)
        mem_free(weights->tensors[i].name);
    for (size_t i = 0; i < weights->map_count; i++)
        file_map_close(&weights->maps[i]);
    name_index_fini(&weights->names);
    mem_free(weights->tensors);
    mem_free(weights->maps);
    mem_free(weights);
}

size_t safetensors_count(const struct safetensors *weights)
{
    return weights->count;
}

const struct safetensor *safetensors_at(const struct safetensors *weights, size_t index)
{
    return &weights->tensors[index];
}

const struct safetensor *safetensors_find(const struct safetensors *weights, const char *name)
{
    size_t item = name_index_find(&weights->names, name, strlen(name));
    return item == NAME_NONE ? NULL : &weights->tensors[item];
}

ll_status safetensors_check(const struct safetensors *weights, ll_error *error)
{
    for (size_t i = 0; i < weights->map_count; i++)
        LL_TRY(file_map_check(&weights->maps[i], error));
    return LL_OK;
}

uint64_t safetensors_forget(const struct safetensors *weights)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < weights->map_count; i++)
        bytes += file_map_forget(&weights->maps[i]);
    return bytes;
}

uint64_t safetensors_cached(const struct safetensors *weights)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < weights->map_count; i++)
        bytes += machine_cached(weights->maps[i].bytes, weights->maps[i].size);
    return bytes;
}

uint64_t safetensors_file_bytes(const struct safetensors *weights)
{
    return weights->file_bytes;
}
