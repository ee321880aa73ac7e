/* The adapters that settings name: FILE, or FILE:SCALE.
 * SPDX-License-Identifier: Apache-2.0 */
#include "console/adapters.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The length of the file's name in "FILE:SCALE"; *ret_scale stays when there is none. */
static size_t split(const char *text, float *ret_scale)
{
    const char *colon = strrchr(text, ':');
    char *end;
    if (!colon || colon == text || access(text, F_OK) == 0)
        return strlen(text);
    if (!colon[1] || strspn(colon + 1, "0123456789.+-eE") != strlen(colon + 1))
        return strlen(text);
    double scale = strtod(colon + 1, &end);
    if (*end)
        return strlen(text);
    *ret_scale = (float)scale;
    return (size_t)(colon - text);
}

bool adapters_of(const struct settings *settings, struct adapter_list *ret)
{
    const struct setting *setting = &settings->values[OPTION_ADAPTER];
    *ret = (struct adapter_list){0};
    if (setting->item_count == 0)
        return true;
    ret->items = calloc(setting->item_count, sizeof *ret->items);
    if (!ret->items)
        return false;
    for (size_t i = 0; i < setting->item_count; i++) {
        ret->items[i].scale = 1.0f;
        ret->items[i].path = strndup(setting->items[i], split(setting->items[i], &ret->items[i].scale));
        ret->count = i + 1;
        if (!ret->items[i].path) {
            adapters_fini(ret);
            return false;
        }
    }
    return true;
}

void adapters_fini(struct adapter_list *adapters)
{
    for (size_t i = 0; i < adapters->count; i++)
        free((char *)(uintptr_t)adapters->items[i].path); /* made here */
    free(adapters->items);
    *adapters = (struct adapter_list){0};
}
