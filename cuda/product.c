/* Matrix products: checks a call and shares it between the fused kernels and the matrix library.
 * SPDX-License-Identifier: Apache-2.0 */
#include <cuda_runtime_api.h>
#include <stdlib.h>

#include "cuda/fused.h"
#include "cuda/matrix_library.h"
#include "cuda/weight_layout.h"

/* Most rows of a quantised weight's product that the fused kernels do in several passes: to unpack the weight
 * for the library takes longer. */
enum { PASSES_ROWS = 64 };
/* Bytes of a run of weight rows that is unpacked at once: those that stay in the L2, or as many more as the
 * library needs to keep every multiprocessor busy, of which each takes a tile of about this many numbers. */
enum { CACHED_BYTES = 32 << 20, UNPACKED_BYTES = 56 << 20, TILE_WIDTH = 256, TILE_HEIGHT = 128 };

struct product_context {
    int processors;
    struct matrix_library *library;
};

int product_open(struct product_context **ret)
{
    int device, status;
    struct product_context *context = calloc(1, sizeof *context);
    if (!context)
        return cudaErrorMemoryAllocation;
    status = (int)cudaGetDevice(&device);
    if (status == cudaSuccess)
        status = (int)cudaDeviceGetAttribute(&context->processors, cudaDevAttrMultiProcessorCount, device);
    context->library = status == cudaSuccess ? matrix_library_new() : NULL;
    if (status == cudaSuccess && !context->library)
        status = cudaErrorMemoryAllocation;
    if (status != cudaSuccess) {
        free(context);
        return status;
    }
    *ret = context;
    return cudaSuccess;
}

void product_close(struct product_context *context)
{
    if (!context)
        return;
    matrix_library_free(context->library);
    free(context);
}

const char *product_library_reason(const struct product_context *context)
{
    return matrix_library_reason(context->library);
}

size_t product_scratch_bytes(const struct product_context *context, int64_t rows)
{
    if (rows <= PRODUCT_FUSED_ROWS || product_library_reason(context))
        return FUSED_DIGIT_BYTES;
    return MATRIX_WORKSPACE + UNPACKED_BYTES; /* the library's, or for passes of few rows their digits */
}

/* ---- is a call right, and whose is it ---- */
static bool is_aligned(const void *address)
{
    return (uintptr_t)address % PRODUCT_ALIGN == 0;
}

static bool digits_have_room(const struct product_call *call, enum dtype weight, int64_t k)
{
    return !fused_is_coded(weight) ||
           (call->scratch && is_aligned(call->scratch) && call->scratch_bytes >= FUSED_DIGIT_BYTES &&
            fused_digit_bytes(k) <= (int64_t)FUSED_DIGIT_BYTES);
}

static bool weight_is_right(const struct product_weight *weight, int64_t k)
{
    return weight->n > 0 && weight->n <= INT32_MAX && weight->k == k && weight->stride > 0 &&
           weight->stride == product_stride(weight->dtype, k) && weight->data && is_aligned(weight->data);
}

static bool output_is_right(const struct product_call *call, const struct product_output *output)
{
    return (output->dtype == DT_F32 || output->dtype == call->dtype) && output->out &&
           is_aligned(output->out) && output->out_stride >= output->weight.n;
}

static bool input_is_right(const struct product_call *call, int64_t k)
{
    if (call->rows < 1 || !call->in || !is_aligned(call->in) || call->in_stride < k || call->in_stride % 8 ||
        call->in_stride > INT32_MAX / PRODUCT_FUSED_ROWS)
        return false;
    if (call->norm == PRODUCT_NORM_NONE)
        return call->in_dtype == call->dtype;
    return call->norm_weight && is_aligned(call->norm_weight) && is_aligned(call->norm_bias) &&
           k <= FUSED_MOST_NORMED && (call->in_dtype == call->dtype || call->in_dtype == DT_F32);
}

