/* Reads the tensor directory of a GGUF file and proves that every tensor's bytes are there.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two tensors may name exactly the same bytes (a tied weight); any other overlap is refused. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "formats/gguf_parts.h"

enum { LEAST_TENSOR = 8 + 1 + 4 + 8 + 4 + 8 }; /* bytes of the shortest description */

static ll_status read_name(struct gguf_cursor *cursor, struct gguf_tensor_entry *entry, ll_error *error)
{
    struct gguf_text name;
    entry->at = cursor->at;
    LL_TRY(cursor_text(cursor, "its name", &name, error));
    if (name.length == 0)
        return cursor_fail(cursor, LL_FORMAT, entry->at, error, "has an empty name; the file is damaged");
    if (name.length > GGUF_NAME_MAX)
        return cursor_fail(cursor, LL_FORMAT, entry->at, error,
                           "has a name of %zu bytes; at most %d are allowed", name.length, GGUF_NAME_MAX);
    if (memchr(name.text, 0, name.length))
        return cursor_fail(cursor, LL_FORMAT, entry->at, error,
                           "has a NUL byte in its name; the file is damaged");
    memcpy(entry->name, name.text, name.length);
    cursor_subject_named(cursor, "tensor", name);
    return LL_OK;
}

static ll_status read_shape(struct gguf_cursor *cursor, struct gguf_tensor *tensor, ll_error *error)
{
    size_t at = cursor->at;
    uint32_t dims;
    uint64_t elements = 1;
    LL_TRY(cursor_u32(cursor, "its number of dimensions", &dims, error));
    if (dims < 1 || dims > GGUF_DIMS_MAX)
        return cursor_fail(cursor, LL_FORMAT, at, error, "has %u dimensions; 1 to %d are allowed", dims,
                           GGUF_DIMS_MAX);
    tensor->dims = (int)dims;
    for (int i = 0; i < GGUF_DIMS_MAX; i++) {
        tensor->shape[i] = 1;
        if (i >= tensor->dims)
            continue;
        LL_TRY(cursor_u64(cursor, "its dimensions", &tensor->shape[i], error));
        if (tensor->shape[i] == 0)
            return cursor_fail(cursor, LL_FORMAT, at, error, "has a dimension of 0; the file is damaged");
        if (!mem_multiply(elements, tensor->shape[i], &elements) || elements > INT64_MAX)
            return cursor_fail(cursor, LL_FORMAT, at, error,
                               "has more elements than any file holds; it is damaged");
    }
    return LL_OK;
}

static ll_status measure(struct gguf_cursor *cursor, struct gguf_tensor *tensor, size_t at, ll_error *error)
{
    tensor->known = dtype_from_gguf(tensor->type_number, &tensor->dtype);
    if (!tensor->known)
        return LL_OK;
    const struct dtype_info *info = dtype_info(tensor->dtype);
    if (tensor->shape[0] % (uint64_t)info->block_elements != 0)
        return cursor_fail(cursor, LL_FORMAT, at, error,
                           "has rows of %" PRIu64
                           " elements, no multiple of the %d that type %s packs together",
                           tensor->shape[0], info->block_elements, info->name);
    tensor->bytes = dtype_row_bytes(tensor->dtype, tensor->shape[0]);
    for (int i = 1; i < GGUF_DIMS_MAX && tensor->bytes; i++)
        if (!mem_multiply(tensor->bytes, tensor->shape[i], &tensor->bytes))
            tensor->bytes = 0;
    if (tensor->bytes == 0)
        return cursor_fail(cursor, LL_FORMAT, at, error, "has more bytes than any file holds; it is damaged");
    return LL_OK;
}

static ll_status read_tensor(const struct gguf *gguf, struct gguf_cursor *cursor,
                             struct gguf_tensor_entry *entry, ll_error *error)
{
    struct gguf_tensor *tensor = &entry->tensor;
    LL_TRY(read_name(cursor, entry, error));
    LL_TRY(read_shape(cursor, tensor, error));
    size_t at = cursor->at;
    LL_TRY(cursor_u32(cursor, "its type", &tensor->type_number, error));
    LL_TRY(measure(cursor, tensor, at, error));
    at = cursor->at;
    LL_TRY(cursor_u64(cursor, "its place", &entry->offset, error));
    if (entry->offset % gguf->alignment != 0)
        return cursor_fail(cursor, LL_FORMAT, at, error,
                           "lies at %" PRIu64 ", no multiple of the file's alignment of %" PRIu64
                           "; it is damaged",
                           entry->offset, gguf->alignment);
    return LL_OK;
}

static struct gguf_text tensor_name(const void *owner, size_t item)
{
    const char *name = ((const struct gguf *)owner)->tensors[item].name;
    return (struct gguf_text){name, strlen(name)};
}

