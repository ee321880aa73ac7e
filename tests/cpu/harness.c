/* Opens the CPU backends side by side and fills their inputs with random numbers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cpu/harness.h"

#include <math.h>

#include "cpu/fast/isa.h"
#include "tensor/dequant.h"

void each_set(void (*body)(const char *set))
{
    const struct kernels *before = NULL;
    const char *set, *only = getenv("LL_SET");
    for (int i = 0; (set = isa_word(i)) != NULL; i++) {
        const struct kernels *kernels = isa_pick(set);
        if (only && strcmp(only, set) != 0)
            continue;
        if (kernels == before)
            print_message("# %s is not to be had on this processor\n", set);
        else
            body(set);
        before = kernels;
    }
}

struct backend *open_fast(const char *set, int threads)
{
    struct backend_options options = {.threads = threads};
    struct backend *backend = NULL;
    ll_error error = {0};
    if (set)
        setenv("LONGLEAF_ISA", set, 1);
    else
        unsetenv("LONGLEAF_ISA");
    if (cpu_backend.open(&options, &backend, &error) != LL_OK)
        fail_msg("%s", error.text);
    return backend;
}

struct backend *open_reference(void)
{
    struct backend_options options = {0};
    struct backend *backend = NULL;
    assert_int_equal(reference_backend.open(&options, &backend, NULL), LL_OK);
    return backend;
}

void close_backend(struct backend *backend)
{
    backend->table->close(backend);
}

void harness_seed(uint64_t seed)
{
    unit_random_state = seed;
}

float random_float(void)
{
    return (float)((double)(unit_random() >> 11) / 4503599627370496.0 - 1);
}

float random_normal(void)
{
    float sum = 0;
    for (int i = 0; i < 6; i++)
        sum += random_float();
    return sum * 0.7071f;
}

struct tensor matrix_new(int64_t rows, int64_t cols)
{
    int64_t stride = (cols + (int64_t)unit_below(3)) * (int64_t)sizeof(float);
    struct tensor matrix = {.dtype = DT_F32, .rows = rows, .cols = cols, .stride = stride};
    matrix.data = malloc((size_t)(rows * stride) + 1);
    matrix_poison(&matrix);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = 0; i < cols; i++)
            ((float *)tensor_row(&matrix, row))[i] = random_normal() * (unit_below(50) ? 1 : 20);
    return matrix;
}

struct tensor matrix_copy(const struct tensor *matrix)
{
    struct tensor copy = *matrix;
    copy.data = malloc((size_t)(matrix->rows * matrix->stride) + 1);
    memcpy(copy.data, matrix->data, (size_t)(matrix->rows * matrix->stride));
    return copy;
}

void matrix_poison(struct tensor *matrix)
{
    memset(matrix->data, 0xFF, (size_t)(matrix->rows * matrix->stride));
}

void matrix_free(struct tensor *matrix)
{
    free(matrix->data);
}

static void put_half(unsigned char *to, float value)
{
    uint16_t half = f32_to_f16(value);
    memcpy(to, &half, sizeof half);
}

/* The scales of one block; every other byte stays random. */
static void set_scales(enum dtype dtype, unsigned char *block)
{
    float d = (unit_below(2) ? 1 : -1) * 0.01f * (1 + (float)unit_below(100) / 50);
    switch (dtype) {
    case DT_Q4_1:
    case DT_Q5_1:
        put_half(block + 2, random_float() * 0.3f);
        put_half(block, d);
        break;
    case DT_Q4_K:
    case DT_Q5_K:
        put_half(block, d / 30);
        put_half(block + 2, d / 10);
        break;
    case DT_Q6_K:
        put_half(block + 208, d / 100);
        break;
    case DT_Q2_K:
        put_half(block + 80, d / 10);
        put_half(block + 82, d / 10);
        break;
    case DT_Q3_K:
        put_half(block + 108, d / 100);
        break;
    case DT_IQ4_XS:
    case DT_IQ4_NL:
        put_half(block, dtype == DT_IQ4_XS ? d / 1000 : d / 50);
        break;
    case DT_MXFP4:
        block[0] = (unsigned char)(118 + unit_below(6));
        break;
    default:
        put_half(block, d);
    }
}

