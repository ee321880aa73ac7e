/* Opens the CPU backends side by side and fills their inputs with random numbers.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CPU_HARNESS_H
#define TESTS_CPU_HARNESS_H

#include "unit.h"

#include "backend/backend.h"
#include "cpu/cpu.h"

/* Calls body(set) for each instruction set this processor runs: the words of fast/isa.h,
 * or for the one that the environment's LL_SET names. */
void each_set(void (*body)(const char *set));

struct backend *open_fast(const char *set, int threads); /* NULL: the best that the processor runs */
struct backend *open_reference(void);
void close_backend(struct backend *backend);

/* The generator of these helpers; each source file has one of its own, and unit_seed sets its own file's. */
void harness_seed(uint64_t seed);
float random_float(void);             /* -1 … 1 */
float random_normal(void);
/* Random numbers, a few of them large; a stride wider than the row. Freed with matrix_free. */
struct tensor matrix_new(int64_t rows, int64_t cols);
struct tensor matrix_copy(const struct tensor *matrix);
void matrix_poison(struct tensor *matrix); /* NaN everywhere, also between rows */
void matrix_free(struct tensor *matrix);
/* Weights of any type: random bytes with scales that make sense. */
struct tensor weight_new(enum dtype dtype, int64_t rows, int64_t cols);

/* A step of one sequence after another: rows[i] new rows each, starting at start[i]. Blocks are handed
 * out in shuffled order. Freed with step_free. */
struct test_step {
    struct backend_step step;
    struct backend_sequence *sequences;
    int32_t *blocks;
    int32_t block_count; /* distinct block numbers, 0 … block_count-1 */
    ll_token *tokens;
    int32_t *positions;
    int32_t *outputs;
};
struct test_step step_new(int sequence_count, const int64_t *starts, const int64_t *rows, int block_tokens);
void step_free(struct test_step *step);
/* A plain step of `rows` rows without sequences. */
struct test_step step_of_rows(int64_t rows);

/* Fails, naming the element, unless |got - want| ≤ bound there; bound NULL: same bits. */
void assert_matrix(const struct tensor *got, const struct tensor *want, const struct tensor *bound,
                   const char *what);
void end_step(struct backend *backend);

#endif
