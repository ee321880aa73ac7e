/* Options about positions, as metadata put in place of the model file's own.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONSOLE_POSITIONS_H
#define CONSOLE_POSITIONS_H

#include "console/settings.h"

/* What --set-meta and the options of positions ask for, for ll_model_options.set_meta. */
struct meta_list {
    char **items;
    size_t count;
};

/* false: no memory. */
bool positions_meta(const struct settings *settings, struct meta_list *ret);
void meta_list_fini(struct meta_list *list);

#endif
