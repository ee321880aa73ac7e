/* Operations along rows, memory and cancelling on every instruction set, against the plain backend.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cpu/harness.h"

#include <math.h>

#include "base/cancel.h"

static const char *current_set;

/* Elementwise bound: `ulps` units in the last place of the wanted value, and a floor. */
static struct tensor ulp_bound(const struct tensor *want, float ulps, float floor)
{
    struct tensor bound = matrix_copy(want);
    for (int64_t row = 0; row < want->rows; row++)
        for (int64_t i = 0; i < want->cols; i++) {
            float *at = (float *)tensor_row(&bound, row) + i;
            *at = fabsf(*at) * ulps * ldexpf(1, -23) + floor;
        }
    return bound;
}

struct pair { /* one operation on both backends */
    struct backend *fast, *plain;
    struct test_step step;
    struct tensor in, out, want;
};

static struct pair pair_new(int64_t rows, int64_t cols)
{
    struct pair p = {.fast = open_fast(current_set, 1 + (int)unit_below(3)), .plain = open_reference(),
                     .step = step_of_rows(rows), .in = matrix_new(rows, cols)};
    p.out = matrix_copy(&p.in);
    p.want = matrix_copy(&p.in);
    return p;
}

static void pair_begin(struct pair *p)
{
    p->fast->table->begin(p->fast, &p->step.step, NULL);
    p->plain->table->begin(p->plain, &p->step.step, NULL);
}

static void pair_check(struct pair *p, float ulps, float floor, const char *what)
{
    end_step(p->fast);
    end_step(p->plain);
    struct tensor bound = ulp_bound(&p->want, ulps, floor);
    assert_matrix(&p->out, &p->want, &bound, what);
    matrix_free(&bound), matrix_free(&p->in), matrix_free(&p->out), matrix_free(&p->want);
    step_free(&p->step);
    close_backend(p->fast), close_backend(p->plain);
}

static int64_t random_rows(void)
{
    return 1 + (int64_t)unit_below(unit_below(3) ? 5 : 200);
}

static void check_norms(const char *set)
{
    current_set = set;
    for (int round = 0; round < 24; round++) {
        int groups = 1 + (int)unit_below(3);
        int64_t part = 1 + (int64_t)unit_below(200);
        enum backend_norm kind = round & 1 ? NORM_LAYER : NORM_RMS;
        struct tensor weight = matrix_new(1, part), bias = matrix_new(1, part);
        const struct tensor *w = unit_below(4) ? &weight : NULL, *b = unit_below(2) ? &bias : NULL;
        struct pair p = pair_new(random_rows(), groups * part);
        pair_begin(&p);
        bool in_place = unit_below(2);
        p.fast->table->norm(p.fast, kind, in_place ? &p.out : &p.in, w, b, 1e-5f, groups, &p.out);
        p.plain->table->norm(p.plain, kind, &p.in, w, b, 1e-5f, groups, &p.want);
        pair_check(&p, 64, part == 1 ? 1e-2f : 4e-4f, "norm"); /* x - mean cancels: values up to 80 */
        matrix_free(&weight), matrix_free(&bias);
    }
}

static void norms_agree_with_the_plain_backend(void **state)
{
    (void)state;
    each_set(check_norms);
}

static void check_rotary(const char *set)
{
    current_set = set;
    for (int round = 0; round < 20; round++) {
        int half = 1 + (int)unit_below(40), heads = 1 + (int)unit_below(4);
        struct tensor frequencies = matrix_new(1, half);
        for (int i = 0; i < half; i++)
            ((float *)frequencies.data)[i] = powf(10000, -(float)i / (float)half);
        struct backend_rotary rotary = {.heads = heads,
                                        .head_dim = 2 * half + (int)unit_below(9),
                                        .rotary_dim = 2 * half,
                                        .adjacent = unit_below(2),
                                        .frequencies = &frequencies,
                                        .scale = 1.25f};
        struct pair p = pair_new(random_rows(), (int64_t)heads * rotary.head_dim);
        pair_begin(&p);
        for (int64_t row = 0; row < p.in.rows; row++)
            p.step.positions[row] = (int32_t)unit_below(100000);
        for (int twice = 0; twice < 2; twice++) { /* the second time from the table */
            p.fast->table->rotary(p.fast, &rotary, &p.out);
            p.plain->table->rotary(p.plain, &rotary, &p.want);
        }
        pair_check(&p, 8, 4e-5f, "rotary");
        matrix_free(&frequencies);
    }
}

