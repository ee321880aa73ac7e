/* What settings say, as the library takes it: sampling rules, the type of keys and values, plans.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONSOLE_SAMPLING_H
#define CONSOLE_SAMPLING_H

#include "console/settings.h"
#include "longleaf.h"

ll_sampling sampling_of(const struct settings *settings); /* borrows the settings' stop strings */
ll_dtype cache_type_of(const struct settings *settings);
int gpu_layers_of(const struct settings *settings);
ll_plan_options plan_options_of(const struct settings *settings); /* borrows the settings' texts */

#endif
