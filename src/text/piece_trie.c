/* A trie over the pieces that text may become: all of them that begin at a place, in one walk.
 * SPDX-License-Identifier: Apache-2.0 */
#include "text/piece_trie.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

static const char where[] = "tokenizer";

struct piece {
    const char *text;
    size_t length;
    ll_token id;
};

struct range { /* pieces that go through a node */
    size_t low, high;
};

static int by_bytes(const void *a, const void *b)
{
    const struct piece *left = a, *right = b;
    int order = mem_compare(left->text, left->length, right->text, right->length);
    return order ? order : (left->id > right->id) - (left->id < right->id);
}

static size_t list_pieces(const struct vocab *vocab, struct piece *pieces)
{
    size_t count = 0;
    for (size_t i = 0; i < vocab->count; i++) {
        struct gguf_text text = vocab_spelling(vocab, (ll_token)i);
        bool wanted = vocab_is_text(vocab, (ll_token)i) && vocab->kinds[i] != TOKEN_UNUSED;
        if (wanted && text.length > 0 && text.length <= PIECE_LONGEST)
            pieces[count++] = (struct piece){text.text, text.length, (ll_token)i};
    }
    if (count)
        qsort(pieces, count, sizeof *pieces, by_bytes);
    return count;
}

struct builder {
    struct piece_trie *trie;
    const struct piece *pieces;
    struct range *ranges; /* [nodes] */
    size_t range_capacity;
};

static bool add_node(struct builder *builder, unsigned char label, struct range range)
{
    struct piece_trie *trie = builder->trie;
    size_t need = trie->count + 2; /* with room for the one behind the last */
    if (!mem_grow((void **)&trie->nodes, &trie->capacity, need, sizeof *trie->nodes) ||
        !mem_grow((void **)&trie->labels, &trie->label_capacity, need, sizeof *trie->labels) ||
        !mem_grow((void **)&builder->ranges, &builder->range_capacity, need, sizeof *builder->ranges))
        return false;
    trie->nodes[trie->count] = (struct piece_node){0, -1};
    trie->labels[trie->count] = label;
    builder->ranges[trie->count++] = range;
    return true;
}

/* Pieces of a node agree in `depth` bytes; the ones that end there come first. */
static bool add_children(struct builder *builder, size_t node, size_t depth)
{
    struct piece_trie *trie = builder->trie;
    const struct piece *pieces = builder->pieces;
    struct range range = builder->ranges[node];
    trie->nodes[node].children = (uint32_t)trie->count;
    for (; range.low < range.high && pieces[range.low].length == depth; range.low++)
        if (trie->nodes[node].id < 0)
            trie->nodes[node].id = pieces[range.low].id;
    while (range.low < range.high) {
        size_t end = range.low;
        unsigned char byte = (unsigned char)pieces[end].text[depth];
        while (end < range.high && (unsigned char)pieces[end].text[depth] == byte)
            end++;
        if (!add_node(builder, byte, (struct range){range.low, end}))
            return false;
        range.low = end;
    }
    return true;
}

static bool build(struct builder *builder, size_t count)
{
    struct piece_trie *trie = builder->trie;
    if (!add_node(builder, 0, (struct range){0, count}))
        return false;
    for (size_t node = 0, depth = 0, level = 1; node < trie->count; node++) {
        if (node == level) {
            depth++;
            level = trie->count;
        }
        if (!add_children(builder, node, depth))
            return false;
    }
    trie->nodes[trie->count] = (struct piece_node){(uint32_t)trie->count, -1};
    for (uint32_t child = 1; child < trie->nodes[1].children; child++)
        trie->first[trie->labels[child]] = child;
    return true;
}

ll_status piece_trie_open(const struct vocab *vocab, struct piece_trie *ret, ll_error *error)
{
    *ret = (struct piece_trie){0};
    memset(ret->first, 0xFF, sizeof ret->first);
    struct piece *pieces = mem_new(vocab->count, sizeof *pieces);
    struct builder builder = {.trie = ret, .pieces = pieces};
    bool built = pieces && build(&builder, list_pieces(vocab, pieces));
    mem_free(builder.ranges);
    mem_free(pieces);
    if (built)
        return LL_OK;
    piece_trie_fini(ret);
    return error_nomem(error, where, vocab->count * sizeof *pieces);
}

void piece_trie_fini(struct piece_trie *trie)
{
    mem_free(trie->nodes);
    mem_free(trie->labels);
    *trie = (struct piece_trie){0};
}

uint32_t piece_trie_step(const struct piece_trie *trie, uint32_t node, unsigned char byte)
{
    uint32_t first = trie->nodes[node].children, end = trie->nodes[node + 1].children;
    const unsigned char *found = first < end ? memchr(trie->labels + first, byte, end - first) : NULL;
    return found ? (uint32_t)(found - trie->labels) : PIECE_NONE;
}
