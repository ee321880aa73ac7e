/* Merges neighbouring symbols, best rank first, leftmost of equals: the core of BPE and SentencePiece.
 * SPDX-License-Identifier: Apache-2.0
 *
 * O(n log n): symbols form a linked list, candidate pairs a heap; entries that later merges made
 * stale are known by their rank and skipped. */
#ifndef TEXT_MERGE_H
#define TEXT_MERGE_H

#include "longleaf.h"

#define MERGE_NONE UINT32_MAX

struct symbol {
    uint32_t start, length; /* bytes of the text; length 0: merged into its left neighbour */
    int32_t previous, next; /* -1: none */
    ll_token id;            /* -1: no token */
    uint32_t rank;          /* of the pair with the next symbol; MERGE_NONE: no such merge */
    ll_token merged;        /* what that pair becomes */
};

struct merge_work { /* zero-initialised storage is ready; reused from call to call */
    struct symbol *symbols;
    size_t count, capacity;
    uint64_t *heap; /* rank << 32 | index of the left symbol */
    size_t heap_count, heap_capacity;
};

/* Rank and result of merging two neighbours; MERGE_NONE when they do not merge. */
typedef uint32_t (*merge_fn)(const void *user, const struct symbol *left, const struct symbol *right,
                             ll_token *merged);

void merge_work_fini(struct merge_work *work);
/* Empties the list. */
void merge_begin(struct merge_work *work);
bool merge_add(struct merge_work *work, uint32_t start, uint32_t length, ll_token id); /* false: no memory */
/* Afterwards the list from symbol 0 along `next` is the result. false: no memory. */
bool merge_run(struct merge_work *work, merge_fn pair, const void *user);

#endif
