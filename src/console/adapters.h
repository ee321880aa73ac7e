/* The adapters that settings name: FILE, or FILE:SCALE.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONSOLE_ADAPTERS_H
#define CONSOLE_ADAPTERS_H

#include "console/settings.h"
#include "console/text.h"
#include "longleaf.h"

struct adapter_list {
    ll_adapter *items; /* [count]; paths are owned too */
    size_t count;
};

/* A name that is a file is one whole, whatever colons it has. False: no memory. */
bool adapters_of(const struct settings *settings, struct adapter_list *ret);
/* An adapter that names its base's file stands for that base under itself: path becomes the base's, which
 * lies beside it, and the adapter goes before the others. Any other path stays. False: problem says why not.
 */
bool adapters_resolve(struct text *path, struct adapter_list *adapters, struct text *problem);
void adapters_fini(struct adapter_list *adapters);

#endif
