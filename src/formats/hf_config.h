/* A Hugging Face config.json as the GGUF metadata that it would become.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Only sizes and settings are read: no weights, no tokenizer. The file is hostile until checked, as a GGUF
 * is: numbers that are missing, of the wrong kind or out of range are errors that name the key. */
#ifndef FORMATS_HF_CONFIG_H
#define FORMATS_HF_CONFIG_H

#include "base/strbuf.h"
#include "formats/gguf.h"

struct hf_config {
    struct gguf *gguf;   /* metadata only: general.architecture and the keys of the architecture */
    struct strbuf bytes; /* what gguf reads */
    uint64_t vocabulary;
    enum dtype dtype; /* that the weights are stored in, as the file says; F32 when it does not */
    bool tied;        /* no output matrix of its own */
    bool attention_bias, other_bias; /* vectors beside the matrices */
};

/* path: a config.json, or the folder that holds one. LL_UNSUPPORTED names a model_type that this build
 * does not run, or one whose weights are quantised in a way of their own. */
ll_status hf_config_open(const char *path, struct hf_config *ret, ll_error *error);
void hf_config_close(struct hf_config *config);

#endif
