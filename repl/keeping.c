/* Whether and where the model's answers are kept, by the settings.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/keeping.h"

#include "console/cachepath.h"

const char *keeping_path(const struct program *program, struct text *path)
{
    if (settings_flag(&program->settings, OPTION_NO_CACHE))
        return NULL;
    cachepath_find(path);
    return path->length && !path->failed ? text_string(path) : NULL;
}

uint64_t keeping_limit(const struct program *program)
{
    return settings_count(&program->settings, OPTION_CACHE_LIMIT, 0);
}
