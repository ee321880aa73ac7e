/* The table's operations: each checks its tensors and is written down for the end of the step.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/record.h"

#include "cuda/device.h"

/* A new operation of the step, NULL when it must do nothing. */
static struct op *begin(struct device *d, enum op_kind kind, const char *name)
{
    if (device_stopped(d))
        return NULL;
    struct op *op = op_list_add(&d->ops, kind);
    if (!op)
        device_fail(d, LL_NOMEM, name, "no memory to write a step down");
    return op;
}

/* Member by member: the bytes between members must stay zero. */
static void put(struct tensor *to, const struct tensor *from)
{
    if (!from || !from->data)
        return;
    to->dtype = from->dtype;
    to->rows = from->rows;
    to->cols = from->cols;
    to->stride = from->stride;
    to->data = from->data;
}

static void put_cache(struct backend_cache *to, const struct backend_cache *from)
{
    to->k = from->k;
    to->v = from->v;
    to->k_type = from->k_type;
    to->v_type = from->v_type;
    to->kv_heads = from->kv_heads;
    to->head_dim = from->head_dim;
    to->block_tokens = from->block_tokens;
    to->k_block_bytes = from->k_block_bytes;
    to->v_block_bytes = from->v_block_bytes;
    to->k_norms = from->k_norms;
}

/* Rows of numbers, of the shape that is wanted; fails the step otherwise. */
static bool check(struct device *d, const char *name, const struct tensor *t, int64_t rows, int64_t cols)
{
    bool number = t->dtype == DT_F32 || t->dtype == DT_BF16 || t->dtype == DT_F16;
    if (number && t->rows == rows && t->cols == cols && t->data && t->stride % 4 == 0)
        return true;
    device_fail(d, LL_UNSUPPORTED, name, "wants numbers [%lld, %lld], was given %s [%lld, %lld]",
                (long long)rows, (long long)cols, dtype_info(t->dtype)->name, (long long)t->rows,
                (long long)t->cols);
    return false;
}

void record_embed(struct backend *backend, const struct tensor *table, float scale, struct tensor *out)
{
    struct device *d = device_of(backend);
    if (device_stopped(d) || !check(d, "embed", out, d->step->rows, table->cols))
        return;
    for (int64_t row = 0; row < out->rows; row++)
        if (d->step->tokens[row] < 0 || d->step->tokens[row] >= table->rows) {
            device_fail(d, LL_ARGUMENT, "embed", "token %d is not among the %lld embeddings",
                        (int)d->step->tokens[row], (long long)table->rows);
            return;
        }
    struct op *op = begin(d, OP_EMBED, "embed");
    if (!op)
        return;
    put(&op->a, table);
    put(&op->out, out);
    op->number = scale;
}

void record_norm(struct backend *backend, enum backend_norm kind, const struct tensor *in,
                 const struct tensor *weight, const struct tensor *bias, float eps, int groups,
                 struct tensor *out)
{
    struct device *d = device_of(backend);
    if (device_stopped(d) || !check(d, "norm", in, in->rows, in->cols) ||
        !check(d, "norm", out, in->rows, in->cols))
        return;
    struct op *op = begin(d, OP_NORM, "norm");
    if (!op)
        return;
    put(&op->a, in);
    put(&op->b, weight);
    put(&op->c, bias);
    put(&op->out, out);
    op->variant = (int)kind;
    op->groups = groups;
    op->number = eps;
}

void record_products(struct backend *backend, const struct tensor *in, const struct backend_product *products,
                     int count)
{
    struct device *d = device_of(backend);
    if (device_stopped(d) || !check(d, "products", in, in->rows, in->cols))
        return;
    if (count < 1 || count > OP_PRODUCTS_MOST) {
        device_fail(d, LL_INTERNAL, "products", "%d products of one input", count);
        return;
    }
    for (int i = 0; i < count; i++)
        if (!check(d, "products", in, in->rows, products[i].weight->cols) ||
            !check(d, "products", products[i].out, in->rows, products[i].weight->rows))
            return;
    struct op *op = begin(d, OP_PRODUCTS, "products");
    if (!op)
        return;
    put(&op->a, in);
    op->groups = count;
    for (int i = 0; i < count; i++) {
        put(&op->more.products[i].weight, products[i].weight);
        put(&op->more.products[i].bias, products[i].bias);
        put(&op->more.products[i].out, products[i].out);
        op->more.products[i].accumulate = products[i].accumulate;
    }
}

void record_rotary(struct backend *backend, const struct backend_rotary *rotary, struct tensor *x)
{
    struct device *d = device_of(backend);
    if (device_stopped(d) || !check(d, "rotary", x, d->step->rows, (int64_t)rotary->heads * rotary->head_dim))
        return;
    struct op *op = begin(d, OP_ROTARY, "rotary");
    if (!op)
        return;
    put(&op->a, x);
    put(&op->b, rotary->frequencies);
    op->groups = rotary->heads;
    op->number = rotary->scale;
    op->more.rotary.head_dim = rotary->head_dim;
    op->more.rotary.rotary_dim = rotary->rotary_dim;
    op->more.rotary.adjacent = rotary->adjacent;
}

