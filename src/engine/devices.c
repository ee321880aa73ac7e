/* Ranks the devices of this machine; the only room that names a backend.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine/devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "config.h"
#include "cpu/cpu.h"

static void note(struct devices *devices, const char *text)
{
    if (devices->note_count < DEVICES_MAX_NOTES)
        snprintf(devices->notes[devices->note_count++], sizeof devices->notes[0], "%s", text);
}

/* Where the plug-ins are installed, or where the environment says (a build that is not installed yet). */
static const char *default_folder(void)
{
    const char *given = getenv("LONGLEAF_PLUGINS");
    return given && *given ? given : LL_PKGLIBDIR;
}

/* LL_OK, or the reason in error. */
static ll_status open_cuda(const char *folder, const struct backend_options *options, struct devices *devices,
                           ll_error *error)
{
    char reason[256] = "";
    struct plugin *plugin = plugin_open(folder ? folder : default_folder(), "cuda", reason, sizeof reason);
    if (!plugin)
        return error_set(error, LL_DEVICE, "devices", "no CUDA device: %s", reason);
    const struct backend_table *table = plugin_table(plugin);
    const char *why = NULL;
    int count = table->probe(&why);
    ll_status status;
    if (count < 1)
        status = error_set(error, LL_DEVICE, "devices", "no CUDA device: %s", why ? why : "none was found");
    else if (options->index >= count)
        status = error_set(error, LL_DEVICE, "devices", "there is no device cuda:%d; the last is cuda:%d",
                           options->index, count - 1);
    else
        status = table->open(options, &devices->backend, error);
    if (status != LL_OK) {
        plugin_close(plugin);
        return status;
    }
    devices->plugin = plugin;
    devices->kind = LL_CUDA;
    devices->index = options->index;
    return LL_OK;
}

static bool parse_cuda_index(const char *device, int *ret)
{
    if (strcmp(device, "cuda") == 0)
        return true;
    char *end;
    long index = strncmp(device, "cuda:", 5) == 0 && device[5] ? strtol(device + 5, &end, 10) : -1;
    if (index < 0 || index > 1023 || *end)
        return false;
    *ret = (int)index;
    return true;
}

ll_status devices_open(const char *device, const char *plugin_folder, const struct backend_options *options,
                       struct devices *ret, ll_error *error)
{
    struct devices devices = {.kind = LL_CPU};
    struct backend_options wanted = *options;
    ll_status status;
    if (!device || !*device)
        device = "auto";
    if (strcmp(device, "cpu") == 0) {
        status = cpu_backend.open(&wanted, &devices.backend, error);
    } else if (strcmp(device, "reference") == 0) {
        status = reference_backend.open(&wanted, &devices.backend, error);
    } else if (strcmp(device, "auto") == 0) {
        ll_error reason;
        status = open_cuda(plugin_folder, &wanted, &devices, &reason);
        if (status != LL_OK) {
            note(&devices, reason.text);
            status = cpu_backend.open(&wanted, &devices.backend, error);
        }
    } else if (parse_cuda_index(device, &wanted.index)) {
        status = open_cuda(plugin_folder, &wanted, &devices, error);
    } else {
        status = error_set(error, LL_ARGUMENT, "devices", "'%s' is no device; use auto, cpu, cuda or cuda:N",
                           device);
    }
    if (status == LL_OK)
        *ret = devices;
    return status;
}

ll_status devices_open_host(const struct devices *devices, const struct backend_options *options,
                            struct backend **ret, ll_error *error)
{
    const struct backend_table *table = devices->backend->table;
    *ret = NULL;
    if (table == &reference_backend)
        return reference_backend.open(options, ret, error);
    return devices->backend->host_memory ? LL_OK : cpu_backend.open(options, ret, error);
}

void devices_close(struct devices *devices)
{
    if (devices->backend)
        devices->backend->table->close(devices->backend);
    plugin_close(devices->plugin);
    *devices = (struct devices){0};
}