static bool gate_is_right(const struct product_call *call)
{
    const struct product_output *gate = &call->outputs[0], *up = &call->outputs[1];
    return call->count == 2 && gate->weight.dtype == up->weight.dtype && gate->weight.n == up->weight.n &&
           !gate->accumulate && !up->accumulate;
}

static bool call_is_right(const struct product_call *call)
{
    if ((call->dtype != DT_BF16 && call->dtype != DT_F16) || call->count < 1 || call->count > PRODUCT_MOST)
        return false;
    bool gated = call->gate != PRODUCT_GATE_NONE;
    int64_t k = call->outputs[0].weight.k;
    if (!input_is_right(call, k) || (gated && !gate_is_right(call)))
        return false;
    for (int i = 0; i < call->count; i++)
        if (!weight_is_right(&call->outputs[i].weight, k) ||
            !digits_have_room(call, call->outputs[i].weight.dtype, k) ||
            (!(gated && i == 0) && !output_is_right(call, &call->outputs[i])))
            return false;
    return true;
}

bool product_fuses(const struct product_context *context, const struct product_call *call)
{
    (void)context;
    return call_is_right(call) && call->rows <= (call->norm == PRODUCT_NORM_NONE ? PRODUCT_FUSED_ROWS : 1);
}

/* ---- the fused kernels ---- */
static fused_launch *const launches[DT_COUNT] = {
    [DT_F32] = fused_DT_F32,   [DT_F16] = fused_DT_F16,   [DT_BF16] = fused_DT_BF16,
    [DT_Q4_0] = fused_DT_Q4_0, [DT_Q4_1] = fused_DT_Q4_1, [DT_Q5_0] = fused_DT_Q5_0,
    [DT_Q5_1] = fused_DT_Q5_1, [DT_Q8_0] = fused_DT_Q8_0, [DT_Q4_K] = fused_DT_Q4_K,
    [DT_Q5_K] = fused_DT_Q5_K, [DT_Q6_K] = fused_DT_Q6_K,
};

static struct fused_weight fused_weight_of(const struct product_output *output, int64_t first_row)
{
    int64_t bytes = output->dtype == DT_F32 ? 4 : 2;
    return (struct fused_weight){.data = output->weight.data,
                                 .stride = output->weight.stride,
                                 .n = (int)output->weight.n,
                                 .bias = output->bias,
                                 .out = (char *)output->out + first_row * output->out_stride * bytes,
                                 .out_stride = output->out_stride,
                                 .out_dtype = output->dtype,
                                 .accumulate = output->accumulate};
}

/* Rows of a pass: eight of digits take the registers that sixteen plain ones do. */
static int64_t pass_rows(enum dtype weight, int64_t k)
{
    int64_t room = (int64_t)FUSED_DIGIT_BYTES / fused_digit_bytes(k);
    if (!fused_is_coded(weight))
        return PRODUCT_FUSED_ROWS;
    return room < FUSED_DIGIT_ROWS ? room : FUSED_DIGIT_ROWS;
}

static struct fused_call fused_call_of(const struct product_call *call, enum dtype weight, int64_t first_row)
{
    int64_t k = call->outputs[0].weight.k, left = call->rows - first_row, most = pass_rows(weight, k);
    struct layout_row parts = layout_of(weight, k);
    bool plain = parts.units == 0;
    int64_t in_bytes = call->in_dtype == DT_F32 ? 4 : 2;
    return (struct fused_call){.gate = call->gate,
                               .k = (int)k,
                               .unit = fused_unit(weight),
                               .units = (int)((k + fused_unit(weight) - 1) / fused_unit(weight)),
                               .high = (unsigned)parts.high,
                               .scales = (unsigned)parts.scales,
                               .tail = (unsigned)parts.tail,
                               .columns = (unsigned)(plain ? parts.stride / layout_block_bytes(weight) : k),
                               .in = (const char *)call->in + first_row * call->in_stride * in_bytes,
                               .in_dtype = call->in_dtype,
                               .dtype = call->dtype,
                               .in_stride = call->in_stride,
                               .digits = call->scratch,
                               .rows = (int)(left < most ? left : most),
                               .norm = call->norm,
                               .norm_weight = call->norm_weight,
                               .norm_bias = call->norm_bias,
                               .norm_eps = call->norm_eps};
}

