/* A Hugging Face folder as the GGUF file that it would become.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/hf_folder.h"

#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "formats/hf_layout.h"
#include "formats/hf_tokenizer.h"

struct hf_folder {
    struct hf_config config;
    struct safetensors *weights;
    struct hf_layout layout;
};

static void folder_close(void *owner)
{
    struct hf_folder *folder = owner;
    hf_layout_fini(&folder->layout);
    safetensors_close(folder->weights);
    hf_config_close(&folder->config);
    mem_free(folder);
}

static ll_status folder_hold(void *owner, size_t tensor, const void **ret, ll_error *error)
{
    struct hf_folder *folder = owner;
    return hf_layout_make(&folder->layout.tensors[tensor], ret, error);
}

static void folder_drop(void *owner, size_t tensor)
{
    struct hf_folder *folder = owner;
    mem_free(folder->layout.tensors[tensor].made);
    folder->layout.tensors[tensor].made = NULL;
}

static bool folder_made(void *owner, size_t tensor)
{
    const struct hf_folder *folder = owner;
    return folder->layout.tensors[tensor].made != NULL;
}

static ll_status folder_check(void *owner, ll_error *error)
{
    return safetensors_check(((const struct hf_folder *)owner)->weights, error);
}

static uint64_t folder_forget(void *owner)
{
    return safetensors_forget(((const struct hf_folder *)owner)->weights);
}

static uint64_t folder_cached(void *owner)
{
    return safetensors_cached(((const struct hf_folder *)owner)->weights);
}

/* The folder's own name is the model's. */
static void write_name(const char *path, struct gguf_writer *writer)
{
    char name[128];
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    size_t start = length;
    while (start > 0 && path[start - 1] != '/')
        start--;
    utf8_printable(path + start, length - start, name, sizeof name);
    gguf_writer_text(writer, "general.name", name);
}

static uint64_t embedding_rows(const struct hf_layout *layout)
{
    for (size_t i = 0; i < layout->count; i++)
        if (strcmp(layout->tensors[i].name, "token_embd.weight") == 0)
            return layout->tensors[i].shape[1];
    return 0;
}

static ll_status read_folder(struct hf_folder *folder, const char *path, struct gguf_writer *writer,
                             ll_error *error)
{
    LL_TRY(hf_config_read(path, writer, &folder->config, error));
    write_name(path, writer);
    LL_TRY(safetensors_open(path, &folder->weights, error));
    LL_TRY(hf_layout_plan(&folder->config, folder->weights, &folder->layout, error));
    uint64_t tokens = embedding_rows(&folder->layout);
    if (tokens == 0)
        return error_set(error, LL_FORMAT, "convert", "the weights hold no embedding of tokens");
    LL_TRY(hf_tokenizer_write(path, &folder->config, tokens, writer, error));
    for (size_t i = 0; i < folder->layout.count; i++) {
        const struct hf_tensor *tensor = &folder->layout.tensors[i];
        gguf_writer_tensor(writer, tensor->name, tensor->dtype, tensor->dims, tensor->shape, NULL);
    }
    return LL_OK;
}

ll_status hf_folder_open(const char *path, struct gguf **ret, ll_error *error)
{
    struct strbuf head = {0};
    struct hf_folder *folder = mem_new(1, sizeof *folder);
    struct gguf_writer *writer = gguf_writer_new();
    ll_status status = folder && writer ? read_folder(folder, path, writer, error)
                                        : error_nomem(error, "convert", sizeof *folder);
    if (status == LL_OK)
        gguf_writer_head(writer, &head);
    if (status == LL_OK && head.failed)
        status = error_nomem(error, "convert", head.length);
    gguf_writer_free(writer);
    if (status != LL_OK) {
        strbuf_fini(&head);
        if (folder)
            folder_close(folder);
        return status;
    }
    struct gguf_source source = {.owner = folder,
                                 .bytes = safetensors_file_bytes(folder->weights),
                                 .hold = folder_hold,
                                 .drop = folder_drop,
                                 .made = folder_made,
                                 .check = folder_check,
                                 .forget = folder_forget,
                                 .cached = folder_cached,
                                 .close = folder_close};
    return gguf_open_source(&head, &source, ret, error);
}

bool hf_folder_is(const char *path)
{
    struct strbuf name = {0};
    struct stat info;
    strbuf_printf(&name, "%s/config.json", path);
    bool found = !name.failed && stat(name.text, &info) == 0;
    strbuf_fini(&name);
    return found;
}

ll_status model_file_open(const char *path, struct gguf **ret, ll_error *error)
{
    return hf_folder_is(path) ? hf_folder_open(path, ret, error) : gguf_open(path, ret, error);
}
