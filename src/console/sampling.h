/* What settings say, as the library takes it: sampling rules and the type of keys and values.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONSOLE_SAMPLING_H
#define CONSOLE_SAMPLING_H

#include "console/settings.h"
#include "longleaf.h"

ll_sampling sampling_of(const struct settings *settings); /* borrows the settings' stop strings */
ll_dtype cache_type_of(const struct settings *settings);

#endif
