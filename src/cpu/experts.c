/* Mixtures of experts on the CPU: chooses for each row, then runs each expert over the rows that chose it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Both CPU backends share this; the products are their own. An expert's matrices are rows of one matrix. The
 * sum over a row's experts is taken in the order of their numbers, whatever other rows are in the step. */
#include "cpu/experts.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

struct choice { /* of all rows, [rows][used] */
    int32_t *expert;
    float *weight;
};

/* The `used` best of a row's scores, the lower number first among equals. */
static void choose_row(const struct backend_experts *e, const float *scores, int32_t *expert, float *weight)
{
    double peak = -INFINITY, sum = 0.0, chosen = 0.0;
    for (int i = 0; i < e->experts; i++)
        peak = fmax(peak, (double)scores[i]);
    for (int i = 0; i < e->experts; i++)
        sum += exp((double)scores[i] - peak);
    for (int k = 0; k < e->used; k++) {
        int best = -1;
        for (int i = 0; i < e->experts; i++) {
            bool taken = false;
            for (int j = 0; j < k && !taken; j++)
                taken = expert[j] == i;
            if (!taken && (best < 0 || scores[i] > scores[best]))
                best = i;
        }
        expert[k] = best;
        double share = exp((double)scores[best] - peak) / sum;
        weight[k] = (float)share;
        chosen += share;
    }
    for (int k = 0; k < e->used; k++)
        weight[k] =
            (float)((e->normalise ? (double)weight[k] / chosen : (double)weight[k]) * (double)e->scale);
}

/* The rows that chose an expert, and what it counts for each; how many. */
static int64_t rows_of(const struct backend_experts *e, const struct choice *choice, int64_t rows, int expert,
                       int32_t *row, float *weight)
{
    int64_t count = 0;
    for (int64_t r = 0; r < rows; r++)
        for (int k = 0; k < e->used; k++)
            if (choice->expert[r * e->used + k] == expert) {
                row[count] = (int32_t)r;
                weight[count++] = choice->weight[r * e->used + k];
            }
    return count;
}

static void run_expert(struct backend *backend, const struct backend_experts *e, int expert,
                       const struct tensor *in, const int32_t *row, const float *weight, int64_t count,
                       struct tensor *out)
{
    int64_t ffn = e->gate->rows / e->experts, width = e->down->rows / e->experts;
    struct tensor gathered = tensor_rows(e->gathered, 0, count), gate = tensor_rows(e->gate_rows, 0, count);
    struct tensor up = tensor_rows(e->up_rows, 0, count), result = tensor_rows(e->result, 0, count);
    struct tensor gate_weight = tensor_rows(e->gate, expert * ffn, ffn);
    struct tensor up_weight = tensor_rows(e->up, expert * ffn, ffn);
    struct tensor down_weight = tensor_rows(e->down, expert * width, width);
    for (int64_t i = 0; i < count; i++)
        memcpy(tensor_row(&gathered, i), tensor_row(in, row[i]), (size_t)in->cols * sizeof(float));
    struct backend_product first[2] = {{&up_weight, NULL, &up, false}, {&gate_weight, NULL, &gate, false}};
    struct backend_product last = {&down_weight, NULL, &result, false};
    backend->table->products(backend, &gathered, first, 2);
    backend->table->activate(backend, e->activation, &gate, &up, &up);
    backend->table->products(backend, &up, &last, 1);
    for (int64_t i = 0; i < count; i++) {
        float *to = tensor_row(out, row[i]);
        const float *from = tensor_row(&result, i);
        for (int64_t c = 0; c < width; c++)
            to[c] += weight[i] * from[c];
    }
}

void host_experts(struct backend *backend, const struct backend_experts *e, const struct tensor *in,
                  struct tensor *out)
{
    struct host *host = host_of(backend);
    int64_t rows = in->rows;
    size_t slots = (size_t)rows * (size_t)e->used;
    if (host_stopped(host) || !host_check_rows(host, "experts", in, rows, in->cols) ||
        !host_check_rows(host, "experts", out, rows, in->cols))
        return;
    struct choice choice = {mem_new(slots, sizeof *choice.expert), mem_new(slots, sizeof *choice.weight)};
    int32_t *row = mem_new(slots, sizeof *row);
    float *weight = mem_new(slots, sizeof *weight);
    struct tensor scores = tensor_rows(e->scores, 0, rows);
    struct backend_product to = {e->router, NULL, &scores, false};
    if (!choice.expert || !choice.weight || !row || !weight)
        host_fail(host, LL_NOMEM, "experts", "no memory for the choices of %lld rows", (long long)rows);
    else
        backend->table->products(backend, in, &to, 1);
    for (int64_t r = 0; r < rows && !host_stopped(host); r++) {
        choose_row(e, tensor_row(&scores, r), choice.expert + r * e->used, choice.weight + r * e->used);
        memset(tensor_row(out, r), 0, (size_t)out->cols * sizeof(float));
    }
    for (int i = 0; i < e->experts && !host_stopped(host); i++) {
        int64_t count = rows_of(e, &choice, rows, i, row, weight);
        if (count > 0)
            run_expert(backend, e, i, in, row, weight, count, out);
    }
    mem_free(choice.expert);
    mem_free(choice.weight);
    mem_free(row);
    mem_free(weight);
}
