/* Reads expected logits; every oddity of the file fails the test that opened it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine/vector_file.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* after the four above, as its page asks */
#include <cmocka.h>

const char *vector_path(const char *name, const char *suffix)
{
    static char path[4096];
    const char *top = getenv("top_srcdir");
    int length = snprintf(path, sizeof path, "%s/tests/vectors/%s%s", top ? top : ".", name, suffix);
    assert_in_range(length, 1, sizeof path - 1);
    return path;
}

static void *zeroed(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    assert_non_null(memory);
    return memory;
}

static size_t read_size(FILE *in)
{
    size_t value = 0;
    assert_int_equal(fscanf(in, "%zu", &value), 1);
    return value;
}

static void read_floats(FILE *in, float *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_int_equal(fscanf(in, "%f", &out[i]), 1);
}

static void read_sequence(FILE *in, size_t vocabulary, struct vector_sequence *ret)
{
    assert_int_equal(fscanf(in, " sequence %zu rows %zu", &ret->count, &ret->row_count), 2);
    assert_in_range(ret->count, 1, 4096);
    assert_in_range(ret->row_count, 1, ret->count);
    ret->tokens = zeroed(ret->count, sizeof *ret->tokens);
    ret->logprobs = zeroed(ret->count, sizeof *ret->logprobs);
    ret->rows = zeroed(ret->row_count, sizeof *ret->rows);
    ret->logits = zeroed(ret->row_count * vocabulary, sizeof *ret->logits);
    for (size_t i = 0; i < ret->count; i++)
        ret->tokens[i] = (ll_token)read_size(in);
    read_floats(in, ret->logprobs, ret->count);
    for (size_t r = 0; r < ret->row_count; r++) {
        ret->rows[r] = read_size(in);
        assert_in_range(ret->rows[r], 0, ret->count - 1);
        read_floats(in, ret->logits + r * vocabulary, vocabulary);
    }
}

struct vector_file *vector_file_open(const char *name)
{
    struct vector_file *file = zeroed(1, sizeof *file);
    FILE *in = fopen(vector_path(name, ".txt"), "r");
    assert_non_null(in);
    assert_int_equal(fscanf(in, "model %63s vocabulary %zu sequences %zu", file->name, &file->vocabulary,
                            &file->sequence_count), 3);
    assert_string_equal(file->name, name);
    assert_in_range(file->vocabulary, 2, 4096);
    assert_in_range(file->sequence_count, 1, 64);
    file->sequences = zeroed(file->sequence_count, sizeof *file->sequences);
    for (size_t i = 0; i < file->sequence_count; i++)
        read_sequence(in, file->vocabulary, &file->sequences[i]);
    fclose(in);
    return file;
}

void vector_file_close(struct vector_file *file)
{
    for (size_t i = 0; i < file->sequence_count; i++) {
        free(file->sequences[i].tokens);
        free(file->sequences[i].logprobs);
        free(file->sequences[i].rows);
        free(file->sequences[i].logits);
    }
    free(file->sequences);
    free(file);
}

double vector_distance(const float *seen, const float *expected, size_t count)
{
    double least = expected[0], most = expected[0], worst = 0;
    for (size_t i = 0; i < count; i++) {
        assert_true(isfinite(seen[i]));
        least = fmin(least, (double)expected[i]);
        most = fmax(most, (double)expected[i]);
        worst = fmax(worst, fabs((double)seen[i] - (double)expected[i]));
    }
    assert_true(most > least);
    return worst / (most - least);
}
