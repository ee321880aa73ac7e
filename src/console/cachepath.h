/* Where the answers of models are kept between runs.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONSOLE_CACHEPATH_H
#define CONSOLE_CACHEPATH_H

#include "console/text.h"

/* $XDG_CACHE_HOME/longleaf/answers.db, or ~/.cache/longleaf/answers.db; empty without a home. */
void cachepath_find(struct text *path);

#endif
