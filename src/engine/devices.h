/* Ranks the devices of this machine; the only room that names a backend.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_DEVICES_H
#define ENGINE_DEVICES_H

#include "backend/plugin.h"

enum { DEVICES_MAX_NOTES = 8 };

struct devices {
    struct backend *backend; /* the chosen one */
    struct plugin *plugin;   /* the library it came from, or NULL */
    ll_device_kind kind;
    int index; /* of a GPU, as the driver counts those it shows to this process */
    char notes[DEVICES_MAX_NOTES][512]; /* why a backend is absent */
    size_t note_count;
};

/* device: "auto" or NULL, "cpu", "reference", "cuda", "cuda:N". Auto takes a GPU when there is one,
 * else the CPU; a device that was named must work or the call fails with the reason. */
ll_status devices_open(const char *device, const char *plugin_folder, const struct backend_options *options,
                       struct devices *ret, ll_error *error);
/* A second one for the layers that the chosen one has no room for, in the host's memory: the processor, or
 * another reference beside a reference. NULL where the chosen one is the processor itself. */
ll_status devices_open_host(const struct devices *devices, const struct backend_options *options,
                            struct backend **ret, ll_error *error);
void devices_close(struct devices *devices);

#endif
