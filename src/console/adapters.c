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

static bool put_first(struct adapter_list *adapters, const char *path)
{
    ll_adapter *items = realloc(adapters->items, (adapters->count + 1) * sizeof *items);
    char *kept = strdup(path);
    if (items)
        adapters->items = items;
    if (!items || !kept) {
        free(kept);
        return false;
    }
    memmove(items + 1, items, adapters->count * sizeof *items);
    items[0] = (ll_adapter){kept, 1.0f};
    adapters->count++;
    return true;
}

bool adapters_resolve(struct text *path, struct adapter_list *adapters, struct text *problem)
{
    ll_adapter_info info;
    const char *given = text_string(path), *slash = strrchr(given, '/');
    if (ll_adapter_get_info(given, &info, NULL) != LL_OK)
        return true;
    if (!info.base_file[0] || strchr(info.base_file, '/') || info.base_file[0] == '.') {
        text_puts(problem, "this is an adapter and no model; name its base with -m and it with --adapter");
        return false;
    }
    struct text base = {0};
    text_printf(&base, "%.*s%s", slash ? (int)(slash - given + 1) : 0, given, info.base_file);
    bool good = access(text_string(&base), F_OK) == 0;
    if (!good)
        text_printf(problem,
                    "the adapter's base %s is not beside it; put it there, or name it with -m and the "
                    "adapter with --adapter",
                    info.base_file);
    else if (!put_first(adapters, given)) {
        good = false;
        text_puts(problem, "no memory for the names of adapters");
    } else {
        text_clear(path);
        text_puts(path, text_string(&base));
    }
    text_fini(&base);
    return good;
}

void adapters_fini(struct adapter_list *adapters)
{
    for (size_t i = 0; i < adapters->count; i++)
        free((char *)(uintptr_t)adapters->items[i].path); /* made here */
    free(adapters->items);
    *adapters = (struct adapter_list){0};
}
