/* Puts a step's queries, keys and values in place: turned, rounded to their type, keys and values in pages.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CUDA_PLACE_H
#define CUDA_PLACE_H

#include "cuda/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A number of a page, [page][kv_head]: PAGE_KEYS rows of head_dim numbers. Q8_0 there: all signed bytes
 * first, [PAGE_KEYS][head_dim], then the scales, f16 [PAGE_KEYS][head_dim / 32]: the same size as 34-byte
 * blocks, but every row aligned. */

struct place_call {
    enum dtype in_type;    /* of q, k and v: F32, BF16 or F16 */
    int heads;             /* of q; 0: no queries */
    int kv_heads;          /* 0: queries only */
    int head_dim;          /* at most 1024 */
    const void *q, *k, *v; /* [rows][heads · head_dim], strides in numbers */
    int64_t q_stride, k_stride, v_stride;
    struct place_turn q_turn, k_turn;
    void *q_out; /* [rows][heads · head_dim] of q_type: F32, BF16 or F16; may not be q */
    int64_t q_out_stride;
    enum dtype q_type;
    enum dtype cache_type; /* F32, BF16, F16 or Q8_0 (head_dim a multiple of 32) */
    void *k_pages, *v_pages;
    float *k_norms; /* [page][kv_head] prefix maxima of |k|, never too small; or NULL */
    const int32_t *pages;
    const struct attention_sequence *sequences;
    int sequence_count;
    int max_rows; /* most rows of any sequence */
};
/* Queues it; returns a cudaError_t. A page that is begun gets zeros behind its last key. */
int place(const struct place_call *call, void *stream);
/* turns of every row of the step: frequencies [pairs], positions [rows]; scale on both. */
int place_turns(const float *frequencies, int pairs, float scale, const int32_t *positions, int64_t rows,
                float *turns, void *stream);
/* Turns x [rows][heads · head_dim] in place. */
int place_turn_rows(const struct place_turn *turn, enum dtype dtype, void *x, int64_t rows, int64_t stride,
                    int heads, int head_dim, void *stream);

/* ---- a Q8_0 cache as f16 pages, for prefill: heads first … first+kv_heads-1 of the listed pages ---- */
struct place_unpack_call {
    int kv_heads, head_dim; /* of the result; head_dim a multiple of 32 */
    int all_heads, first;   /* of the cache */
    const void *k, *v;      /* packed */
    const float *k_norms;   /* or NULL */
    const int32_t *pages;   /* the step's, one sequence after another; -1: dropped */
    int page_count;
    void *k_out, *v_out; /* page i of the result is the list's i-th */
    float *norms_out;    /* [page_count][kv_heads]; NULL with k_norms */
    int32_t *pages_out;  /* i, or -1 */
};
int place_unpack(const struct place_unpack_call *call, void *stream);

#ifdef __cplusplus
}
#endif
#endif
