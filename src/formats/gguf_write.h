/* Writes GGUF v3 files: metadata first, then tensors; for converters and for tests' toy models.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_GGUF_WRITE_H
#define FORMATS_GGUF_WRITE_H

#include "base/strbuf.h"
#include "formats/gguf.h"

struct gguf_writer;

struct gguf_writer *gguf_writer_new(void); /* NULL: no memory */
void gguf_writer_free(struct gguf_writer *writer);
void gguf_writer_text(struct gguf_writer *writer, const char *key, const char *text);
void gguf_writer_u32(struct gguf_writer *writer, const char *key, uint32_t value);
void gguf_writer_f32(struct gguf_writer *writer, const char *key, float value);
void gguf_writer_bool(struct gguf_writer *writer, const char *key, bool value);
void gguf_writer_texts(struct gguf_writer *writer, const char *key, const char *const *texts, size_t count);
/* The same for texts that may hold NUL. */
void gguf_writer_strings(struct gguf_writer *writer, const char *key, const struct gguf_text *texts,
                         size_t count);
void gguf_writer_string(struct gguf_writer *writer, const char *key, struct gguf_text text);
void gguf_writer_bools(struct gguf_writer *writer, const char *key, const bool *values, size_t count);
void gguf_writer_f32s(struct gguf_writer *writer, const char *key, const float *values, size_t count);
void gguf_writer_i32s(struct gguf_writer *writer, const char *key, const int32_t *values, size_t count);
void gguf_writer_bytes(struct gguf_writer *writer, const char *key, const void *bytes, size_t count);
/* shape fastest first; data (borrowed until the end) is of dtype already. */
void gguf_writer_tensor(struct gguf_writer *writer, const char *name, enum dtype dtype, int dims,
                        const uint64_t *shape, const void *data);
/* All before the tensors' data; what they hold is not looked at and may be NULL. */
void gguf_writer_head(struct gguf_writer *writer, struct strbuf *out);
/* The whole file; failed memory shows as out->failed. */
void gguf_writer_finish(struct gguf_writer *writer, struct strbuf *out);

#endif
