/* A trie over the pieces that text may become: all of them that begin at a place, in one walk.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TEXT_PIECE_TRIE_H
#define TEXT_PIECE_TRIE_H

#include "text/vocab.h"

/* Longer pieces are left out: a walk from every byte of a text has an end. */
#define PIECE_LONGEST 512u
#define PIECE_NONE UINT32_MAX

struct piece_node {
    uint32_t children; /* the first; the last is before the first child of the next node */
    ll_token id;       /* the piece that ends here, -1: none; of pieces spelt alike the first */
};

struct piece_trie {           /* immutable: any thread */
    struct piece_node *nodes; /* [count + 1] level by level; 0 is the root */
    unsigned char *labels;    /* [count] the byte that leads to the node */
    size_t count, capacity, label_capacity;
    uint32_t first[256]; /* children of the root */
};

/* Of normal and user-defined tokens; not of unused, control, unknown or byte tokens. */
ll_status piece_trie_open(const struct vocab *vocab, struct piece_trie *ret, ll_error *error);
void piece_trie_fini(struct piece_trie *trie);

static inline uint32_t piece_trie_start(const struct piece_trie *trie, unsigned char byte)
{
    return trie->first[byte];
}

/* From a node over one byte; PIECE_NONE: no piece goes on like that. */
uint32_t piece_trie_step(const struct piece_trie *trie, uint32_t node, unsigned char byte);

#endif
