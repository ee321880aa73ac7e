/* Where the answers of models are kept between runs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "console/cachepath.h"

#include <stdlib.h>

void cachepath_find(struct text *path)
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (base && base[0] == '/') /* the specification: other values are to be ignored */
        text_printf(path, "%s/longleaf/answers.db", base);
    else if (home && *home)
        text_printf(path, "%s/.cache/longleaf/answers.db", home);
}