static void rotation_agrees_with_the_plain_backend(void **state)
{
    (void)state;
    each_set(check_rotary);
}

static void check_elementwise(const char *set)
{
    current_set = set;
    for (int round = 0; round < 12; round++) {
        int64_t cols = 1 + (int64_t)unit_below(300);
        for (enum backend_activation kind = ACTIVATE_SILU; kind <= ACTIVATE_GELU_ERF; kind++) {
            struct pair p = pair_new(random_rows(), cols);
            pair_begin(&p);
            struct tensor up = matrix_new(p.in.rows, cols);
            ((float *)p.in.data)[0] = ((float *)p.out.data)[0] = -95; /* where exp ends */
            bool gated = unit_below(2);
            p.fast->table->activate(p.fast, kind, &p.out, gated ? &up : NULL, &p.out);
            p.plain->table->activate(p.plain, kind, &p.in, gated ? &up : NULL, &p.want);
            pair_check(&p, 16, 4e-6f, "activate");
            matrix_free(&up);
        }
        struct pair p = pair_new(random_rows(), cols);
        pair_begin(&p);
        p.fast->table->add(p.fast, &p.in, &p.out, &p.out);
        p.plain->table->add(p.plain, &p.in, &p.want, &p.want);
        p.fast->table->softcap(p.fast, &p.out, 7.5f);
        p.plain->table->softcap(p.plain, &p.want, 7.5f);
        p.fast->table->clamp(p.fast, &p.out, 5);
        p.plain->table->clamp(p.plain, &p.want, 5);
        pair_check(&p, 8, 1e-7f, "add, softcap, clamp");
    }
}

static void elementwise_operations_agree_with_the_plain_backend(void **state)
{
    (void)state;
    each_set(check_elementwise);
}

static void check_embed(const char *set)
{
    current_set = set;
    for (enum dtype dtype = 0; dtype < DT_COUNT; dtype++) {
        int64_t cols = dtype_info(dtype)->block_elements * (int64_t)(1 + unit_below(3));
        struct tensor table = weight_new(dtype, 7, cols);
        struct pair p = pair_new(random_rows(), cols);
        pair_begin(&p);
        float scale = unit_below(2) ? 1 : 24;
        p.fast->table->embed(p.fast, &table, scale, &p.out);
        p.plain->table->embed(p.plain, &table, scale, &p.want);
        pair_check(&p, 1, 0, dtype_info(dtype)->name);
        matrix_free(&table);
    }
}

static void embeddings_of_every_type_agree(void **state)
{
    (void)state;
    each_set(check_embed);
}

static void an_unknown_token_fails_the_step_and_the_rest_does_nothing(void **state)
{
    (void)state;
    current_set = "scalar";
    struct tensor table = weight_new(DT_F32, 7, 8);
    struct pair p = pair_new(2, 8);
    pair_begin(&p);
    p.step.tokens[1] = 7;
    p.fast->table->embed(p.fast, &table, 1, &p.out);
    p.fast->table->add(p.fast, &p.in, &p.in, &p.out);
    ll_error error = {0};
    assert_int_equal(p.fast->table->end(p.fast, &error), LL_ARGUMENT);
    assert_non_null(strstr(error.text, "token 7"));
    assert_matrix(&p.out, &p.in, NULL, "untouched");
    p.fast->table->begin(p.fast, &p.step.step, NULL);
    pair_check(&p, 0, 0, "the next step is well");
    matrix_free(&table);
}

