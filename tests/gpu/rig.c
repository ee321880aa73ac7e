/* Two backends side by side: operands that both hold, steps that both run, and how far apart they end.
 * SPDX-License-Identifier: Apache-2.0 */
#include "gpu/rig.h"

#include <math.h>

#include "backend/plugin.h"
#include "tensor/dequant.h"

enum { BLOCK = 128 };

static struct backend *open_cuda(const char *folder)
{
    char reason[512];
    const char *why = NULL;
    static struct plugin *plugin; /* stays open: closing it would unload the driver under other cases */
    struct backend_options options = {0};
    struct backend *backend = NULL;
    ll_error error = {0};
    if (!plugin)
        plugin = plugin_open(folder, "cuda", reason, sizeof reason);
    if (!plugin)
        fail_msg("%s", reason);
    if (plugin_table(plugin)->probe(&why) < 1)
        fail_msg("%s", why);
    if (plugin_table(plugin)->open(&options, &backend, &error) != LL_OK)
        fail_msg("%s", error.text);
    return backend;
}

struct rig rig_open(bool is_cuda, const char *folder)
{
    struct rig rig = {.is_cuda = is_cuda, .plain = open_reference()};
    rig.tested = is_cuda ? open_cuda(folder) : open_fast("avx512", 2);
    return rig;
}

void rig_close(struct rig *rig)
{
    close_backend(rig->tested);
    close_backend(rig->plain);
}

/* ---- memory ---- */

static void *memory_of(struct rig *rig, enum backend_memory_kind kind, const void *host, uint64_t bytes)
{
    void *memory = NULL;
    ll_error error = {0};
    struct backend *b = rig->tested;
    if (b->table->memory_new(b, kind, bytes, &memory, &error) != LL_OK)
        fail_msg("%s", error.text);
    if (host && b->host_memory)
        memcpy(memory, host, bytes);
    else if (host && b->table->upload(b, memory, host, bytes, &error) != LL_OK)
        fail_msg("%s", error.text);
    return memory;
}

static void to_number(enum dtype dtype, float x, void *to, int64_t at)
{
    if (dtype == DT_F32)
        ((float *)to)[at] = x;
    else
        ((uint16_t *)to)[at] = dtype == DT_BF16 ? f32_to_bf16(x) : f32_to_f16(x);
}

static struct operand operand_shape(enum dtype dtype, int64_t rows, int64_t cols)
{
    int64_t size = dtype == DT_F32 ? 4 : 2, stride = (cols + 7) / 8 * 8 + 8 * (int64_t)unit_below(3);
    return (struct operand){
        .plain = matrix_new(rows, cols),
        .tested = {.dtype = dtype, .rows = rows, .cols = cols, .stride = stride * size},
        .stride = stride,
    };
}

static struct operand operand_limited(struct rig *rig, enum dtype dtype, int64_t rows, int64_t cols,
                                      float most)
{
    struct operand o = operand_shape(dtype, rows, cols);
    uint64_t bytes = (uint64_t)((rows + GUARD_ROWS) * o.tested.stride);
    void *image = malloc(bytes);
    memset(image, 0xFF, bytes);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = 0; i < cols; i++) {
            float *plain = (float *)tensor_row(&o.plain, row) + i;
            *plain = fmaxf(-most, fminf(most, *plain));
            int64_t at = row * o.stride + i;
            to_number(dtype, *plain, image, at);
            if (dtype != DT_F32)
                *plain = dtype == DT_BF16 ? bf16_to_f32(((uint16_t *)image)[at])
                                          : f16_to_f32(((uint16_t *)image)[at]);
        }
    o.tested.data = memory_of(rig, MEMORY_SCRATCH, image, bytes);
    free(image);
    return o;
}

struct operand operand_random(struct rig *rig, enum dtype dtype, int64_t rows, int64_t cols)
{
    return operand_limited(rig, dtype, rows, cols, INFINITY);
}

