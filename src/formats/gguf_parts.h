/* The open file as its readers see it: shared by the gguf_*.c files only.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_GGUF_PARTS_H
#define FORMATS_GGUF_PARTS_H

#include "base/file.h"
#include "formats/gguf.h"
#include "formats/gguf_cursor.h"
#include "formats/name_index.h"

enum { GGUF_KEY_MAX = 65535, GGUF_NAME_MAX = 64, GGUF_DIMS_MAX = 4 };

enum gguf_kind { KIND_INTEGER, KIND_FLOAT, KIND_BOOL, KIND_TEXT, KIND_ARRAY };

struct gguf_type_info {
    const char *name; /* for sentences: "a whole number" */
    enum gguf_kind kind;
    size_t size; /* bytes of one value; 0 for text and arrays, whose size the file says */
};

const struct gguf_type_info *gguf_type_info(enum gguf_type type);

struct gguf_entry {
    struct gguf_value value; /* first: gguf_array_text steps from the value to its entry */
    uint32_t *positions;     /* arrays of text: byte offset of each length prefix from value.data */
};

struct gguf_tensor_entry {
    struct gguf_tensor tensor;
    char name[GGUF_NAME_MAX + 1];
    uint64_t offset; /* from the start of the data */
    size_t at;       /* where the file describes it */
};

struct gguf {
    struct file_map map; /* empty when the bytes are the caller's */
    struct gguf_source source; /* hold NULL: tensors lie in the bytes */
    struct strbuf head;        /* of a source */
    const unsigned char *bytes;
    size_t size;
    uint32_t version;
    uint64_t alignment;
    struct gguf_entry *entries;
    size_t entry_count, entry_capacity;
    struct gguf_tensor_entry *tensors;
    size_t tensor_count, tensor_capacity;
    struct name_index keys, names;
    struct gguf_value *overrides; /* stand before the file's own; each owns the memory at its key */
    size_t override_count, override_capacity;
};

const struct gguf_value *gguf_overridden(const struct gguf *gguf, const char *key); /* NULL: not */
void gguf_drop_overrides(struct gguf *gguf);

/* Checks the magic and says what a file is that is no GGUF. */
ll_status gguf_check_magic(const unsigned char *bytes, size_t size, ll_error *error);
/* Reads `count` keys with their values at the cursor. */
ll_status gguf_read_values(struct gguf *gguf, struct gguf_cursor *cursor, uint64_t count, ll_error *error);
/* Reads `count` tensor descriptions, then finds and checks their bytes. */
ll_status gguf_read_tensors(struct gguf *gguf, struct gguf_cursor *cursor, uint64_t count, ll_error *error);

#endif
