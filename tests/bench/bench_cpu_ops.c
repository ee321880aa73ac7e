/* Speed of the CPU backend's operations beside what the machine can do, measured in the same run.
 * SPDX-License-Identifier: Apache-2.0
 *
 *     make tests/bench/bench_cpu_ops && tests/bench/bench_cpu_ops [THREADS [small|large]]
 *
 * Shapes are those of SmolLM2-135M (30 layers, width 576, feed-forward 1536, 9 heads sharing 3 KV heads
 * of 64, vocabulary 49152). The last lines add the operations up to tokens a second of the whole model.
 * Times are the best of several rounds in processor time of the calling thread when THREADS is 1 (other
 * work on the machine then disturbs least), else in wall time. A measurement, not a test. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend/backend.h"
#include "base/workers.h"
#include "bench/peak.h"
#include "cpu/cpu.h"
#include "tensor/dequant.h"

enum {
    WIDTH = 576,
    FEED = 1536,
    HEADS = 9,
    KV_HEADS = 3,
    HEAD = 64,
    LAYERS = 30,
    VOCABULARY = 49152,
    BLOCK = 64
};

static struct backend *backend;
static int threads = 1;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The best of enough rounds to fill a third of a second. */
static double best_time(void (*body)(void *), void *context)
{
    double best = 1e9, spent = 0;
    for (int round = 0; round < 5 || (spent < 0.3 && round < 1000); round++) {
        double start = seconds();
        body(context);
        double took = seconds() - start;
        best = took < best ? took : best;
        spent += took;
    }
    return best;
}

static void *scratch(uint64_t bytes)
{
    void *memory = NULL;
    if (backend->table->memory_new(backend, MEMORY_SCRATCH, bytes, &memory, NULL) != LL_OK)
        exit(1);
    return memory;
}

static struct tensor matrix(int64_t rows, int64_t cols)
{
    struct tensor m = {.dtype = DT_F32, .rows = rows, .cols = cols, .stride = cols * 4};
    float *values = m.data = scratch((uint64_t)(rows * cols) * 4);
    for (int64_t i = 0; i < rows * cols; i++)
        values[i] = (float)(i * 2654435761u % 1000) / 500 - 1;
    return m;
}

/* Some bytes; floats are made ordinary numbers, because very small ones are slow and no model has them. */
static struct tensor weight(enum dtype dtype, int64_t rows, int64_t cols)
{
    struct tensor w = {.dtype = dtype, .rows = rows, .cols = cols,
                       .stride = (int64_t)dtype_row_bytes(dtype, (uint64_t)cols)};
    unsigned char *bytes = w.data = scratch((uint64_t)(rows * w.stride));
    for (int64_t i = 0; i < rows * w.stride; i++)
        bytes[i] = (unsigned char)(i * 2654435761u >> 13) & 0x3F;
    int size = dtype_info(dtype)->block_bytes;
    for (int64_t i = size - 1; !dtype_info(dtype)->quantized && i < rows * w.stride; i += size)
        bytes[i] = 0x3F;
    return w;
}

static struct backend_step plain_step(int64_t rows)
{
    return (struct backend_step){.rows = rows};
}

/* ---- ceilings ---- */
static unsigned long long kept;
static void *big;
static const size_t big_bytes = (size_t)256 << 20;

static void read_big(void *context)
{
    (void)context;
    kept += peak_read(big, big_bytes);
}

static void run_bytes(void *context)
{
    *(double *)context = peak_bytes_operations();
}

static void run_floats(void *context)
{
    *(double *)context = peak_float_operations();
}

static double ceilings(void)
{
    double operations = 0;
    big = scratch(big_bytes);
    memset(big, 1, big_bytes);
    double read = (double)big_bytes / best_time(read_big, NULL);
    double time = best_time(run_bytes, &operations);
    printf("ceiling of one thread: memory %.1f GB/s", read / 1e9);
    printf(", bytes %.0f GOP/s", operations / time / 1e9);
    time = best_time(run_floats, &operations);
    printf(", floats %.0f GOP/s\n", operations / time / 1e9);
    backend->table->memory_free(backend, MEMORY_SCRATCH, big, big_bytes);
    return read;
}

