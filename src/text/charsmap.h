/* The table by which a SentencePiece model changes characters before it cuts (NFKC and its like).
 * SPDX-License-Identifier: Apache-2.0
 *
 * As files carry it: a 4-byte count of bytes, so many bytes of a double array (a trie in units of 32 bits),
 * then texts that end in NUL, which the leaves point to. Not trusted: every step is held inside. */
#ifndef TEXT_CHARSMAP_H
#define TEXT_CHARSMAP_H

#include "formats/gguf.h"

struct charsmap { /* immutable: any thread; all zero: changes nothing */
    const unsigned char *units;
    size_t unit_count;
    const char *texts;
    size_t text_bytes;
};

/* Borrows the bytes. LL_FORMAT: they are no such table. */
ll_status charsmap_open(const unsigned char *bytes, size_t size, struct charsmap *ret, ll_error *error);
/* What stands for the head of text (length ≥ 1): by the longest rule that fits, else its first character as
 * it is. *ret_step: how many bytes that head has. */
struct gguf_text charsmap_next(const struct charsmap *map, const char *text, size_t length, size_t *ret_step);

#endif