struct tensor weight_new(enum dtype dtype, int64_t rows, int64_t cols)
{
    const struct dtype_info *info = dtype_info(dtype);
    int64_t stride = (int64_t)dtype_row_bytes(dtype, (uint64_t)cols);
    struct tensor weight = {.dtype = dtype, .rows = rows, .cols = cols, .stride = stride};
    unsigned char *bytes = weight.data = malloc((size_t)(rows * stride));
    for (int64_t i = 0; i < rows * stride; i++)
        bytes[i] = (unsigned char)unit_random();
    for (int64_t i = 0; i < rows * cols && !info->quantized; i++) {
        float value = random_normal() / 4;
        uint16_t half = dtype == DT_F16 ? f32_to_f16(value) : f32_to_bf16(value);
        memcpy(bytes + i * info->block_bytes, dtype == DT_F32 ? (void *)&value : (void *)&half,
               (size_t)info->block_bytes);
    }
    for (int64_t at = 0; at < rows * stride && info->quantized; at += info->block_bytes)
        set_scales(dtype, bytes + at);
    return weight;
}

static void shuffle(int32_t *items, int64_t count)
{
    for (int64_t i = count - 1; i > 0; i--) {
        int64_t other = (int64_t)unit_below((size_t)i + 1);
        int32_t swapped = items[i];
        items[i] = items[other];
        items[other] = swapped;
    }
}

static void fill_sequence(struct test_step *step, int index, int64_t start, int64_t rows, int64_t first_row,
                          int32_t *blocks, int64_t block_count)
{
    step->sequences[index] = (struct backend_sequence){.first_row = first_row, .rows = rows, .start = start,
                                                       .blocks = blocks, .block_count = block_count};
    for (int64_t i = 0; i < rows; i++) {
        step->positions[first_row + i] = (int32_t)(start + i);
        step->tokens[first_row + i] = (ll_token)unit_below(7);
    }
}

struct test_step step_new(int sequence_count, const int64_t *starts, const int64_t *rows, int block_tokens)
{
    struct test_step step = {0};
    int64_t total = 0, blocks = 0;
    for (int s = 0; s < sequence_count; s++) {
        total += rows[s];
        blocks += (starts[s] + rows[s] + block_tokens - 1) / block_tokens;
    }
    step.sequences = calloc((size_t)sequence_count + 1, sizeof *step.sequences);
    step.blocks = calloc((size_t)blocks + 1, sizeof *step.blocks);
    step.tokens = calloc((size_t)total + 1, sizeof *step.tokens);
    step.positions = calloc((size_t)total + 1, sizeof *step.positions);
    step.outputs = calloc((size_t)total + 1, sizeof *step.outputs);
    step.block_count = (int32_t)blocks;
    for (int64_t i = 0; i < blocks; i++)
        step.blocks[i] = (int32_t)i;
    shuffle(step.blocks, blocks);
    int64_t row = 0, block = 0;
    for (int s = 0; s < sequence_count; s++) {
        int64_t mine = (starts[s] + rows[s] + block_tokens - 1) / block_tokens;
        fill_sequence(&step, s, starts[s], rows[s], row, step.blocks + block, mine);
        row += rows[s];
        block += mine;
    }
    step.step = (struct backend_step){.rows = total, .tokens = step.tokens, .positions = step.positions,
                                      .sequences = step.sequences, .sequence_count = sequence_count,
                                      .outputs = step.outputs};
    return step;
}

struct test_step step_of_rows(int64_t rows)
{
    int64_t start = 0;
    return step_new(1, &start, &rows, 64);
}

void step_free(struct test_step *step)
{
    free(step->sequences);
    free(step->blocks);
    free(step->tokens);
    free(step->positions);
    free(step->outputs);
}

void assert_matrix(const struct tensor *got, const struct tensor *want, const struct tensor *bound,
                   const char *what)
{
    assert_int_equal(got->rows, want->rows);
    for (int64_t row = 0; row < got->rows; row++)
        for (int64_t i = 0; i < got->cols; i++) {
            float a = ((float *)tensor_row(got, row))[i], b = ((float *)tensor_row(want, row))[i];
            float most = bound ? ((float *)tensor_row(bound, row))[i] : 0;
            bool fine = bound ? fabsf(a - b) <= most : memcmp(&a, &b, sizeof a) == 0;
            if (!fine)
                fail_msg("%s: row %lld column %lld is %.9g, not %.9g (within %g)", what, (long long)row,
                         (long long)i, (double)a, (double)b, (double)most);
        }
}

void end_step(struct backend *backend)
{
    ll_error error = {0};
    if (backend->table->end(backend, &error) != LL_OK)
        fail_msg("%s", error.text);
}
