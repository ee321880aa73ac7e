/* The library's version.
 * SPDX-License-Identifier: Apache-2.0 */
#include "config.h"
#include "longleaf.h"

const char *ll_version(void)
{
    return PACKAGE_VERSION;
}

int ll_api_version(void)
{
    return LL_API_VERSION;
}
