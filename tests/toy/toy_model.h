/* Writes small GGUF models with random weights, for tests: complete, valid, and made from a seed.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Keys and tensor names are those that llama.cpp's converters write. The same configuration gives
 * the same bytes on every machine. Vocabularies spell every byte and hold a few merges, so that any
 * text can be tokenised and comes back unchanged.
 *
 *     struct toy_model toy = toy_model_defaults("llama");
 *     toy.layers = 3;
 *     toy_model_write_file(&toy, "toy.gguf");
 */
#ifndef TESTS_TOY_MODEL_H
#define TESTS_TOY_MODEL_H

#include "base/strbuf.h"
#include "formats/gguf_write.h"

enum toy_vocabulary { TOY_BPE, TOY_SPM };
enum toy_chat { TOY_CHAT_NONE, TOY_CHAT_CHATML, TOY_CHAT_GEMMA, TOY_CHAT_STRANGE };

struct toy_model {
    const char *architecture; /* "llama", "gemma3", "bloom", "mpt" */
    int layers, width, heads, kv_heads, head_dim, feed_forward, context;
    enum dtype dtype;                /* of every matrix; widths must be multiples of its block */
    bool tied;                       /* no output.weight: the embedding serves */
    int sliding_window;              /* gemma3 */
    float rope_base;                 /* llama, gemma3 */
    float max_alibi_bias, clamp_kqv; /* mpt; a clamp of 0 is not written */
    enum toy_vocabulary vocabulary;
    const char *pre; /* BPE: name of the pre-tokenizer */
    int tokens;      /* at least this many, filled up with unused ones */
    enum toy_chat chat;
    uint64_t seed;
};

/* llama: BPE, ChatML; gemma3: SPM, Gemma's turns, tied; bloom and mpt: BPE, no chat template, tied.
 * Two layers, width 64, four heads of 16 (two kv heads where the architecture has groups). */
struct toy_model toy_model_defaults(const char *architecture);
/* Appends the file; false: no memory or a configuration that makes no model. */
bool toy_model_write(const struct toy_model *toy, struct strbuf *out);
bool toy_model_write_file(const struct toy_model *toy, const char *path);

/* ---- parts, for tests that make a file of their own ---- */

/* Adds the tokenizer.* keys and the chat template; returns the number of tokens, 0 without memory.
 * BPE ids: 0 <|endoftext|>, 1 <|im_start|> (BOS), 2 <|im_end|> (EOS), then the 256 bytes, then merges.
 * SPM ids: 0 <pad>, 1 <eos>, 2 <bos>, 3 <unk>, 4 <start_of_turn>, 5 <end_of_turn>, the 256 bytes, pieces. */
int toy_vocabulary_write(const struct toy_model *toy, struct gguf_writer *writer);

#endif
