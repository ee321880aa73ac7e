/* A model file with its matrices in another number format.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/requantize.h"

#include <string.h>
#include <strings.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "formats/gguf_parts.h"
#include "formats/quantize.h"
#include "tensor/dequant.h"

enum { CHUNK_BYTES = 1 << 20 }; /* of floats that one task turns */

static const char where[] = "quantize";

/* ---- types ---- */

/* The numbers that GGUF files give their mixtures in general.file_type. */
static const struct {
    enum dtype dtype;
    uint32_t file_type;
} targets[] = {{DT_Q8_0, 7}, {DT_Q6_K, 18}, {DT_Q5_K, 16}, {DT_Q4_K, 14}, {DT_Q5_1, 9}, {DT_Q5_0, 8},
               {DT_Q4_1, 3}, {DT_Q4_0, 2},  {DT_BF16, 32}, {DT_F16, 1},   {DT_F32, 0}};

ll_status requantize_type(const char *name, enum dtype *ret, ll_error *error)
{
    char shown[40];
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        if (strcasecmp(dtype_info(targets[i].dtype)->name, name) == 0) {
            *ret = targets[i].dtype;
            return LL_OK;
        }
    utf8_printable(name, strlen(name), shown, sizeof shown);
    return error_set(error, LL_ARGUMENT, where,
                     "\"%s\" is no type to write; known are Q8_0, Q6_K, Q5_K, Q4_K, Q5_1, Q5_0, Q4_1, Q4_0, "
                     "BF16, F16 and F32",
                     shown);
}

/* The type of most bytes: what a file is called by. */
static enum dtype main_type(const struct gguf *gguf)
{
    uint64_t bytes[DT_COUNT] = {0};
    int best = DT_F32;
    for (size_t i = 0; i < gguf_tensor_count(gguf); i++)
        bytes[gguf_tensor_at(gguf, i)->dtype] += gguf_tensor_at(gguf, i)->bytes;
    for (int i = 0; i < DT_COUNT; i++)
        if (bytes[i] > bytes[best])
            best = i;
    return (enum dtype)best;
}

/* 1024: GGUF has no number for such a mixture. */
static uint32_t file_type(const struct gguf *gguf, enum dtype type)
{
    if (type == REQUANTIZE_KEEP)
        type = main_type(gguf);
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        if (targets[i].dtype == type)
            return targets[i].file_type;
    return 1024;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), size = strlen(end);
    return length >= size && strcmp(text + length - size, end) == 0;
}

/* Vectors, routers of experts and what is no weight stay; see the header for the rest. */
static enum dtype choose_type(const struct gguf_tensor *tensor, enum dtype type)
{
    if (type == REQUANTIZE_KEEP)
        return tensor->dtype;
    bool matrix = tensor->dims >= 2 && tensor->shape[1] > 1 && ends_with(tensor->name, ".weight");
    if (!matrix || ends_with(tensor->name, "ffn_gate_inp.weight") || ends_with(tensor->name, "_norm.weight"))
        return tensor->dtype;
    bool ends = strcmp(tensor->name, "output.weight") == 0 || strcmp(tensor->name, "token_embd.weight") == 0;
    if (ends && (type == DT_Q4_K || type == DT_Q5_K))
        type = DT_Q6_K;
    if (tensor->shape[0] % (uint64_t)dtype_info(type)->block_elements == 0)
        return type;
    return tensor->shape[0] % 32 == 0 ? DT_Q8_0 : DT_F16;
}

/* ---- the head ---- */

struct writer {
    struct gguf *gguf;
    struct file_writer sink;
    uint64_t alignment;
    struct workers *workers;
    const ll_run *run;
    uint64_t done, total; /* bytes read */
    ll_error *error;
};

static void put_u32(struct strbuf *out, uint32_t value)
{
    strbuf_append(out, (const char *)&value, sizeof value);
}

static void put_u64(struct strbuf *out, uint64_t value)
{
    strbuf_append(out, (const char *)&value, sizeof value);
}

/* A value as it stands in the file, key and all. */
static void copy_value(struct strbuf *out, const struct gguf *gguf, const struct gguf_value *value)
{
    const char *start = value->key.text - 8;
    strbuf_append(out, start, (size_t)((const char *)gguf_value_end(gguf, value) - start));
}

static void put_number(struct strbuf *out, const char *key, uint32_t value)
{
    put_u64(out, strlen(key));
    strbuf_puts(out, key);
    put_u32(out, GGUF_U32);
    put_u32(out, value);
}

