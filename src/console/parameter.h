/* The settings that a conversation may change while it goes on: sampling, length, focus.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONSOLE_PARAMETER_H
#define CONSOLE_PARAMETER_H

#include "console/settings.h"

bool parameter_is(enum option option);
enum option parameter_find(const char *name, size_t length); /* _ may stand for -; OPTION_COUNT: none */
const char *parameter_near(const char *name, size_t length); /* NULL: none is near */
/* Takes "NAME VALUE" or "NAME=VALUE"; NAME alone is a problem. False: problem holds the sentence. */
bool parameter_set(struct settings *settings, const char *argument, size_t length, struct text *problem);

#endif
