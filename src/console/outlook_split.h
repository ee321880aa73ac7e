/* The part of a plan that tells what a model takes whose first layers stay with the processor.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONSOLE_OUTLOOK_SPLIT_H
#define CONSOLE_OUTLOOK_SPLIT_H

#include <jansson.h>

#include "console/outlook.h"

/* Whether layers of such a model run on a GPU at all. */
bool outlook_split_works(const ll_model_info *info);
/* For so many layers on the GPU as were asked for, else for each size of memory that does not hold the whole
 * model: nothing where all do, or where there is no GPU in question. */
void outlook_split_show(const struct outlook *outlook, size_t layers, struct text *out);
/* The same: a list, or null for nothing. */
json_t *outlook_split_json(const struct outlook *outlook, size_t layers);

#endif
