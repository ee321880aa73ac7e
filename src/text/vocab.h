/* The vocabulary of a model file: spellings, printed bytes, kinds, special ids, all checked.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Immutable after vocab_open: any thread. Keeps pointers into the gguf. */
#ifndef TEXT_VOCAB_H
#define TEXT_VOCAB_H

#include "formats/gguf.h"
#include "text/tokenizer.h"

enum vocab_style {
    VOCAB_BYTE_LETTERS, /* byte-level BPE: "Ġthe" prints " the" */
    VOCAB_SPACE_MARK,   /* SentencePiece: U+2581 prints a space; "<0x0A>" is a byte */
};

#define VOCAB_ENDS_MAX 32

struct vocab_slot {
    uint64_t head; /* the first 7 bytes, and in the last one the length, 255 for 8 and more */
    uint32_t tag;  /* upper half of the spelling's hash */
    ll_token id;   /* -1: free */
};

struct vocab {
    const struct gguf *gguf;
    const struct gguf_value *tokens; /* [count] strings */
    size_t count;
    unsigned char *kinds;     /* [count] enum token_kind */
    char *pieces;             /* the printed bytes of all tokens, one after the other */
    uint32_t *piece_starts;   /* [count + 1] */
    struct vocab_slot *slots; /* spelling to id, open addressing */
    size_t slot_mask;
    size_t longest;             /* bytes of the longest spelling */
    ll_token bytes[256];        /* the token of each single byte, -1: none */
    ll_token bos, eos, unknown; /* -1: none */
    ll_token ends[VOCAB_ENDS_MAX];
    size_t end_count;
    ll_token lost[3]; /* stands for a byte that no token spells; see vocab_push_byte */
    size_t lost_count;
};

/* LL_FORMAT when an array is absent, has the wrong element type or length, or an id lies outside. */
ll_status vocab_open(const struct gguf *gguf, enum vocab_style style, struct vocab *ret, ll_error *error);
void vocab_fini(struct vocab *vocab);
struct gguf_text vocab_spelling(const struct vocab *vocab, ll_token id);
struct gguf_text vocab_piece(const struct vocab *vocab, ll_token id);
/* Exact spelling of a token of any kind, -1 when there is none. */
ll_token vocab_find(const struct vocab *vocab, const char *spelling, size_t length);
/* Starts to fetch the place where vocab_find will look. */
void vocab_prefetch(const struct vocab *vocab, const char *spelling, size_t length);
/* vocab_find for tokens that ordinary text may become: never control, unknown or byte tokens. */
ll_token vocab_find_text(const struct vocab *vocab, const char *spelling, size_t length);
bool vocab_is_text(const struct vocab *vocab, ll_token id);
bool vocab_is_end(const struct vocab *vocab, ll_token id);
/* The byte's own token; else the unknown token; where that is a control token (text must not become
 * one) or there is none, what spells U+FFFD; else nothing. false: no memory. */
bool vocab_push_byte(const struct vocab *vocab, unsigned char byte, struct token_list *out);
/* SentencePiece's rule for bytes that no piece spells: of neighbours without a token only the first becomes
 * unknown. *unknown: whether the last thing in out is such a one, before and after. */
bool vocab_push_bytes(const struct vocab *vocab, const char *bytes, size_t length, bool *unknown,
                      struct token_list *out);

#endif
