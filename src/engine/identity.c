/* What tells an open model from all others, and the embedding rows of its tokens.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine/identity.h"

#include <openssl/evp.h>
#include <string.h>

#include "backend/split.h"
#include "base/error.h"
#include "engine/engine.h"
#include "formats/gguf.h"
#include "model/adapter.h"
#include "tensor/dequant.h"

enum { SAMPLES = 8, SAMPLE_BYTES = 1024 }; /* of each tensor */

static bool add(EVP_MD_CTX *digest, const void *bytes, size_t length)
{
    return EVP_DigestUpdate(digest, bytes, length) == 1;
}

static bool add_text(EVP_MD_CTX *digest, const char *text)
{
    return add(digest, text, strlen(text) + 1);
}

/* A tuned copy differs in every matrix, so a few places of each are enough. */
static bool add_tensor(EVP_MD_CTX *digest, const struct gguf_tensor *tensor)
{
    bool good = add_text(digest, tensor->name) &&
                add(digest, &tensor->type_number, sizeof tensor->type_number) &&
                add(digest, tensor->shape, sizeof tensor->shape);
    const unsigned char *data = tensor->data;
    uint64_t step = tensor->bytes / SAMPLES;
    if (!data) /* of a folder opened for its metadata */
        return good;
    if (tensor->bytes <= (uint64_t)SAMPLES * SAMPLE_BYTES)
        return good && add(digest, data, (size_t)tensor->bytes);
    for (uint64_t i = 0; good && i < SAMPLES; i++)
        good = add(digest, data + i * step, SAMPLE_BYTES);
    return good && add(digest, data + tensor->bytes - SAMPLE_BYTES, SAMPLE_BYTES);
}

static bool add_value(EVP_MD_CTX *digest, const struct gguf *gguf, const struct gguf_value *value)
{
    return add(digest, &value->key.length, sizeof value->key.length) &&
           add(digest, value->key.text, value->key.length) && add(digest, &value->type, sizeof value->type) &&
           add(digest, &value->element, sizeof value->element) &&
           add(digest, &value->count, sizeof value->count) &&
           add(digest, value->data, (size_t)(gguf_value_end(gguf, value) - value->data));
}

/* Keys with their raw values, then what was put in place of them. */
static bool add_file(EVP_MD_CTX *digest, const struct gguf *gguf)
{
    bool good = true;
    for (size_t i = 0; good && i < gguf_value_count(gguf); i++)
        good = add_value(digest, gguf, gguf_value_at(gguf, i));
    for (size_t i = 0; good && i < gguf_override_count(gguf); i++)
        good = add_value(digest, gguf, gguf_override_at(gguf, i));
    for (size_t i = 0; good && i < gguf_tensor_count(gguf); i++)
        good = add_tensor(digest, gguf_tensor_at(gguf, i));
    return good;
}

static bool add_files(EVP_MD_CTX *digest, const ll_model *model)
{
    const struct adapters *adapters = model_adapters(model);
    bool good = add_file(digest, model_gguf(model));
    for (size_t i = 0; good && i < adapters_count(adapters); i++) {
        float scale = adapters_scale(adapters, i);
        good = add_text(digest, "adapter") && add(digest, &scale, sizeof scale) &&
               add_file(digest, adapters_gguf(adapters, i));
    }
    return good;
}

/* The files, and where they are computed. */
static bool add_model(EVP_MD_CTX *digest, const ll_model *model)
{
    const unsigned char *kept = model_kept_files(model);
    bool good = kept ? add(digest, kept, IDENTITY_BYTES) : add_files(digest, model);
    ll_device_info device = {0};
    (void)ll_engine_get_device(model_engine(model), 0, &device);
    good = good && add_text(digest, device.backend);
    struct backend_split split = model_split(model);
    if (!split.host && split.device == engine_backend(model_engine(model)))
        return good;
    return good && add_text(digest, "split") && add(digest, &split.first, sizeof split.first);
}

typedef bool (*add_fn)(EVP_MD_CTX *digest, const ll_model *model);

static ll_status hash_model(const ll_model *model, add_fn part, unsigned char ret[IDENTITY_BYTES],
                            ll_error *error)
{
    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    bool good = digest && EVP_DigestInit_ex(digest, EVP_sha256(), NULL) == 1 && part(digest, model) &&
                EVP_DigestFinal_ex(digest, ret, NULL) == 1;
    EVP_MD_CTX_free(digest);
    return good ? LL_OK : error_set(error, LL_NOMEM, "model", "no memory to hash the model");
}

ll_status model_hash_files(const ll_model *model, unsigned char ret[IDENTITY_BYTES], ll_error *error)
{
    return hash_model(model, add_files, ret, error);
}

ll_status model_identity(const ll_model *model, unsigned char ret[IDENTITY_BYTES], ll_error *error)
{
    return hash_model(model, add_model, ret, error);
}

ll_status ll_model_get_identity(const ll_model *model, char ret[65], ll_error *error)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char identity[IDENTITY_BYTES];
    LL_TRY(model_identity(model, identity, error));
    for (int i = 0; i < IDENTITY_BYTES; i++) {
        ret[2 * i] = digits[identity[i] >> 4];
        ret[2 * i + 1] = digits[identity[i] & 15];
    }
    ret[64] = '\0';
    return LL_OK;
}

bool model_embedding(const ll_model *model, ll_token token, float *out)
{
    const struct gguf_tensor *tensor = gguf_tensor_find(model_gguf(model), "token_embd.weight");
    if (!tensor || !tensor->known || !tensor->data || token < 0 || (uint64_t)token >= tensor->shape[1])
        return false;
    uint64_t row = dtype_row_bytes(tensor->dtype, tensor->shape[0]);
    if (row == 0 || tensor->shape[0] != (uint64_t)model_hparams(model)->width)
        return false;
    dequantize_row(tensor->dtype, (const unsigned char *)tensor->data + row * (uint64_t)token, out,
                   (int64_t)tensor->shape[0]);
    return true;
}
