/* Operations that go row by row: embedding, norms, rotation, activations; on the pool when rows are many.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>

#include "cpu/cache_rows.h"
#include "cpu/fast/fast.h"
#include "tensor/dequant.h"

struct row_job {
    struct fast *fast;
    void (*row)(const struct row_job *job, int64_t row);
    int64_t rows, per_task;
    const struct tensor *a, *b, *weight, *bias;
    struct tensor *out;
    int kind, groups;
    float number;
    const struct backend_rotary *rotary;
    const float *angles;
};

static void row_task(void *context, size_t task, int thread)
{
    const struct row_job *job = context;
    (void)thread;
    int64_t row = (int64_t)task * job->per_task, end = row + job->per_task;
    if (host_stopped(&job->fast->host))
        return;
    for (; row < end && row < job->rows; row++)
        job->row(job, row);
}

/* cost: nanoseconds an element. */
static void run_rows(struct row_job *job, int64_t cols, double cost)
{
    double row_cost = cost * (double)cols;
    job->per_task = row_cost > 4000 ? 1 : (int64_t)(4000 / (row_cost + 1)) + 1;
    fast_run(job->fast, (size_t)((job->rows + job->per_task - 1) / job->per_task),
             row_cost * (double)job->rows, row_task, job);
}

static void *data_of(const struct tensor *tensor)
{
    return tensor ? tensor->data : NULL;
}

/* ---- embedding ---- */
static void embed_row(const struct row_job *job, int64_t row)
{
    float *to = tensor_row(job->out, row);
    dequantize_row(job->a->dtype, tensor_row(job->a, job->fast->host.step->tokens[row]), to, job->a->cols);
    if (job->number != 1)
        job->fast->kernels->scale(to, job->number, job->a->cols);
}

void fast_embed(struct backend *backend, const struct tensor *table, float scale, struct tensor *out)
{
    struct fast *fast = fast_of(backend);
    struct host *host = &fast->host;
    if (host_stopped(host) || !host_check_rows(host, "embed", out, host->step->rows, table->cols))
        return;
    for (int64_t row = 0; row < out->rows; row++)
        if (host->step->tokens[row] < 0 || host->step->tokens[row] >= table->rows) {
            host_fail(host, LL_ARGUMENT, "embed", "token %" PRId32 " is not among the %" PRId64 " embeddings",
                      host->step->tokens[row], table->rows);
            return;
        }
    struct row_job job = {
        .fast = fast, .row = embed_row, .rows = out->rows, .a = table, .out = out, .number = scale};
    run_rows(&job, table->cols, 2);
}

/* ---- norms ---- */
static void norm_row(const struct row_job *job, int64_t row)
{
    int64_t part = job->a->cols / job->groups;
    for (int g = 0; g < job->groups; g++)
        job->fast->kernels->norm((enum backend_norm)job->kind,
                                 (const float *)tensor_row(job->a, row) + g * part, data_of(job->weight),
                                 data_of(job->bias), job->number, part,
                                 (float *)tensor_row(job->out, row) + g * part);
}

void fast_norm(struct backend *backend, enum backend_norm kind, const struct tensor *in,
               const struct tensor *weight, const struct tensor *bias, float eps, int groups,
               struct tensor *out)
{
    struct fast *fast = fast_of(backend);
    if (host_stopped(&fast->host) || !host_check_rows(&fast->host, "norm", in, in->rows, in->cols) ||
        !host_check_rows(&fast->host, "norm", out, in->rows, in->cols))
        return;
    struct row_job job = {.fast = fast,
                          .row = norm_row,
                          .rows = in->rows,
                          .a = in,
                          .weight = weight,
                          .bias = bias,
                          .out = out,
                          .kind = kind,
                          .groups = groups,
                          .number = eps};
    run_rows(&job, in->cols, 0.3);
}

/* ---- rotation ---- */
static void fill_angles(const struct backend_step *step, const struct backend_rotary *rotary, float *values)
{
    int half = rotary->rotary_dim / 2;
    const float *frequencies = rotary->frequencies->data;
    for (int64_t row = 0; row < step->rows; row++, values += 2 * half)
        for (int i = 0; i < half; i++) {
            double angle = (double)step->positions[row] * frequencies[i];
            values[i] = (float)(cos(angle) * rotary->scale);
            values[half + i] = (float)(sin(angle) * rotary->scale);
        }
}

