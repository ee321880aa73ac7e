/* Writes GGUF v3 files: metadata first, then tensors; for converters and for tests' toy models.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/gguf_write.h"

#include <string.h>

#include "base/mem.h"

enum { ALIGNMENT = 32, VERSION = 3 };

struct pending_tensor {
    const void *data;
    uint64_t bytes;
};

/* Both sections grow as bytes; the tensors' data stays with the caller until the end. */
struct gguf_writer {
    struct strbuf values, directory;
    uint64_t value_count;
    struct pending_tensor *tensors;
    size_t tensor_count, tensor_capacity;
    uint64_t next_offset;
    bool failed;
};

struct gguf_writer *gguf_writer_new(void)
{
    return mem_new(1, sizeof(struct gguf_writer));
}

void gguf_writer_free(struct gguf_writer *writer)
{
    if (!writer)
        return;
    strbuf_fini(&writer->values);
    strbuf_fini(&writer->directory);
    mem_free(writer->tensors);
    mem_free(writer);
}

static void put_u32(struct strbuf *buf, uint32_t value)
{
    strbuf_append(buf, (const char *)&value, sizeof value);
}

static void put_u64(struct strbuf *buf, uint64_t value)
{
    strbuf_append(buf, (const char *)&value, sizeof value);
}

static void put_string(struct strbuf *buf, struct gguf_text text)
{
    put_u64(buf, text.length);
    strbuf_append(buf, text.text, text.length);
}

static void put_text(struct strbuf *buf, const char *text)
{
    put_string(buf, (struct gguf_text){text, strlen(text)});
}

static void put_key(struct gguf_writer *writer, const char *key, enum gguf_type type)
{
    put_text(&writer->values, key);
    put_u32(&writer->values, (uint32_t)type);
    writer->value_count++;
}

static void put_array(struct gguf_writer *writer, const char *key, enum gguf_type element, size_t count)
{
    put_key(writer, key, GGUF_ARRAY);
    put_u32(&writer->values, (uint32_t)element);
    put_u64(&writer->values, count);
}

void gguf_writer_text(struct gguf_writer *writer, const char *key, const char *text)
{
    put_key(writer, key, GGUF_STRING);
    put_text(&writer->values, text);
}

void gguf_writer_u32(struct gguf_writer *writer, const char *key, uint32_t value)
{
    put_key(writer, key, GGUF_U32);
    put_u32(&writer->values, value);
}

void gguf_writer_f32(struct gguf_writer *writer, const char *key, float value)
{
    put_key(writer, key, GGUF_F32);
    strbuf_append(&writer->values, (const char *)&value, sizeof value);
}

void gguf_writer_bool(struct gguf_writer *writer, const char *key, bool value)
{
    put_key(writer, key, GGUF_BOOL);
    strbuf_putc(&writer->values, value ? 1 : 0);
}

void gguf_writer_texts(struct gguf_writer *writer, const char *key, const char *const *texts, size_t count)
{
    put_array(writer, key, GGUF_STRING, count);
    for (size_t i = 0; i < count; i++)
        put_text(&writer->values, texts[i]);
}

void gguf_writer_string(struct gguf_writer *writer, const char *key, struct gguf_text text)
{
    put_key(writer, key, GGUF_STRING);
    put_string(&writer->values, text);
}

void gguf_writer_strings(struct gguf_writer *writer, const char *key, const struct gguf_text *texts,
                         size_t count)
{
    put_array(writer, key, GGUF_STRING, count);
    for (size_t i = 0; i < count; i++)
        put_string(&writer->values, texts[i]);
}

void gguf_writer_bools(struct gguf_writer *writer, const char *key, const bool *values, size_t count)
{
    put_array(writer, key, GGUF_BOOL, count);
    for (size_t i = 0; i < count; i++)
        strbuf_putc(&writer->values, values[i] ? 1 : 0);
}

void gguf_writer_f32s(struct gguf_writer *writer, const char *key, const float *values, size_t count)
{
    put_array(writer, key, GGUF_F32, count);
    strbuf_append(&writer->values, (const char *)values, count * sizeof *values);
}

void gguf_writer_i32s(struct gguf_writer *writer, const char *key, const int32_t *values, size_t count)
{
    put_array(writer, key, GGUF_I32, count);
    strbuf_append(&writer->values, (const char *)values, count * sizeof *values);
}

void gguf_writer_bytes(struct gguf_writer *writer, const char *key, const void *bytes, size_t count)
{
    put_array(writer, key, GGUF_U8, count);
    strbuf_append(&writer->values, bytes, count);
}

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static uint64_t bytes_of(enum dtype dtype, int dims, const uint64_t *shape)
{
    uint64_t bytes = dtype_row_bytes(dtype, shape[0]);
    for (int i = 1; i < dims; i++)
        if (!mem_multiply(bytes, shape[i], &bytes))
            return 0;
    return bytes;
}

void gguf_writer_tensor(struct gguf_writer *writer, const char *name, enum dtype dtype, int dims,
                        const uint64_t *shape, const void *data)
{
    uint64_t bytes = bytes_of(dtype, dims, shape);
    if (bytes == 0 || !mem_grow((void **)&writer->tensors, &writer->tensor_capacity, writer->tensor_count + 1,
                                sizeof *writer->tensors)) {
        writer->failed = true;
        return;
    }
    writer->tensors[writer->tensor_count++] = (struct pending_tensor){data, bytes};
    put_text(&writer->directory, name);
    put_u32(&writer->directory, (uint32_t)dims);
    for (int i = 0; i < dims; i++)
        put_u64(&writer->directory, shape[i]);
    put_u32(&writer->directory, dtype_to_gguf(dtype));
    put_u64(&writer->directory, writer->next_offset);
    writer->next_offset += aligned(bytes);
}

static void pad(struct strbuf *out, size_t start)
{
    while ((out->length - start) % ALIGNMENT != 0 && !out->failed)
        strbuf_putc(out, 0);
}

void gguf_writer_head(struct gguf_writer *writer, struct strbuf *out)
{
    size_t start = out->length;
    strbuf_append(out, "GGUF", 4);
    put_u32(out, VERSION);
    put_u64(out, writer->tensor_count);
    put_u64(out, writer->value_count);
    strbuf_append(out, strbuf_text(&writer->values), writer->values.length);
    strbuf_append(out, strbuf_text(&writer->directory), writer->directory.length);
    pad(out, start);
    if (writer->failed || writer->values.failed || writer->directory.failed)
        out->failed = true;
}

void gguf_writer_finish(struct gguf_writer *writer, struct strbuf *out)
{
    size_t start = out->length;
    gguf_writer_head(writer, out);
    for (size_t i = 0; i < writer->tensor_count; i++) {
        strbuf_append(out, writer->tensors[i].data, (size_t)writer->tensors[i].bytes);
        pad(out, start);
    }
}
