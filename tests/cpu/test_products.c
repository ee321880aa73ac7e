/* Products of every weight type on every instruction set, against the plain backend.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Three things are held: (a) with activations rounded to bytes as the fast backend documents, results
 * agree with double arithmetic to F32 rounding; (b) against unrounded activations the error stays
 * below its exact worst case, half a step of each group's scale; (c) an output is the same bits
 * whatever rows share the call and however many threads run it. */
#include "cpu/harness.h"

#include <math.h>

#include "tensor/dequant.h"

static const char *current_set;

/* The documented rounding: 32 values share a scale of their largest magnitude over 127. */
static struct tensor round_activations(const struct tensor *in, struct tensor *steps)
{
    struct tensor rounded = matrix_copy(in);
    *steps = matrix_copy(in);
    for (int64_t row = 0; row < in->rows; row++)
        for (int64_t first = 0; first < in->cols; first += 32) {
            float *x = (float *)tensor_row(&rounded, row) + first,
                  *step = (float *)tensor_row(steps, row) + first;
            float most = 0;
            int64_t left = in->cols - first < 32 ? in->cols - first : 32;
            for (int i = 0; i < left; i++)
                most = fmaxf(most, fabsf(x[i]));
            float inverse = most > 0 ? 127 / most : 0;
            for (int i = 0; i < left; i++) {
                x[i] = rintf(x[i] * inverse) * (most / 127);
                step[i] = most / 127;
            }
        }
    return rounded;
}

/* Formats whose products round activations to bytes; the others, which are no quantised ones, are floats. */
static bool goes_by_bytes(enum dtype dtype)
{
    return dtype_info(dtype)->quantized;
}

/* Rounding of sums in F32: `terms` operations on numbers no larger than the sum of magnitudes. */
static struct tensor rounding_bound(const struct tensor *in, const struct tensor *weight,
                                    const struct tensor *shape)
{
    struct tensor bound = matrix_copy(shape);
    float *w = calloc((size_t)in->cols, sizeof *w);
    double terms = goes_by_bytes(weight->dtype) ? (double)in->cols / 16 + 16 : (double)in->cols + 16;
    for (int64_t n = 0; n < weight->rows; n++) {
        dequantize_row(weight->dtype, tensor_row(weight, n), w, in->cols);
        float most = 0;
        for (int64_t i = 0; i < in->cols; i++)
            most = fmaxf(most, fabsf(w[i]));
        for (int64_t row = 0; row < in->rows; row++) {
            double sum = 0;
            for (int64_t i = 0; i < in->cols; i++)
                sum += fabs((double)((float *)tensor_row(in, row))[i]) * most;
            ((float *)tensor_row(&bound, row))[n] = (float)(terms * ldexp(1, -23) * (sum + 4));
        }
    }
    free(w);
    return bound;
}

static void add_step_bound(const struct tensor *steps, const struct tensor *weight, struct tensor *bound)
{
    float *w = calloc((size_t)steps->cols, sizeof *w);
    for (int64_t n = 0; n < weight->rows; n++) {
        dequantize_row(weight->dtype, tensor_row(weight, n), w, steps->cols);
        for (int64_t row = 0; row < steps->rows; row++) {
            double sum = 0;
            for (int64_t i = 0; i < steps->cols; i++)
                sum += fabs(w[i]) * ((float *)tensor_row(steps, row))[i] * 0.5001;
            ((float *)tensor_row(bound, row))[n] += (float)sum;
        }
    }
    free(w);
}

static void multiply(struct backend *backend, const struct tensor *in, const struct backend_product *product)
{
    struct test_step step = step_of_rows(in->rows);
    backend->table->begin(backend, &step.step, NULL);
    backend->table->products(backend, in, product, 1);
    end_step(backend);
    step_free(&step);
}

static void check_shape(enum dtype dtype, int64_t rows, int64_t n, int64_t k, bool extras)
{
    char what[96];
    snprintf(what, sizeof what, "%s %s, %lld rows, [%lld, %lld]%s", current_set, dtype_info(dtype)->name,
             (long long)rows, (long long)n, (long long)k, extras ? ", bias and sum" : "");
    struct backend *fast = open_fast(current_set, 2), *plain = open_reference();
    struct tensor weight = weight_new(dtype, n, k), in = matrix_new(rows, k), bias = matrix_new(1, n);
    struct tensor out = matrix_new(rows, n), want = matrix_copy(&out), truth = matrix_copy(&out), steps;
    if (!extras) {
        matrix_poison(&out);
        matrix_poison(&want);
    }
    struct tensor rounded = round_activations(&in, &steps);
    bool bytes = goes_by_bytes(dtype);
    struct backend_product product = {&weight, extras ? &bias : NULL, &out, extras};
    multiply(fast, &in, &product);
    product.out = &want;
    multiply(plain, bytes ? &rounded : &in, &product);
    struct tensor bound = rounding_bound(&in, &weight, &out);
    assert_matrix(&out, &want, &bound, what);
    if (bytes) {
        product.out = &truth;
        multiply(plain, &in, &product);
        add_step_bound(&steps, &weight, &bound);
        assert_matrix(&out, &truth, &bound, what);
    }
    struct tensor *all[] = {&weight, &in, &bias, &out, &want, &truth, &steps, &rounded, &bound};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        matrix_free(all[i]);
    close_backend(fast);
    close_backend(plain);
}

