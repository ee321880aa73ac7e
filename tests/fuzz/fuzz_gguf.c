/* Fuzz harness of formats/gguf: any bytes are opened or refused, and what is handed out lies inside.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/gguf.h"
#include "fuzz/fuzz.h"
#include "model/adapter.h"

static void inside(const uint8_t *data, size_t size, const void *start, uint64_t length)
{
    const uint8_t *first = start;
    fuzz_require(first >= data && first <= data + size && length <= (size_t)(data + size - first));
}

static void walk_values(const struct gguf *gguf, const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < gguf_value_count(gguf); i++) {
        const struct gguf_value *value = gguf_value_at(gguf, i);
        inside(data, size, value->key.text, value->key.length);
        for (uint64_t k = 0; k < value->count; k++) {
            struct gguf_text text = {(const char *)value->data, 0};
            if (value->type == GGUF_ARRAY && value->element == GGUF_STRING)
                text = gguf_array_text(gguf, value, k);
            else if (value->type == GGUF_STRING)
                text = gguf_value_text(value);
            else
                (void)((uint64_t)gguf_array_int(value, k) + (gguf_array_float(value, k) > 0));
            inside(data, size, text.text, text.length);
        }
    }
}

static void walk_tensors(const struct gguf *gguf, const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < gguf_tensor_count(gguf); i++) {
        const struct gguf_tensor *tensor = gguf_tensor_at(gguf, i);
        fuzz_require(tensor->dims >= 1 && tensor->dims <= 4 && tensor->shape[0] > 0);
        fuzz_require(gguf_tensor_find(gguf, tensor->name) == tensor);
        inside(data, size, tensor->data, tensor->bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gguf *gguf = NULL;
    ll_error error = {0};
    ll_status status = gguf_open_memory(data, size, &gguf, &error);
    if (status != LL_OK) {
        fuzz_require(!gguf && error.text[0] && (status == LL_FORMAT || status == LL_UNSUPPORTED));
        return 0;
    }
    fuzz_require(gguf_file_bytes(gguf) == size);
    walk_values(gguf, data, size);
    walk_tensors(gguf, data, size);
    ll_adapter_info info;
    (void)adapter_describe(gguf, &info, &error);
    gguf_close(gguf);
    return 0;
}
