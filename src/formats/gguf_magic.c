/* Recognises a GGUF file by its first bytes, and names what people have instead of one.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "formats/gguf_parts.h"

#define FETCH_AGAIN "fetch the model file itself"
#define CONVERT "convert it to GGUF first"

static const struct {
    const char *prefix;
    size_t length;
    const char *what, *advice;
} kinds[] = {
#define KIND(prefix, what, advice)                                                                           \
    {                                                                                                        \
        prefix, sizeof prefix - 1, what, advice                                                              \
    }
    KIND("version https://git-lfs.github.com/spec", "a Git LFS pointer, not the file it points to",
         "run `git lfs pull` where it came from, or " FETCH_AGAIN),
    KIND("<!DOCTYPE", "a web page", FETCH_AGAIN ", not the page that shows it"),
    KIND("<!doctype", "a web page", FETCH_AGAIN ", not the page that shows it"),
    KIND("<html", "a web page", FETCH_AGAIN ", not the page that shows it"),
    KIND("<HTML", "a web page", FETCH_AGAIN ", not the page that shows it"),
    KIND("<?xml", "an XML answer of a web server, probably an error", FETCH_AGAIN),
    KIND("PK\003\004", "a zip archive or a PyTorch checkpoint",
         "unpack it if it holds a .gguf file, or convert the checkpoint to GGUF"),
    KIND("\200\002", "a Python pickle (an old PyTorch checkpoint)", CONVERT),
    KIND("\037\213", "gzip-compressed", "unpack it with gunzip"),
    KIND("\3757zXZ", "xz-compressed", "unpack it with unxz"),
    KIND("(\265/\375", "zstd-compressed", "unpack it with unzstd"),
    KIND("7z\274\257\047\034", "a 7-Zip archive", "unpack it"),
    KIND("lmgg", "a model in the old GGML format (2023)", "get or make a GGUF of it"),
    KIND("fmgg", "a model in the old GGMF format (2023)", "get or make a GGUF of it"),
    KIND("tjgg", "a model in the old GGJT format (2023)", "get or make a GGUF of it"),
    KIND("algg", "a LoRA adapter in the old GGLA format", "name a whole model in GGUF"),
    KIND("\211HDF", "an HDF5 file (Keras weights)", CONVERT),
    KIND("%PDF", "a PDF document", "name the model file, and the document where a document belongs"),
    KIND("\177ELF", "a program or shared library", "name the model file"),
    KIND("{", "JSON text", "name the .gguf file, not the configuration beside it"),
#undef KIND
};

static bool is_safetensors(const unsigned char *bytes, size_t size)
{
    uint64_t header;
    if (size < 10)
        return false;
    memcpy(&header, bytes, sizeof header);
    return header >= 2 && header <= size - 8 && bytes[8] == '{';
}

static bool all_zero(const unsigned char *bytes, size_t size)
{
    size_t look = size < 4096 ? size : 4096;
    for (size_t i = 0; i < look; i++)
        if (bytes[i])
            return false;
    return true;
}

static ll_status refuse(ll_error *error, const char *what, const char *advice)
{
    return error_set_at(error, LL_FORMAT, "gguf", 0, "this is no GGUF model but %s; %s", what, advice);
}

static ll_status name_the_stranger(const unsigned char *bytes, size_t size, ll_error *error)
{
    if (is_safetensors(bytes, size))
        return refuse(error, "a safetensors file", CONVERT);
    if (all_zero(bytes, size))
        return refuse(error, "a file that begins with zeros, as an unfinished download leaves it",
                      FETCH_AGAIN " again");
    size_t start = 0;
    while (start < size && start < 64 && memchr(" \t\r\n", bytes[start], 4))
        start++;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (size - start >= kinds[i].length && memcmp(bytes + start, kinds[i].prefix, kinds[i].length) == 0)
            return refuse(error, kinds[i].what, kinds[i].advice);
    size_t look = size < 512 ? size : utf8_whole((const char *)bytes, 512);
    if (utf8_valid((const char *)bytes, look) && !memchr(bytes, 0, look))
        return refuse(error, "plain text", "name a .gguf file");
    return refuse(error, "a file of an unknown kind (it does not begin with \"GGUF\")", "name a .gguf file");
}

ll_status gguf_check_magic(const unsigned char *bytes, size_t size, ll_error *error)
{
    if (size >= 4 && memcmp(bytes, "GGUF", 4) == 0)
        return LL_OK;
    if (size >= 4 && memcmp(bytes, "FUGG", 4) == 0)
        return error_set_at(error, LL_UNSUPPORTED, "gguf", 0,
                            "this is a big-endian GGUF file; get or convert to the little-endian form");
    return name_the_stranger(bytes, size, error);
}