/* All weights of one type, for up to PRODUCT_FUSED_ROWS rows. */
static struct fused_call gather(const struct product_call *call, enum dtype weight, int64_t first_row)
{
    struct fused_call fused = fused_call_of(call, weight, first_row);
    for (int i = 0; i < call->count; i++) {
        if (call->outputs[i].weight.dtype != weight)
            continue;
        struct fused_weight *to = &fused.weights[fused.count++];
        *to = fused_weight_of(&call->outputs[i], first_row);
        to->first_tile = call->gate == PRODUCT_GATE_NONE ? fused.tiles : 0;
        fused.tiles = to->first_tile + (to->n + FUSED_ROWS - 1) / FUSED_ROWS;
    }
    return fused;
}

static int run_fused(const struct product_context *context, const struct product_call *call,
                     enum dtype weight, void *stream)
{
    int status = cudaSuccess;
    for (int64_t row = 0; row < call->rows && status == cudaSuccess;) {
        struct fused_call pass = gather(call, weight, row);
        status = launches[weight](&pass, context->processors, stream);
        row += pass.rows;
    }
    return status;
}

/* One row by weights of exactly two types that have a launch together: true, and *status says how it went. */
static bool run_pair(const struct product_context *context, const struct product_call *call, void *stream,
                     int *status)
{
    bool has[DT_COUNT] = {false};
    int types = 0;
    for (int i = 0; i < call->count; i++) {
        types += !has[call->outputs[i].weight.dtype];
        has[call->outputs[i].weight.dtype] = true;
    }
    if (call->rows != 1 || types != 2 || !has[DT_Q6_K] || !(has[DT_Q4_K] || has[DT_Q5_K]) ||
        call->outputs[0].weight.k > FUSED_MOST_COLUMNS)
        return false;
    struct fused_call first = gather(call, has[DT_Q4_K] ? DT_Q4_K : DT_Q5_K, 0);
    struct fused_call second = gather(call, DT_Q6_K, 0);
    fused_pair_launch *launch = has[DT_Q4_K] ? fused_pair_Q4_K_Q6_K : fused_pair_Q5_K_Q6_K;
    *status = launch(&first, &second, context->processors, stream);
    return *status != cudaErrorNotSupported;
}

/* ---- the library ---- */
/* Weight rows first … first+n-1 and what belongs to them. */
static struct product_output narrow(const struct product_output *output, int64_t first, int64_t n)
{
    struct product_output part = *output;
    part.weight.n = n;
    part.weight.data = (const char *)output->weight.data + first * output->weight.stride;
    part.out = (char *)output->out + first * (output->dtype == DT_F32 ? 4 : 2);
    if (output->bias)
        part.bias = output->bias + first;
    return part;
}

static int run_alone(const struct product_context *context, const struct product_call *call,
                     const struct product_output *output, void *stream)
{
    struct product_call alone = *call;
    alone.count = 1;
    alone.outputs[0] = *output;
    return run_fused(context, &alone, output->weight.dtype, stream);
}

/* numbers: those of output's weight, rows `stride` numbers apart. */
static int multiply(const struct product_context *context, const struct product_call *call,
                    const struct product_output *output, const void *numbers, int64_t stride, void *stream)
{
    struct matrix_call product = {.dtype = call->dtype,
                                  .out_dtype = output->dtype,
                                  .n = output->weight.n,
                                  .k = output->weight.k,
                                  .rows = call->rows,
                                  .weight = numbers,
                                  .weight_stride = stride,
                                  .in = call->in,
                                  .in_stride = call->in_stride,
                                  .out = output->out,
                                  .out_stride = output->out_stride,
                                  .accumulate = output->accumulate,
                                  .workspace = call->scratch};
    int status = matrix_library_multiply(context->library, &product, stream);
    if (status == cudaErrorNotSupported) /* the library has no kernel for this shape */
        return run_alone(context, call, output, stream);
    if (status != cudaSuccess || !output->bias)
        return status;
    return fused_add_bias(output->out, output->dtype, output->out_stride, call->rows, output->weight.n,
                          output->bias, stream);
}