static void nothing(void *context, size_t task, int thread)
{
    (void)context, (void)task, (void)thread;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median, for at best the caller does all the tasks before anyone else wakes. */
static void time_empty_job(void)
{
    enum { JOBS = 2001 };
    static double times[JOBS];
    struct workers *workers;
    if (threads < 2 || workers_open(threads, &workers, NULL) != LL_OK)
        return;
    for (int i = 0; i < JOBS; i++) {
        double start = seconds();
        workers_run(workers, (size_t)threads * 4, nothing, NULL);
        times[i] = seconds() - start;
    }
    workers_close(workers);
    qsort(times, JOBS, sizeof *times, compare_doubles);
    printf("an empty job: median %.2f us\n", times[JOBS / 2] * 1e6);
}

/* ---- products ---- */
struct products_run {
    struct tensor in, weights[2][64];
    struct backend_product products[2];
    int count, copies, next;
};

static void run_products(void *context)
{
    struct products_run *run = context;
    struct backend_step step = plain_step(run->in.rows);
    for (int i = 0; i < run->count; i++)
        run->products[i].weight = &run->weights[i][run->next % run->copies];
    run->next++;
    backend->table->begin(backend, &step, NULL);
    backend->table->products(backend, &run->in, run->products, run->count);
    backend->table->end(backend, NULL);
}

/* `copies` weights in turn, so that one row meets them in memory, as a whole model's weights are. */
static double time_products(enum dtype dtype, int64_t rows, int64_t n, int64_t k, int copies)
{
    static struct products_run run;
    struct tensor out = matrix(rows, n);
    run = (struct products_run){.in = matrix(rows, k), .count = 1, .copies = copies};
    for (int i = 0; i < copies; i++)
        run.weights[0][i] = weight(dtype, n, k);
    run.products[0].out = &out;
    double time = best_time(run_products, &run);
    double bytes = (double)n * (double)run.weights[0][0].stride, operations = 2.0 * (double)(n * k * rows);
    printf("products %-5s rows %4" PRId64 " [%5" PRId64 ", %4" PRId64
           "]%s  %9.1f us  %7.2f GB/s  %7.1f GOP/s\n",
           dtype_info(dtype)->name, rows, n, k, copies > 1 ? " cold" : "     ", time * 1e6,
           bytes / time / 1e9, operations / time / 1e9);
    for (int i = 0; i < copies; i++)
        backend->table->memory_free(backend, MEMORY_SCRATCH, run.weights[0][i].data, (uint64_t)bytes);
    backend->table->memory_free(backend, MEMORY_SCRATCH, out.data, (uint64_t)(rows * n) * 4);
    backend->table->memory_free(backend, MEMORY_SCRATCH, run.in.data, (uint64_t)(rows * k) * 4);
    return time;
}

/* ---- attention ---- */
struct attention_run {
    struct backend_step step;
    struct backend_sequence sequence;
    struct backend_attention attention;
    struct backend_cache cache;
    struct tensor q, out;
};

static void run_attention(void *context)
{
    struct attention_run *run = context;
    backend->table->begin(backend, &run->step, NULL);
    backend->table->attention(backend, &run->attention, &run->cache, &run->q, &run->out);
    backend->table->end(backend, NULL);
}

static double time_attention(enum dtype type, int64_t start, int64_t rows)
{
    int64_t blocks = (start + rows + BLOCK - 1) / BLOCK;
    uint64_t row_bytes = dtype_row_bytes(type, HEAD);
    struct attention_run run = {.attention = {.heads = HEADS, .scale = 0.125f},
                                .cache = {.k_type = type,
                                          .v_type = type,
                                          .kv_heads = KV_HEADS,
                                          .head_dim = HEAD,
                                          .block_tokens = BLOCK},
                                .q = matrix(rows, HEADS * HEAD),
                                .out = matrix(rows, HEADS * HEAD)};
    int32_t *table = scratch((uint64_t)blocks * 4);
    for (int64_t i = 0; i < blocks; i++)
        table[i] = (int32_t)i;
    run.cache.k_block_bytes = run.cache.v_block_bytes = KV_HEADS * BLOCK * (int64_t)row_bytes;
    run.cache.k = scratch((uint64_t)(blocks * run.cache.k_block_bytes));
    run.cache.v = scratch((uint64_t)(blocks * run.cache.v_block_bytes));
    run.sequence =
        (struct backend_sequence){.rows = rows, .start = start, .blocks = table, .block_count = blocks};
    run.step = (struct backend_step){.rows = rows, .sequences = &run.sequence, .sequence_count = 1};
    double time = best_time(run_attention, &run);
    double pairs = (double)rows * ((double)start + (double)(rows + 1) / 2);
    printf("attention %-4s start %5" PRId64 " rows %4" PRId64
           "  %9.1f us  %7.2f GB/s of cache  %7.1f GOP/s\n",
           dtype_info(type)->name, start, rows, time * 1e6,
           2.0 * KV_HEADS * (double)row_bytes * (double)(start + rows) / time / 1e9,
           4 * pairs * HEADS * HEAD / time / 1e9);
    return time;
}

/* ---- rows ---- */
struct norm_run {
    struct tensor in, weight, out;
};

static void run_norm(void *context)
{
    struct norm_run *run = context;
    struct backend_step step = plain_step(run->in.rows);
    backend->table->begin(backend, &step, NULL);
    backend->table->norm(backend, NORM_RMS, &run->in, &run->weight, NULL, 1e-5f, 1, &run->out);
    backend->table->end(backend, NULL);
}

static void run_activate(void *context)
{
    struct norm_run *run = context;
    struct backend_step step = plain_step(run->in.rows);
    backend->table->begin(backend, &step, NULL);
    backend->table->activate(backend, ACTIVATE_SILU, &run->in, &run->out, &run->out);
    backend->table->end(backend, NULL);
}

static double time_rows(const char *name, void (*body)(void *), int64_t rows, int64_t cols)
{
    struct norm_run run = {matrix(rows, cols), matrix(1, cols), matrix(rows, cols)};
    double time = best_time(body, &run);
    printf("%-9s rows %4" PRId64 " of %4" PRId64 "  %9.2f us  %6.3f ns an element\n", name, rows, cols,
           time * 1e6, time * 1e9 / (double)(rows * cols));
    return time;
}

/* ---- the whole model, added up ---- */
static double time_layer(int64_t rows, int64_t start, int copies)
{
    double time = time_products(DT_Q4_1, rows, WIDTH + 2 * KV_HEADS * HEAD, WIDTH, copies);
    time += time_attention(DT_F16, start, rows);
    time += time_products(DT_Q4_1, rows, WIDTH, WIDTH, copies);
    time += time_products(DT_Q4_1, rows, 2 * FEED, WIDTH, copies);
    time += time_products(DT_Q4_1, rows, WIDTH, FEED, copies);
    time += 2 * time_rows("norm", run_norm, rows, WIDTH);
    return time + time_rows("silu", run_activate, rows, FEED);
}

/* Layers of a 7B model: one row reads a weight that no cache holds, 2048 rows are arithmetic. */
static void time_large(void)
{
    const enum dtype dtypes[] = {DT_Q4_K, DT_Q8_0, DT_Q4_0, DT_Q4_1, DT_Q5_K, DT_Q6_K, DT_BF16};
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        time_products(dtypes[i], 1, 11008, 4096, 8);
        time_products(dtypes[i], 1, 4096, 11008, 8);
        time_products(dtypes[i], 8, 11008, 4096, 8);
        time_products(dtypes[i], 2048, 4096, 4096, 1);
    }
}

