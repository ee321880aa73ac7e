/* The operations of a step, recorded by value so that a step can be looked at as a whole.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/op.h"

#include <string.h>

#include "base/mem.h"

struct op *op_list_add(struct op_list *list, enum op_kind kind)
{
    if (!mem_grow((void **)&list->items, &list->capacity, list->count + 1, sizeof *list->items))
        return NULL;
    struct op *op = &list->items[list->count++];
    memset(op, 0, sizeof *op);
    op->kind = kind;
    return op;
}

bool op_list_same(const struct op_list *a, const struct op_list *b)
{
    return a->count == b->count && memcmp(a->items, b->items, a->count * sizeof *a->items) == 0;
}

bool op_list_copy(struct op_list *a, const struct op_list *b)
{
    if (!mem_grow((void **)&a->items, &a->capacity, b->count, sizeof *a->items))
        return false;
    memcpy(a->items, b->items, b->count * sizeof *a->items);
    a->count = b->count;
    return true;
}

void op_list_fini(struct op_list *list)
{
    mem_free(list->items);
    *list = (struct op_list){0};
}