/* How many of n weight rows of `bytes` each are unpacked at once; their outputs begin on a 16-byte border. */
static int64_t run_rows(const struct product_context *context, int64_t rows, int64_t n, int64_t bytes)
{
    int64_t tiles_high = (rows + TILE_HEIGHT - 1) / TILE_HEIGHT, most = UNPACKED_BYTES / bytes;
    int64_t wide = (context->processors + tiles_high - 1) / tiles_high * TILE_WIDTH;
    int64_t cached = CACHED_BYTES / bytes, wanted = wide > cached ? wide : cached;
    if (wanted > most)
        wanted = most;
    int64_t step = wanted >= TILE_WIDTH ? TILE_WIDTH : 8;
    wanted = wanted / step * step;
    if (wanted == 0)
        return 0;
    int64_t runs = (n + wanted - 1) / wanted, even = (n + runs - 1) / runs;
    return (even + step - 1) / step * step;
}

/* Runs of weight rows are unpacked into the same scratch, one after another, each just before it is used. */
static int multiply_unpacked(const struct product_context *context, const struct product_call *call,
                             const struct product_output *output, void *stream)
{
    const struct product_weight *weight = &output->weight;
    void *unpacked = (char *)call->scratch + MATRIX_WORKSPACE;
    int64_t stride = (weight->k + 7) / 8 * 8, run = run_rows(context, call->rows, weight->n, 2 * stride);
    if (run == 0)
        return run_alone(context, call, output, stream);
    for (int64_t first = 0; first < weight->n; first += run) {
        int64_t n = weight->n - first < run ? weight->n - first : run;
        struct product_output part = narrow(output, first, n);
        int status = product_unpack(weight, NULL, first, n, 1.0f, unpacked, call->dtype, stride, stream);
        if (status == cudaSuccess)
            status = multiply(context, call, &part, unpacked, stride, stream);
        if (status != cudaSuccess)
            return status;
    }
    return cudaSuccess;
}

static bool library_takes(const struct product_context *context, const struct product_call *call,
                          enum dtype weight)
{
    int64_t passes = weight == call->dtype ? PRODUCT_FUSED_ROWS : PASSES_ROWS;
    return call->rows > passes && !product_library_reason(context);
}

static int run_library(const struct product_context *context, const struct product_call *call,
                       enum dtype weight, void *stream)
{
    if (call->scratch_bytes < product_scratch_bytes(context, call->rows) || !is_aligned(call->scratch))
        return cudaErrorInvalidValue;
    for (int i = 0; i < call->count; i++) {
        const struct product_output *output = &call->outputs[i];
        if (output->weight.dtype != weight)
            continue;
        int status = weight == call->dtype ? multiply(context, call, output, output->weight.data,
                                                      output->weight.stride / 2, stream)
                                           : multiply_unpacked(context, call, output, stream);
        if (status != cudaSuccess)
            return status;
    }
    return cudaSuccess;
}

int product_run(struct product_context *context, const struct product_call *call, void *stream)
{
    bool plain = call->norm == PRODUCT_NORM_NONE && call->gate == PRODUCT_GATE_NONE;
    if (plain ? !call_is_right(call) : !product_fuses(context, call))
        return cudaErrorInvalidValue;
    int paired;
    if (run_pair(context, call, stream, &paired))
        return paired;
    bool done[DT_COUNT] = {false};
    for (int i = 0; i < call->count; i++) {
        enum dtype weight = call->outputs[i].weight.dtype;
        if (done[weight])
            continue;
        done[weight] = true;
        int status = library_takes(context, call, weight) ? run_library(context, call, weight, stream)
                                                          : run_fused(context, call, weight, stream);
        if (status != cudaSuccess)
            return status;
    }
    return cudaSuccess;
}