static void time_small(void)
{
    for (enum dtype dtype = 0; dtype < DT_COUNT; dtype++) {
        time_products(dtype, 1, 1536, 768, 48);
        time_products(dtype, 1, 1536, 768, 1);
        time_products(dtype, 8, 1536, 768, 48);
        time_products(dtype, 252, 1536, 768, 1);
    }
    for (int64_t start = 512; start <= 8192; start *= 4) {
        time_attention(DT_F16, start, 1);
        time_attention(DT_Q8_0, start, 1);
        time_attention(DT_F16, start, 256);
    }
}

static void time_model(void)
{
    double decode = LAYERS * time_layer(1, 16, 60) + time_products(DT_Q8_0, 1, VOCABULARY, WIDTH, 3);
    double prefill = LAYERS * time_layer(512, 0, 1);
    printf("SmolLM2-135M Q4_1, operations added up: ");
    printf("decode at 16 %.1f tokens/s, prefill of 512 %.0f tokens/s\n", 1 / decode, 512 / prefill);
}

int main(int argc, char **argv)
{
    const char *part = argc > 2 ? argv[2] : "";
    threads = argc > 1 ? atoi(argv[1]) : 1;
    struct backend_options options = {.threads = threads};
    ll_error error;
    if (cpu_backend.open(&options, &backend, &error) != LL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    printf("%s, %s, %d thread%s\n", backend->name, backend->device, threads, threads == 1 ? "" : "s");
    ceilings();
    time_empty_job();
    if (strcmp(part, "large") == 0)
        time_large();
    else if (strcmp(part, "small") == 0)
        time_small();
    else
        time_model();
    backend->table->close(backend);
    return kept == 42;
}