struct operand operand_small(struct rig *rig, enum dtype dtype, int64_t rows, int64_t cols)
{
    return operand_limited(rig, dtype, rows, cols, 2);
}

struct operand operand_poisoned(struct rig *rig, enum dtype dtype, int64_t rows, int64_t cols)
{
    struct operand o = operand_shape(dtype, rows, cols);
    uint64_t bytes = (uint64_t)((rows + GUARD_ROWS) * o.tested.stride);
    void *image = malloc(bytes);
    memset(image, 0xFF, bytes);
    matrix_poison(&o.plain);
    o.tested.data = memory_of(rig, MEMORY_SCRATCH, image, bytes);
    free(image);
    return o;
}

struct operand operand_columns(const struct operand *operand, int64_t first, int64_t cols)
{
    struct operand o = *operand;
    o.plain = tensor_columns(&operand->plain, first, cols);
    o.tested = tensor_columns(&operand->tested, first, cols);
    return o;
}

void operand_free(struct rig *rig, struct operand *o)
{
    rig->tested->table->memory_free(rig->tested, MEMORY_SCRATCH, o->tested.data,
                                    (uint64_t)((o->tested.rows + GUARD_ROWS) * o->tested.stride));
    matrix_free(&o->plain);
}

struct operand vector_of(struct rig *rig, const float *values, int64_t cols)
{
    struct operand o = {.plain = matrix_new(1, cols), .stride = cols};
    memcpy(o.plain.data, values, (size_t)cols * sizeof(float));
    o.tested = (struct tensor){.dtype = DT_F32, .rows = 1, .cols = cols, .stride = cols * 4};
    float *image = calloc((size_t)(1 + GUARD_ROWS) * (size_t)cols, sizeof *image);
    memcpy(image, values, (size_t)cols * sizeof *image);
    o.tested.data = memory_of(rig, MEMORY_SCRATCH, image, (uint64_t)(1 + GUARD_ROWS) * (uint64_t)cols * 4);
    free(image);
    return o;
}

struct operand vector_random(struct rig *rig, int64_t cols)
{
    struct tensor values = matrix_new(1, cols);
    struct operand o = vector_of(rig, values.data, cols);
    matrix_free(&values);
    return o;
}

struct operand weight_random(struct rig *rig, enum dtype dtype, int64_t rows, int64_t cols)
{
    ll_error error = {0};
    struct operand o = {.plain = weight_new(dtype, rows, cols)};
    o.tested = o.plain;
    o.tested.data = memory_of(rig, MEMORY_WEIGHTS, o.plain.data, (uint64_t)(rows * o.plain.stride));
    if (rig->tested->table->prepare_weight(rig->tested, &o.tested, &error) != LL_OK)
        fail_msg("%s", error.text);
    return o;
}

void weight_free(struct rig *rig, struct operand *o)
{
    rig->tested->table->memory_free(rig->tested, MEMORY_WEIGHTS, o->tested.data,
                                    (uint64_t)(o->tested.rows * o->tested.stride));
    matrix_free(&o->plain);
}

/* ---- steps and results ---- */

void rig_begin(struct rig *rig, const struct test_step *step)
{
    rig->tested->table->begin(rig->tested, &step->step, NULL);
    rig->plain->table->begin(rig->plain, &step->step, NULL);
}

void rig_end(struct rig *rig)
{
    end_step(rig->tested);
    end_step(rig->plain);
}

float *operand_read(struct rig *rig, const struct operand *o)
{
    struct tensor all = o->tested;
    ll_error error = {0};
    bool whole = o->tested.cols + 24 >= o->stride; /* a view of some columns has no guards of its own */
    all.cols = whole ? o->stride : o->tested.cols;
    all.rows = o->tested.rows + (whole ? GUARD_ROWS : 0);
    float *read = malloc((size_t)(all.rows * all.cols + 1) * sizeof *read);
    float *ret = malloc((size_t)(o->tested.rows * o->tested.cols + 1) * sizeof *ret);
    if (rig->tested->table->read(rig->tested, &all, read, &error) != LL_OK)
        fail_msg("%s", error.text);
    for (int64_t row = 0; row < all.rows; row++)
        for (int64_t i = 0; i < all.cols; i++) {
            float x = read[row * all.cols + i];
            if (row < o->tested.rows && i < o->tested.cols)
                ret[row * o->tested.cols + i] = x;
            else if (!isnan(x))
                fail_msg("row %lld column %lld lies outside and was written: %g", (long long)row,
                         (long long)i, (double)x);
        }
    free(read);
    return ret;
}

