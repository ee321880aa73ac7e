/* A growing list of token ids.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TEXT_TOKEN_LIST_H
#define TEXT_TOKEN_LIST_H

#include "base/mem.h"
#include "longleaf.h"

struct token_list { /* zero-initialised storage is an empty list */
    ll_token *ids;
    size_t count, capacity;
};

static inline bool token_list_push(struct token_list *list, ll_token id)
{
    if (!mem_grow((void **)&list->ids, &list->capacity, list->count + 1, sizeof *list->ids))
        return false;
    list->ids[list->count++] = id;
    return true;
}

static inline void token_list_fini(struct token_list *list)
{
    mem_free(list->ids);
    *list = (struct token_list){0};
}

#endif
