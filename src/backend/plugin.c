/* Opens a backend from a shared library and keeps the reason when it cannot.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backend/plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"

struct plugin {
    void *library;
    const struct backend_table *table;
};

struct plugin *plugin_open(const char *folder, const char *name, char *reason, size_t cap)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/longleaf_%s.so", folder, name);
    if (length < 0 || (size_t)length >= sizeof path || access(path, R_OK) != 0) {
        snprintf(reason, cap, "the plug-in longleaf_%s.so is not installed", name);
        return NULL;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        snprintf(reason, cap, "the plug-in cannot be opened: %s", why ? why : path);
        return NULL;
    }
    const struct backend_table *table = dlsym(library, BACKEND_SYMBOL);
    struct plugin *plugin = NULL;
    if (!table)
        snprintf(reason, cap, "%s has no table %s", path, BACKEND_SYMBOL);
    else if (table->version != BACKEND_VERSION || table->size != sizeof *table)
        snprintf(reason, cap, "%s is of another version of longleaf (table %u, %u bytes)", path,
                 table->version, table->size);
    else if (!(plugin = mem_new(1, sizeof *plugin)))
        snprintf(reason, cap, "no memory");
    if (!plugin) {
        dlclose(library);
        return NULL;
    }
    *plugin = (struct plugin){library, table};
    return plugin;
}

const struct backend_table *plugin_table(const struct plugin *plugin)
{
    return plugin->table;
}

void plugin_close(struct plugin *plugin)
{
    if (!plugin)
        return;
    dlclose(plugin->library);
    mem_free(plugin);
}
