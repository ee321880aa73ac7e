/* Options about positions, as metadata put in place of the model file's own.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A key that begins with "*." is one of the model's architecture, which nobody knows before it is open. */
#include "console/positions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/text.h"

static const struct {
    enum option option;
    const char *key; /* with its type */
} rows[] = {
    {OPTION_ROPE_SCALING, "*.rope.scaling.type=str:"},
    {OPTION_ROPE_FACTOR, "*.rope.scaling.factor=f32:"},
    {OPTION_ROPE_BASE, "*.rope.freq_base=f32:"},
    {OPTION_ROPE_ORIGINAL, "*.rope.scaling.original_context_length=u32:"},
    {OPTION_ALIBI_MAX_BIAS, "*.attention.max_alibi_bias=f32:"},
    {OPTION_ALIBI_STRETCH, "*.attention.alibi_stretch=f32:"},
};

static bool add(struct meta_list *list, const char *key, const char *value)
{
    struct text item = {0};
    text_printf(&item, "%s%s", key, value);
    char **items = realloc(list->items, (list->count + 1) * sizeof *items);
    char *copy = strdup(text_string(&item));
    text_fini(&item);
    if (items)
        list->items = items;
    if (!items || !copy) {
        free(copy);
        return false;
    }
    list->items[list->count++] = copy;
    return true;
}

/* Options of an own come first: --set-meta, which names a key itself, has the last word. */
bool positions_meta(const struct settings *settings, struct meta_list *ret)
{
    const struct setting *meta = &settings->values[OPTION_SET_META];
    char number[32];
    *ret = (struct meta_list){0};
    bool good = true;
    for (size_t i = 0; good && i < sizeof rows / sizeof *rows; i++) {
        const struct setting *setting = &settings->values[rows[i].option];
        if (!setting->given || !setting->text)
            continue;
        snprintf(number, sizeof number, "%llu",
                 (unsigned long long)setting->count); /* 8k is no number there */
        bool count = option_row(rows[i].option)->kind == OPTION_IS_COUNT;
        good = add(ret, rows[i].key, count ? number : setting->text);
    }
    for (size_t i = 0; good && i < meta->item_count; i++)
        good = add(ret, "", meta->items[i]);
    if (!good)
        meta_list_fini(ret);
    return good;
}

void meta_list_fini(struct meta_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct meta_list){0};
}
