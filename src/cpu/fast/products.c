/* Products on the pool: activations to bytes once, then panels of weights times blocks of rows.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "cpu/fast/fast.h"

/* A block of rows is long enough to make little of unpacking. A stretch of columns is whole blocks of every
 * format; two panels of it, and the rows of a tile, fit the first cache. With few rows unpacking is most of
 * the work, and one panel at a time has its successor asked for in the order of memory. */
enum {
    BLOCK_ROWS = 240,
    BYTE_COLS = MOST_CHUNKS * CHUNK,
    FLOAT_COLS = 256,
    FEW_ROWS = 2,
    MAX_PANELS = 2,
    MAX_PRODUCTS = 4,
    QUANTIZE_ROWS = 8
};

struct weight_plan {
    const struct backend_product *product;
    enum product_form form;
    int64_t panels, per_task, groups; /* panels, panels in a task, tasks to a block of rows */
    int together;                     /* panels multiplied at once */
    bool single;                      /* one row, by weights as they lie */
    size_t first_task;
};

struct products_job {
    struct fast *fast;
    const struct tensor *in;
    struct byte_rows bytes;
    struct weight_plan plans[MAX_PRODUCTS];
    int count;
    int64_t block_rows;
    uint64_t panels_bytes, partial_bytes; /* scratch: panels, sums between stretches, a last panel's rows */
};

/* ---- activations ---- */
static bool place_bytes(struct fast *fast, int64_t rows, int64_t cols, struct byte_rows *ret)
{
    uint64_t chunks = (uint64_t)(cols / CHUNK), groups = (uint64_t)rows * chunks;
    uint64_t q_bytes = (groups * CHUNK + 63) & ~(uint64_t)63;
    if (!buffer_need(fast, &fast->rows, q_bytes + groups * (2 * sizeof(float) + 2 * sizeof(int32_t))))
        return false;
    char *memory = fast->rows.memory;
    *ret = (struct byte_rows){.rows = rows, .chunks = (int64_t)chunks, .q = (int8_t *)memory};
    ret->scales = (float *)(void *)(memory + q_bytes);
    ret->sums = ret->scales + groups;
    ret->counts = (int32_t *)(void *)(ret->sums + groups);
    return true;
}

static void quantize_task(void *context, size_t task, int thread)
{
    struct products_job *job = context;
    (void)thread;
    int64_t row = (int64_t)task * QUANTIZE_ROWS, end = row + QUANTIZE_ROWS;
    if (end > job->in->rows)
        end = job->in->rows;
    for (; row < end; row++)
        job->fast->kernels->quantize_row(tensor_row(job->in, row), &job->bytes, row);
}

static bool prepare_bytes(struct products_job *job)
{
    bool wanted = false;
    for (int i = 0; i < job->count; i++)
        wanted |= job->plans[i].form != FORM_FLOAT;
    if (!wanted)
        return true;
    if (!place_bytes(job->fast, job->in->rows, job->in->cols, &job->bytes))
        return false;
    fast_run(job->fast, (size_t)((job->in->rows + QUANTIZE_ROWS - 1) / QUANTIZE_ROWS),
             0.5 * (double)job->in->rows * (double)job->in->cols, quantize_task, job);
    return true;
}

/* ---- one task: some panels of one weight, one block of rows ---- */
/* A weight's last rows may be fewer than a panel: they are copied, the last one repeated. */
static const void *panel_rows(const struct products_job *job, const struct tensor *weight, int64_t first,
                              void *copy, int64_t *stride)
{
    int64_t lanes = job->fast->kernels->lanes;
    if (first + lanes <= weight->rows) {
        *stride = weight->stride;
        return tensor_row(weight, first);
    }
    *stride = (int64_t)dtype_row_bytes(weight->dtype, (uint64_t)weight->cols);
    for (int64_t i = 0; i < lanes; i++) {
        int64_t row = first + i < weight->rows ? first + i : weight->rows - 1;
        memcpy((char *)copy + i * *stride, tensor_row(weight, row), (size_t)*stride);
    }
    return copy;
}

static int64_t stretch_cols(const struct weight_plan *plan)
{
    return plan->form == FORM_FLOAT ? FLOAT_COLS : BYTE_COLS;
}

/* Stretch by stretch; every output's sums wait in between. */
static void multiply_panels(const struct products_job *job, const struct weight_plan *plan, int64_t panel,
                            int count, int64_t first_row, int64_t rows, char *scratch)
{
    const struct kernels *kernels = job->fast->kernels;
    const struct tensor *weight = plan->product->weight;
    int64_t stride[MAX_PANELS], most = stretch_cols(plan);
    const void *from[MAX_PANELS];
    struct product_range range = {.product = plan->product, .first_output = panel * kernels->lanes,
                                  .first_row = first_row, .rows = rows,
                                  .partial = (float *)(void *)(scratch + job->panels_bytes)};
    for (int i = 0; i < count; i++)
        from[i] = panel_rows(job, weight, range.first_output + (int64_t)i * kernels->lanes,
                             scratch + job->panels_bytes + job->partial_bytes, &stride[i]);
    if (plan->single) {
        range.cols = weight->cols;
        kernels->multiply_single(weight->dtype, from[0], stride[0], &job->bytes, &range);
        return;
    }
    for (; range.first_col < weight->cols; range.first_col += range.cols) {
        int64_t left = weight->cols - range.first_col;
        range.cols = left < most ? left : most;
        int64_t bytes = kernels->panel_bytes(weight->dtype, range.cols);
        for (int i = 0; i < count; i++)
            kernels->unpack(weight->dtype, from[i], stride[i], range.first_col, range.cols,
                            scratch + i * bytes);
        if (plan->form == FORM_FLOAT)
            kernels->multiply_float((const float *)(void *)scratch, count, job->in, &range);
        else
            kernels->multiply(weight->dtype, scratch, count, &job->bytes, &range);
    }
}

