/* Expected logits of a tiny model, read from the text that tests/vectors/make_vectors.py wrote.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_ENGINE_VECTOR_FILE_H
#define TESTS_ENGINE_VECTOR_FILE_H

#include "longleaf.h"

struct vector_sequence {
    size_t count;
    ll_token *tokens;  /* [count] */
    float *logprobs;   /* [count], of each token given all before it; 0 for the first */
    size_t row_count;
    size_t *rows;      /* [row_count] ascending positions whose logits are known */
    float *logits;     /* [row_count][vocabulary] */
};

struct vector_file {
    char name[64];
    size_t vocabulary, sequence_count;
    struct vector_sequence *sequences;
};

/* The path of a file beside the vectors; static storage, overwritten by the next call. */
const char *vector_path(const char *name, const char *suffix);
/* Fails the test when the file is missing or damaged. */
struct vector_file *vector_file_open(const char *name);
void vector_file_close(struct vector_file *file);
/* Largest difference as a share of the expected values' range. */
double vector_distance(const float *seen, const float *expected, size_t count);

#endif
