/* Text to token ids and back, by the rules the model file names.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Three kinds behind one face: byte-level BPE ("gpt2" in GGUF, with a named pre-tokenizer) and
 * SentencePiece's two, merges ("llama") and the unigram model ("t5"), both with scores and byte fallback.
 * O(n log n) on any input. Immutable: any thread.
 *
 * The pieces of the ids are the text again, byte for byte, with these exceptions:
 *   - a byte that no token spells is U+FFFD or the unknown token (small vocabularies only);
 *   - rules that compose text first (qwen2, mpt, olmo, command-r) give its NFC form;
 *   - SentencePiece adds the leading space it was asked for, and takes U+2581 for a space; a file may
 *     ask for runs of spaces as one, and "t5" for characters changed by a table (NFKC);
 *   - control tokens print nothing. */
#ifndef TEXT_TOKENIZER_H
#define TEXT_TOKENIZER_H

#include "formats/gguf.h"
#include "text/token_list.h"

struct tokenizer;

enum {
    TOKENIZE_SPECIAL = 1, /* control tokens spelt in the text become control tokens */
    TOKENIZE_START = 2,   /* add BOS (and a leading space) by the model's rule */
    TOKENIZE_SPACE = 4,   /* add only the leading space: text behind a control token */
};

enum token_kind { TOKEN_NORMAL = 1, TOKEN_UNKNOWN, TOKEN_CONTROL, TOKEN_USER, TOKEN_UNUSED, TOKEN_BYTE };

/* LL_UNSUPPORTED names an unknown tokenizer or pre-tokenizer; LL_FORMAT a damaged vocabulary.
 * Keeps pointers into gguf, which must outlive it. */
ll_status tokenizer_open(const struct gguf *gguf, struct tokenizer **ret, ll_error *error);
void tokenizer_close(struct tokenizer *tokenizer);
const char *tokenizer_name(const struct tokenizer *tokenizer); /* "bpe smollm", "spm", "unigram" */
/* Something a person should know about how this file was read, or NULL. */
const char *tokenizer_note(const struct tokenizer *tokenizer);
size_t tokenizer_size(const struct tokenizer *tokenizer);

/* Appends the ids of text (any bytes, below 512 MiB) to out. Every byte is covered: bytes no token
 * spells become byte tokens or the unknown token. User-defined tokens are found in any text, control
 * tokens only when asked for. A BOS spelt at the head is not doubled.
 * On failure out is as it was. */
ll_status tokenizer_encode(const struct tokenizer *tokenizer, const char *text, size_t length, unsigned flags,
                           struct token_list *out, ll_error *error);
/* The bytes a token prints, unescaped (SPM's U+2581 is a space, BPE's byte letters are bytes);
 * "" for control tokens. Borrowed. *ret_length may be 0. NULL when id is out of range. */
const char *tokenizer_piece(const struct tokenizer *tokenizer, ll_token id, size_t *ret_length);
/* As the vocabulary spells it ("<|im_end|>", "Ġthe"), for people. */
const char *tokenizer_spelling(const struct tokenizer *tokenizer, ll_token id, size_t *ret_length);
enum token_kind tokenizer_kind(const struct tokenizer *tokenizer, ll_token id);
ll_token tokenizer_bos(const struct tokenizer *tokenizer); /* -1: none */
ll_token tokenizer_eos(const struct tokenizer *tokenizer); /* -1: none */
bool tokenizer_adds_bos(const struct tokenizer *tokenizer);
bool tokenizer_is_end(const struct tokenizer *tokenizer, ll_token id); /* eos, eot, eom … */
/* The next control token spelt in text[from … end), -1: none. *ret_at: where; *ret_length: its bytes. */
ll_token tokenizer_next_control(const struct tokenizer *tokenizer, const char *text, size_t end, size_t from,
                                size_t *ret_at, size_t *ret_length);
/* Exact spelling to id, -1 when there is none. */
ll_token tokenizer_find(const struct tokenizer *tokenizer, const char *spelling, size_t length);

#endif
