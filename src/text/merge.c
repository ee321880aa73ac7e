/* Merges neighbouring symbols, best rank first, leftmost of equals: the core of BPE and SentencePiece.
 * SPDX-License-Identifier: Apache-2.0 */
#include "text/merge.h"

#include "base/mem.h"

void merge_work_fini(struct merge_work *work)
{
    mem_free(work->symbols);
    mem_free(work->heap);
    *work = (struct merge_work){0};
}

void merge_begin(struct merge_work *work)
{
    work->count = 0;
    work->heap_count = 0;
}

bool merge_add(struct merge_work *work, uint32_t start, uint32_t length, ll_token id)
{
    if (!mem_grow((void **)&work->symbols, &work->capacity, work->count + 1, sizeof *work->symbols))
        return false;
    int32_t at = (int32_t)work->count++;
    if (at > 0)
        work->symbols[at - 1].next = at;
    work->symbols[at] = (struct symbol){start, length, at - 1, -1, id, MERGE_NONE, -1};
    return true;
}

/* ---- heap ----------------------------------------------------------------------------------- */

static void sift_down(uint64_t *heap, size_t count, size_t at)
{
    uint64_t key = heap[at];
    for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && heap[child + 1] < heap[child])
            child++;
        if (heap[child] >= key)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = key;
}

static bool heap_push(struct merge_work *work, uint64_t key)
{
    if (!mem_grow((void **)&work->heap, &work->heap_capacity, work->heap_count + 1, sizeof *work->heap))
        return false;
    size_t at = work->heap_count++;
    while (at > 0 && work->heap[(at - 1) / 2] > key) {
        work->heap[at] = work->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    work->heap[at] = key;
    return true;
}

static uint64_t heap_pop(struct merge_work *work)
{
    uint64_t best = work->heap[0];
    work->heap[0] = work->heap[--work->heap_count];
    if (work->heap_count)
        sift_down(work->heap, work->heap_count, 0);
    return best;
}

/* ---- merging -------------------------------------------------------------------------------- */

static uint64_t key_of(const struct merge_work *work, int32_t left)
{
    return (uint64_t)work->symbols[left].rank << 32 | (uint32_t)left;
}

static void rank_pair(struct merge_work *work, int32_t left, merge_fn pair, const void *user)
{
    struct symbol *symbol = &work->symbols[left];
    symbol->rank = MERGE_NONE;
    if (symbol->next >= 0)
        symbol->rank = pair(user, symbol, &work->symbols[symbol->next], &symbol->merged);
}

static bool rank_and_push(struct merge_work *work, int32_t left, merge_fn pair, const void *user)
{
    if (left < 0)
        return true;
    rank_pair(work, left, pair, user);
    return work->symbols[left].rank == MERGE_NONE || heap_push(work, key_of(work, left));
}

static bool fill_heap(struct merge_work *work, merge_fn pair, const void *user)
{
    if (!mem_grow((void **)&work->heap, &work->heap_capacity, work->count, sizeof *work->heap))
        return false;
    for (size_t i = 0; i < work->count; i++) {
        rank_pair(work, (int32_t)i, pair, user);
        if (work->symbols[i].rank != MERGE_NONE)
            work->heap[work->heap_count++] = key_of(work, (int32_t)i);
    }
    for (size_t i = work->heap_count / 2; i-- > 0;)
        sift_down(work->heap, work->heap_count, i);
    return true;
}

static void join_next(struct merge_work *work, struct symbol *left, int32_t at)
{
    struct symbol *right = &work->symbols[left->next];
    left->length += right->length;
    left->id = left->merged;
    left->next = right->next;
    right->length = 0;
    right->rank = MERGE_NONE;
    if (left->next >= 0)
        work->symbols[left->next].previous = at;
}

bool merge_run(struct merge_work *work, merge_fn pair, const void *user)
{
    if (!fill_heap(work, pair, user))
        return false;
    while (work->heap_count) {
        uint64_t best = heap_pop(work);
        int32_t at = (int32_t)(uint32_t)best;
        struct symbol *left = &work->symbols[at];
        if (left->rank != (uint32_t)(best >> 32))
            continue;
        join_next(work, left, at);
        if (!rank_and_push(work, left->previous, pair, user) || !rank_and_push(work, at, pair, user))
            return false;
    }
    return true;
}