void operand_compare(struct rig *rig, const struct operand *o, double bound, const char *what)
{
    float *got = operand_read(rig, o);
    int64_t rows = o->plain.rows, cols = o->plain.cols;
    double off = 0, size = 0, worst = -1;
    int64_t worst_row = 0, worst_col = 0;
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = 0; i < cols; i++) {
            double want = ((float *)tensor_row(&o->plain, row))[i], difference = got[row * cols + i] - want;
            off += difference * difference;
            size += want * want;
            if (!(fabs(difference) <= worst)) {
                worst = fabs(difference);
                worst_row = row;
                worst_col = i;
            }
        }
    double rms = sqrt(size / (double)(rows * cols));
    if (!(sqrt(off) <= bound * sqrt(size) + 1e-30))
        fail_msg("%s: relative error %.3g, more than %.3g; the worst is row %lld column %lld: %.9g, not %.9g",
                 what, sqrt(off / size), bound, (long long)worst_row, (long long)worst_col,
                 (double)got[worst_row * cols + worst_col],
                 (double)((float *)tensor_row(&o->plain, worst_row))[worst_col]);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = 0; i < cols; i++) {
            double want = ((float *)tensor_row(&o->plain, row))[i], value = got[row * cols + i];
            if (!(fabs(value - want) <= 8 * bound * (fabs(want) + rms) + 1e-30))
                fail_msg("%s: row %lld column %lld is %.9g, not %.9g", what, (long long)row, (long long)i,
                         value, want);
        }
    free(got);
}

/* ---- caches ---- */

struct rig_cache cache_new(struct rig *rig, enum dtype dtype, int kv_heads, int head_dim, int64_t blocks,
                           bool norms)
{
    int64_t block = (int64_t)dtype_row_bytes(dtype, (uint64_t)head_dim) * kv_heads * BLOCK;
    struct rig_cache c = {.bytes = (uint64_t)(block * blocks),
                          .norm_bytes = norms ? (uint64_t)(blocks * kv_heads) * sizeof(float) : 0};
    c.plain = (struct backend_cache){.k = calloc(1, c.bytes + 64),
                                     .v = calloc(1, c.bytes + 64),
                                     .k_type = dtype,
                                     .v_type = dtype,
                                     .kv_heads = kv_heads,
                                     .head_dim = head_dim,
                                     .block_tokens = BLOCK,
                                     .k_block_bytes = block,
                                     .v_block_bytes = block,
                                     .k_norms = norms ? calloc(1, c.norm_bytes) : NULL};
    c.tested = c.plain;
    c.tested.k = memory_of(rig, MEMORY_CACHE, NULL, c.bytes);
    c.tested.v = memory_of(rig, MEMORY_CACHE, NULL, c.bytes);
    c.tested.k_norms = norms ? memory_of(rig, MEMORY_CACHE, NULL, c.norm_bytes) : NULL;
    return c;
}

void cache_free(struct rig *rig, struct rig_cache *c)
{
    const struct backend_table *table = rig->tested->table;
    table->memory_free(rig->tested, MEMORY_CACHE, c->tested.k, c->bytes);
    table->memory_free(rig->tested, MEMORY_CACHE, c->tested.v, c->bytes);
    table->memory_free(rig->tested, MEMORY_CACHE, c->tested.k_norms, c->norm_bytes);
    free(c->plain.k);
    free(c->plain.v);
    free(c->plain.k_norms);
}