static bool check_cache(struct device *d, const char *name, const struct backend_cache *cache)
{
    enum dtype type = cache->k_type;
    bool known = type == DT_F32 || type == DT_F16 || type == DT_BF16 || type == DT_Q8_0;
    if (known && cache->v_type == type && cache->head_dim > 0 && cache->head_dim <= 1024 &&
        (type != DT_Q8_0 || cache->head_dim % 32 == 0) && cache->block_tokens == PAGE_KEYS)
        return true;
    device_fail(d, LL_UNSUPPORTED, name, "no cache of %s keys and %s values in blocks of %d with heads of %d",
                dtype_info(type)->name, dtype_info(cache->v_type)->name, cache->block_tokens,
                cache->head_dim);
    return false;
}

void record_cache_write(struct backend *backend, const struct backend_cache *cache, const struct tensor *k,
                        const struct tensor *v)
{
    struct device *d = device_of(backend);
    int64_t cols = (int64_t)cache->kv_heads * cache->head_dim;
    if (device_stopped(d) || !check_cache(d, "cache_write", cache) ||
        !check(d, "cache_write", k, d->step->rows, cols) || !check(d, "cache_write", v, d->step->rows, cols))
        return;
    struct op *op = begin(d, OP_CACHE_WRITE, "cache_write");
    if (!op)
        return;
    put(&op->a, k);
    put(&op->b, v);
    put_cache(&op->more.keys.cache, cache);
}

void record_attention(struct backend *backend, const struct backend_attention *attention,
                      const struct backend_cache *cache, const struct tensor *q, struct tensor *out)
{
    struct device *d = device_of(backend);
    int64_t cols = (int64_t)attention->heads * cache->head_dim;
    if (device_stopped(d) || !check_cache(d, "attention", cache) ||
        !check(d, "attention", q, d->step->rows, cols) || !check(d, "attention", out, d->step->rows, cols))
        return;
    struct op *op = begin(d, OP_ATTENTION, "attention");
    if (!op)
        return;
    struct backend_attention *to = &op->more.keys.attention;
    put(&op->a, q);
    put(&op->c, attention->slopes);
    put(&op->out, out);
    put_cache(&op->more.keys.cache, cache);
    op->groups = to->heads = attention->heads;
    to->scale = attention->scale;
    to->softcap = attention->softcap;
    to->window = attention->window;
    to->sinks = attention->sinks;
    to->reach = attention->reach;
}

void record_activate(struct backend *backend, enum backend_activation kind, const struct tensor *gate,
                     const struct tensor *up, struct tensor *out)
{
    struct device *d = device_of(backend);
    if (device_stopped(d) || !check(d, "activate", gate, gate->rows, gate->cols) ||
        !check(d, "activate", out, gate->rows, gate->cols) ||
        (up && !check(d, "activate", up, gate->rows, gate->cols)))
        return;
    struct op *op = begin(d, OP_ACTIVATE, "activate");
    if (!op)
        return;
    put(&op->a, gate);
    put(&op->b, up);
    put(&op->out, out);
    op->variant = (int)kind;
}

void record_add(struct backend *backend, const struct tensor *a, const struct tensor *b, struct tensor *out)
{
    struct device *d = device_of(backend);
    if (device_stopped(d) || !check(d, "add", a, a->rows, a->cols) || !check(d, "add", b, a->rows, a->cols) ||
        !check(d, "add", out, a->rows, a->cols))
        return;
    struct op *op = begin(d, OP_ADD, "add");
    if (!op)
        return;
    put(&op->a, a);
    put(&op->b, b);
    put(&op->out, out);
}

static void record_limit(struct backend *backend, enum op_kind kind, const char *name, struct tensor *x,
                         float limit)
{
    struct device *d = device_of(backend);
    if (device_stopped(d) || !check(d, name, x, x->rows, x->cols))
        return;
    struct op *op = begin(d, kind, name);
    if (!op)
        return;
    put(&op->a, x);
    put(&op->out, x);
    op->number = limit;
}

void record_clamp(struct backend *backend, struct tensor *x, float limit)
{
    record_limit(backend, OP_CLAMP, "clamp", x, limit);
}

void record_softcap(struct backend *backend, struct tensor *x, float limit)
{
    record_limit(backend, OP_SOFTCAP, "softcap", x, limit);
}

void record_gather(struct backend *backend, const struct tensor *in, struct tensor *out)
{
    struct device *d = device_of(backend);
    if (device_stopped(d) || !check(d, "gather", in, d->step->rows, in->cols) ||
        !check(d, "gather", out, d->step->output_count, in->cols))
        return;
    struct op *op = begin(d, OP_GATHER, "gather");
    if (!op)
        return;
    put(&op->a, in);
    put(&op->out, out);
}

/* One call a step: where its answer goes is no part of the operation, so that a graph does not know it. */
void record_greatest(struct backend *backend, const struct tensor *in, int32_t *ret)
{
    struct device *d = device_of(backend);
    if (device_stopped(d) || !check(d, "greatest", in, in->rows, in->cols))
        return;
    if (d->picked_rows > 0 || in->rows > DEVICE_ROWS) {
        device_fail(d, LL_UNSUPPORTED, "greatest", "more than one call a step, or %lld rows",
                    (long long)in->rows);
        return;
    }
    struct op *op = begin(d, OP_GREATEST, "greatest");
    if (!op)
        return;
    put(&op->a, in);
    d->picked_to = ret;
    d->picked_rows = in->rows;
}