static void put_values(struct strbuf *out, const struct gguf *gguf, enum dtype type)
{
    static const char type_key[] = "general.file_type", version_key[] = "general.quantization_version";
    for (size_t i = 0; i < gguf_value_count(gguf); i++) {
        const struct gguf_value *value = gguf_value_at(gguf, i);
        if (!gguf_text_equals(value->key, type_key) && !gguf_text_equals(value->key, version_key))
            copy_value(out, gguf, value);
    }
    put_number(out, type_key, file_type(gguf, type));
    put_number(out, version_key, 2);
}

static uint64_t values_kept(const struct gguf *gguf)
{
    return gguf_value_count(gguf) - (gguf_find(gguf, "general.file_type") != NULL) -
           (gguf_find(gguf, "general.quantization_version") != NULL);
}

static uint64_t tensor_rows_of(const struct gguf_tensor *tensor)
{
    return tensor->shape[1] * tensor->shape[2] * tensor->shape[3];
}

static void put_directory(struct strbuf *out, const struct writer *writer, enum dtype type)
{
    uint64_t offset = 0;
    for (size_t i = 0; i < gguf_tensor_count(writer->gguf); i++) {
        const struct gguf_tensor *tensor = gguf_tensor_at(writer->gguf, i);
        enum dtype chosen = choose_type(tensor, type);
        put_u64(out, strlen(tensor->name));
        strbuf_puts(out, tensor->name);
        put_u32(out, (uint32_t)tensor->dims);
        for (int d = 0; d < tensor->dims; d++)
            put_u64(out, tensor->shape[d]);
        put_u32(out, dtype_to_gguf(chosen));
        put_u64(out, offset);
        uint64_t bytes = dtype_row_bytes(chosen, tensor->shape[0]) * tensor_rows_of(tensor);
        offset += (bytes + writer->alignment - 1) / writer->alignment * writer->alignment;
    }
}

static void pad(struct strbuf *out, uint64_t alignment)
{
    while (out->length % alignment != 0 && !out->failed)
        strbuf_putc(out, 0);
}

static ll_status write_head(struct writer *writer, enum dtype type)
{
    struct strbuf head = {0};
    strbuf_append(&head, "GGUF", 4);
    put_u32(&head, 3);
    put_u64(&head, gguf_tensor_count(writer->gguf));
    put_u64(&head, values_kept(writer->gguf) + 2);
    put_values(&head, writer->gguf, type);
    put_directory(&head, writer, type);
    pad(&head, writer->alignment);
    ll_status status = head.failed ? error_nomem(writer->error, where, head.length)
                                   : file_writer_put(&writer->sink, head.text, head.length, writer->error);
    strbuf_fini(&head);
    return status;
}

/* ---- the tensors ---- */

struct batch { /* rows that the workers turn together, a slice for each task */
    const struct gguf_tensor *tensor;
    enum dtype type;
    uint64_t first, count, per_task; /* rows */
    uint64_t from_bytes, to_bytes;   /* of a row */
    float *floats;                   /* [threads][row], one row at a time */
    unsigned char *out;
};

static void turn_rows(void *context, size_t task, int thread)
{
    const struct batch *batch = context;
    int64_t cols = (int64_t)batch->tensor->shape[0];
    float *row = batch->floats + (int64_t)thread * cols;
    uint64_t end = (task + 1) * batch->per_task;
    end = end < batch->count ? end : batch->count;
    for (uint64_t i = task * batch->per_task; i < end; i++) {
        const unsigned char *from = batch->tensor->data;
        dequantize_row(batch->tensor->dtype, from + (batch->first + i) * batch->from_bytes, row, cols);
        quantize_row(batch->type, row, batch->out + i * batch->to_bytes, cols);
    }
}

static ll_status report(struct writer *writer, uint64_t bytes)
{
    writer->done += bytes;
    if (writer->run && cancel_requested(writer->run->cancel))
        return error_set(writer->error, LL_CANCELLED, where, "cancelled");
    ll_progress progress = {LL_LOADING, writer->done, writer->total, NULL};
    if (writer->run && writer->run->on_progress)
        writer->run->on_progress(writer->run->user, &progress);
    return LL_OK;
}