static void outputs_are_gathered_in_order(void **state)
{
    (void)state;
    current_set = "scalar";
    struct pair p = pair_new(9, 5);
    pair_begin(&p);
    int32_t rows[] = {0, 3, 8};
    struct tensor out = matrix_new(3, 5);
    p.step.step.outputs = rows;
    p.step.step.output_count = 3;
    p.fast->table->gather_outputs(p.fast, &p.in, &out);
    for (int i = 0; i < 3; i++)
        assert_memory_equal(tensor_row(&out, i), tensor_row(&p.in, rows[i]), 5 * sizeof(float));
    matrix_free(&out);
    pair_check(&p, 0, 0, "gather");
}

static void a_raised_flag_stops_the_step(void **state)
{
    (void)state;
    current_set = NULL;
    struct pair p = pair_new(400, 256);
    pair_begin(&p);
    ll_cancel *cancel = ll_cancel_new();
    p.fast->table->end(p.fast, NULL);
    p.fast->table->begin(p.fast, &p.step.step, cancel);
    ll_cancel_request(cancel);
    p.fast->table->add(p.fast, &p.in, &p.in, &p.out);
    ll_cancel_reset(cancel);
    p.fast->table->add(p.fast, &p.in, &p.in, &p.out);
    ll_error error = {0};
    assert_int_equal(p.fast->table->end(p.fast, &error), LL_CANCELLED);
    assert_matrix(&p.out, &p.in, NULL, "untouched");
    ll_cancel_free(cancel);
    p.fast->table->begin(p.fast, &p.step.step, NULL);
    pair_check(&p, 0, 0, "the next step is well");
}

static void memory_is_zeroed_aligned_and_counted(void **state)
{
    (void)state;
    struct backend *fast = open_fast("scalar", 1);
    static const uint64_t sizes[] = {0, 1, 100, 5000, 3 << 20};
    struct backend_memory_use use;
    void *memory[5];
    uint64_t total = 0;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(fast->table->memory_new(fast, MEMORY_CACHE, sizes[i], &memory[i], NULL), LL_OK);
        assert_int_equal((uintptr_t)memory[i] % 64, 0);
        for (uint64_t at = 0; at < sizes[i]; at++)
            assert_int_equal(((char *)memory[i])[at], 0);
        total += sizes[i];
    }
    fast->table->memory_use(fast, &use);
    assert_int_equal(use.ours[MEMORY_CACHE], total);
    assert_true(use.total > 0);
    for (int i = 1; i < 5; i++) /* the first is left for close */
        fast->table->memory_free(fast, MEMORY_CACHE, memory[i], sizes[i]);
    fast->table->memory_use(fast, &use);
    assert_int_equal(use.ours[MEMORY_CACHE], 0);
    ll_error error = {0};
    assert_int_equal(fast->table->memory_new(fast, MEMORY_CACHE, UINT64_MAX, &memory[0], &error), LL_NOMEM);
    close_backend(fast);
}

static void an_unknown_instruction_set_is_refused(void **state)
{
    (void)state;
    struct backend *backend = NULL;
    ll_error error = {0};
    setenv("LONGLEAF_ISA", "sse9", 1);
    assert_int_equal(cpu_backend.open(NULL, &backend, &error), LL_ARGUMENT);
    assert_non_null(strstr(error.text, "sse9"));
    unsetenv("LONGLEAF_ISA");
}

int main(void)
{
    unit_seed();
    harness_seed(unit_random());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norms_agree_with_the_plain_backend),
        cmocka_unit_test(rotation_agrees_with_the_plain_backend),
        cmocka_unit_test(elementwise_operations_agree_with_the_plain_backend),
        cmocka_unit_test(embeddings_of_every_type_agree),
        cmocka_unit_test(an_unknown_token_fails_the_step_and_the_rest_does_nothing),
        cmocka_unit_test(outputs_are_gathered_in_order),
        cmocka_unit_test(a_raised_flag_stops_the_step),
        cmocka_unit_test(memory_is_zeroed_aligned_and_counted),
        cmocka_unit_test(an_unknown_instruction_set_is_refused),
    };
    return cmocka_run_group_tests_name("rows of the CPU backends", tests, NULL, NULL);
}