static ll_status index_names(struct gguf *gguf, struct gguf_cursor *cursor, ll_error *error)
{
    if (!name_index_init(&gguf->names, gguf->tensor_count, tensor_name, gguf))
        return error_nomem(error, "gguf", gguf->tensor_count * 8);
    for (size_t i = 0; i < gguf->tensor_count; i++) {
        struct gguf_tensor_entry *entry = &gguf->tensors[i];
        entry->tensor.name = entry->name; /* only now: the array has stopped moving */
        if (name_index_add(&gguf->names, i) == NAME_NONE)
            continue;
        cursor_subject_named(cursor, "tensor", tensor_name(gguf, i));
        return cursor_fail(cursor, LL_FORMAT, entry->at, error, "occurs twice; the file is damaged");
    }
    return LL_OK;
}

/* Points every tensor at its bytes. A file that ends early is reported by the furthest byte missing,
 * so that the sentence tells how much of a download is lacking. */
static ll_status place_tensors(struct gguf *gguf, struct gguf_cursor *cursor, ll_error *error)
{
    uint64_t start = ((uint64_t)cursor->at + gguf->alignment - 1) / gguf->alignment * gguf->alignment;
    uint64_t furthest = 0;
    const struct gguf_tensor_entry *last = NULL;
    for (size_t i = 0; i < gguf->tensor_count; i++) {
        struct gguf_tensor_entry *entry = &gguf->tensors[i];
        uint64_t end;
        if (!mem_add(start, entry->offset, &end) || !mem_add(end, entry->tensor.bytes, &end))
            end = UINT64_MAX;
        if (end > furthest) {
            furthest = end;
            last = entry;
        }
        if (end <= gguf->size)
            entry->tensor.data = gguf->bytes + start + entry->offset;
    }
    if (furthest <= gguf->size)
        return LL_OK;
    cursor_subject_named(cursor, "tensor", (struct gguf_text){last->name, strlen(last->name)});
    return cursor_fail(
        cursor, LL_FORMAT, last->at, error,
        "ends at byte %" PRIu64 " but the file has only %zu: %" PRIu64
        " bytes are missing; the download is incomplete or the file damaged, so fetch it again",
        furthest, gguf->size, furthest - gguf->size);
}

static int by_offset(const void *a, const void *b)
{
    const struct gguf_tensor_entry *left = *(const struct gguf_tensor_entry *const *)a;
    const struct gguf_tensor_entry *right = *(const struct gguf_tensor_entry *const *)b;
    if (left->offset != right->offset)
        return left->offset < right->offset ? -1 : 1;
    return (left->tensor.bytes > right->tensor.bytes) - (left->tensor.bytes < right->tensor.bytes);
}

static ll_status refuse_overlap(const struct gguf *gguf, struct gguf_cursor *cursor, ll_error *error)
{
    const struct gguf_tensor_entry **order = mem_new(gguf->tensor_count, sizeof *order);
    if (!order)
        return error_nomem(error, "gguf", gguf->tensor_count * sizeof *order);
    for (size_t i = 0; i < gguf->tensor_count; i++)
        order[i] = &gguf->tensors[i];
    qsort(order, gguf->tensor_count, sizeof *order, by_offset);
    ll_status status = LL_OK;
    for (size_t i = 1; i < gguf->tensor_count && status == LL_OK; i++) {
        const struct gguf_tensor_entry *before = order[i - 1], *entry = order[i];
        bool same = before->offset == entry->offset && before->tensor.bytes == entry->tensor.bytes;
        if (same || before->tensor.bytes <= entry->offset - before->offset)
            continue;
        cursor_subject_named(cursor, "tensor", (struct gguf_text){entry->name, strlen(entry->name)});
        status =
            cursor_fail(cursor, LL_FORMAT, entry->at, error,
                        "shares part of its bytes with tensor \"%s\"; the file is damaged", before->name);
    }
    mem_free(order);
    return status;
}

ll_status gguf_read_tensors(struct gguf *gguf, struct gguf_cursor *cursor, uint64_t count, ll_error *error)
{
    size_t left = cursor_left(cursor);
    if (count > left / LEAST_TENSOR || count > INT32_MAX) {
        cursor_subject(cursor, "the header");
        return cursor_fail(cursor, LL_FORMAT, 8, error,
                           "claims %" PRIu64 " tensors but only %zu bytes follow the keys; "
                           "the file is cut off or damaged, so fetch it again",
                           count, left);
    }
    for (uint64_t i = 0; i < count; i++) {
        struct gguf_tensor_entry entry = {0};
        cursor_subject(cursor, "tensor %" PRIu64 " of %" PRIu64, i + 1, count);
        LL_TRY(read_tensor(gguf, cursor, &entry, error));
        if (!mem_grow((void **)&gguf->tensors, &gguf->tensor_capacity, gguf->tensor_count + 1, sizeof entry))
            return error_nomem(error, "gguf", gguf->tensor_count * sizeof entry);
        gguf->tensors[gguf->tensor_count++] = entry;
    }
    LL_TRY(index_names(gguf, cursor, error));
    if (!gguf_has_source(gguf))
        LL_TRY(place_tensors(gguf, cursor, error));
    return refuse_overlap(gguf, cursor, error);
}
