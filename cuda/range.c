/* Which bytes an operation reads and writes: whether a tensor is read again before it is written anew.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/range.h"

static uint64_t row_bytes(const struct tensor *t)
{
    return dtype_row_bytes(t->dtype, (uint64_t)t->cols);
}

static const char *begin_of(const struct tensor *t)
{
    return t->data;
}

static const char *end_of(const struct tensor *t)
{
    return begin_of(t) + (t->rows > 0 ? (uint64_t)(t->rows - 1) * (uint64_t)t->stride + row_bytes(t) : 0);
}

/* Rows of other columns that lie between count too: it errs on the careful side. */
static bool touches(const struct tensor *a, const struct tensor *b)
{
    return a->data && b->data && begin_of(a) < end_of(b) && begin_of(b) < end_of(a);
}

/* Whether writing all of w writes all of t: the same rows, and columns that hold t's. */
static bool covers(const struct tensor *w, const struct tensor *t)
{
    if (!w->data || w->stride != t->stride || w->rows < t->rows || begin_of(w) > begin_of(t))
        return false;
    return (uint64_t)(begin_of(t) - begin_of(w)) + row_bytes(t) <= row_bytes(w);
}

static bool reads(const struct op *op, const struct tensor *t)
{
    if (touches(&op->a, t) || touches(&op->b, t) || touches(&op->c, t))
        return true;
    for (int i = 0; op->kind == OP_PRODUCTS && i < op->groups; i++)
        if (op->more.products[i].accumulate && touches(&op->more.products[i].out, t))
            return true;
    return false;
}

static bool overwrites(const struct op *op, const struct tensor *t)
{
    if (op->kind != OP_PRODUCTS)
        return covers(&op->out, t);
    for (int i = 0; i < op->groups; i++)
        if (covers(&op->more.products[i].out, t))
            return true;
    return false;
}

bool range_is_dead(const struct op_list *ops, size_t last, const struct tensor *tensor)
{
    for (size_t i = last + 1; i < ops->count; i++) {
        if (reads(&ops->items[i], tensor))
            return false;
        if (overwrites(&ops->items[i], tensor))
            return true;
    }
    return false;
}

bool range_same(const struct tensor *a, const struct tensor *b)
{
    return a->data == b->data && a->rows == b->rows && a->cols == b->cols && a->stride == b->stride &&
           a->dtype == b->dtype;
}
