/* Puts GGUF files together byte by byte, lies included, and checks what opening them says.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FORMATS_RAW_GGUF_H
#define TESTS_FORMATS_RAW_GGUF_H

#include "unit.h"

#include "base/strbuf.h"
#include "formats/gguf.h"

static inline void raw_u32(struct strbuf *raw, uint32_t value)
{
    strbuf_append(raw, (const char *)&value, sizeof value);
}

static inline void raw_u64(struct strbuf *raw, uint64_t value)
{
    strbuf_append(raw, (const char *)&value, sizeof value);
}

static inline void raw_text(struct strbuf *raw, const char *text, size_t length)
{
    raw_u64(raw, length);
    strbuf_append(raw, text, length);
}

static inline struct strbuf raw_header(uint32_t version, uint64_t tensors, uint64_t values)
{
    struct strbuf raw = {0};
    strbuf_append(&raw, "GGUF", 4);
    raw_u32(&raw, version);
    raw_u64(&raw, tensors);
    raw_u64(&raw, values);
    return raw;
}

static inline void raw_key(struct strbuf *raw, const char *key, uint32_t type)
{
    raw_text(raw, key, strlen(key));
    raw_u32(raw, type);
}

static inline void raw_array(struct strbuf *raw, const char *key, uint32_t element, uint64_t count)
{
    raw_key(raw, key, GGUF_ARRAY);
    raw_u32(raw, element);
    raw_u64(raw, count);
}

static inline void raw_tensor(struct strbuf *raw, const char *name, uint32_t dims, const uint64_t *shape,
                              uint32_t type, uint64_t offset)
{
    raw_text(raw, name, strlen(name));
    raw_u32(raw, dims);
    for (uint32_t i = 0; i < dims; i++)
        raw_u64(raw, shape[i]);
    raw_u32(raw, type);
    raw_u64(raw, offset);
}

/* Pads to the data's start and adds that many bytes. */
static inline void raw_data(struct strbuf *raw, size_t alignment, size_t bytes)
{
    while (raw->length % alignment != 0)
        strbuf_putc(raw, 0);
    for (size_t i = 0; i < bytes; i++)
        strbuf_putc(raw, (char)i);
}

/* Opens a copy of exactly the file's size, so that a sanitizer sees one byte too far. The copy is given
 * back through *ret_copy and outlives the file. */
static inline ll_status raw_open(const void *bytes, size_t size, void **ret_copy, struct gguf **ret,
                                 ll_error *error)
{
    *ret_copy = malloc(size ? size : 1);
    assert_non_null(*ret_copy);
    if (size)
        memcpy(*ret_copy, bytes, size);
    return gguf_open_memory(*ret_copy, size, ret, error);
}

/* The file is refused with this status and a sentence that holds these words. Frees raw. */
static inline void raw_refused(struct strbuf *raw, ll_status status, const char *words)
{
    struct gguf *gguf = NULL;
    ll_error error = {0};
    void *copy;
    ll_status got = raw_open(raw->text, raw->length, &copy, &gguf, &error);
    if (got != status || !strstr(error.text, words))
        fail_msg("wanted %s and \"%s\", got %s and \"%s\"", ll_status_name(status), words,
                 ll_status_name(got), error.text);
    assert_null(gguf);
    assert_true(error.offset >= 0 && error.offset <= (int64_t)raw->length);
    free(copy);
    strbuf_fini(raw);
}

/* The file opens. Frees raw; the caller frees the copy after gguf_close. */
static inline struct gguf *raw_accepted(struct strbuf *raw, void **ret_copy)
{
    struct gguf *gguf = NULL;
    ll_error error = {0};
    if (raw_open(raw->text, raw->length, ret_copy, &gguf, &error) != LL_OK)
        fail_msg("refused: %s", error.text);
    strbuf_fini(raw);
    return gguf;
}

#endif
