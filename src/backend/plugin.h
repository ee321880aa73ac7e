/* Opens a backend from a shared library and keeps the reason when it cannot.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef BACKEND_PLUGIN_H
#define BACKEND_PLUGIN_H

#include "backend/backend.h"

/* The one symbol a plug-in exports: const struct backend_table longleaf_backend_1; */
#define BACKEND_SYMBOL "longleaf_backend_1"

struct plugin;

/* folder/longleaf_NAME.so. On failure *ret is NULL and reason (cap bytes) says why in a sentence. */
struct plugin *plugin_open(const char *folder, const char *name, char *reason, size_t cap);
const struct backend_table *plugin_table(const struct plugin *plugin);
void plugin_close(struct plugin *plugin);

#endif
