/* Reads GGUF v2 and v3 files: metadata and a directory of tensors, all checked before use.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A model file is hostile until checked. gguf_open validates every count, length, offset, dimension
 * and product against the mapped size before anything is allocated from it; after it returns LL_OK
 * every pointer handed out lies inside the mapping and every tensor's bytes are really there.
 * Strings point into the mapping and are not NUL-terminated. Immutable after open: any thread. */
#ifndef FORMATS_GGUF_H
#define FORMATS_GGUF_H

#include "base/strbuf.h"
#include "longleaf.h"
#include "tensor/dtype.h"

struct gguf;

enum gguf_type { /* the file's numbering */
    GGUF_U8, GGUF_I8, GGUF_U16, GGUF_I16, GGUF_U32, GGUF_I32, GGUF_F32, GGUF_BOOL,
    GGUF_STRING, GGUF_ARRAY, GGUF_U64, GGUF_I64, GGUF_F64
};

struct gguf_text {
    const char *text; /* not NUL-terminated */
    size_t length;
};

struct gguf_value {
    struct gguf_text key;
    enum gguf_type type;
    enum gguf_type element; /* arrays only */
    uint64_t count;         /* arrays: elements; else 1 */
    const unsigned char *data; /* text: its 8-byte length prefix; arrays of text: the first prefix */
};

struct gguf_tensor {
    const char *name;   /* NUL-terminated copy */
    enum dtype dtype;   /* valid when known */
    bool known;         /* false: a type this build cannot read; type_number says which */
    uint32_t type_number;
    int dims;           /* 1 … 4 */
    uint64_t shape[4];  /* fastest first; missing ones are 1 */
    uint64_t bytes;     /* 0 when not known */
    const void *data;
};

/* LL_FORMAT names the key or tensor and the byte offset; error->where is the end of the path. Two
 * tensors may share exactly the same bytes (tied weights); any other overlap is refused. */
ll_status gguf_open(const char *path, struct gguf **ret, ll_error *error);
/* The same over bytes the caller keeps alive and unchanged; for tests and fuzzing. */
ll_status gguf_open_memory(const void *bytes, size_t size, struct gguf **ret, ll_error *error);
/* Where the bytes of tensors come from that lie in no file as GGUF has them. */
struct gguf_source {
    void *owner;
    uint64_t bytes; /* of the files that stand behind it */
    /* The bytes of a tensor, by its place in the directory; they stay until drop. Any order. */
    ll_status (*hold)(void *owner, size_t tensor, const void **ret, ll_error *error);
    void (*drop)(void *owner, size_t tensor);
    bool (*made)(void *owner, size_t tensor); /* held in memory of its own, not where a file is mapped */
    ll_status (*check)(void *owner, ll_error *error);
    uint64_t (*forget)(void *owner), (*cached)(void *owner);
    void (*close)(void *owner);
};
/* head: all of a GGUF file before its tensors' data, taken over, as is the source, also on failure. */
ll_status gguf_open_source(struct strbuf *head, const struct gguf_source *source, struct gguf **ret,
                           ll_error *error);
/* Whether tensors have data only between gguf_hold and gguf_drop; both do nothing for a file. */
bool gguf_has_source(const struct gguf *gguf);
ll_status gguf_hold(struct gguf *gguf, size_t tensor, ll_error *error);
void gguf_drop(struct gguf *gguf, size_t tensor);
bool gguf_made(const struct gguf *gguf, size_t tensor); /* whether its data is memory of its own */
void gguf_close(struct gguf *gguf);
uint32_t gguf_version(const struct gguf *gguf);
uint64_t gguf_file_bytes(const struct gguf *gguf);
const void *gguf_bytes(const struct gguf *gguf); /* the whole file, as it is mapped */
/* As file_map_check and file_map_forget; nothing to say for gguf_open_memory. [any thread] */
ll_status gguf_check(const struct gguf *gguf, ll_error *error);
uint64_t gguf_forget(const struct gguf *gguf);
uint64_t gguf_cached(const struct gguf *gguf); /* as machine_cached, of all files behind it */

/* Puts "key=type:value" (u32, i32, f32, bool, str) in place of what the file says, for gguf_find and the
 * typed look-ups; before the file is used by others. LL_ARGUMENT: not of that form. */
ll_status gguf_override(struct gguf *gguf, const char *text, ll_error *error);
size_t gguf_override_count(const struct gguf *gguf);
const struct gguf_value *gguf_override_at(const struct gguf *gguf, size_t index); /* a key's last holds */
size_t gguf_value_count(const struct gguf *gguf);
const struct gguf_value *gguf_value_at(const struct gguf *gguf, size_t index);
const struct gguf_value *gguf_find(const struct gguf *gguf, const char *key); /* NULL: absent */
size_t gguf_tensor_count(const struct gguf *gguf);
const struct gguf_tensor *gguf_tensor_at(const struct gguf *gguf, size_t index);
const struct gguf_tensor *gguf_tensor_find(const struct gguf *gguf, const char *name); /* hashed */
size_t gguf_tensor_index(const struct gguf *gguf, const char *name); /* gguf_tensor_at; SIZE_MAX: absent */

/* Typed look-ups. Absent: *ret = fallback and LL_OK. Present with a type that cannot hold the
 * meaning (a string for a count, a negative number for a size): LL_FORMAT naming the key. Any
 * integer type is taken for an integer; integers are taken for floats. */
ll_status gguf_get_uint(const struct gguf *gguf, const char *key, uint64_t fallback, uint64_t *ret,
                        ll_error *error);
ll_status gguf_get_float(const struct gguf *gguf, const char *key, double fallback, double *ret,
                         ll_error *error);
ll_status gguf_get_bool(const struct gguf *gguf, const char *key, bool fallback, bool *ret,
                        ll_error *error);
/* Absent: text NULL. */
ll_status gguf_get_text(const struct gguf *gguf, const char *key, struct gguf_text *ret, ll_error *error);
/* An array of `element` kind (any integer counts as integer); absent: *ret NULL. */
ll_status gguf_get_array(const struct gguf *gguf, const char *key, enum gguf_type element,
                         const struct gguf_value **ret, ll_error *error);

/* Elements of arrays, index < count (unchecked); a single number counts as an array of one.
 * Strings: cached positions, O(1). */
struct gguf_text gguf_array_text(const struct gguf *gguf, const struct gguf_value *value, uint64_t index);
double gguf_array_float(const struct gguf_value *value, uint64_t index);
int64_t gguf_array_int(const struct gguf_value *value, uint64_t index);
struct gguf_text gguf_value_text(const struct gguf_value *value); /* type GGUF_STRING only */
/* Past the last of its bytes. */
const unsigned char *gguf_value_end(const struct gguf *gguf, const struct gguf_value *value);
bool gguf_text_equals(struct gguf_text text, const char *other);

#endif
