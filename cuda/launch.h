/* What crosses the line between C and CUDA: plain structs, and functions that queue kernels.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every pointer is device memory unless marked host. Functions return a cudaError_t as an int (0 is
 * success) and only queue work on the stream; no function allocates device memory. */
#ifndef CUDA_LAUNCH_H
#define CUDA_LAUNCH_H

#include "tensor/dtype.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Keys in a cache page. A page holds, for every KV head, this many keys of head_dim numbers, one head
 * contiguous: [page][kv_head][PAGE_KEYS][head_dim]. */
#define PAGE_KEYS 128
/* Most query rows that one decode block packs into a matrix: rows of a sequence × heads of a group. */
#define DECODE_ROWS 16
/* Most granules that one sequence's keys are split into. */
#define DECODE_GRANULES 72

/* A sequence's new rows in the step; its keys 0 … start+rows-1 are in the cache. */
struct attention_sequence {
    int32_t first_row, rows; /* in q and out */
    int32_t start;           /* position of its first row */
    int32_t first_page;      /* where its pages begin in attention_call.pages; -1 pages are unseen */
    int32_t holes;           /* 1: some page below its last is -1 */
};

/* A run of query rows that share one pass over the keys (prefill). */
struct attention_tile {
    int32_t sequence, first; /* rows first … of the sequence, up to the kernel's tile height */
};

/* Work of one decode block: a run of granules of one sequence's keys, for each KV head. A granule's
 * borders depend on its sequence alone, and granules are merged in order: so a sequence's bytes do not
 * depend on how its granules are dealt to blocks, nor on what else is in the batch. */
struct attention_part {
    struct attention_sequence sequence;
    int32_t first_packed;            /* first of its packed rows: row · group + head in the group */
    int32_t granule, granules;       /* the first and how many; 0: a part that only fills a fixed grid */
    int32_t all_granules, all_parts; /* of the sequence's packed rows */
    int32_t first_slot;              /* where their results begin in the scratch */
};

struct place_turn {     /* rotation; turns NULL: none */
    const float *turns; /* [rows of the step][rotary_dim / 2] pairs of cosine, sine: place_turns() */
    int rotary_dim;
    bool adjacent; /* pairs (2i, 2i+1); else (i, i + rotary_dim/2) */
};

/* A decoding step's new rows, not yet in place: decode turns and rounds the queries itself and writes the key
 * and the value of each sequence's only row into its page. Only when every sequence has one row, a group no
 * more heads than a block takes rows, and the cache keeps no norms. */
struct attention_fresh {
    enum dtype in_type;    /* of q, k and v: F32, BF16 or F16 */
    const void *q, *k, *v; /* [rows][heads · head_dim], strides in numbers; q NULL: all is in place already */
    int64_t q_stride, k_stride, v_stride;
    struct place_turn q_turn, k_turn;
};

struct attention_call {
    enum dtype dtype;      /* of q: DT_BF16 or DT_F16 */
    enum dtype out_type;   /* of out: DT_BF16 or DT_F16 */
    enum dtype cache_type; /* of k and v: dtype; for decode DT_Q8_0 too (place.h) */
    int heads, kv_heads, head_dim;
    float scale, softcap; /* as in backend_attention */
    int window, sinks;
    const float *slopes; /* [heads] or NULL */
    float reach;         /* greatest softmax share that may be skipped; 0: nothing is skipped */

    const void *q; /* [rows][heads · head_dim], rows q_stride numbers apart; 16-byte aligned */
    void *out;
    int64_t rows, q_stride, out_stride;
    const void *k, *v;    /* pages */
    const float *k_norms; /* [page][kv_head]: prefix maximum of |k|; NULL: nothing is skipped */
    const int32_t *pages; /* every sequence's pages, one sequence after another */
    const struct attention_sequence *sequences;

    const struct attention_tile *tiles; /* prefill: heaviest first */
    int tile_count;
    int tile_rows;      /* the plan's tile height: attention_tile_rows() */
    int heads_together; /* heads whose blocks run side by side, so that the L2 holds their keys */

    struct attention_fresh fresh;       /* decode; then q is not used */
    const struct attention_part *parts; /* decode */
    int part_count;
    float *partial; /* scratch: slots · kv_heads results of attention_slot_floats() */
    /* [ATTENTION_TICKETS + slots · kv_heads]: zero before the first call; left zero by every call */
    int32_t *tickets;
};
#define ATTENTION_TICKETS 2 /* the first belong to prefill */

/* fp32 numbers of one partial result. */
#define attention_slot_floats(head_dim) (DECODE_ROWS * ((head_dim) + 2))

/* Which kernel serves a prefill: the plain tensor-core one runs on sm_80 and later. */
enum attention_kernel { ATTENTION_AUTO, ATTENTION_MMA, ATTENTION_HOPPER };

/* 0 when no kernel takes this call (head size or dtype). */
int attention_tile_rows(const struct attention_call *call, enum attention_kernel kernel);
int attention_prefill(const struct attention_call *call, enum attention_kernel kernel, void *stream);
int attention_decode(const struct attention_call *call, void *stream);
/* How many decode blocks the current device runs at once. */
int attention_decode_blocks(void);
/* How many packed rows a decode block takes. */
int attention_decode_rows(enum dtype cache_type);

/* One kernel per head size; found by attention.cu's table. */
typedef int attention_launch(const struct attention_call *call, void *stream);

#ifdef __cplusplus
}
#endif
#endif
