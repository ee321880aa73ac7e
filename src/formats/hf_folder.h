/* A Hugging Face folder as the GGUF file that it would become.
 * SPDX-License-Identifier: Apache-2.0
 *
 * config.json gives the metadata, tokenizer.json or tokenizer.model the vocabulary, the safetensors files the
 * weights. Tensors that need no other layout are used where their files are mapped; the others are made
 * when they are held, one at a time, so that converting never has more than one of them in memory. */
#ifndef FORMATS_HF_FOLDER_H
#define FORMATS_HF_FOLDER_H

#include "formats/gguf.h"

/* Reads no weights. LL_UNSUPPORTED names what this build does not run; a tensor that no place is known for
 * is an error, too: running without it would be wrong. */
ll_status hf_folder_open(const char *path, struct gguf **ret, ll_error *error);
/* Whether path is a folder with a config.json in it. */
bool hf_folder_is(const char *path);
/* A GGUF file or such a folder. */
ll_status model_file_open(const char *path, struct gguf **ret, ll_error *error);

#endif
