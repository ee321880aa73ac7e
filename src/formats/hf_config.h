/* A Hugging Face config.json as the GGUF metadata that it would become.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Only sizes and settings are read: no weights, no tokenizer. The file is hostile until checked, as a GGUF
 * is: numbers that are missing, of the wrong kind or out of range are errors that name the key. */
#ifndef FORMATS_HF_CONFIG_H
#define FORMATS_HF_CONFIG_H

#include "base/strbuf.h"
#include "formats/gguf.h"
#include "formats/gguf_write.h"

/* Numbers that a file keeps in a tensor; values NULL: it has none. */
struct hf_divisors {
    float *values;
    uint64_t count;
};

/* What the weights must know of the shape to be laid out anew. */
struct hf_shape {
    uint64_t layers, width, heads, kv_heads, head_dim, ffn, experts;
    uint64_t rotary_dim;
};

/* Vectors that some models of a family have beside the matrices, and some have not. */
struct hf_vectors {
    bool qkv_bias, output_bias; /* of attention */
    bool ffn_bias, norm_bias;
    bool qk_norms; /* of whole rows, where the family does not always have them */
    bool one_norm; /* attention and feed-forward read the same one */
};

struct hf_family;

struct hf_config {
    struct gguf *gguf;   /* metadata only: general.architecture and the keys of the architecture */
    struct strbuf bytes; /* what gguf reads */
    uint64_t vocabulary;
    enum dtype dtype; /* that the weights are stored in, as the file says; F32 when it does not */
    bool tied;        /* no output matrix of its own */
    struct hf_vectors vectors;

    const struct hf_family *family;
    struct hf_shape shape;
    double embedding_scale, output_scale; /* on the embedding, and on the logits; 1 */
    bool unit_output;                     /* rows of the output matrix are brought to length 1 */
    bool grouped_qkv;                     /* falcon: queries, key and value of each group side by side */
    struct hf_divisors freqs, factors_short, factors_long; /* rope_freqs, rope_factors_short, …_long */
    int64_t bos, eos;                                      /* token ids; -1: not said */
};

/* path: a config.json, or the folder that holds one. LL_UNSUPPORTED names a model_type that this build
 * does not run, or one whose weights are quantised in a way of their own. */
ll_status hf_config_open(const char *path, struct hf_config *ret, ll_error *error);
/* The same into a file that is being written: ret->gguf stays NULL. */
ll_status hf_config_read(const char *path, struct gguf_writer *writer, struct hf_config *ret,
                         ll_error *error);
/* From the bytes of a config.json; for fuzzing. */
ll_status hf_config_parse(const char *text, size_t length, struct hf_config *ret, ll_error *error);
void hf_config_close(struct hf_config *config);

#endif
