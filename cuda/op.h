/* The operations of a step, recorded by value so that a step can be looked at as a whole.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CUDA_OP_H
#define CUDA_OP_H

#include "backend/backend.h"

enum op_kind {
    OP_EMBED,
    OP_NORM,
    OP_PRODUCTS,
    OP_ROTARY,
    OP_CACHE_WRITE,
    OP_ATTENTION,
    OP_ACTIVATE,
    OP_ADD,
    OP_CLAMP,
    OP_SOFTCAP,
    OP_GATHER,
    OP_GREATEST
};

enum { OP_PRODUCTS_MOST = 4 };

struct op_product {
    struct tensor weight, bias, out; /* bias.data NULL: none */
    bool accumulate;
};

/* Zeroed before it is filled, so that equal operations are equal bytes. */
struct op {
    enum op_kind kind;
    int variant;                /* norm's or activation's kind */
    int groups;                 /* norm: groups; rotary: heads; products: how many; attention: query heads */
    float number;               /* eps, scale or limit */
    struct tensor a, b, c, out; /* a: the input; absent ones are zero */
    union {
        struct op_product products[OP_PRODUCTS_MOST];
        struct {
            int head_dim, rotary_dim;
            bool adjacent;
        } rotary;
        struct {
            struct backend_cache cache;
            struct backend_attention attention; /* its slopes stand in c */
        } keys;
    } more;
};

struct op_list {
    struct op *items;
    size_t count, capacity;
};

/* A zeroed operation at the list's end; NULL: no memory. */
struct op *op_list_add(struct op_list *list, enum op_kind kind);
bool op_list_same(const struct op_list *a, const struct op_list *b);
/* A copy of b; false: no memory. */
bool op_list_copy(struct op_list *a, const struct op_list *b);
void op_list_fini(struct op_list *list);

#endif