/* The table of this step for these frequencies; NULL and a failed step when there is no memory. */
static const float *find_angles(struct fast *fast, const struct backend_rotary *rotary)
{
    int half = rotary->rotary_dim / 2, known = fast->rotary_count;
    for (int i = 0; i < known; i++)
        if (fast->rotary[i].frequencies == rotary->frequencies->data && fast->rotary[i].half == half &&
            fast->rotary[i].scale == rotary->scale)
            return fast->rotary[i].values.memory;
    int place = known < ROTARY_TABLES ? known : ROTARY_TABLES - 1;
    struct rotary_table *table = &fast->rotary[place];
    if (!buffer_need(fast, &table->values,
                     (uint64_t)fast->host.step->rows * 2 * (uint64_t)half * sizeof(float)))
        return NULL;
    table->frequencies = rotary->frequencies->data;
    table->scale = rotary->scale;
    table->half = half;
    fast->rotary_count = place + 1;
    fill_angles(fast->host.step, rotary, table->values.memory);
    return table->values.memory;
}

static void rotate_row(const struct row_job *job, int64_t row)
{
    int half = job->rotary->rotary_dim / 2;
    const float *cosines = job->angles + row * 2 * half;
    job->fast->kernels->rotate(job->rotary, cosines, cosines + half, tensor_row(job->out, row));
}

void fast_rotary(struct backend *backend, const struct backend_rotary *rotary, struct tensor *x)
{
    struct fast *fast = fast_of(backend);
    int64_t cols = (int64_t)rotary->heads * rotary->head_dim;
    if (host_stopped(&fast->host) || !host_check_rows(&fast->host, "rotary", x, fast->host.step->rows, cols))
        return;
    struct row_job job = {.fast = fast, .row = rotate_row, .rows = x->rows, .out = x, .rotary = rotary,
                          .angles = find_angles(fast, rotary)};
    if (job.angles)
        run_rows(&job, cols, 0.3);
}

/* ---- cache ---- */
void fast_cache_write(struct backend *backend, const struct backend_cache *cache, const struct tensor *k,
                      const struct tensor *v)
{
    struct fast *fast = fast_of(backend);
    cache_store_step(&fast->host, cache, k, v, fast->kernels->store_row, fast->kernels->row_norm);
}

/* ---- elementwise ---- */
static void activate_row(const struct row_job *job, int64_t row)
{
    job->fast->kernels->activate((enum backend_activation)job->kind, tensor_row(job->a, row),
                                 job->b ? tensor_row(job->b, row) : NULL, job->a->cols,
                                 tensor_row(job->out, row));
}

void fast_activate(struct backend *backend, enum backend_activation kind, const struct tensor *gate,
                   const struct tensor *up, struct tensor *out)
{
    struct fast *fast = fast_of(backend);
    if (host_stopped(&fast->host) ||
        !host_check_rows(&fast->host, "activate", gate, gate->rows, gate->cols) ||
        !host_check_rows(&fast->host, "activate", out, gate->rows, gate->cols) ||
        (up && !host_check_rows(&fast->host, "activate", up, gate->rows, gate->cols)))
        return;
    struct row_job job = {
        .fast = fast, .row = activate_row, .rows = gate->rows, .a = gate, .b = up, .out = out, .kind = kind};
    run_rows(&job, gate->cols, 1);
}

static void add_row(const struct row_job *job, int64_t row)
{
    job->fast->kernels->add(tensor_row(job->a, row), tensor_row(job->b, row), job->a->cols,
                            tensor_row(job->out, row));
}

void fast_add(struct backend *backend, const struct tensor *a, const struct tensor *b, struct tensor *out)
{
    struct fast *fast = fast_of(backend);
    if (host_stopped(&fast->host) || !host_check_rows(&fast->host, "add", a, a->rows, a->cols) ||
        !host_check_rows(&fast->host, "add", b, a->rows, a->cols) ||
        !host_check_rows(&fast->host, "add", out, a->rows, a->cols))
        return;
    struct row_job job = {.fast = fast, .row = add_row, .rows = a->rows, .a = a, .b = b, .out = out};
    run_rows(&job, a->cols, 0.2);
}

static void clamp_row(const struct row_job *job, int64_t row)
{
    job->fast->kernels->clamp(tensor_row(job->out, row), job->number, job->out->cols);
}

static void softcap_row(const struct row_job *job, int64_t row)
{
    job->fast->kernels->softcap(tensor_row(job->out, row), job->number, job->out->cols);
}

void fast_clamp(struct backend *backend, struct tensor *x, float limit)
{
    struct fast *fast = fast_of(backend);
    if (host_stopped(&fast->host) || !host_check_rows(&fast->host, "clamp", x, x->rows, x->cols))
        return;
    struct row_job job = {.fast = fast, .row = clamp_row, .rows = x->rows, .out = x, .number = limit};
    run_rows(&job, x->cols, 0.2);
}

void fast_softcap(struct backend *backend, struct tensor *x, float limit)
{
    struct fast *fast = fast_of(backend);
    if (host_stopped(&fast->host) || !host_check_rows(&fast->host, "softcap", x, x->rows, x->cols))
        return;
    struct row_job job = {.fast = fast, .row = softcap_row, .rows = x->rows, .out = x, .number = limit};
    run_rows(&job, x->cols, 1);
}
