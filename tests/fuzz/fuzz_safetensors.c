/* Fuzz harness of formats/safetensors: any bytes are opened or refused, and what is handed out lies inside.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/safetensors.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct safetensors *weights = NULL;
    ll_error error = {0};
    ll_status status = safetensors_open_memory(data, size, &weights, &error);
    if (status != LL_OK) {
        fuzz_require(!weights && error.text[0] && status == LL_FORMAT);
        return 0;
    }
    fuzz_require(safetensors_count(weights) > 0);
    for (size_t i = 0; i < safetensors_count(weights); i++) {
        const struct safetensor *tensor = safetensors_at(weights, i);
        fuzz_require(safetensors_find(weights, tensor->name) == tensor);
        fuzz_require(tensor->data >= data && tensor->bytes <= (size_t)(data + size - tensor->data));
        fuzz_require(tensor->dims >= 1 && tensor->dims <= 4 && tensor->shape[0] > 0);
    }
    safetensors_close(weights);
    return 0;
}