static void check_types(const char *set)
{
    static const int64_t rows[] = {1, 2, 3, 5, 11, 12, 13, 29};
    current_set = set;
    for (enum dtype dtype = 0; dtype < DT_COUNT; dtype++) {
        int block = dtype_info(dtype)->block_elements;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            int64_t least = i % 4 ? 0 : 800; /* some need several stretches of columns */
            int64_t k = block == 1 ? least + 1 + (int64_t)unit_below(150)
                                   : block * (least / block + 1 + (int64_t)unit_below(3));
            check_shape(dtype, rows[i], 1 + (int64_t)unit_below(70), k, unit_below(2));
        }
    }
}

static void every_type_agrees_with_the_plain_backend(void **state)
{
    (void)state;
    each_set(check_types);
}

static void rows_of(const struct tensor *in, int64_t first, int64_t rows, const struct tensor *weight,
                    int threads, struct tensor *out)
{
    struct backend *fast = open_fast(current_set, threads);
    struct tensor part = tensor_rows(in, first, rows), to = tensor_rows(out, first, rows);
    struct backend_product product = {weight, NULL, &to, false};
    multiply(fast, &part, &product);
    close_backend(fast);
}

static void check_invariance(const char *set)
{
    current_set = set;
    for (enum dtype dtype = 0; dtype < DT_COUNT; dtype++) {
        int64_t rows = 300, k = 256 * (int64_t)(1 + unit_below(7)), n = 20 + (int64_t)unit_below(60);
        struct tensor weight = weight_new(dtype, n, k), in = matrix_new(rows, k);
        struct tensor whole = matrix_new(rows, n), parts = matrix_copy(&whole);
        rows_of(&in, 0, rows, &weight, 1 + (int)unit_below(5), &whole);
        matrix_poison(&parts);
        for (int64_t first = 0, count; first < rows; first += count) {
            count = 1 + (int64_t)unit_below(unit_below(3) ? 6 : 70);
            count = count < rows - first ? count : rows - first;
            rows_of(&in, first, count, &weight, 1 + (int)unit_below(5), &parts);
        }
        assert_matrix(&parts, &whole, NULL, dtype_info(dtype)->name);
        matrix_free(&weight);
        matrix_free(&in);
        matrix_free(&whole);
        matrix_free(&parts);
    }
}

static void results_do_not_depend_on_rows_or_threads(void **state)
{
    (void)state;
    each_set(check_invariance);
}

static void check_joint(const char *set)
{
    current_set = set;
    struct backend *fast = open_fast(set, 3);
    struct tensor in = matrix_new(7, 512), out[4], want[4], weights[4];
    static const enum dtype types[] = {DT_Q6_K, DT_F16, DT_Q4_1, DT_Q8_0};
    struct backend_product products[4];
    for (int i = 0; i < 4; i++) {
        weights[i] = weight_new(types[i], 3 + 31 * i, 512);
        out[i] = matrix_new(7, weights[i].rows);
        want[i] = matrix_copy(&out[i]);
        matrix_poison(&out[i]);
        products[i] = (struct backend_product){&weights[i], NULL, &want[i], false};
        multiply(fast, &in, &products[i]);
        products[i].out = &out[i];
    }
    struct test_step step = step_of_rows(7);
    fast->table->begin(fast, &step.step, NULL);
    fast->table->products(fast, &in, products, 4);
    end_step(fast);
    for (int i = 0; i < 4; i++) {
        assert_matrix(&out[i], &want[i], NULL, "joint");
        matrix_free(&out[i]);
        matrix_free(&want[i]);
        matrix_free(&weights[i]);
    }
    matrix_free(&in);
    step_free(&step);
    close_backend(fast);
}

static void products_of_one_input_equal_those_done_alone(void **state)
{
    (void)state;
    each_set(check_joint);
}