static ll_status turn_all(struct writer *writer, struct batch *batch, uint64_t rows, uint64_t at_once)
{
    for (batch->first = 0; batch->first < rows; batch->first += batch->count) {
        batch->count = rows - batch->first < at_once ? rows - batch->first : at_once;
        size_t tasks = (size_t)((batch->count + batch->per_task - 1) / batch->per_task);
        workers_run(writer->workers, tasks, turn_rows, batch);
        LL_TRY(file_writer_put(&writer->sink, batch->out, (size_t)(batch->count * batch->to_bytes),
                               writer->error));
        LL_TRY(report(writer, batch->count * batch->from_bytes));
    }
    return LL_OK;
}

static ll_status write_turned(struct writer *writer, const struct gguf_tensor *tensor, enum dtype type)
{
    uint64_t threads = (uint64_t)workers_count(writer->workers), cols = tensor->shape[0];
    struct batch batch = {.tensor = tensor, .type = type};
    batch.per_task = CHUNK_BYTES / 4 / cols + 1;
    batch.from_bytes = dtype_row_bytes(tensor->dtype, cols);
    batch.to_bytes = dtype_row_bytes(type, cols);
    uint64_t rows = tensor_rows_of(tensor), at_once = batch.per_task * threads * 4;
    at_once = at_once < rows ? at_once : rows;
    batch.floats = mem_new((size_t)(threads * cols), sizeof *batch.floats);
    batch.out = mem_new((size_t)at_once, (size_t)batch.to_bytes);
    ll_status status = batch.floats && batch.out
                           ? turn_all(writer, &batch, rows, at_once)
                           : error_nomem(writer->error, where, (size_t)(at_once * batch.to_bytes));
    mem_free(batch.floats);
    mem_free(batch.out);
    return status;
}

/* As it is, in pieces, so that cancelling is answered. */
static ll_status write_copy(struct writer *writer, const struct gguf_tensor *tensor)
{
    const char *bytes = tensor->data;
    for (uint64_t at = 0, size; at < tensor->bytes; at += size) {
        size = tensor->bytes - at < 8 * CHUNK_BYTES ? tensor->bytes - at : 8 * CHUNK_BYTES;
        LL_TRY(file_writer_put(&writer->sink, bytes + at, (size_t)size, writer->error));
        LL_TRY(report(writer, size));
    }
    return LL_OK;
}

static ll_status write_tensors(struct writer *writer, enum dtype type)
{
    static const char zeros[4096] = {0};
    for (size_t i = 0; i < gguf_tensor_count(writer->gguf); i++) {
        const struct gguf_tensor *tensor = gguf_tensor_at(writer->gguf, i);
        enum dtype chosen = choose_type(tensor, type);
        uint64_t bytes = dtype_row_bytes(chosen, tensor->shape[0]) * tensor_rows_of(tensor);
        uint64_t rest = (writer->alignment - bytes % writer->alignment) % writer->alignment;
        LL_TRY(gguf_hold(writer->gguf, i, writer->error));
        ll_status status =
            chosen == tensor->dtype ? write_copy(writer, tensor) : write_turned(writer, tensor, chosen);
        gguf_drop(writer->gguf, i);
        LL_TRY(status);
        for (uint64_t size; rest > 0; rest -= size) {
            size = rest < sizeof zeros ? rest : sizeof zeros;
            LL_TRY(file_writer_put(&writer->sink, zeros, (size_t)size, writer->error));
        }
    }
    return LL_OK;
}

static ll_status check_types(const struct gguf *gguf, ll_error *error)
{
    for (size_t i = 0; i < gguf_tensor_count(gguf); i++) {
        const struct gguf_tensor *tensor = gguf_tensor_at(gguf, i);
        const char *name = dtype_gguf_name(tensor->type_number);
        if (!tensor->known)
            return error_set(error, LL_UNSUPPORTED, where,
                             "the tensor %s has type %s (%u), which is not supported", tensor->name,
                             name ? name : "unknown", tensor->type_number);
    }
    return LL_OK;
}

ll_status requantize(struct gguf *gguf, const char *path, enum dtype type, struct workers *workers,
                     const ll_run *run, ll_error *error)
{
    struct writer writer = {
        .gguf = gguf, .alignment = gguf->alignment, .workers = workers, .run = run, .error = error};
    LL_TRY(check_types(gguf, error));
    for (size_t i = 0; i < gguf_tensor_count(gguf); i++)
        writer.total += gguf_tensor_at(gguf, i)->bytes;
    LL_TRY(file_writer_open(&writer.sink, path, false, error));
    ll_status status = write_head(&writer, type);
    if (status == LL_OK)
        status = write_tensors(&writer, type);
    return file_writer_end(&writer.sink, status, error);
}
