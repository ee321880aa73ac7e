/* The tokenizer of a Hugging Face folder as the keys of a GGUF file.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_HF_TOKENIZER_H
#define FORMATS_HF_TOKENIZER_H

#include <jansson.h>

#include "base/strbuf.h"
#include "formats/gguf_write.h"
#include "formats/hf_config.h"

/* Of the `count` tokens that the embedding has rows for: tokenizer.json, or tokenizer.model where there is
 * none or it is of a kind that only the other tells; tokenizer_config.json and chat_template.jinja for
 * special tokens and the template. LL_UNSUPPORTED names what cannot be told in GGUF's terms. */
ll_status hf_tokenizer_write(const char *folder, const struct hf_config *config, uint64_t count,
                             struct gguf_writer *writer, ll_error *error);

/* ---- inside ---- */

enum { HF_NORMAL = 1, HF_UNKNOWN, HF_CONTROL, HF_USER, HF_UNUSED, HF_BYTE }; /* as GGUF counts kinds */

/* What is collected; texts are borrowed from the JSON and from `made`. */
struct hf_vocabulary {
    size_t count;
    struct gguf_text *texts; /* [count] text NULL: no such token */
    int32_t *kinds;          /* [count] */
    float *scores;           /* [count] of SentencePiece */
    char (*made)[32];        /* names of holes */
    bool marks;              /* SentencePiece; else byte-level BPE */
    bool unigram;            /* marks: its unigram model; else its BPE */
    struct gguf_text table;  /* unigram: how characters are changed first, as GGUF files have it */
    struct strbuf decoded;   /* the table's bytes where the source spells them otherwise */
    const char *pre;         /* name of the pre-tokenizer */
    int64_t bos, eos, unknown, pad;
    int adds_bos, adds_eos, adds_space; /* -1: not said */
    bool trims_spaces;
};

ll_status hf_vocabulary_new(uint64_t count, struct hf_vocabulary *ret, ll_error *error);
void hf_vocabulary_fini(struct hf_vocabulary *vocabulary);
/* LL_FORMAT: a number twice. Beyond the last row: left out. */
ll_status hf_vocabulary_put(struct hf_vocabulary *vocabulary, int64_t id, struct gguf_text text, int kind,
                            ll_error *error);
int64_t hf_vocabulary_find(const struct hf_vocabulary *vocabulary, const char *text); /* -1: none */

/* The model, merges and rules of a tokenizer.json; the vocabulary borrows from it. */
ll_status hf_tokenizer_read_json(const json_t *root, struct hf_vocabulary *vocabulary,
                                 struct gguf_writer *writer, ll_error *error);
/* The same of one whose model is of the type Unigram: its pieces, and the steps before them. */
ll_status hf_unigram_read_json(const json_t *root, struct hf_vocabulary *vocabulary, ll_error *error);
/* The name under which GGUF files ask for these rules; NULL: they have none. */
const char *hf_pretokenizer_name(const json_t *root);
/* A SentencePiece model's bytes, which the vocabulary borrows. */
ll_status sentencepiece_read(const void *bytes, size_t size, struct hf_vocabulary *vocabulary,
                             ll_error *error);

#endif