/* Activations of zero, of one huge value, and the most negative bytes of weights. */
static void check_extremes(const char *set)
{
    current_set = set;
    struct backend *fast = open_fast(set, 1), *plain = open_reference();
    struct tensor weight = weight_new(DT_Q8_0, 40, 64), in = matrix_new(3, 64);
    struct tensor out = matrix_new(3, 40), want = matrix_copy(&out);
    for (int64_t n = 0; n < 40; n++)
        for (int i = 0; i < 64; i++)
            ((signed char *)tensor_row(&weight, n))[i / 32 * 34 + 2 + i % 32] = n & 1 ? -128 : 127;
    for (int i = 0; i < 64; i++) {
        ((float *)tensor_row(&in, 0))[i] = 0;
        ((float *)tensor_row(&in, 1))[i] = i & 1 ? 3 : -3;
        ((float *)tensor_row(&in, 2))[i] = 3;
    }
    struct backend_product product = {&weight, NULL, &out, false};
    multiply(fast, &in, &product);
    product.out = &want;
    multiply(plain, &in, &product);
    struct tensor bound = rounding_bound(&in, &weight, &out);
    assert_matrix(&out, &want, &bound, "extremes");
    matrix_free(&weight), matrix_free(&in), matrix_free(&out), matrix_free(&want), matrix_free(&bound);
    close_backend(fast);
    close_backend(plain);
}

static void byte_sums_do_not_saturate(void **state)
{
    (void)state;
    each_set(check_extremes);
}

/* One strange number in a row: every output of that row says so, no other row does. */
static void check_strange(const char *set)
{
    static const float strange[] = {NAN, INFINITY, -INFINITY};
    current_set = set;
    struct backend *fast = open_fast(set, 2);
    for (enum dtype dtype = 0; dtype < DT_COUNT; dtype++)
        for (int i = 0; i < 12; i++) {
            struct tensor weight = weight_new(dtype, 19, 512);
            struct tensor in = matrix_new(5, 512), out = matrix_new(5, 19);
            struct backend_product product = {&weight, NULL, &out, false};
            size_t row = unit_below(5), at = unit_below(512);
            ((float *)tensor_row(&in, (int64_t)row))[at] = strange[i % 3];
            multiply(fast, &in, &product);
            for (int64_t r = 0; r < 5; r++)
                for (int64_t n = 0; n < 19; n++)
                    if ((bool)isfinite(((float *)tensor_row(&out, r))[n]) == (r == (int64_t)row))
                        fail_msg("%s %s: %g at [%zu, %zu] gives %g at [%d, %d]", set,
                                 dtype_info(dtype)->name, (double)strange[i % 3], row, at,
                                 (double)((float *)tensor_row(&out, r))[n], (int)r, (int)n);
            matrix_free(&weight), matrix_free(&in), matrix_free(&out);
        }
    close_backend(fast);
}

static void what_is_no_finite_number_is_never_rounded_away(void **state)
{
    (void)state;
    each_set(check_strange);
}

/* Too small for 127/most to be a number. */
static void check_tiny(const char *set)
{
    current_set = set;
    struct backend *fast = open_fast(set, 1);
    for (enum dtype dtype = 0; dtype < DT_COUNT; dtype++) {
        struct tensor weight = weight_new(dtype, 19, 256), in = matrix_new(2, 256), out = matrix_new(2, 19);
        struct backend_product product = {&weight, NULL, &out, false};
        for (int64_t i = 0; i < 256; i++)
            ((float *)tensor_row(&in, 0))[i] = ((float *)tensor_row(&in, 1))[i] = i & 1 ? 1e-38f : -3e-41f;
        multiply(fast, &in, &product);
        for (int64_t n = 0; n < 19; n++)
            assert_true(fabsf(((float *)tensor_row(&out, 0))[n]) < 1e-32f);
        matrix_free(&weight), matrix_free(&in), matrix_free(&out);
    }
    close_backend(fast);
}

static void activations_near_nothing_give_next_to_nothing(void **state)
{
    (void)state;
    each_set(check_tiny);
}

static void a_weight_of_another_width_fails_the_step(void **state)
{
    (void)state;
    struct backend *fast = open_fast("scalar", 1);
    struct tensor weight = weight_new(DT_Q8_0, 8, 64), in = matrix_new(1, 32), out = matrix_new(1, 8);
    struct backend_product product = {&weight, NULL, &out, false};
    struct test_step step = step_of_rows(1);
    ll_error error = {0};
    fast->table->begin(fast, &step.step, NULL);
    fast->table->products(fast, &in, &product, 1);
    assert_int_equal(fast->table->end(fast, &error), LL_ARGUMENT);
    assert_non_null(strstr(error.text, "64 columns"));
    matrix_free(&weight), matrix_free(&in), matrix_free(&out);
    step_free(&step);
    close_backend(fast);
}

int main(void)
{
    unit_seed();
    harness_seed(unit_random());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_agrees_with_the_plain_backend),
        cmocka_unit_test(results_do_not_depend_on_rows_or_threads),
        cmocka_unit_test(products_of_one_input_equal_those_done_alone),
        cmocka_unit_test(byte_sums_do_not_saturate),
        cmocka_unit_test(what_is_no_finite_number_is_never_rounded_away),
        cmocka_unit_test(activations_near_nothing_give_next_to_nothing),
        cmocka_unit_test(a_weight_of_another_width_fails_the_step),
    };
    return cmocka_run_group_tests_name("products of the CPU backends", tests, NULL, NULL);
}