static void products_task(void *context, size_t task, int thread)
{
    struct products_job *job = context;
    if (host_stopped(&job->fast->host))
        return;
    int i = job->count - 1;
    while (task < job->plans[i].first_task)
        i--;
    const struct weight_plan *plan = &job->plans[i];
    int64_t local = (int64_t)(task - plan->first_task);
    int64_t first_row = local / plan->groups * job->block_rows, rows = job->in->rows - first_row;
    int64_t panel = local % plan->groups * plan->per_task, end = panel + plan->per_task;
    end = end < plan->panels ? end : plan->panels;
    for (int count; panel < end; panel += count) {
        count = end - panel >= plan->together ? plan->together : 1;
        multiply_panels(job, plan, panel, count, first_row, rows < job->block_rows ? rows : job->block_rows,
                        job->fast->scratch[thread].memory);
    }
}

/* ---- the plan ---- */
/* Whole tiles, so that a tile never spans two blocks. */
static int64_t choose_block_rows(const struct fast *fast)
{
    return BLOCK_ROWS / fast->kernels->tile_rows * fast->kernels->tile_rows;
}

static int choose_together(const struct fast *fast, enum product_form form, int64_t rows)
{
    if (rows <= FEW_ROWS)
        return 1;
    return form == FORM_FLOAT ? fast->kernels->float_panels : fast->kernels->panels_at_once;
}

/* Few enough panels that all threads end together, enough that taking a task costs little beside it. */
static int64_t choose_per_task(const struct fast *fast, int64_t panels, int64_t rows, int64_t cols)
{
    int64_t even = panels / (fast->threads * 12), least = 3000 / (cols * (rows < 16 ? 1 : rows / 4)) + 1;
    int64_t chosen = ((even > least ? even : least) + MAX_PANELS - 1) / MAX_PANELS * MAX_PANELS;
    return chosen < 64 ? chosen : 64;
}

static bool plan_job(struct products_job *job, const struct backend_product *products, size_t *tasks,
                     double *work)
{
    struct fast *fast = job->fast;
    int64_t rows = job->in->rows, cols = job->in->cols, total = 0, lanes = fast->kernels->lanes;
    uint64_t row_bytes = 0;
    for (int i = 0; i < job->count; i++) {
        const struct tensor *weight = products[i].weight;
        enum product_form form = fast->kernels->form(weight->dtype);
        struct weight_plan *plan = &job->plans[i];
        *plan = (struct weight_plan){.product = &products[i],
                                     .form = form,
                                     .panels = (weight->rows + lanes - 1) / lanes,
                                     .together = choose_together(fast, form, rows),
                                     .single = rows == 1 && fast->kernels->has_single(weight->dtype, cols)};
        uint64_t panel = (uint64_t)fast->kernels->panel_bytes(weight->dtype, stretch_cols(plan)) * MAX_PANELS;
        uint64_t row = dtype_row_bytes(weight->dtype, (uint64_t)cols);
        job->panels_bytes = panel > job->panels_bytes ? panel : job->panels_bytes;
        row_bytes = row > row_bytes ? row : row_bytes;
        total += job->plans[i].panels;
    }
    job->panels_bytes = (job->panels_bytes + 63) & ~(uint64_t)63;
    job->block_rows = choose_block_rows(fast);
    job->partial_bytes = (uint64_t)(job->block_rows * lanes * MAX_PANELS) * sizeof(float);
    int64_t blocks = (rows + job->block_rows - 1) / job->block_rows;
    *tasks = 0;
    for (int i = 0; i < job->count; i++) {
        struct weight_plan *plan = &job->plans[i];
        plan->per_task = choose_per_task(fast, total, rows, cols);
        plan->groups = (plan->panels + plan->per_task - 1) / plan->per_task;
        plan->first_task = *tasks;
        *tasks += (size_t)(plan->groups * blocks);
    }
    *work = (double)total * (double)lanes * (double)cols * (0.02 + 0.005 * (double)rows);
    return scratch_need(fast, job->panels_bytes + job->partial_bytes + row_bytes * (uint64_t)lanes);
}

static bool check_products(struct host *host, const struct tensor *in, const struct backend_product *products,
                           int count)
{
    if (host_stopped(host) || !host_check_rows(host, "products", in, in->rows, in->cols))
        return false;
    if (count < 1 || count > MAX_PRODUCTS)
        host_fail(host, LL_ARGUMENT, "products", "%d products of one input, not 1 to %d", count,
                  MAX_PRODUCTS);
    for (int i = 0; i < count && !host_stopped(host); i++) {
        const struct tensor *weight = products[i].weight;
        if (weight->cols != in->cols || dtype_row_bytes(weight->dtype, (uint64_t)weight->cols) == 0)
            host_fail(host, LL_ARGUMENT, "products",
                      "a weight of %" PRId64 " columns (%s) for an input of %" PRId64, weight->cols,
                      dtype_info(weight->dtype)->name, in->cols);
        else
            host_check_rows(host, "products", products[i].out, in->rows, weight->rows);
    }
    return !host_stopped(host);
}

void fast_products(struct backend *backend, const struct tensor *in, const struct backend_product *products,
                   int count)
{
    struct fast *fast = fast_of(backend);
    struct products_job job = {.fast = fast, .in = in, .count = count};
    size_t tasks;
    double work;
    if (!check_products(&fast->host, in, products, count) || in->rows == 0 ||
        !plan_job(&job, products, &tasks, &work) || !prepare_bytes(&job))
        return;
    fast_run(fast, tasks, work, products_task, &job);
}
