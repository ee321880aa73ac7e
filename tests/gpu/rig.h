/* Two backends side by side: operands that both hold, steps that both run, and how far apart they end.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_GPU_RIG_H
#define TESTS_GPU_RIG_H

#include "cpu/harness.h"

struct rig {
    struct backend *tested, *plain; /* plain: the reference, F32 throughout */
    bool is_cuda;
};

/* The reference, and the CPU's fast backend or (is_cuda) the plug-in in `folder`. */
struct rig rig_open(bool is_cuda, const char *folder);
void rig_close(struct rig *rig);

/* A matrix on both. The tested one has the given type, rows further apart than they are long, and guard rows
 * behind; the plain one holds the same numbers (rounded to that type) in F32. */
struct operand {
    struct tensor plain, tested;
    int64_t stride; /* numbers from one tested row to the next */
};
enum { GUARD_ROWS = 2 };
struct operand operand_random(struct rig *rig, enum dtype dtype, int64_t rows, int64_t cols);
/* The same with numbers between -2 and 2: scores in the hundreds would turn rounding into other answers. */
struct operand operand_small(struct rig *rig, enum dtype dtype, int64_t rows, int64_t cols);
/* Not-a-number everywhere, between rows and behind them too. */
struct operand operand_poisoned(struct rig *rig, enum dtype dtype, int64_t rows, int64_t cols);
/* Columns first … first+cols-1 of both. */
struct operand operand_columns(const struct operand *operand, int64_t first, int64_t cols);
void operand_free(struct rig *rig, struct operand *operand);
/* A row of F32 that both read: weights of a norm, a bias, slopes. */
struct operand vector_random(struct rig *rig, int64_t cols);
struct operand vector_of(struct rig *rig, const float *values, int64_t cols);
/* A weight of any type, prepared as its backend wants it. */
struct operand weight_random(struct rig *rig, enum dtype dtype, int64_t rows, int64_t cols);
void weight_free(struct rig *rig, struct operand *weight);

void rig_begin(struct rig *rig, const struct test_step *step);
void rig_end(struct rig *rig);
/* The tested one's numbers, [rows, cols], the caller's. Fails when a guard was written. */
float *operand_read(struct rig *rig, const struct operand *operand);
/* Fails when ‖tested - plain‖ > bound · ‖plain‖, or when one element is off by more than eight times that
 * share of its size and of the root mean square. */
void operand_compare(struct rig *rig, const struct operand *operand, double bound, const char *what);

/* A paged cache on both. */
struct rig_cache {
    struct backend_cache plain, tested;
    uint64_t bytes, norm_bytes;
};
struct rig_cache cache_new(struct rig *rig, enum dtype dtype, int kv_heads, int head_dim, int64_t blocks,
                           bool norms);
void cache_free(struct rig *rig, struct rig_cache *cache);

#endif
