/* The table of GGUF value types: size, kind and a name for people.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/gguf_parts.h"

static const struct gguf_type_info types[] = {
    [GGUF_U8] = {"a whole number", KIND_INTEGER, 1},  [GGUF_I8] = {"a whole number", KIND_INTEGER, 1},
    [GGUF_U16] = {"a whole number", KIND_INTEGER, 2}, [GGUF_I16] = {"a whole number", KIND_INTEGER, 2},
    [GGUF_U32] = {"a whole number", KIND_INTEGER, 4}, [GGUF_I32] = {"a whole number", KIND_INTEGER, 4},
    [GGUF_F32] = {"a fraction", KIND_FLOAT, 4},       [GGUF_BOOL] = {"a truth value", KIND_BOOL, 1},
    [GGUF_STRING] = {"text", KIND_TEXT, 0},           [GGUF_ARRAY] = {"an array", KIND_ARRAY, 0},
    [GGUF_U64] = {"a whole number", KIND_INTEGER, 8}, [GGUF_I64] = {"a whole number", KIND_INTEGER, 8},
    [GGUF_F64] = {"a fraction", KIND_FLOAT, 8},
};

const struct gguf_type_info *gguf_type_info(enum gguf_type type)
{
    return &types[type];
}
